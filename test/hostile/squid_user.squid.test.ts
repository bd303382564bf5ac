// Squid's user against the root agent: processes without a way back to root, and links in the
// folder that is theirs.
import { execFileSync } from 'node:child_process';
import {
  chownSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../agent/src/clock.ts';
import { findSquidUser } from '../../agent/src/squid/agent/unix_user.ts';
import { Journal } from '../../agent/src/usage/journal.ts';
import { Meter } from '../../agent/src/usage/meter.ts';
import * as t from '../../agent/test/proxy_world.ts';
import { childrenOf, nodesOfFile, type SquidNode } from '../../agent/test/squid_node.ts';
import { deepTest } from '../deep_test.ts';

const user = findSquidUser() ?? { name: '', uid: -1, gid: -1 };
const normal = { port: t.normalPort };
const log = pino({ level: 'silent' });
const { start, share } = nodesOfFile();
let origin: t.Origin;
beforeAll(async () => {
  origin = await t.startOrigin();
});
afterAll(() => origin?.stop());

const logs = (node: SquidNode) => join(node.dir, 'squid', '0', 'logs');

function statusOf(pid: number): Map<string, string> {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').trim().split('\n');
  return new Map(lines.map((line) => line.split(':\t', 2) as [string, string]));
}

test('no process of Squid can become root again, nor has a capability', async () => {
  const node = await share();
  const [squid = 0] = node.squids();
  const children = childrenOf(squid);
  expect(children.length).toBeGreaterThanOrEqual(2);
  const ids = (id: number) => [id, id, id, id].join('\t');
  for (const pid of [squid, ...children]) {
    const status = statusOf(pid);
    expect(status.get('Uid')).toBe(ids(user.uid));
    expect(status.get('Gid')).toBe(ids(user.gid));
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
      expect([set, status.get(set)]).toEqual([set, '0'.repeat(16)]);
    expect(status.get('NoNewPrivs')).toBe('1');
  }
});

deepTest(
  'a Squid that is reconfigured, revived or taken over has no more rights, and serves TLS by a key of root',
  async () => {
    const node = await share();
    const tls = { port: t.tlsBase + 1, proxy_certificate: node.certificate };
    expect(statSync(join(node.dir, 'proxy.key')).mode & 0o77).toBe(0);
    expect((await t.see(tls, origin.url)).from).toBe(t.exits[0]);
    const [first = 0] = node.squids();
    await node.apply(t.serverRecord({ exit_ips: [{ ip: t.exits[0], port_base: 1 }] }));
    await node.restart();
    expect(node.squids()).toEqual([first]);
    process.kill(first, 'SIGKILL');
    await t.until(() => node.squids().some((pid) => pid !== first));
    await t.until(
      async () => (await t.ask(normal, 'GET', origin.url).catch(() => undefined))?.status === 200,
    );
    expect((await t.see(tls, origin.url)).from).toBe(t.exits[0]);
    const [second = 0] = node.squids();
    expect(statusOf(second).get('Uid')).toMatch(new RegExp(`^(${user.uid}\t?){4}$`));
  },
);

deepTest('a Squid on a port below 1024 keeps the right to that alone', async () => {
  const exit_ips = [{ ip: t.exits[0], port_base: 1 }];
  const port_schemes = [{ name: 'default', bases: [{ base: 80, service: 'proxy' as const }] }];
  const node = await start({}, t.serverRecord({ exit_ips, port_schemes }));
  const free = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
  expect((await t.see({ port: 81 }, origin.url)).from).toBe(t.exits[0]);
  const status = statusOf(node.squids()[0] ?? 0);
  expect(BigInt(`0x${status.get('CapEff')}`)).toBe(free > 81 ? 1n << 10n : 0n);
});

deepTest(
  'a port below 1024 that comes while Squid runs is listened on, and what ends by that is billed',
  async () => {
    const node = await start();
    const usage = await t.Usage.from(node.engine, origin.url);
    const tunnel = await t.openTunnel(normal, origin.to);
    await tunnel.ask(`GET / HTTP/1.1\r\nHost: ${t.originIp}\r\n\r\n`);
    await usage.poll();
    const [squid = 0] = node.squids();
    const basesOf = (base: number) => [{ base, service: 'proxy' as const }];
    const port_schemes = [
      { name: 'default', bases: basesOf(t.base) },
      { name: 'low', bases: basesOf(80) },
    ];
    await node.apply(t.serverRecord({ port_schemes }));
    expect((await t.ask({ port: 81 }, 'GET', origin.url)).status).toBe(407);
    const free = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
    expect(node.squids()[0] === squid).toBe(free <= 81);
    if (free <= 81) tunnel.socket.destroy();
    const bytes = { '1 1': { up: tunnel.sent, down: tunnel.received } };
    expect(await usage.settled(bytes)).toEqual(bytes);
    expect((await t.see(normal, origin.url)).from).toBe(t.exits[0]);
    expect(t.messagesOf(node.engine)).toEqual([]);
  },
);

deepTest('an agent that may not listen below 1024 itself runs Squid for the other ports', () => {
  const launch = join(import.meta.dirname, '../../agent/src/squid/agent/launch.ts');
  const script = `
    import { execFileSync } from 'node:child_process';
    import { commandAs, lacksRight } from ${JSON.stringify(launch)};
    const user = ${JSON.stringify(user)};
    console.log(execFileSync(...commandAs(user, ['echo', 'runs'], [80])).toString().trim());
    console.log(lacksRight(user, [80], process.pid));
  `;
  const without = ['--bounding-set=-net_bind_service', '--inh-caps=-net_bind_service'];
  const node = [process.execPath, '--input-type=module', '-e', script];
  const said = execFileSync('setpriv', [...without, ...node], { encoding: 'utf8', stdio: 'pipe' });
  expect(said).toBe('runs\nfalse\n');
});

deepTest('a Squid that is retired leaves no key behind', async () => {
  const node = await start({ EXITWARD_AGENT_LISTENERS_PER_SQUID: '6' });
  const keys = (number: string) =>
    readdirSync(join(node.dir, 'squid', number)).filter((name) => name.endsWith('.key'));
  expect(keys('1')).toEqual(['seal.key', expect.stringMatching(/^tls-/)]);
  await node.apply(t.serverRecord({ exit_ips: [{ ip: t.exits[0], port_base: 1 }] }));
  expect(node.squids().length).toBe(1);
  expect(keys('1')).toEqual(['seal.key']);
  expect(keys('0').length).toBe(2);
});

test('a link in the folder of Squid does not lead the agent to a file of root', async () => {
  const node = await start();
  const precious = join(node.dir, 'precious');
  const large = 17 * 1024 * 1024;
  writeFileSync(precious, 'FATAL: the secret\n', { mode: 0o600 });
  truncateSync(precious, large);
  const [squid = 0] = node.squids();
  for (const log of ['cache.log', 'meter.log']) {
    rmSync(join(logs(node), log));
    symlinkSync(precious, join(logs(node), log));
  }
  symlinkSync(precious, join(logs(node), 'meter.log.1'));
  // It is read, and found to be no log; the one that died is started again, which is noted in its
  // log.
  await node.engine.poll(undefined);
  expect(t.messagesOf(node.engine).join()).toContain('is not a file that Squid created');
  process.kill(squid, 'SIGKILL');
  await t.until(() => node.engine.faults().some(({ message }) => message.includes('does not run')));
  expect(t.messagesOf(node.engine).join()).not.toContain('the secret');
  await t.until(() => node.squids().some((pid) => pid !== squid));
  await node.restart();
  const { size, uid, mode } = statSync(precious);
  expect({ size, uid, mode: mode & 0o777 }).toEqual({ size: large, uid: 0, mode: 0o600 });
});

deepTest(
  'neither a second name of a file of root nor a pipe is taken for a log, and the agent does not wait for either',
  async () => {
    const node = await start();
    const precious = join(node.dir, 'precious');
    writeFileSync(precious, 'root\u2019s own\n', { mode: 0o600 });
    const [squid = 0] = node.squids();
    rmSync(join(logs(node), 'meter.log'));
    linkSync(precious, join(logs(node), 'meter.log'));
    rmSync(join(logs(node), 'cache.log'));
    execFileSync('mkfifo', [join(logs(node), 'cache.log')]);
    chownSync(join(logs(node), 'cache.log'), user.uid, user.gid);
    process.kill(squid, 'SIGKILL');
    await t.until(() =>
      node.engine.faults().some(({ message }) => message.includes('does not run')),
    );
    // Squid would wait for a reader of its own pipe.
    renameSync(join(logs(node), 'cache.log'), join(logs(node), 'pipe'));
    await t.until(() => node.squids().some((pid) => pid !== squid));
    expect(statSync(precious).uid).toBe(0);
    expect(readFileSync(precious, 'utf8')).toBe('root\u2019s own\n');
  },
);

deepTest(
  'lines that Squid\u2019s user makes up bill no more than the machine carried, are reported, and leave honest traffic its bill',
  async () => {
    const node = await start();
    const journal = await Journal.open(join(node.dir, 'usage.journal'), { log });
    const options = { engine: node.engine, journal, clock: systemClock, log, poll_seconds: 1 };
    const meter = new Meter(options);
    await meter.tick();
    await t.ask(normal, 'GET', origin.url);
    const billed = () => journal.pending().reduce((sum, { up, down }) => sum + up + down, 0);
    await t.until(async () => {
      await meter.tick();
      return billed() > 0;
    });
    const honest = billed();
    const path = join(logs(node), 'meter.log');
    const own = readFileSync(path, 'utf8');
    const at = own.slice(own.lastIndexOf('\n', own.length - 2) + 1).split(' ');
    const claim = (up: number) =>
      `${[...at.slice(0, 2), 9, ...at.slice(3, 6), up, ...at.slice(7)].join(' ')}`;
    expect(t.messagesOf(node.engine)).toEqual([]);
    const forged = 100;
    const lines = Array.from({ length: forged }, () => claim(2 ** 40)).join('') + own;
    writeFileSync(path, lines, { flag: 'a' });
    await meter.tick();
    // The bytes that it wrote again may count once more for each time: so much was carried.
    expect(billed()).toBeLessThan(10 * honest);
    expect(node.engine.faults()).toMatchObject([{ kind: 'squid_log' }]);
    const before = billed();
    await t.ask(normal, 'GET', origin.url);
    await t.until(async () => {
      await meter.tick();
      return billed() > before;
    });
    expect(billed() - before).toBe(honest);
    await journal.close();
    expect(statSync(join(node.dir, 'squid', '0', 'seal.key'))).toMatchObject({ uid: 0, gid: 0 });
    expect(statSync(join(node.dir, 'squid', '0', 'seal.key')).mode & 0o777).toBe(0o600);
  },
);

test('only Squid\u2019s user may ask the agent for what a decider asks, and only root writes what Squid reads', async () => {
  const node = await share();
  const folder = join(node.dir, 'squid', '0');
  expect(statSync(folder)).toMatchObject({ uid: 0, gid: user.gid });
  expect(statSync(folder).mode & 0o027).toBe(0);
  expect(statSync(join(folder, 'agent.sock')).mode & 0o777).toBe(0o660);
  for (const name of ['squid.conf', 'squid.pid', 'rules.json', 'listeners.json', 'dial.sed'])
    expect([name, statSync(join(folder, name)).uid]).toEqual([name, 0]);
});
