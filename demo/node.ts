// The demo's node: a real agent with the embedded engine, on this machine alone, in the demo's own process.
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig } from '../agent/src/config.ts';
import { joinNetwork, readIdentity } from '../agent/src/identity.ts';
import { type Running as Agent, runAgent } from '../agent/src/main.ts';
import { pageOfAccounts } from '../server/src/accounts/accounts.ts';
import type { Context } from '../server/src/context.ts';
import { setContractServer } from '../server/src/contract_servers/contract_servers.ts';
import type { Running } from '../server/src/main.ts';
import { createInvite, listNodes } from '../server/src/nodes/nodes.ts';
import {
  addExitIp,
  createServer,
  listServers,
  requireServer,
} from '../server/src/servers/servers.ts';
import { startOrigin } from './origin.ts';
import { demo } from './seed.ts';

/** How to use the demo's proxy. */
export interface DemoProxy {
  /** Short name of the server, as on the contract. */
  server: string;
  host: string;
  port: number;
  /** Custom DNS entries count here. */
  override_port: number;
  /** A page that is always there. */
  origin: string;
}

export interface DemoNode {
  proxy: DemoProxy;
  /** What keeps it from working, a sentence each. */
  faults: string[];
  stop(): Promise<void>;
}

const server_name = 'here';
const host = '127.0.0.1';
/** Of the default port scheme. */
const usual_port_base = 11_000;
const override_offset = 500;
/** The origin listens so far above the proxy. */
const origin_offset = 80;

/** The lowest of the demo's ports. Errors: when it is none. */
export function readPortBase(env: Readonly<Record<string, string | undefined>>): number {
  const text = env.EXITWARD_DEMO_PORT_BASE || String(usual_port_base);
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port >= 2024 && port <= 65_000) return port;
  throw new Error(
    `EXITWARD_DEMO_PORT_BASE: ${JSON.stringify(text)} is not valid; expected a port of 2024 to 65000.`,
  );
}

/** Adds the server that the node serves, on the first account's contract. */
export async function seedNode(ctx: Context): Promise<void> {
  if ((await listServers(ctx.db)).some(({ name }) => name === server_name)) return;
  await ctx.db.write(demo, async (tx) => {
    const server = await createServer(tx, {
      name: server_name,
      // What the console and exw offer to copy is to work as it stands.
      hostname: 'localhost',
      title: 'This machine',
      city: 'Geneva',
      country: 'CH',
      latitude: 46.2022,
      longitude: 6.1457,
      services: ['proxy'],
    });
    await addExitIp(tx, server, { ip: host, port_base: 0 });
    const [account] = await pageOfAccounts(tx, '', 1);
    if (account) await setContractServer(tx, account, server, null);
  });
}

/** Starts the origin and the node; what hinders them is told and hinders nothing else. */
export async function startNode({ ctx, node_url }: Running, base: number): Promise<DemoNode> {
  const origin_port = base + origin_offset;
  const proxy: DemoProxy = {
    server: server_name,
    host,
    port: base,
    override_port: base + override_offset,
    origin: `http://${host}:${origin_port}`,
  };
  const state_dir = join(ctx.config.data_dir, 'node');
  await joinDemo(ctx, state_dir, node_url);
  const origin = await startOrigin(origin_port).catch((error) => error as Error);
  const config = readConfig({
    EXITWARD_AGENT_STATE_DIR: state_dir,
    EXITWARD_AGENT_ENGINE: 'embedded',
    EXITWARD_AGENT_LISTEN_HOST: host,
    EXITWARD_AGENT_PORT_SHIFT: String(base - usual_port_base),
    // The origin, and nothing else of this machine.
    EXITWARD_AGENT_ALLOW_DESTINATIONS: host,
    EXITWARD_AGENT_METRICS_LISTEN: 'off',
    EXITWARD_AGENT_HTTP_PORTS: String(origin_port),
    EXITWARD_AGENT_CONNECT_PORTS: `443,${origin_port}`,
  });
  const agent = await runAgent(config, { log: pino({ level: 'silent' }) });
  await settled(agent);
  return {
    proxy,
    faults: [
      ...(origin instanceof Error ? [`${proxy.origin} is taken by another program.`] : []),
      ...agent.status().faults.map(({ message }) => message),
    ],
    async stop() {
      await agent.stop();
      await closed(origin);
    },
  };
}

/** Joins once; a database that begun anew knows nothing of the node that was. */
async function joinDemo(ctx: Context, state_dir: string, url: string): Promise<void> {
  const isThere = existsSync(join(state_dir, 'node.json'));
  if (isThere) {
    const identity = readIdentity(state_dir);
    const nodes = await listNodes(ctx.db);
    const isKnown = nodes.some(({ id }) => id === identity.node);
    if (isKnown && identity.url === url) return;
  }
  const { code } = await ctx.db.write(demo, async (tx) =>
    createInvite(tx, ctx.secrets, await requireServer(tx, server_name)),
  );
  await joinNetwork({ state_dir, url, code, name: 'demo', again: true });
}

/** Waits a moment until the policy is in force: then the proxy listens, or says why it does not. */
async function settled(agent: Agent): Promise<void> {
  for (let left = 200; left > 0 && !agent.status().applied; left--) await sleep(50);
}

function closed(origin: Server | Error): Promise<void> {
  if (origin instanceof Error) return Promise.resolve();
  origin.closeAllConnections();
  return new Promise((resolve) => origin.close(() => resolve()));
}
