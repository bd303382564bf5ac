// The machine's name servers change under a running node: the agent as a process, in a mount
// namespace whose resolv.conf is the test's.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { policyFolder } from '../src/identity.ts';
import { findSquidUser } from '../src/squid/agent/unix_user.ts';
import { Store } from '../src/store/store.ts';
import * as t from './proxy_world.ts';
import { inPieces, snapshotText } from './stored.ts';

const program = fileURLToPath(new URL('../bin/exitward-agent.js', import.meta.url));
/** Nothing responds there. */
const silentIp = '127.78.2.54';
const name = 'www.example';
let names: t.NameServer;
let origin: t.Origin;
const nodes: Array<{ child: ChildProcess; dir: string }> = [];

beforeAll(async () => {
  origin = await t.startOrigin();
  names = await t.startNameServer(new Map([[name, () => [t.originIp]]]), {
    ip: t.nameServerIp,
    port: 53,
  });
});
afterAll(async () => {
  for (const { child, dir } of nodes) {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
    rmSync(dir, { recursive: true, force: true });
  }
  names?.stop();
  await origin?.stop();
});

/** Starts a node without a control plane, with a policy on disk. Returns its folder. */
async function startNode(engine: string, port_shift: number, name_server: string): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-names-'));
  const identity = { url: 'http://127.0.0.1:1', node: t.nodeId, server: 'fra1', token: 'ewn_none' };
  writeFileSync(join(dir, 'node.json'), JSON.stringify(identity), { mode: 0o600 });
  const group = engine === 'squid' ? findSquidUser()?.gid : undefined;
  const store = await Store.open(policyFolder(dir), { group });
  const text = snapshotText({ epoch: 'e1', revision: 1 }, t.usualRecords());
  await store.replace(inPieces(text), t.now());
  await store.close();
  listOnly(dir, name_server);
  const mount = `mount --bind ${dir}/resolv.conf /etc/resolv.conf && exec "$@"`;
  const agent = ['sh', '-c', mount, 'sh', process.execPath, program, 'run'];
  const child = spawn('unshare', ['--mount', ...agent], {
    env: {
      ...bareEnvironment,
      EXITWARD_AGENT_STATE_DIR: dir,
      EXITWARD_AGENT_ENGINE: engine,
      EXITWARD_AGENT_PORT_SHIFT: String(port_shift),
      EXITWARD_AGENT_ALLOW_DESTINATIONS: t.allowed,
      EXITWARD_AGENT_CONNECT_PORTS: '1-65535',
      EXITWARD_AGENT_METRICS_LISTEN: 'off',
      EXITWARD_AGENT_VPN: 'off',
    },
    stdio: 'ignore',
  });
  nodes.push({ child, dir });
  return dir;
}

/** Makes this the only name server of the node's machine. */
function listOnly(dir: string, name_server: string): void {
  writeFileSync(join(dir, 'resolv.conf'), `nameserver ${name_server}\n`);
}

test.concurrent.each([
  ['embedded', 0],
  ['squid', 20_000],
])(
  'a node with the engine %s asks the name servers that DHCP has just set',
  async (engine, shift) => {
    const port = t.normalPort + shift;
    const statusOf = async () => {
      const target = `${name}:${origin.port}`;
      return (await t.ask({ port }, 'CONNECT', target).catch(() => undefined))?.status;
    };
    const dir = await startNode(engine, shift, silentIp);
    await t.until(async () => [502, 503].includes((await statusOf()) ?? 0));
    listOnly(dir, t.nameServerIp);
    await t.until(async () => (await statusOf()) === 200);
    expect(await statusOf()).toBe(200);
  },
);
