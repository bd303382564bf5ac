// /admin/accounts/{account}/servers: the servers added to a contract, with its own limit for each.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { type Account, requireAccountNamed } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import type { Reader } from '../../db/database.ts';
import { errors, Integer, NoContent, Strict, Timestamp } from '../../http/fields.ts';
import { sendCreated, sendJson, sendNothing } from '../../http/responses.ts';
import {
  findContractServer,
  removeContractServer,
  requireServer,
  serversOfContract,
  setContractServer,
} from '../../servers/servers.ts';
import { periodAt, periodUsage } from '../../usage/usage.ts';
import { AccountPath, operatorWrite } from '../operator/checks.ts';

const Limit = Type.Union([Integer('Bytes in a billing period.'), Type.Null()], {
  description: 'Own limit of the server on this contract; null: the network limit.',
});
const ContractServer = Strict({
  server: Type.String({ description: 'Server short name.' }),
  hostname: Type.String({ description: 'Fully-qualified domain name.' }),
  limit_bytes: Limit,
  usage: Integer('Bytes in the running billing period.'),
  over_limit: Type.Boolean({ description: 'Whether its own limit is used up.' }),
  added_at: Timestamp('When it was added to the contract.'),
});
const Body = Strict({ limit_bytes: Type.Optional(Limit) });

const ContractServerPath = Type.Object({
  account: Type.String({ description: 'Account name.' }),
  server: Type.String({ description: 'Server short name.' }),
});
type ContractServerPath = Static<typeof ContractServerPath>;

/** The contract servers of an account as the operator sees them. */
async function presentServers(db: Reader, account: Account, now: number) {
  const { byServer } = await periodUsage(db, account.id, periodAt(account.start, now).start);
  return (await serversOfContract(db, account.id)).map((row) => ({
    server: row.name,
    hostname: row.hostname,
    limit_bytes: row.own_limit_bytes,
    usage: byServer.get(row.id) ?? 0,
    over_limit: row.server_over_limit === 1,
    added_at: row.added_at,
  }));
}

export function contractServerAdminRoutes(app: FastifyInstance, ctx: Context): void {
  const tags = ['Operator: contract servers'];
  const pathOf = (request: FastifyRequest) => request.params as ContractServerPath;
  const find = async (request: FastifyRequest) => {
    await requireAccountNamed(ctx.db, pathOf(request).account);
    await requireServer(ctx.db, pathOf(request).server);
  };

  app.get<{ Params: AccountPath }>(
    '/admin/accounts/:account/servers',
    {
      schema: {
        summary: 'List the servers on the contract of an account',
        tags,
        params: AccountPath,
        response: { 200: Type.Array(ContractServer), ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      const account = await requireAccountNamed(ctx.db, request.params.account);
      return sendJson(reply, await presentServers(ctx.db, account, ctx.clock.now()));
    },
  );

  app.put<{ Params: ContractServerPath; Body: Static<typeof Body> }>(
    '/admin/accounts/:account/servers/:server',
    {
      config: { find },
      schema: {
        summary: 'Add a server to a contract, or change its own limit there',
        description:
          'Own limits count on contracts with detailed server billing. Left out, the limit stays; a new server has none.',
        tags,
        params: ContractServerPath,
        body: Body,
        response: { 200: ContractServer, 201: ContractServer, ...errors(400, 401, 404, 409) },
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      const { added, value } = await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, params.account);
        const server = await requireServer(tx, params.server);
        const before = await findContractServer(tx, account.id, server.id);
        const { limit_bytes = before?.limit_bytes ?? null } = body;
        await setContractServer(tx, account, server, limit_bytes);
        const all = await presentServers(tx, account, tx.now);
        return { added: !before, value: all.find((one) => one.server === server.name) };
      });
      if (!added) return sendJson(reply, value);
      return sendCreated(
        reply,
        `/admin/accounts/${params.account}/servers/${params.server}`,
        value,
      );
    },
  );

  app.delete<{ Params: ContractServerPath }>(
    '/admin/accounts/:account/servers/:server',
    {
      schema: {
        summary: 'Take a server off a contract',
        tags,
        params: ContractServerPath,
        response: { 204: NoContent, ...errors(400, 401, 404) },
      },
    },
    async (request, reply) => {
      await operatorWrite(ctx, request, async (tx) => {
        const account = await requireAccountNamed(tx, request.params.account);
        await removeContractServer(tx, account, await requireServer(tx, request.params.server));
      });
      return sendNothing(reply);
    },
  );
}
