// Usage from a real Squid and a real kernel, to the byte, compared with the counts of a raw client.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type Socket as Connection, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Authority } from '../src/policy/decision.ts';
import type { TrackedSquid } from '../src/squid/agent/connection.ts';
import { Connections } from '../src/squid/agent/connections.ts';
import { DestroyedSockets } from '../src/squid/agent/destroyed_sockets.ts';
import { MeterLog } from '../src/squid/agent/meter_log.ts';
import { meterFormat } from '../src/squid/conf/meter_format.ts';
import { killSockets, listSockets } from '../src/squid/sockets.ts';

const port = 18_431;
let dir: string;
let squid: ChildProcess;
let origin: Server;
let originPort: number;
let connections: Connections;
let destroyed: DestroyedSockets;
let cursor: unknown;
/** Deciders know connections that are open, or were a moment ago. */
let isOurs: (connection: string) => boolean;

const authority: Authority = { by: 'authlist', account: 1, user: 2, entry: 1, ip: '127.0.0.1' };

const tracked = (): TrackedSquid => ({
  number: 0,
  log: new MeterLog(join(dir, 'access.log')),
  ports: [port],
  tls_ports: new Set<number>(),
  async sendList(listed, take) {
    take(
      listed
        .filter((connection) => isOurs(connection))
        .map((connection) => [connection, authority]),
    );
    return true;
  },
});

/** Starts Squid with one port, where every client is user 2 of account 1. */
async function startSquid(): Promise<void> {
  const conf = join(dir, 'squid.conf');
  writeFileSync(
    conf,
    [
      `http_port 127.0.0.1:${port}`,
      `pid_filename ${dir}/squid.pid`,
      `cache_log ${dir}/cache.log`,
      `logformat meter ${meterFormat}`,
      `access_log stdio:${dir}/access.log logformat=meter`,
      'cache deny all',
      'acl known annotate_transaction account_=1 user_=2',
      'acl refused dstdomain refused.example',
      'http_access deny refused',
      'http_access allow known',
      `coredump_dir ${dir}`,
      'shutdown_lifetime 1 second',
      '',
    ].join('\n'),
  );
  squid = spawn('/usr/sbin/squid', ['-N', '-f', conf], { stdio: 'ignore' });
  for (let attempts = 100; ; attempts--) {
    const client = connect(port, '127.0.0.1');
    const outcome = await new Promise((resolve) => {
      client.on('connect', () => resolve('open')).on('error', () => resolve('refused'));
    });
    client.destroy();
    if (outcome === 'open') return;
    if (attempts === 0) throw new Error('Squid does not listen');
    await sleep(50);
  }
}

/** Responds with N bytes to each request `GET /N`, and to the first line `N` of a tunnel. */
function answer(socket: Connection): void {
  socket.on('error', () => {});
  let text = '';
  socket.on('data', (data) => {
    text += data.toString('latin1');
    for (;;) {
      const http = /^GET \/(\d+) HTTP\/1\.1\r\n[\s\S]*?\r\n\r\n/.exec(text);
      const plain = http ? undefined : /^b*\n?(\d+)\n/.exec(text);
      const match = http ?? plain;
      if (!match) return;
      text = text.slice(match[0].length);
      const bytes = Number(match[1]);
      if (http) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n`);
      socket.write(Buffer.alloc(bytes, 97));
    }
  });
}

/** A client that only counts. */
class Client {
  readonly socket = connect(port, '127.0.0.1');
  readonly closed: Promise<unknown>;
  received = 0;
  text = '';
  constructor() {
    this.closed = new Promise((resolve) => this.socket.on('close', resolve));
    this.socket.on('data', (data: Buffer) => {
      this.received += data.length;
      if (this.text.length < 1000) this.text += data.toString('latin1');
    });
    this.socket.on('error', () => {});
  }
  get sent(): number {
    return this.socket.bytesWritten;
  }
  async until(bytes: number): Promise<void> {
    for (let attempts = 500; this.received < bytes; attempts--) {
      if (attempts === 0) throw new Error(`received ${this.received} of ${bytes}`);
      await sleep(10);
    }
  }
  async get(bytes: number): Promise<void> {
    const before = this.received;
    this.socket.write(`GET http://127.0.0.1:${originPort}/${bytes} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await this.until(before + bytes + 60);
    await sleep(20);
  }
  async tunnel(): Promise<void> {
    this.socket.write(`CONNECT 127.0.0.1:${originPort} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await this.until(10);
  }
  async transfer(up: number, down: number): Promise<void> {
    const before = this.received;
    if (up > 0) this.socket.write(Buffer.alloc(up, 98));
    this.socket.write(`\n${down}\n`.slice(up > 0 ? 0 : 1));
    await this.until(before + down);
  }
  async close(): Promise<void> {
    this.socket.end();
    await this.closed;
    await sleep(50);
  }
}

const poll = async () => {
  const answer = await connections.poll(cursor, [tracked()], 1);
  cursor = JSON.parse(JSON.stringify(answer.cursor));
  return answer;
};
const sumOf = (rows: Array<{ up: number; down: number }>) => ({
  up: rows.reduce((sum, row) => sum + row.up, 0),
  down: rows.reduce((sum, row) => sum + row.down, 0),
});
const start = () => {
  isOurs = () => true;
  connections = new Connections({ listSockets, closeSuspects: () => {} });
};

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'exitward-squid-'));
  chmodSync(dir, 0o777);
  const user = Number(execFileSync('id', ['-u', 'proxy'], { encoding: 'utf8' }));
  chownSync(dir, user, user);
  origin = createServer(answer).listen(0, '127.0.0.1');
  await once(origin, 'listening');
  originPort = (origin.address() as { port: number }).port;
  destroyed = new DestroyedSockets(join(dir, 'destroyed'), pino({ level: 'silent' }));
  destroyed.watch([port]);
  await startSquid();
});

afterAll(async () => {
  destroyed.stop();
  squid.kill('SIGKILL');
  origin.close();
  await sleep(50);
  rmSync(dir, { recursive: true, force: true });
});

beforeEach(async () => {
  start();
  await poll();
});

test('plain requests on a kept-alive connection count to the byte, each once', async () => {
  const client = new Client();
  for (const bytes of [0, 1, 1000, 300_000]) await client.get(bytes);
  const name = `127.0.0.1:${client.socket.localPort}>${port}`;
  const first = await poll();
  const between = connections.stateOf(name);
  await client.get(77);
  await client.close();
  const second = await poll();
  const counted = sumOf([...first.finished, ...second.finished]);
  expect(counted).toEqual({ up: client.sent, down: client.received });
  expect(first.open).toEqual([]);
  expect([between, connections.stateOf(name)]).toEqual(['open', undefined]);
});

test('a tunnel counts while it is open, and to the byte when it is over', async () => {
  const client = new Client();
  await client.tunnel();
  await client.transfer(5000, 200_000);
  const first = await poll();
  expect(first.finished).toEqual([]);
  expect(first.open).toEqual([
    expect.objectContaining({ account: 1, user: 2, up: client.sent, down: client.received }),
  ]);
  await client.transfer(70_000, 3);
  await client.close();
  const second = await poll();
  expect(second.finished).toEqual([
    expect.objectContaining({ up: client.sent, down: client.received }),
  ]);
});

test('a refused request is not billed', async () => {
  const client = new Client();
  client.socket.write('CONNECT refused.example:443 HTTP/1.1\r\nHost: x\r\n\r\n');
  await client.until(100);
  await client.close();
  expect(client.text).toMatch(/^HTTP\/1\.1 403/);
  expect((await poll()).finished).toEqual([]);
});

test('another agent continues from the stored cursor', async () => {
  const client = new Client();
  await client.get(500);
  const first = await poll();
  start();
  const between = await poll();
  await client.get(600);
  await client.close();
  start();
  const last = await poll();
  expect(between).toMatchObject({ finished: [], open: [] });
  expect(sumOf([...first.finished, ...last.finished])).toEqual({
    up: client.sent,
    down: client.received,
  });
});

test('open connections can be closed from here, and are counted to the end', async () => {
  const clients = await Promise.all(
    Array.from({ length: 30 }, async (_, at) => {
      const client = new Client();
      await client.tunnel();
      await client.transfer(at, at * 1000);
      return client;
    }),
  );
  const { open } = await poll();
  const closed = clients.slice(1).map((client) => client.closed);
  await killSockets(
    open
      .map(({ connection }) => connection.split(' ')[0] ?? '')
      .filter((name) => !name.includes(`:${clients[0]?.socket.localPort}>`)),
  );
  await Promise.all(closed);
  expect(clients[0]?.socket.destroyed).toBe(false);
  await clients[0]?.close();
  await sleep(100);
  expect(sumOf((await poll()).finished)).toEqual({
    up: clients.reduce((sum, client) => sum + client.sent, 0),
    down: clients.reduce((sum, client) => sum + client.received, 0),
  });
});

test('of a Squid that is killed the last bytes come from the kernel', async () => {
  const clients = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const client = new Client();
      await client.tunnel();
      return client;
    }),
  );
  const ports = new Set(clients.map(({ socket }) => String(socket.localPort)));
  isOurs = (connection) => ports.has(/:(\d+)>/.exec(connection)?.[1] ?? '');
  await poll();
  await Promise.all(clients.map((client, at) => client.transfer(at * 10, at * 5000)));
  const closed = clients.map((client) => client.closed);
  squid.kill('SIGKILL');
  await Promise.all(closed);
  await sleep(200);
  const { finished, open } = await poll();
  expect(finished).toEqual([]);
  expect(open).toEqual([]);
  const last = connections.died(tracked(), destroyed.recent(), 1);
  expect(last.length).toBe(20);
  const sum = sumOf(last);
  const truth = {
    up: clients.reduce((total, client) => total + client.sent, 0),
    down: clients.reduce((total, client) => total + client.received, 0),
  };
  // The kernel may count the end of a stream as a byte.
  expect(Math.abs(sum.up - truth.up)).toBeLessThanOrEqual(20);
  expect(Math.abs(sum.down - truth.down)).toBeLessThanOrEqual(20);
  await startSquid();
  expect((await poll()).finished).toEqual([]);
});
