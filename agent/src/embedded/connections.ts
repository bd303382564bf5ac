// The clients' connections, and the bytes that each transfers for each account. Every byte counts
// once, as the client counts it.
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { type Own, ownedByConnection } from '../../../kit/src/owner.ts';
import type { Clock } from '../clock.ts';
import type { Finished, Poll, Traffic } from '../engine.ts';
import { EndedUses, type ExitUse, type OpenUse } from '../exit_use.ts';

export interface Payer {
  account: number;
  user: number;
}

/** A request with its response, or a tunnel. */
export interface Exchange {
  /** Undefined while unknown, and for traffic that is not billed. */
  payer: Payer | undefined;
  /** Billed bytes from the client, if not all of them are billed, as for a chunked upload. */
  up: number | undefined;
  /** Bytes to the client that are not billed, such as `100 Continue`. */
  free_down: number;
  /** How it uses an exit; undefined while it does not. */
  use: ExitUse | undefined;
}

/** Most requests that wait on a connection. Programs that pipeline, such as apt, send up to ten. */
const maxWaiting = 16;

export class Connection {
  readonly name: string;
  readonly socket: Socket;
  /** By the port scheme. */
  readonly port: number;
  /** Epoch seconds. */
  readonly since: number;
  /** The exit of the last request that was let in. */
  exit_ip: string | undefined;
  /** The owner of this connection's callbacks. */
  readonly own: Own;
  readonly #onFinished: (traffic: Traffic) => void;
  readonly #onUsed: (use: OpenUse) => void;
  #exchanges = 0;
  #current: Exchange | undefined;
  /** Pipelined requests, which wait for the responses before theirs. */
  readonly #waiting: Array<(exchange: Exchange) => void> = [];
  #takesMore = true;
  /** Bytes transferred before the current exchange. */
  #before = { up: 0, down: 0 };
  /** The total of all bytes when a look last found it increased, and the time of that look. */
  #lastMove: { bytes: number; at: number };

  constructor(
    name: string,
    socket: Socket,
    port: number,
    since: number,
    own: Own,
    onFinished: (traffic: Traffic) => void,
    onUsed: (use: OpenUse) => void,
  ) {
    this.name = name;
    this.socket = socket;
    this.port = port;
    this.since = since;
    this.#lastMove = { bytes: 0, at: since };
    this.own = own;
    this.#onFinished = onFinished;
    this.#onUsed = onUsed;
    // However a socket ends, this is called. Afterwards, bytes of the last write that the system
    // has not accepted look as if they were sent.
    const destroy = socket._destroy;
    socket._destroy = (error, done) => {
      own(() => this.#endLast())();
      destroy.call(socket, error, done);
    };
  }

  #endLast(): void {
    this.takeNoMore();
    if (this.#current) this.end(this.#current);
  }

  /**
   * Begins an exchange when the earlier ones are over. Exchanges run one at a time, so that each
   * byte has one payer. Never resolves if the connection accepts no more requests by then. A
   * request above `maxWaiting` ends the connection.
   */
  begin(): Promise<Exchange> {
    return new Promise((resolve) => {
      if (this.#waiting.length >= maxWaiting) return void this.socket.destroy();
      this.#waiting.push(resolve);
      this.#beginNext();
    });
  }

  /** Whether an exchange is under way. */
  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Makes the current exchange the last one: the connection is closed after it. */
  takeNoMore(): void {
    this.#takesMore = false;
  }

  /**
   * Ends the exchange: further bytes belong to the next one. Does nothing if it is over already.
   */
  end(exchange: Exchange): void {
    if (exchange !== this.#current) return;
    const traffic = this.open();
    if (traffic) this.#onFinished(traffic);
    const { use } = this;
    if (use) this.#onUsed(use);
    this.#before = this.#transferred();
    this.#current = undefined;
    this.#beginNext();
  }

  /** How the current exchange uses an exit. */
  get use(): OpenUse | undefined {
    const { use } = this.#current ?? {};
    return use && { ...use, key: `${this.name}.${this.#exchanges}` };
  }

  /** The billed bytes under way. */
  open(): Traffic | undefined {
    const { payer, up: bodyBytes, free_down = 0 } = this.#current ?? {};
    if (!payer) return undefined;
    const { up, down } = this.#transferred();
    const receivedBytes = up - this.#before.up;
    // If the next request was already received, the end of this one is unknown, and everything
    // received is billed.
    const billedBytes = this.hasWaiting ? receivedBytes : (bodyBytes ?? receivedBytes);
    return {
      connection: this.name,
      account: payer.account,
      user: payer.user,
      up: Math.min(billedBytes, receivedBytes),
      // Some of the bytes that are not billed may not be written yet.
      down: Math.max(0, down - this.#before.down - free_down),
    };
  }

  /** Its bytes so far, and the look at which they last increased. */
  look(now: number): { up: number; down: number; last_byte_at: number } {
    const { up, down } = this.#transferred();
    const { bytes, at } = this.#lastMove;
    if (up + down > bytes) this.#lastMove = { bytes: up + down, at: now };
    else if (at > now) this.#lastMove = { bytes, at: now }; // The clock was set back.
    return { up, down, last_byte_at: this.#lastMove.at };
  }

  #beginNext(): void {
    if (this.#current || !this.#takesMore) return;
    const begin = this.#waiting.shift();
    if (!begin) return;
    this.#exchanges += 1;
    this.#current = { payer: undefined, up: undefined, free_down: 0, use: undefined };
    begin(this.#current);
  }

  /** With TLS, decrypted bytes. Bytes that the system has not accepted do not count yet. */
  #transferred() {
    const { bytesRead, bytesWritten, writableLength } = this.socket;
    return { up: bytesRead, down: bytesWritten - writableLength };
  }
}

interface Cursor {
  boot: string;
  /** Its number among those finished since the engine started. */
  n: number;
}

export class Connections {
  readonly #boot = randomBytes(6).toString('hex');
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #byName = new Map<string, Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  #count = 0;
  /** Finished exchanges that no poll has acknowledged yet. */
  #finished: Finished[] = [];
  #finishedCount = 0;
  /** For the connection log. */
  readonly ended: EndedUses;

  constructor(clock: Clock, log: Logger, isLogged = false) {
    this.ended = new EndedUses(isLogged);
    this.#clock = clock;
    this.#log = log;
  }

  /** `onClosed` is called once its end has been counted. */
  add(socket: Socket, port: number, onClosed: (connection: Connection) => void): Connection {
    this.#count += 1;
    const name = `${this.#boot}-${this.#count}`;
    const own = ownedByConnection(this.#log, socket);
    const onFinished = (traffic: Traffic) => {
      this.#finished.push({ ...traffic, at: this.#clock.now() });
      this.#finishedCount += 1;
    };
    const onUsed = (use: OpenUse) => this.ended.note({ ...use, until: this.#clock.now() });
    const since = this.#clock.now();
    const connection = new Connection(name, socket, port, since, own, onFinished, onUsed);
    this.#byName.set(name, connection);
    this.#bySocket.set(socket, connection);
    socket.once(
      'close',
      own(() => {
        this.#byName.delete(name);
        onClosed(connection);
      }),
    );
    return connection;
  }

  /** The connection of a socket that was added. */
  of(socket: Socket): Connection {
    return this.find(socket) as Connection;
  }

  /** The connection of a socket, if there is one: not before TLS is negotiated. */
  find(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** The number of open connections. */
  byPort(): Map<number, number> {
    const open = new Map<number, number>();
    for (const { port } of this.#byName.values()) open.set(port, (open.get(port) ?? 0) + 1);
    return open;
  }

  /** The uses of exits that are under way. */
  *uses(): Generator<OpenUse> {
    for (const { use } of this.#byName.values()) if (use) yield use;
  }

  named(name: string): Connection | undefined {
    return this.#byName.get(name);
  }

  close(name: string): void {
    this.#byName.get(name)?.socket.destroy();
  }

  /** A finished exchange is returned until the cursor that came with it comes back. */
  poll(cursor: unknown): Poll {
    const { boot, n } = (cursor ?? {}) as Partial<Cursor>;
    if (boot === this.#boot && n !== undefined) {
      const first = this.#finishedCount - this.#finished.length;
      this.#finished.splice(0, Math.max(0, n - first));
    }
    const open: Traffic[] = [];
    const now = this.#clock.now();
    for (const connection of this.#byName.values()) {
      connection.look(now);
      const traffic = connection.open();
      if (traffic) open.push(traffic);
    }
    const next: Cursor = { boot: this.#boot, n: this.#finishedCount };
    return { finished: [...this.#finished], open, cursor: next };
  }
}
