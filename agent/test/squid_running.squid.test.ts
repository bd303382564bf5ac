// The Squid engine in operation: started, changed, killed, hung, left running and taken over.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { systemClock } from '../src/clock.ts';
import { startSquid } from '../src/squid/agent/engine.ts';
import { findSquidUser, findUnreadable } from '../src/squid/agent/unix_user.ts';
import * as t from './proxy_world.ts';
import { childrenOf, deciderOf, nodesOfFile, startSquidNode } from './squid_node.ts';

let origin: t.Origin;
beforeAll(async () => {
  origin = await t.startOrigin();
});
afterAll(() => origin?.stop());

const normal = { port: t.normalPort };
const stranger = { ...normal, from: t.sources[2] };
const byToken = { ...stranger, authorization: t.basic(t.tokenOf(2)) };
const requestInside = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const { start, share, stop } = nodesOfFile({
  probe: { password: 'probe-password', host: t.privateIp, port: 1 },
});

const reasonFor = async (through: t.Through) =>
  (await t.ask(through, 'GET', origin.url)).headers['x-exitward-reason'] ?? 'let in';

const oneExit = () => t.serverRecord({ exit_ips: [{ ip: t.exits[0], port_base: 1 }] });

test('a silent destination is rejected with timed_out, and an idle tunnel is closed', async () => {
  await start({ EXITWARD_AGENT_IDLE_SECONDS: '2' });
  const silent = createServer((socket) => socket.on('error', () => {}));
  await once(silent.listen(0, t.originIp), 'listening');
  const target = `${t.originIp}:${(silent.address() as AddressInfo).port}`;
  const tunnel = await t.openTunnel(normal, target);
  const { status, headers, body } = await t.ask(normal, 'GET', `http://${target}/`);
  expect([status, headers['x-exitward-reason']]).toEqual([504, 'timed_out']);
  expect(body).toContain('(timed_out).\n');
  await t.until(() => tunnel.socket.destroyed || tunnel.socket.readableEnded);
  silent.close();
});

test('exits come and go with the server\u2019s record, and what stays is not disturbed', async () => {
  const node = await share(oneExit());
  const { apply, squids, engine } = node;
  const before = squids();
  const tunnel = await t.openTunnel(normal, origin.to);
  await expect(t.ask({ port: normal.port + 1 }, 'GET', origin.url)).rejects.toThrow('ECONNREFUSED');
  await apply(t.serverRecord());
  expect((await t.see({ port: normal.port + 1 }, origin.url)).from).toBe(t.exits[1]);
  expect(squids()).toEqual(before);
  expect((await tunnel.ask(requestInside)).status).toBe(200);
  tunnel.socket.destroy();
  await apply(oneExit());
  await expect(t.ask({ port: normal.port + 1 }, 'GET', origin.url)).rejects.toThrow('ECONNREFUSED');
  await apply({ kind: 'server', value: null });
  expect(squids()).toEqual([]);
  expect(engine.listeners().size).toBe(0);
  expect((await engine.catchUp())?.revision).toBe(node.store.position?.revision);
  await apply(t.serverRecord());
  expect(await reasonFor(normal)).toBe('let in');
});

deepTest('a strict umask, as hardened machines have, keeps no file from Squid', async () => {
  const umask = process.umask(0o077);
  onTestFinished(() => void process.umask(umask));
  await start();
  expect(await reasonFor(normal)).toBe('let in');
  expect(await reasonFor(stranger)).toBe('unknown_address');
});

test('a change of policy does not make Squid read its configuration again', async () => {
  const { apply, squids } = await share();
  const before = deciderOf(squids()[0]);
  await apply(t.authlistRecord(1, t.sources[0], 2), t.userRecord(1));
  await apply(t.serverRecord());
  expect(deciderOf(squids()[0])).toBe(before);
});

test('without an agent it serves on, restarts included; the next agent takes it over', async () => {
  const node = await share();
  const { squids, apply, restart } = node;
  const [pid] = squids();
  const tunnel = await t.openTunnel(byToken, origin.to);
  await node.engine.stop({ leave_running: true });
  expect(await reasonFor(normal)).toBe('let in');
  expect(await reasonFor(stranger)).toBe('unknown_address');
  process.kill(deciderOf(pid) as number, 'SIGKILL');
  await t.until(async () => (await reasonFor(normal)) === 'let in');
  await restart();
  expect(squids()).toEqual([pid]);
  await apply(t.authlistRecord(1, t.sources[2]));
  expect(squids()).toEqual([pid]);
  expect(await reasonFor(stranger)).toBe('let in');
  tunnel.socket.destroy();
});

deepTest('without an agent, holdings at other nodes count until the lease ends', async () => {
  const { apply, engine } = await share();
  await apply(t.userRecord(1, { limits: { connections: 2 } }));
  engine.share([{ account: 1, user: 1, connections: 2, ahead: 2, networks: [] }]);
  await t.until(async () => (await reasonFor(normal)) === 'too_many_connections');
  await engine.stop({ leave_running: true });
  expect(await reasonFor(normal)).toBe('too_many_connections');
  await t.until(async () => (await reasonFor(normal)) === 'let in');
  await stop();
});

test('a tunnel that an earlier agent saw opened is closed by the next one when it must', async () => {
  const { apply, restart } = await share();
  const tunnel = await t.openTunnel(byToken, origin.to);
  await restart();
  await apply(t.userRecord(2, { active: false }));
  await tunnel.ended();
});

deepTest(
  'what authlist entries let in is not forgotten when a decider is replaced, nor without an agent',
  async () => {
    const node = await share();
    const { apply, squids, restart } = node;
    let messages: unknown[] = [];
    const areTold = async () => {
      messages = await node.engine.takeLastUsed();
      return messages.length > 0;
    };
    const ofAlice = [{ account: 1, entry: 1, at: expect.any(Number) }];
    expect(await reasonFor(normal)).toBe('let in');
    const old = deciderOf(squids()[0]);
    await apply(oneExit());
    await t.until(() => ![undefined, old].includes(deciderOf(squids()[0])));
    await t.until(areTold);
    expect(messages).toEqual(ofAlice);
    expect(await areTold()).toBe(false);
    await node.engine.stop({ leave_running: true });
    expect(await reasonFor(normal)).toBe('let in');
    await restart();
    await t.until(areTold);
    expect(messages).toEqual(ofAlice);
  },
);

test('a decider that dies is replaced, and knows what the dead one had let in', async () => {
  const { apply, squids, engine } = await share();
  const tunnel = await t.openTunnel(byToken, origin.to);
  // The agent's list has the connection.
  const { open } = await engine.poll(undefined);
  expect(open).toMatchObject([{ account: 2, user: 1 }]);
  const dead = deciderOf(squids()[0]) ?? 0;
  process.kill(dead, 'SIGKILL');
  await t.until(() => ![undefined, dead].includes(deciderOf(squids()[0])));
  await t.until(async () => (await reasonFor(normal)) === 'let in');
  await t.until(() =>
    apply(t.userRecord(2, { token_version: 2 })).then(
      () => true,
      () => false,
    ),
  );
  await tunnel.ended();
});

deepTest('a decider that hangs is found out and replaced', async () => {
  const { squids, engine } = await share();
  // A Squid whose first decider dies young, and before it ever responded, gives up itself.
  expect(await reasonFor(normal)).toBe('let in');
  const hung = deciderOf(squids()[0]) ?? 0;
  await t.halt(hung);
  await expect(engine.catchUp()).rejects.toThrow('does not answer');
  expect(t.messagesOf(engine)).toEqual(['The decider of Squid 0 did not answer, and was ended.']);
  await t.until(async () => (await reasonFor(normal)) === 'let in');
  await engine.catchUp();
  expect(engine.faults()).toEqual([]);
  expect(deciderOf(squids()[0])).not.toBe(hung);
});

test('a Squid that dies is started again, and what its tunnels had transferred is reported', async () => {
  const { squids, engine } = await share();
  const [pid = 0] = squids();
  const usage = await t.Usage.from(engine, origin.url);
  const tunnel = await t.openTunnel(normal, origin.to);
  await tunnel.ask(requestInside);
  await usage.poll();
  const [open] = usage.open;
  process.kill(pid, 'SIGKILL');
  await tunnel.ended();
  const finished: unknown[] = [];
  await t.until(async () => {
    // After thirty polls the engine gives up a connection, and it looks for dead Squids once a
    // second.
    await sleep(200);
    finished.push(...(await usage.poll()));
    return finished.length > 0 && squids().length === 1 && squids()[0] !== pid;
  });
  expect(open).toMatchObject({ account: 1, up: tunnel.sent, down: tunnel.received });
  expect(finished).toMatchObject([open ?? {}]);
  await t.until(async () => (await reasonFor(normal).catch(() => '')) === 'let in');
});

test('the password of the node\u2019s own check is in no argument, and in no file that others read', async () => {
  const { dir, squids } = await share();
  const pids = squids().flatMap((pid) => [pid, ...childrenOf(pid)]);
  for (const pid of pids) {
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain('probe-password');
  }
  const holders = execFileSync('grep', ['-rl', 'probe-password', dir], { encoding: 'utf8' });
  expect(holders.trim()).toBe(join(dir, 'squid/0/rules.json'));
  const nobody = { name: 'nobody', uid: 65_534, gid: 65_534 };
  expect(findUnreadable(join(dir, 'squid/0/rules.json'), nobody)).toBe(dir);
});

deepTest('a folder that Squid\u2019s user may not enter is named at the start', async () => {
  const { dir, config, rules } = await share();
  const closed = join(dir, 'closed');
  mkdirSync(join(closed, 'state'), { recursive: true });
  chmodSync(closed, 0o700);
  const user = findSquidUser();
  expect(user?.name).toBe('proxy');
  const started = startSquid({
    config: { ...config, state_dir: join(closed, 'state') },
    rules,
    dir: join(closed, 'state', 'policy'),
    clock: systemClock,
    log: pino({ level: 'silent' }),
  });
  await expect(started).rejects.toThrow(`${closed}: the user proxy`);
});

test('clients get only requests and tunnels from Squid, and no information about it', async () => {
  await share();
  for (const scheme of ['ftp', 'https', 'urn', 'cache_object']) {
    const answer = await t.ask(normal, 'GET', `${scheme}://${origin.to}/`);
    expect([scheme, answer.status]).toEqual([scheme, scheme === 'urn' ? 400 : 403]);
  }
  for (const host of ['exitward', '127.0.0.1']) {
    const target = `http://${host}:${normal.port}/squid-internal-mgr/info`;
    const answer = await t.ask(normal, 'GET', target);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.body).not.toContain('Connection information');
  }
});

deepTest(
  'more listeners than one Squid takes are parted among several, an exit\u2019s together',
  async () => {
    const node = await start({ EXITWARD_AGENT_LISTENERS_PER_SQUID: '6' });
    const { engine, squids } = node;
    expect(engine.faults()).toEqual([]);
    expect(squids()).toHaveLength(2);
    expect(engine.listeners().size).toBe(12);
    for (const [index, exit] of t.exits.entries()) {
      for (const port of [normal.port + index, normal.port + index + 500]) {
        expect((await t.see({ port }, origin.url)).from).toBe(exit);
      }
    }
    await node.apply(t.authlistRecord(1, null));
    for (const index of t.exits.keys()) {
      expect((await t.ask({ port: normal.port + index }, 'GET', origin.url)).status).toBe(407);
    }
  },
);

deepTest('a port that is taken is reported, and listened on when it is free', async () => {
  await stop();
  const other = createServer();
  await once(other.listen(normal.port + 1, '0.0.0.0'), 'listening');
  const { port } = other.address() as AddressInfo;
  const { engine } = await start();
  expect(t.messagesOf(engine)).toEqual([`Port ${port} is taken by another program.`]);
  expect(await reasonFor(normal)).toBe('let in');
  await new Promise((resolve) => other.close(resolve));
  await t.until(() => engine.faults().length === 0);
  expect(await reasonFor({ port })).toBe('let in');
});

test('a certificate that cannot be read is reported and changes nothing; a renewed one is put in force', async () => {
  const node = await start();
  const { dir, restart, squids } = node;
  const crt = join(dir, 'proxy.crt');
  const through = { port: t.tlsBase + 1, proxy_certificate: node.certificate };
  const [pid] = squids();
  await restart({ EXITWARD_AGENT_TLS_CERT: join(dir, 'missing.crt') });
  await node.engine.catchUp();
  expect(t.messagesOf(node.engine).join()).toMatch(
    /^The previous certificate stays in use: .*missing\.crt/,
  );
  await restart();
  writeFileSync(crt, 'no certificate');
  await node.engine.catchUp();
  expect(t.messagesOf(node.engine).join()).toMatch(
    /^The previous certificate stays in use: .*proxy\.crt/,
  );
  expect((await t.ask(through, 'GET', origin.url)).status).toBe(200);
  execFileSync('openssl', [
    ...['req', '-x509', '-key', join(dir, 'proxy.key'), '-out', crt, '-days', '90'],
    ...['-subj', '/CN=renewed', '-addext', 'subjectAltName=DNS:proxy.test'],
  ]);
  const renewed = readFileSync(crt, 'utf8');
  await t.until(async () =>
    t.ask({ ...through, proxy_certificate: renewed }, 'GET', origin.url).then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  expect(squids()).toEqual([pid]);
  expect(node.engine.faults()).toEqual([]);
});

test('ports that need a certificate are reported when there is none, and the others serve', async () => {
  const { engine } = await start({ EXITWARD_AGENT_TLS_CERT: '', EXITWARD_AGENT_TLS_KEY: '' });
  expect(t.messagesOf(engine)).toEqual([
    `No certificate for the ports ${[1, 501, 2, 502].map((port) => t.tlsBase + port).join(', ')}: set EXITWARD_AGENT_ACME, or EXITWARD_AGENT_TLS_CERT and EXITWARD_AGENT_TLS_KEY.`,
  ]);
  expect(await reasonFor(normal)).toBe('let in');
});

deepTest(
  'with a certificate that is bad from the start, or when Squid dies, the other ports serve',
  async () => {
    const node = await start();
    const { dir, restart, squids } = node;
    const crt = join(dir, 'proxy.crt');
    const good = readFileSync(crt, 'utf8');
    const tls = { port: t.tlsBase + 1, proxy_certificate: node.certificate };
    await node.engine.stop({ leave_running: false });
    // A valid certificate of another key.
    writeFileSync(crt, t.createCertificate('proxy.test').cert);
    await restart();
    await node.engine.catchUp();
    expect(t.messagesOf(node.engine).join()).toMatch(
      /^No certificate for the ports .*: .*proxy\.crt/,
    );
    expect(await reasonFor(normal)).toBe('let in');
    writeFileSync(crt, good);
    await node.apply(t.serverRecord({ hostname: 'other.example.net' }));
    expect((await t.ask(tls, 'GET', origin.url)).status).toBe(200);
    writeFileSync(crt, 'no certificate');
    const [pid = 0] = squids();
    process.kill(pid, 'SIGKILL');
    await t.until(() => squids().length === 1 && squids()[0] !== pid);
    await t.until(async () => (await reasonFor(normal).catch(() => '')) === 'let in');
    await expect(t.ask(tls, 'GET', origin.url)).rejects.toThrow('ECONNREFUSED');
  },
);

test('with leave, connections that are revoked or over a limit may continue: they are logged once, and end by order', async () => {
  await stop();
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) });
  const logged = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length;
  const node = await startSquidNode(
    { records: t.usualRecords(), settings: { EXITWARD_AGENT_ON_REVOKE: 'leave' } },
    { log },
  );
  try {
    const tunnel = await t.openTunnel(normal, origin.to);
    const others = [await t.openTunnel(byToken, origin.to), await t.openTunnel(byToken, origin.to)];
    await node.apply(t.authlistRecord(1, null), t.userRecord(2, { limits: { connections: 1 } }));
    expect(await reasonFor(normal)).toBe('unknown_address');
    await t.until(() => logged(/"unknown_address"/) > 0);
    await t.until(() => logged(/"too_many_connections"/) > 0);
    // The deciders look again each second.
    await sleep(2500);
    expect(logged(/"unknown_address"/)).toBe(1);
    expect(logged(/"too_many_connections"/)).toBe(1);
    for (const client of [tunnel, ...others]) {
      expect((await client.ask(requestInside)).status).toBe(200);
    }
    expect(logged(/allowed again/)).toBe(0);
    expect(await node.engine.end({ account: 1 })).toBe(1);
    expect(await node.engine.end({ account: 2 })).toBe(2);
    for (const client of [tunnel, ...others]) await client.ended();
    await t.until(async () => {
      await node.engine.poll(undefined);
      return logged(/"connections":\d.*allowed again/) > 0;
    });
  } finally {
    await node.stop();
  }
});

deepTest(
  'of two nodes with the same ports on two addresses, what one does is none of the other\u2019s',
  async () => {
    await stop();
    const startAt = (host: string, name_server?: string) =>
      startSquidNode({
        records: t.usualRecords(),
        settings: { EXITWARD_AGENT_LISTEN_HOST: host },
        ...(name_server === undefined ? {} : { name_server }),
      });
    const [first, other] = [
      await startAt('127.78.5.1'),
      await startAt('127.78.5.2', '127.78.2.200'),
    ];
    try {
      const tunnel = await t.openTunnel({ ...byToken, at: '127.78.5.1' }, origin.to);
      const own = await t.openTunnel({ ...byToken, at: '127.78.5.2' }, origin.to);
      await other.restart({ EXITWARD_AGENT_LISTEN_HOST: '127.78.5.2' });
      // Those without an owner are searched for in the next lists, and closed after some more.
      let [cursor, lists]: [unknown, number] = [undefined, 0];
      expect((await own.ask(requestInside)).status).toBe(200);
      await t.until(async () => {
        const poll = await other.engine.poll(cursor);
        cursor = poll.cursor;
        lists += 1;
        return lists > 8 && poll.open.length === 1;
      });
      expect((await tunnel.ask(requestInside)).status).toBe(200);
      await other.apply(t.userRecord(2, { active: false }));
      await own.ended();
      await other.apply(t.serverRecord({ exit_ips: [] }));
      expect((await tunnel.ask(requestInside)).status).toBe(200);
      await first.apply(t.userRecord(2, { active: false }));
      await tunnel.ended();
    } finally {
      await Promise.all([first.stop(), other.stop()]);
    }
  },
);
