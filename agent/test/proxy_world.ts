import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import ipaddr from 'ipaddr.js';
import { vi } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import type { ServerValue } from '../../kit/src/node_interface.ts';
import type { Engine, Finished, Traffic } from '../src/engine.ts';
import type { Fault } from '../src/faults.ts';
import type { Rules } from '../src/policy/decision.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import {
  contractRecord,
  createCertificate,
  createSigningKey,
  hour,
  now,
  signToken,
  userRecord,
} from './node_records.ts';

export {
  contractRecord,
  createCertificate,
  createCertificateChain,
  now,
  userRecord,
} from './node_records.ts';

// ---- Addresses and records ----------------------------------------------------------------

export const exits = ['127.78.1.1', '127.78.1.2'] as const;
export const originIp = '127.78.2.1';
export const otherOriginIp = '127.78.2.2';
/** The origin has this address, too, but must never be reached there. */
export const privateIp = '127.78.3.1';
export const nameServerIp = '127.78.2.53';
/** Clients: the addresses of accounts 1 and 2 are on authlists, the third is on none. */
export const sources = ['127.78.4.1', '127.78.4.2', '127.78.4.3'] as const;

const slot = await takeSlot();
/** Ports: base + 1 or 2 for the exits, 500 more for custom DNS. */
export const base = 11_000 + 1000 * Math.floor(slot / 12) + 40 * (slot % 12);
/** The base of another port scheme. */
export const otherBase = base + 10;
export const tlsBase = base + 20;
export const normalPort = base + 1;
export const overridePort = base + 501;

/**
 * Tests that run at once listen on different ports: each thread has a slot while it lives, which a
 * listener reserves.
 */
async function takeSlot(): Promise<number> {
  const held = globalThis as { exitwardSlot?: number };
  for (let slot = 0; held.exitwardSlot === undefined && slot < 120; slot += 1) {
    const holder = createNetServer()
      .listen(10_800 + slot, '127.78.0.1')
      .unref();
    await once(holder, 'listening').then(
      () => {
        held.exitwardSlot = slot;
      },
      () => undefined,
    );
  }
  if (held.exitwardSlot === undefined) throw new Error('No slot of ports is free for this thread');
  return held.exitwardSlot;
}

const key = createSigningKey('k1');

/** The networks of the origins, which these tests allow although they are private. */
export const allowed = '127.78.2.0/24,fd78::2:0/112';

/** The rules of the node's operator, in these tests. */
export const nodeId = 7;

export const rules = {
  node: nodeId,
  connect_ports: [{ first: 81, last: 65_535 }],
  http_ports: [{ first: 81, last: 65_535 }],
  allowed: parseNetworks(allowed),
  staleness_seconds: 3600,
} satisfies Rules;

export const serverRecord = (change: Partial<ServerValue> = {}): NodeRecord => ({
  kind: 'server',
  value: {
    name: 'fra1',
    hostname: 'fra1.example.net',
    services: ['proxy', 'proxy-https'],
    port_schemes: [
      {
        name: 'default',
        bases: [
          { base, service: 'proxy' },
          { base: tlsBase, service: 'proxy-https' },
        ],
      },
      { name: 'other', bases: [{ base: otherBase, service: 'proxy' }] },
    ],
    exit_ips: exits.map((ip, index) => ({ ip, port_base: index + 1 })),
    ...change,
  },
});

export const authlistRecord = (
  account: number,
  ip: string | null,
  user = 1,
  id = 1,
): NodeRecord => ({
  kind: 'authlist',
  account,
  id,
  value: ip === null ? null : { ip, user, expiry: now() + hour },
});

export const overrideRecord = (
  account: number,
  hostname: string,
  ip: string | null,
): NodeRecord => ({
  kind: 'override',
  account,
  id: 1,
  value: ip === null ? null : { hostname, ip, expiry: now() + hour },
});

/** Two accounts of two users each; alice of each has an address. */
export const usualRecords = (): NodeRecord[] => [
  serverRecord(),
  { kind: 'keys', value: [key.public] },
  ...[1, 2].flatMap((account) => [
    contractRecord(account),
    userRecord(account),
    userRecord(account, {}, 2),
    authlistRecord(account, sources[account - 1] as string),
  ]),
];

export interface TokenChange {
  user?: number;
  token_version?: number;
  expiry?: number;
}

export function tokenOf(account: number, change: TokenChange = {}): string {
  const { user = 1, token_version = 1, expiry = now() + hour } = change;
  return signToken(key, [1, 'k1', account, user, token_version, expiry]);
}

export const basic = (password: string, user = 'alice') =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

// ---- The origin ---------------------------------------------------------------------------

/** A request, as the origin saw it. */
export interface Seen {
  /** The address that was dialled, and the one it came from. */
  at: string;
  from: string;
  from_port: number;
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body_bytes: number;
}

export interface Origin {
  port: number;
  /** Its address at `originIp`, for CONNECT: `ADDRESS:PORT`. */
  to: string;
  /** Its URL at `originIp`. */
  url: string;
  tls_port: number;
  /** Of www.example, PEM. */
  certificate: string;
  /** Every address that a connection was made to. */
  dialled: Set<string>;
  stop(): Promise<void>;
}

/**
 * An origin that responds with the request as it saw it; to `/with/JSON`, with these headers, too;
 * to `/bytes/N`, with as many bytes. At every address of the host's family.
 */
export async function startOrigin(host = '0.0.0.0'): Promise<Origin> {
  const pair = createCertificate('www.example');
  const dialled = new Set<string>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { localAddress = '', remoteAddress = '', remotePort = 0 } = request.socket;
    let body_bytes = 0;
    for await (const chunk of request) body_bytes += chunk.length;
    const { method = '', url = '', headers } = request;
    const [, count] = /^\/bytes\/(\d+)$/.exec(url) ?? [];
    if (count !== undefined) {
      response.end(Buffer.alloc(Number(count), 'x'));
      return;
    }
    const [, own] = /^\/with\/(.*)$/.exec(url) ?? [];
    if (own !== undefined)
      response.setHeaders(new Map(Object.entries(JSON.parse(decodeURIComponent(own)))));
    const ends = { at: localAddress, from: remoteAddress, from_port: remotePort };
    const seen: Seen = { ...ends, method, url, headers, body_bytes };
    response.end(JSON.stringify(seen));
  };
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    // A request may break off.
    answer(request, response).catch(() => response.destroy());
  };
  const servers = [createServer(handle), createTlsServer(pair, handle)];
  for (const server of servers) {
    server.on('connection', (socket: Socket) => dialled.add(socket.localAddress ?? ''));
    await once(server.listen({ host, port: 0, ipv6Only: true }), 'listening');
  }
  const [port = 0, tls_port = 0] = servers.map((server) => (server.address() as AddressInfo).port);
  const to = `${originIp}:${port}`;
  return {
    port,
    to,
    url: `http://${to}/`,
    tls_port,
    certificate: pair.cert,
    dialled,
    async stop() {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

// ---- The name server ----------------------------------------------------------------------

/** Addresses of a name, looked up again for each query. */
export type Names = Map<string, () => string[] | Promise<string[]>>;

export interface NameServer {
  address: string;
  stop(): void;
}

/** A name server that knows only these names. By default their TTL is 0. */
export async function startNameServer(
  names: Names,
  on: {
    ip: string;
    port: number;
    ttl_seconds?: number;
    ignores_ipv6?: boolean;
    /** The code of all its responses, such as 2 (failure) or 5 (refused). */
    response_code?: number;
  },
) {
  const socket = createSocket('udp4');
  socket.on('message', async (query, { address, port }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = query.readUInt16BE(at + 1);
    if (type === 28 && on.ignores_ipv6) return;
    const find = names.get(labels.join('.').toLowerCase());
    const addresses = ((await find?.()) ?? []).map((ip) => ipaddr.parse(ip));
    const answers = addresses
      .filter((ip) => type === (ip.kind() === 'ipv4' ? 1 : 28))
      .map((ip) => ip.toByteArray())
      .map((bytes) =>
        Buffer.from([
          ...[0xc0, 12, 0, type, 0, 1, 0, 0, 0, on.ttl_seconds ?? 0, 0, bytes.length],
          ...bytes,
        ]),
      );
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 + (on.response_code ?? (find ? 0 : 3)), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([head, query.subarray(12, at + 5), ...answers]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(on.port, on.ip, resolve));
  const server: NameServer = {
    address: `${on.ip}:${socket.address().port}`,
    stop: () => void socket.close(),
  };
  return server;
}

// ---- Clients ------------------------------------------------------------------------------

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface Through {
  port: number;
  /** Address of the client; default: alice's of account 1. */
  from?: string;
  /** Its port; default: any. */
  local_port?: number;
  /** Address of the proxy; default: loopback. */
  at?: string;
  authorization?: string;
  /** Certificate of the proxy, to speak TLS with it. */
  proxy_certificate?: string;
}

/** A connection to the proxy that counts its own bytes. */
export class Client {
  readonly socket: Socket;
  sent = 0;
  received = 0;
  isEnded = false;
  isClosed = false;
  static #exchanges = 0;
  #text = '';
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.length;
      this.#text += chunk.toString('latin1');
      this.#wake();
    });
    socket.on('error', () => {});
    socket.on('end', () => {
      this.isEnded = true;
      this.#wake();
    });
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  static async open(through: Through): Promise<Client> {
    const { port, from = sources[0], local_port, proxy_certificate } = through;
    const host = through.at ?? (from.includes(':') ? '::1' : '127.0.0.1');
    const local = { localAddress: from, ...(local_port ? { localPort: local_port } : {}) };
    const raw = connect({ host, port, ...local, allowHalfOpen: true });
    await once(raw, 'connect');
    if (proxy_certificate === undefined) return new Client(raw);
    const socket = connectTls({ socket: raw, servername: 'proxy.test', ca: proxy_certificate });
    await once(socket, 'secureConnect');
    return new Client(socket);
  }

  write(data: string | Buffer): void {
    this.sent += Buffer.byteLength(data);
    this.socket.write(data);
  }

  /** Takes the received text when it is as expected. Errors: the connection ended before. */
  async take<T>(read: (text: string) => { value: T; length: number } | undefined): Promise<T> {
    for (;;) {
      const value = read(this.#text);
      if (value) {
        this.#text = this.#text.slice(value.length);
        return value.value;
      }
      if (this.isEnded || this.isClosed) throw new Error(`ended after ${this.#text.slice(0, 200)}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  takeBytes(length: number): Promise<string> {
    return this.take((text) =>
      text.length < length ? undefined : { value: text.slice(0, length), length },
    );
  }

  /** The next response; one without Content-Length ends with its head. */
  answer(): Promise<Answer> {
    return this.take((text) => {
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return undefined;
      const [first = '', ...lines] = text.slice(0, end).split('\r\n');
      const headers = Object.fromEntries(
        lines.map((line) => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
        }),
      );
      const length = end + 4 + Number(headers['content-length'] ?? 0);
      if (text.length < length) return undefined;
      const status = Number(first.split(' ')[1]);
      return { value: { status, headers, body: text.slice(end + 4, length) }, length };
    });
  }

  ask(text: string): Promise<Answer> {
    this.write(text);
    return this.answer();
  }

  /** One plain exchange with the origin, of a unique length. */
  static async exchange(url: string, through: Through = { port: normalPort }): Promise<Client> {
    const client = await Client.open(through);
    await client.ask(requestText('GET', `${url}?${'x'.repeat(5000 + Client.#exchanges++)}`));
    await client.close();
    return client;
  }

  /** Ends the connection, and waits until the proxy does, too. */
  async close(): Promise<void> {
    this.socket.end();
    if (!this.isClosed) await once(this.socket, 'close');
  }

  /** Resolves when the proxy has ended the connection. */
  async ended(): Promise<void> {
    await until(() => this.isEnded || this.isClosed);
    this.socket.destroy();
  }
}

export function requestText(
  method: string,
  target: string,
  { authorization }: Pick<Through, 'authorization'> = {},
  body = '',
): string {
  const host = target.replace(/^\w+:\/\//, '').replace(/\/.*/, '');
  return [
    `${method} ${target} HTTP/1.1`,
    `Host: ${host}`,
    ...(authorization === undefined ? [] : [`Proxy-Authorization: ${authorization}`]),
    ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    '',
    body,
  ].join('\r\n');
}

/** One request on a connection of its own. */
export async function ask(through: Through, method: string, target: string): Promise<Answer> {
  const client = await Client.open(through);
  try {
    return await client.ask(requestText(method, target, through));
  } finally {
    client.socket.destroy();
  }
}

/** A plain request, as the origin saw it. */
export async function see(through: Through, url: string): Promise<Seen> {
  return read(await ask(through, 'GET', url));
}

/** The request that the origin saw, from its response. Errors: the response is not the origin's. */
export function read({ status, body }: Answer): Seen {
  if (status !== 200) throw new Error(`${status}: ${body}`);
  return JSON.parse(body) as Seen;
}

/** Opens a tunnel. Errors: the proxy refuses it. */
export async function openTunnel(through: Through, to: string): Promise<Client> {
  const client = await Client.open(through);
  const { status, body } = await client.ask(requestText('CONNECT', to, through));
  if (status !== 200) throw new Error(`${status}: ${body}`);
  return client;
}

// ---- Usage --------------------------------------------------------------------------------

/** Follows the finished traffic that an engine reports, as the meter does. */
export class Usage {
  readonly #engine: Engine;
  #cursor: unknown;
  /** By account and user: `1 2`. */
  readonly sums = new Map<string, { up: number; down: number }>();
  open: Traffic[] = [];

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  /**
   * Follows from now on: earlier requests are over, and counted.
   *
   * `url`: the origin, for a request that is waited for. Counts come in order, and an engine may
   * still have to report a connection that is not listed any more.
   */
  static async from(engine: Engine, url?: string, through?: Through): Promise<Usage> {
    const usage = new Usage(engine);
    const last = url === undefined ? undefined : await Client.exchange(url, through);
    let isLastCounted = last === undefined;
    await until(async () => {
      const finished = await usage.poll();
      isLastCounted ||= finished.some(
        ({ up, down }) => up === last?.sent && down === last.received,
      );
      return isLastCounted && usage.open.length === 0;
    });
    usage.sums.clear();
    return usage;
  }

  async poll(): Promise<Finished[]> {
    const { finished, open, cursor } = await this.#engine.poll(this.#cursor);
    for (const { account, user, up, down } of finished) {
      const sum = this.sums.get(`${account} ${user}`) ?? { up: 0, down: 0 };
      this.sums.set(`${account} ${user}`, { up: sum.up + up, down: sum.down + down });
    }
    this.open = open;
    this.#cursor = cursor;
    return finished;
  }

  /** All sums, when they equal these, or after five seconds. */
  async settled(expected: Record<string, { up: number; down: number }>) {
    for (let attempts = 100; attempts > 0; attempts--) {
      await this.poll();
      const sums = Object.fromEntries(this.sums);
      const keys = new Set([...Object.keys(sums), ...Object.keys(expected)]);
      const isSame = [...keys].every(
        (key) => sums[key]?.up === expected[key]?.up && sums[key]?.down === expected[key]?.down,
      );
      if (isSame && this.open.length === 0) break;
      await sleep(50);
    }
    return Object.fromEntries(this.sums);
  }
}

/** The faults as people read them. */
export const messagesOf = (holder: { faults(): Fault[] }): string[] =>
  holder.faults().map(({ message }) => message);

/**
 * Halts a process; resolves once each of its threads has stopped, which takes a while on a busy
 * machine.
 */
export async function halt(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const tasks = `/proc/${pid}/task`;
  await until(() =>
    readdirSync(tasks).every((task) =>
      /^\d+ \(.*\) T /.test(readFileSync(`${tasks}/${task}/stat`, 'utf8')),
    ),
  );
}

/** Waits until a condition is true, long enough for a busy machine. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const check = async () => {
    if (!(await holds())) throw new Error('it did not come to hold');
  };
  await vi.waitFor(check, { timeout: 90_000 });
}
