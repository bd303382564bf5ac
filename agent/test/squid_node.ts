// Starts a node with a real Squid for the tests, on a policy and a name server of its own.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, afterEach } from 'vitest';
import { systemClock } from '../src/clock.ts';
import { type Config, readConfig } from '../src/config.ts';
import type { Rules } from '../src/policy/decision.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { type SquidOptions, startSquid } from '../src/squid/agent/engine.ts';
import { findSquidUser } from '../src/squid/agent/unix_user.ts';
import type { Store } from '../src/store/store.ts';
import { createNodeFolder } from './node_folder.ts';
import { allowed, rules, serverRecord, until, usualRecords } from './proxy_world.ts';
import type { NodeOptions, ProxyNode } from './scenarios/scene.ts';

/** Squid asks on port 53 only; test files that run at once have others. */
const nameServerIp = `127.78.2.${100 + Number(process.env.VITEST_POOL_ID ?? 0)}`;

export interface SquidNode extends ProxyNode {
  dir: string;
  config: Config;
  rules: Rules;
  store: Store;
  /** Ends the agent's part, leaving Squid, and starts it again. */
  restart(settings?: Record<string, string>): Promise<void>;
  /**
   * Starts again with these records, at revision 1. Resolves when nothing is left from before: no
   * fault, connection, last use or leaving decider. False, and nothing is done: it has other
   * settings now.
   */
  reset(records: NodeRecord[]): Promise<boolean>;
  /** The Squids that run, by their number. */
  squids(): number[];
}

/**
 * The nodes of a test file, of which one runs at a time: a shared one, for tests that leave it
 * healthy, and those that a test has for itself. They have the usual records, with this server.
 */
export function nodesOfFile(rules: Partial<Rules> = {}) {
  let single: SquidNode | undefined;
  let shared: SquidNode | undefined;
  afterEach(async () => {
    await single?.stop();
    single = undefined;
  });
  /** Ends the shared one: its ports are free. */
  const stop = async () => {
    await shared?.stop();
    shared = undefined;
  };
  afterAll(stop);
  const recordsWith = (server: NodeRecord) => [server, ...usualRecords().slice(1)];
  return {
    stop,
    async start(settings: Record<string, string> = {}, server = serverRecord()) {
      await stop();
      single = await startSquidNode({ settings, records: recordsWith(server), rules });
      return single;
    },
    async share(server = serverRecord()) {
      const records = recordsWith(server);
      const isReset = await shared?.reset(records).catch(() => false);
      if (shared && isReset) return shared;
      await stop();
      shared = await startSquidNode({ records, rules });
      return shared;
    },
  };
}

export async function startSquidNode(
  options: NodeOptions,
  overrides: Partial<SquidOptions> = {},
): Promise<SquidNode> {
  const folder = await createNodeFolder(
    options,
    { ip: options.name_server ?? nameServerIp, port: 53 },
    { group: findSquidUser()?.gid },
  );
  const { dir, store, certificate } = folder;
  const configure = (settings: Record<string, string> = {}) =>
    readConfig({ EXITWARD_AGENT_ALLOW_DESTINATIONS: allowed, ...folder.settings, ...settings });
  const config = configure();
  const nodeRules = { ...rules, ...options.rules, allowed: config.allowed };
  const start = (settings?: Record<string, string>) =>
    startSquid({
      config: configure(settings),
      rules: nodeRules,
      dir: folder.policy,
      unstored: store.unstored,
      clock: systemClock,
      log: pino({ level: 'silent' }),
      ...overrides,
    });
  let hasOtherSettings = false;
  const node: SquidNode = {
    ...{ dir, config, rules: nodeRules, store, certificate },
    engine: await start(),
    apply: (...records) => folder.apply(node.engine, records),
    async restart(settings) {
      await node.engine.stop({ leave_running: true });
      hasOtherSettings = settings !== undefined;
      node.engine = await start(settings);
    },
    async reset(records) {
      if (hasOtherSettings) return false;
      await folder.replace(records);
      await node.engine.catchUp();
      await until(async () => {
        const { open } = await node.engine.poll(undefined);
        const isCalm = node.squids().every((squid) => decidersOf(squid).length === 1);
        return isCalm && open.length === 0 && node.engine.faults().length === 0;
      });
      await node.engine.takeLastUsed();
      return true;
    },
    squids: () => findSquids(dir),
    async stop() {
      await node.engine.stop({ leave_running: false });
      await folder.remove();
    },
  };
  await node.engine.catchUp();
  return node;
}

function findSquids(dir: string): number[] {
  return readdirSync(join(dir, 'squid'))
    .sort()
    .flatMap((number) => {
      try {
        const pid = Number(readFileSync(join(dir, 'squid', number, 'squid.pid'), 'utf8'));
        process.kill(pid, 0);
        return [pid];
      } catch {
        return [];
      }
    });
}

/** The processes that a Squid started for itself. */
export function childrenOf(squid: number | undefined): number[] {
  return readFileSync(`/proc/${squid}/task/${squid}/children`, 'utf8')
    .trim()
    .split(' ')
    .map(Number);
}

export function deciderOf(squid: number | undefined): number | undefined {
  return decidersOf(squid)[0];
}

function decidersOf(squid: number | undefined): number[] {
  return childrenOf(squid).filter((child) =>
    readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('decider'),
  );
}
