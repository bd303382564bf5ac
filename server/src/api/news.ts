// News: the versions of all that a page shows. An event has the newest ones; `exitward-as-of`, in
// each response, those that were committed before it was read.
import type { FastifyReply } from 'fastify';
import { networkVersion } from '../changes/changes.ts';
import type { Context } from '../context.ts';
import { networkMarks } from '../nodes/nodes.ts';

type News = Readonly<Record<string, string | number>>;

/**
 * The versions of an account's parts, and of servers, exit IPs and health. They are opaque: the
 * revisions of one account would say how much all others change.
 */
export async function newsOfAccount(ctx: Context, account_id: number): Promise<News> {
  const { network, topics } = await ctx.versions.current(account_id);
  const versions = Object.entries({ ...topics, network });
  return Object.fromEntries(
    versions.map(([name, revision]) => [name, ctx.secrets.veil('version', account_id, revision)]),
  );
}

/** The same of all accounts, with the network's revision and what nodes do, for operators. */
export async function newsOfNetwork(ctx: Context): Promise<News> {
  const { network, topics } = await ctx.versions.current(networkVersion);
  return { ...topics, network, ...(await networkMarks(ctx.db)) };
}

/** Says how new a response is. Call it before anything is read for the response. */
export function setAsOf(reply: FastifyReply, news: News): void {
  const versions = Object.entries(news).map(([name, version]) => `${name}=${version}`);
  reply.header('exitward-as-of', versions.join(', '));
}
