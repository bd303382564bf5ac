// The demo's real node: an agent with the embedded engine, on this machine alone, and the origin
// behind it.
import type { Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig } from '../agent/src/config.ts';
import { type Identity, joinNetwork, readIdentity } from '../agent/src/identity.ts';
import { type Running as Agent, runAgent } from '../agent/src/main.ts';
import { replaceDurably } from '../kit/src/durable.ts';
import type { Plan, PlannedNode } from './inventory.ts';
import { startOrigin } from './origin.ts';
import { originOffset } from './ports.ts';

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
  /** Present if the node keeps who used its exit. */
  connection_log?: 'sources' | 'destinations';
}

export interface DemoNode {
  proxy: DemoProxy;
  /** The faults that keep it from working, a sentence each. */
  faults: string[];
  stop(): Promise<void>;
}

const host = '127.0.0.1';
const overrideOffset = 500;

/** The identity of a node of the demo, which joins if it has to. Errors: one sentence. */
export async function identityOf(
  url: string,
  { server, state_dir, code }: PlannedNode,
): Promise<Identity> {
  if (code !== undefined)
    return joinNetwork({ state_dir, url, code, name: `${server}-a`, again: true });
  const saved = readIdentity(state_dir);
  const identity = { ...saved, url };
  // The server may have another port than before.
  if (saved.url !== url)
    replaceDurably(join(state_dir, 'node.json'), `${JSON.stringify(identity, null, 2)}\n`);
  return identity;
}

/** Starts the origin and the node; a fault of theirs is reported and hinders nothing else. */
export async function startNode({ url, port_base, real, node_settings }: Plan): Promise<DemoNode> {
  const origin_port = port_base + originOffset;
  const proxy: DemoProxy = {
    server: real.server,
    host,
    port: port_base,
    override_port: port_base + overrideOffset,
    origin: `http://${host}:${origin_port}`,
  };
  await identityOf(url, real);
  const origin = await startOrigin(origin_port).catch((error) => error as Error);
  const config = readConfig({
    ...node_settings,
    EXITWARD_AGENT_STATE_DIR: real.state_dir,
    EXITWARD_AGENT_ENGINE: 'embedded',
    EXITWARD_AGENT_LISTEN_HOST: host,
    // The origin, and nothing else of this machine.
    EXITWARD_AGENT_ALLOW_DESTINATIONS: host,
    EXITWARD_AGENT_METRICS_LISTEN: 'off',
    EXITWARD_AGENT_HTTP_PORTS: String(origin_port),
    EXITWARD_AGENT_CONNECT_PORTS: `443,${origin_port}`,
  });
  const { mode } = config.connection_log;
  if (mode !== 'off') proxy.connection_log = mode;
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

/**
 * Waits a moment until the newest policy is in force: then the proxy listens, or says why it does
 * not.
 */
async function settled(agent: Agent): Promise<void> {
  for (let attempts = 200; attempts > 0; attempts--) {
    const { state, stored, applied } = agent.status();
    if (state === 'following' && applied?.revision === stored?.revision) return;
    await sleep(50);
  }
}

function closed(origin: Server | Error): Promise<void> {
  if (origin instanceof Error) return Promise.resolve();
  origin.closeAllConnections();
  return new Promise((resolve) => origin.close(() => resolve()));
}
