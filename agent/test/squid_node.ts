// Starts a node with a real Squid for the tests, on a policy and a name server of its own.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { systemClock } from '../src/clock.ts';
import { type Config, readConfig } from '../src/config.ts';
import type { Rules } from '../src/policy/decide.ts';
import { startSquid } from '../src/squid/agent/engine.ts';
import { findSquidUser } from '../src/squid/agent/unix_user.ts';
import { Store } from '../src/store/store.ts';
import { createCertificate, now, rules, startNameServer } from './proxy_world.ts';
import type { NodeOptions, ProxyNode } from './scenarios.ts';
import { inPieces, snapshotText } from './stored.ts';

const certificate = createCertificate('proxy.test');
/** Squid asks on port 53 only; test files that run at once have others. */
const nameServerIp = `127.78.2.${100 + Number(process.env.VITEST_POOL_ID ?? 0)}`;

export interface SquidNode extends ProxyNode {
  dir: string;
  config: Config;
  rules: Rules;
  store: Store;
  /** Ends the agent's part, leaving Squid, and starts it anew. */
  restart(settings?: Record<string, string>): Promise<void>;
  /** The Squids that run, by their number. */
  squids(): number[];
}

export async function startSquidNode(options: NodeOptions): Promise<SquidNode> {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-squid-'));
  const [crt, key] = [join(dir, 'proxy.crt'), join(dir, 'proxy.key')];
  writeFileSync(crt, certificate.cert);
  writeFileSync(key, certificate.key);
  chmodSync(key, 0o600);
  const names = await startNameServer(options.names ?? new Map(), { ip: nameServerIp, port: 53 });
  const configure = (settings: Record<string, string> = {}) =>
    readConfig({
      EXITWARD_AGENT_STATE_DIR: dir,
      EXITWARD_AGENT_ALLOW_DESTINATIONS: '127.78.2.0/24',
      EXITWARD_AGENT_DNS_SERVERS: names.address,
      EXITWARD_AGENT_TLS_CERT: crt,
      EXITWARD_AGENT_TLS_KEY: key,
      ...options.settings,
      ...settings,
    });
  const policy = join(dir, 'policy');
  const store = await Store.open(policy, { group: findSquidUser()?.gid });
  const first = { epoch: 'e1', revision: 1 };
  await store.replace(inPieces(snapshotText(first, options.records)), options.heard_at ?? now());
  const config = configure();
  const nodeRules = { ...rules, ...options.rules, allowed: config.allowed };
  const start = (settings?: Record<string, string>) =>
    startSquid({
      config: configure(settings),
      rules: nodeRules,
      dir: policy,
      clock: systemClock,
      log: pino({ level: 'silent' }),
    });
  let revision = 1;
  const node: SquidNode = {
    dir,
    config,
    rules: nodeRules,
    store,
    certificate: certificate.cert,
    engine: await start(),
    async apply(...records) {
      revision += 1;
      store.append(revision, now(), records);
      const position = await node.engine.catchUp();
      if (position?.revision !== revision) throw new Error(`applied ${position?.revision} only`);
    },
    async restart(settings) {
      await node.engine.stop({ leave_running: true });
      node.engine = await start(settings);
    },
    squids: () => findSquids(dir),
    async stop() {
      await node.engine.stop({ leave_running: false });
      await store.close();
      names.stop();
      rmSync(dir, { recursive: true, force: true });
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
  return childrenOf(squid).find((child) =>
    readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('decider'),
  );
}
