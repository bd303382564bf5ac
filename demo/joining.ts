// The part of the demo's nodes that the server's process does: their servers, their ports, and
// invitations for those that have to join.
import { join } from 'node:path';
import { isJoined, readIdentity } from '../agent/src/identity.ts';
import { pageOfAccounts } from '../server/src/accounts/accounts.ts';
import { bumpVersion, networkVersion, recordChange } from '../server/src/changes/changes.ts';
import type { Context } from '../server/src/context.ts';
import { setContractServer } from '../server/src/contract_servers/contract_servers.ts';
import { createInvite, listNodes } from '../server/src/nodes/nodes.ts';
import { requirePortScheme } from '../server/src/port_schemes/port_schemes.ts';
import {
  addExitIp,
  createServer,
  listServers,
  requireServer,
} from '../server/src/servers/servers.ts';
import { otherServers, type Plan, type PlannedNode, realServer } from './inventory.ts';
import { demo } from './seed.ts';
import type { Settings } from './settings.ts';

/** Makes what is not there yet, and says which nodes are to run. */
export async function planNodes(
  { ctx, node_url }: { ctx: Context; node_url: string },
  { port_base, isSimulating, node_settings }: Settings,
): Promise<Plan> {
  const real = await seedReal(ctx);
  await movePorts(ctx, port_base);
  const servers = new Set((await listServers(ctx.db)).map(({ name }) => name));
  const names = isSimulating ? otherServers().map(({ name }) => name) : [];
  const { data_dir } = ctx.config;
  const serversOfNodes = new Map((await listNodes(ctx.db)).map(({ id, server }) => [id, server]));
  const planNode = async (server: string, state_dir: string): Promise<PlannedNode> => {
    // A new database knows nothing of the earlier node.
    const isKnown =
      isJoined(state_dir) && serversOfNodes.get(readIdentity(state_dir).node) === server;
    return { server, state_dir, code: isKnown ? undefined : await invite(ctx, server) };
  };
  return {
    url: node_url,
    port_base,
    real: await planNode(real, join(data_dir, 'node')),
    node_settings,
    simulated: await Promise.all(
      names
        .filter((name) => servers.has(name))
        .map((name) => planNode(name, join(data_dir, 'nodes', name))),
    ),
  };
}

/**
 * The name of the server of this machine, which is on the first account's contract; older demos
 * named it otherwise.
 */
async function seedReal(ctx: Context): Promise<string> {
  const { exit_ips, ...facts } = realServer;
  const existing = (await listServers(ctx.db)).find(({ hostname }) => hostname === facts.hostname);
  if (existing) return existing.name;
  await ctx.db.write(demo, async (tx) => {
    const server = await createServer(tx, { ...facts, hostname: `${facts.name}.example.net` });
    // No server of a network may have this name; that of the demo is this machine.
    await tx.run('update servers set hostname = $1 where id = $2', [facts.hostname, server.id]);
    for (const exit of exit_ips) await addExitIp(tx, server, exit);
    const [account] = await pageOfAccounts(tx, '', 1);
    if (account) await setContractServer(tx, account, server, null);
  });
  return facts.name;
}

/**
 * The default port scheme has the ports that the proxy of this machine listens on, whichever were
 * chosen.
 */
async function movePorts(ctx: Context, port_base: number): Promise<void> {
  await ctx.db.write(demo, async (tx) => {
    const { id, bases } = await requirePortScheme(tx, 'default');
    const moved = bases.map(({ service }, at) => ({ base: port_base + 1000 * (at - 1), service }));
    const text = JSON.stringify(moved);
    if (text === JSON.stringify(bases)) return;
    await tx.run('update port_schemes set bases = $1 where id = $2', [text, id]);
    await bumpVersion(tx, networkVersion);
    for (const { id: server_id } of await listServers(tx)) {
      await recordChange(tx, { kind: 'server', account_id: null, server_id });
    }
  });
}

async function invite(ctx: Context, server: string): Promise<string> {
  const { code } = await ctx.db.write(demo, async (tx) =>
    createInvite(tx, ctx.secrets, await requireServer(tx, server)),
  );
  return code;
}
