// Clients that count their own bytes, and the origin that they speak with: plain requests, and
// tunnels.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../server/test/random.ts';
import { until } from '../../server/test/waiting.ts';
import { originIp } from './places.ts';
import type { Tally } from './tally.ts';

// ---- The origin ---------------------------------------------------------------------------

export interface Origin {
  host: string;
  /** Answers `/N` with N bytes, when it has read the request's body. */
  http_port: number;
  /** Takes a head of two numbers, how many bytes follow and how many to answer, again and again. */
  tunnel_port: number;
  stop(): Promise<void>;
}

const headBytes = 8;

export async function startOrigin(host = originIp): Promise<Origin> {
  const http = createServer((request, response) => {
    request.resume().once('end', () => {
      const bytes = Number(/^\/(\d+)$/.exec(request.url ?? '')?.[1] ?? 0);
      response.setHeader('Content-Length', bytes).end(Buffer.alloc(bytes, 'x'));
    });
  });
  const sockets = new Set<Socket>();
  const tunnels = createTcpServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    answerParts(socket);
  });
  for (const server of [http, tunnels]) await once(server.listen(0, host), 'listening');
  const [http_port = 0, tunnel_port = 0] = [http, tunnels].map(
    (server) => (server.address() as AddressInfo).port,
  );
  return {
    host,
    http_port,
    tunnel_port,
    async stop() {
      http.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      for (const server of [http, tunnels]) await new Promise((done) => server.close(done));
    },
  };
}

function answerParts(socket: Socket): void {
  let waiting = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    while (waiting.length >= headBytes) {
      const [up, down] = [waiting.readUInt32BE(0), waiting.readUInt32BE(4)];
      if (waiting.length < up) return;
      waiting = waiting.subarray(up);
      socket.write(Buffer.alloc(down, 'y'));
    }
  });
}

// ---- One connection to a proxy ------------------------------------------------------------

export interface Through {
  host: string;
  port: number;
  /** The client's address. */
  from: string;
  /** `user:token`. */
  credentials?: string | undefined;
}

export interface Answer {
  status: number;
  /** Why the proxy refused it. */
  reason: string | undefined;
  body: string;
}

export class ProxyConnection {
  readonly socket: Socket;
  readonly #through: Through;
  sent = 0;
  received = 0;
  isClosed = false;
  #unread = Buffer.alloc(0);
  #wake: () => void = () => undefined;

  private constructor(socket: Socket, through: Through) {
    this.socket = socket;
    this.#through = through;
    socket.on('data', (chunk: Buffer) => {
      this.received += chunk.length;
      this.#unread = Buffer.concat([this.#unread, chunk]);
      this.#wake();
    });
    socket.on('error', () => undefined);
    const end = () => {
      this.isClosed = true;
      this.#wake();
    };
    socket.once('end', end);
    socket.once('close', end);
  }

  /** Errors: when nobody listens. */
  static async open(through: Through): Promise<ProxyConnection> {
    const { host, port, from } = through;
    const socket = connect({ host, port, localAddress: from, noDelay: true });
    await once(socket, 'connect');
    return new ProxyConnection(socket, through);
  }

  /** A request with this body; the answer's body is as long as the path says. */
  ask(method: string, target: string, body = ''): Promise<Answer> {
    this.write(this.requestText(method, target, body));
    return this.answer();
  }

  requestText(method: string, target: string, body = ''): string {
    const { credentials } = this.#through;
    const encoded = credentials && Buffer.from(credentials).toString('base64');
    const lines = [
      `${method} ${target} HTTP/1.1`,
      `Host: ${target.replace(/^\w+:\/\//, '').replace(/\/.*/, '')}`,
      ...(encoded === undefined ? [] : [`Proxy-Authorization: Basic ${encoded}`]),
      ...(body === '' ? [] : [`Content-Length: ${body.length}`]),
    ];
    return `${lines.join('\r\n')}\r\n\r\n${body}`;
  }

  write(data: string | Buffer): void {
    this.sent += data.length;
    this.socket.write(data);
  }

  /** The next answer. Errors: the connection ended before it was whole. */
  async answer(): Promise<Answer> {
    let end = this.#unread.indexOf('\r\n\r\n');
    while (end < 0) {
      await this.#more();
      end = this.#unread.indexOf('\r\n\r\n');
    }
    const head = this.#unread.toString('latin1', 0, end);
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    this.#unread = this.#unread.subarray(end + 4);
    return {
      status: Number(head.split(' ')[1]),
      reason: /^x-exitward-reason: *(\S+)/im.exec(head)?.[1],
      body: (await this.take(length)).toString('latin1'),
    };
  }

  /** So many bytes. Errors: the connection ended before. */
  async take(length: number): Promise<Buffer> {
    while (this.#unread.length < length) await this.#more();
    const chunk = this.#unread.subarray(0, length);
    this.#unread = this.#unread.subarray(length);
    return chunk;
  }

  /** A part of a tunnel's traffic, there and back. Errors: the connection ended. */
  async transfer(up: number, down: number): Promise<void> {
    const part = Buffer.alloc(up + headBytes, 'z');
    part.writeUInt32BE(part.length, 0);
    part.writeUInt32BE(down, 4);
    this.write(part);
    await this.take(down);
  }

  /** Ends it, and waits for the proxy to do so, too. */
  async close(): Promise<void> {
    this.socket.end();
    while (!this.isClosed) await this.#once();
    this.socket.destroy();
  }

  /** Whether the proxy ends it in this time. */
  async endsWithin(seconds: number): Promise<boolean> {
    await until(() => this.isClosed, seconds).catch(() => undefined);
    return this.isClosed;
  }

  async #more(): Promise<void> {
    if (this.isClosed) throw new Error('the connection has ended');
    await this.#once();
  }

  #once(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** One request on a connection of its own. */
export async function ask(through: Through, method: string, target: string): Promise<Answer> {
  const connection = await ProxyConnection.open(through);
  try {
    return await connection.ask(method, target);
  } finally {
    connection.socket.destroy();
  }
}

/** A tunnel that was given. Errors: with the reason, when it was not. */
export async function openTunnel(through: Through, to: string): Promise<ProxyConnection> {
  const connection = await ProxyConnection.open(through);
  const { status, reason } = await connection.ask('CONNECT', to);
  if (status === 200) return connection;
  connection.socket.destroy();
  throw new Error(`${status} ${reason}`);
}

// ---- A customer's traffic -----------------------------------------------------------------

/** Uses a proxy without a break, through all that happens to it, and counts. */
export class Traffic {
  readonly #through: Through;
  readonly #origin: Origin;
  readonly #tally: Tally;
  readonly #random: Random;
  readonly #running: Promise<void>;
  #pauses = false;
  #stops = false;
  #isIdle = false;

  constructor(options: { through: Through; origin: Origin; tally: Tally; random: Random }) {
    this.#through = options.through;
    this.#origin = options.origin;
    this.#tally = options.tally;
    this.#random = options.random;
    this.#running = this.#run();
  }

  /** Transfers nothing, and keeps what is open; resolves when nothing is under way. */
  async pause(): Promise<void> {
    this.#pauses = true;
    await until(() => this.#isIdle, 60);
  }

  resume(): void {
    this.#pauses = false;
    this.#isIdle = false;
  }

  async stop(): Promise<void> {
    this.#stops = true;
    this.resume();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stops) {
      const work = this.#random.one([() => this.#plain(), () => this.#tunnel()]);
      await work().catch(() => sleep(50));
      await this.#mayGoOn();
    }
  }

  /** Some requests on one connection. */
  async #plain(): Promise<void> {
    await this.#mayGoOn();
    const connection = await ProxyConnection.open(this.#through);
    for (
      let remaining = this.#random.between(1, 6);
      remaining > 0 && !this.#stops;
      remaining -= 1
    ) {
      const [up, down] = this.#sizes();
      const url = `http://${this.#origin.host}:${this.#origin.http_port}/${down}`;
      const text = connection.requestText('POST', url, 'b'.repeat(up));
      const isAllowed = await this.#count(connection, text.length, down + 1000, async () => {
        connection.write(text);
        return connection.answer();
      });
      if (!isAllowed) break;
      await this.#rest();
    }
    await connection.close();
  }

  /** A tunnel that transfers, and rests, and transfers. */
  async #tunnel(): Promise<void> {
    await this.#mayGoOn();
    const connection = await ProxyConnection.open(this.#through);
    const text = connection.requestText(
      'CONNECT',
      `${this.#origin.host}:${this.#origin.tunnel_port}`,
    );
    const isAllowed = await this.#count(connection, text.length, 1000, () => {
      connection.write(text);
      return connection.answer();
    });
    for (
      let remaining = this.#random.between(5, 60);
      isAllowed && remaining > 0 && !this.#stops;
      remaining -= 1
    ) {
      const [up, down] = this.#sizes();
      await this.#count(connection, up + headBytes, down, async () => {
        await connection.transfer(up, down);
        return undefined;
      });
      await this.#rest();
    }
    await connection.close();
  }

  /** Adds what an exchange transferred to the tally; answers whether it was allowed. */
  async #count(
    connection: ProxyConnection,
    most_up: number,
    most_down: number,
    exchange: () => Promise<Answer | undefined>,
  ): Promise<boolean> {
    if (connection.isClosed) throw new Error('the connection has ended');
    const before = { up: connection.sent, down: connection.received };
    try {
      const answer = await exchange();
      if (answer && answer.status !== 200) {
        this.#tally.addRefusal(`${answer.status} ${answer.reason}`);
        // It may have been let in, and failed afterwards: that is billed.
        if (answer.status >= 500) {
          const [up, down] = [connection.sent - before.up, connection.received - before.down];
          this.#tally.addBroken({ up, down });
        }
        return false;
      }
    } catch (error) {
      this.#tally.addBroken({ up: most_up, down: most_down });
      throw error;
    }
    this.#tally.addWhole({
      up: connection.sent - before.up,
      down: connection.received - before.down,
    });
    return true;
  }

  /** Some traffic is nearly always under way, and leaves CPU time for the processes under test. */
  async #rest(): Promise<void> {
    await sleep(this.#random.between(0, 50));
    await this.#mayGoOn();
  }

  #sizes(): [up: number, down: number] {
    const size = () => this.#random.between(1, this.#random.one([100, 5000, 100_000]));
    return [size(), size()];
  }

  async #mayGoOn(): Promise<void> {
    while (this.#pauses && !this.#stops) {
      this.#isIdle = true;
      await sleep(10);
    }
  }
}
