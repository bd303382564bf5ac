// Exitward for a measurement: fills a fresh database when asked, serves it, and prints where and
// with which tokens.
//   node bench/server.ts ACCOUNTS ENTRIES [SERVERS NODES PEOPLE]   (0 0: serves what is there)

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ResponseCache } from '../server/src/api/account/response_cache.ts';
import { networkPosition } from '../server/src/changes/changes.ts';
import { serve } from '../server/src/main.ts';
import { createInvite, joinNode } from '../server/src/nodes/nodes.ts';
import { requireServer } from '../server/src/servers/servers.ts';
import { bench, fillNetwork, fillPeople } from './network.ts';

/** The line that it prints. */
export interface Served {
  base_url: string;
  admin_url: string;
  /** API tokens of the first accounts. */
  tokens: string[];
  node_url: string;
  /** Tokens of nodes that have joined, one server after the other. */
  nodes: string[];
  /** Where they begin to follow. */
  epoch: string;
  revision: number;
  /** Codes with which as many nodes as a measurement has join the first server. */
  invites: string[];
}

const [accounts = 0, entries = 0, servers = 1, nodes = 1, people = 0] = process.argv
  .slice(2)
  .map(Number);
if (process.env.BENCH_RESPONSE_CACHE === 'off') {
  // Principals are still remembered: only responses are neither cached nor served before the
  // router.
  ResponseCache.prototype.store = () => {};
  ResponseCache.prototype.serve = (_request, _response, miss) => miss();
}
const running = await serve(process.env);
const { ctx, base_url, admin_url, node_url } = running;
const file = join(ctx.config.data_dir, 'bench-tokens.json');
if (accounts > 0) {
  const exit_ip = process.env.BENCH_EXIT_IP ?? '198.51.100.1';
  const made = await fillNetwork(ctx, { accounts, entries, servers }, exit_ip);
  if (people > 0) await fillPeople(ctx, people);
  writeFileSync(file, JSON.stringify(made));
}

async function invite(server: number): Promise<string> {
  const { code } = await ctx.db.write(bench, async (tx) =>
    createInvite(tx, ctx.secrets, await requireServer(tx, `fra${server}`)),
  );
  return code;
}

async function joinOne(server: number): Promise<string> {
  const code = await invite(server);
  const { token } = await ctx.db.write(bench, (tx) =>
    joinNode(tx, ctx.secrets, { code, name: 'bench', version: 'bench' }),
  );
  return token;
}

const served: Served = {
  base_url,
  admin_url,
  tokens: (JSON.parse(readFileSync(file, 'utf8')) as string[]).slice(0, 100),
  node_url,
  nodes: await Promise.all(Array.from({ length: nodes }, (_, at) => joinOne(1 + (at % servers)))),
  invites: await Promise.all(Array.from({ length: 2 }, () => invite(1))),
  ...(await networkPosition(ctx.db)),
};
console.log(JSON.stringify(served));
process.on('SIGTERM', () => void running.stop().then(() => process.exit(0)));
