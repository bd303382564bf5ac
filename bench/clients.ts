// Clients of a proxy for measurements: one request on a connection of its own, requests at a steady
// pace, and tunnels.
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A proxy, and from where it is asked. */
export interface Through {
  host: string;
  port: number;
  from?: string;
}

/** The target of a plain request. */
export interface Asked {
  /** As in the request's first line. */
  target: string;
  /** As in its Host header. */
  host: string;
}

export const requestText = ({ target, host }: Asked) =>
  `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

/** All that is answered to one request, until the connection ends; empty when it broke. */
export function ask({ host, port, from }: Through, request: Asked): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host, port, noDelay: true, ...(from ? { localAddress: from } : {}) });
    socket.write(requestText(request));
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
  });
}

/** Milliseconds of requests that begin at a steady pace, whether those before are over or not. */
export async function pace(
  through: Through,
  request: Asked,
  { per_second, seconds }: { per_second: number; seconds: number },
): Promise<number[]> {
  const times: number[] = [];
  const under_way: Promise<void>[] = [];
  const begin = performance.now();
  for (let at = 0; at < per_second * seconds; at++) {
    const due = begin + (at * 1000) / per_second;
    const early = due - performance.now();
    if (early > 1) await sleep(early);
    const from = performance.now();
    const answering = ask(through, request).then((text) => {
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(`not let in: ${text.slice(0, 200)}`);
      times.push(performance.now() - from);
    });
    under_way.push(answering);
  }
  await Promise.all(under_way);
  return times.sort((a, b) => a - b);
}

/** Of sorted values. */
export const quantile = (sorted: number[], part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;

/** One tunnel, whose bytes are counted and dropped. */
export class Tunnel {
  readonly #socket: Socket;
  received = 0;
  #wanted = 0;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** To the origin by its address; straight when there is no proxy. Errors: it is refused. */
  static async open(proxy: Through | undefined, to: Through): Promise<Tunnel> {
    const { host, port } = proxy ?? to;
    let tunnel: Tunnel | undefined;
    let head = '';
    let readEnd: (error?: Error) => void = () => {};
    const opened = new Promise<void>((resolve, reject) => {
      readEnd = (error) => (error ? reject(error) : resolve());
    });
    const socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(1 << 18),
        callback(length, buffer) {
          if (tunnel) tunnel.#take(length);
          else {
            head += (buffer as Buffer).toString('latin1', 0, length);
            if (!/^HTTP\/1\.[01] 200/.test(head)) readEnd(new Error(`no tunnel: ${head}`));
            else if (head.endsWith('\r\n\r\n')) readEnd();
          }
          return true;
        },
      },
    });
    socket.on('error', readEnd);
    socket.on('close', () => readEnd(new Error('the tunnel was closed')));
    if (proxy) {
      const name = `${to.host}:${to.port}`;
      socket.write(`CONNECT ${name} HTTP/1.1\r\nHost: ${name}\r\n\r\n`);
    } else socket.once('connect', () => readEnd());
    await opened;
    tunnel = new Tunnel(socket);
    return tunnel;
  }

  /** Has the origin send so many bytes; resolves when they are here. */
  fetch(bytes: number): Promise<void> {
    this.#wanted = this.received + bytes;
    this.#socket.write(`${bytes}\n`);
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(length: number): void {
    this.received += length;
    if (this.received >= this.#wanted) this.#wake();
  }
}
