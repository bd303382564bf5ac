// Exitward for a measurement: fills a fresh database when asked, serves it, and prints where and with which tokens.
//   node bench/server.ts ACCOUNTS ENTRIES   (0 0: serves what is there)
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Running, serve } from '../server/src/main.ts';
import { createInvite, networkPosition } from '../server/src/nodes/nodes.ts';
import { requireServer } from '../server/src/servers/servers.ts';
import { bench, fillNetwork } from './network.ts';

const [accounts = 0, entries = 0] = process.argv.slice(2).map(Number);
const largest_group = Number(process.env.BENCH_LARGEST_GROUP ?? 512);
const running = await serve(process.env, { largest_group });
const file = join(running.ctx.config.data_dir, 'bench-tokens.json');
if (accounts > 0)
  writeFileSync(file, JSON.stringify(await fillNetwork(running.ctx, accounts, entries)));
const node = await joinNode(running);
const tokens = (JSON.parse(readFileSync(file, 'utf8')) as string[]).slice(0, 100);
console.log(JSON.stringify({ base_url: running.base_url, tokens, node }));
/** A node of the bench's server, with what it needs to follow the changes. */
async function joinNode({ ctx, node_url }: Running) {
  const { code } = await ctx.db.write(bench, async (tx) =>
    createInvite(tx, ctx.secrets, await requireServer(tx, 'fra1')),
  );
  const response = await fetch(`${node_url}/node/join`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code, name: 'bench', version: 'bench' }),
  });
  const { token } = (await response.json()) as { token: string };
  return { url: node_url, token, ...(await networkPosition(ctx.db)) };
}

process.on('SIGTERM', () => void running.stop().then(() => process.exit(0)));
