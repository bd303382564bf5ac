// The clients' connections, and the bytes that each transfers for each account: every byte once, as the client counts it.
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { type Own, ownedByConnection } from '../../../kit/src/owner.ts';
import type { Clock } from '../clock.ts';
import type { Finished, Poll, Traffic } from '../engine.ts';

export interface Payer {
  account: number;
  user: number;
}

/** A request with its response, or a tunnel. */
export interface Exchange {
  /** Undefined while it is not known, and for what is not billed. */
  payer: Payer | undefined;
  /** Bytes from the client that are billed, where that is not all of them: of an upload in chunks. */
  up: number | undefined;
  /** Bytes to the client that are not billed: a `100 Continue`. */
  free_down: number;
}

export class Connection {
  readonly name: string;
  readonly socket: Socket;
  /** By the port scheme. */
  readonly port: number;
  /** Makes callbacks that work for it alone. */
  readonly own: Own;
  readonly #onFinished: (traffic: Traffic) => void;
  #current: Exchange | undefined;
  /** Requests that came before the responses to those ahead of them. */
  readonly #waiting: Array<(exchange: Exchange) => void> = [];
  #takesMore = true;
  /** Bytes that were transferred before the current exchange. */
  #before = { up: 0, down: 0 };

  constructor(
    name: string,
    socket: Socket,
    port: number,
    own: Own,
    onFinished: (traffic: Traffic) => void,
  ) {
    this.name = name;
    this.socket = socket;
    this.port = port;
    this.own = own;
    this.#onFinished = onFinished;
    socket.once(
      'close',
      own(() => {
        this.takeNoMore();
        if (this.#current) this.end(this.#current);
      }),
    );
  }

  /**
   * An exchange begins, when those before it are over: one at a time, so that each byte has one
   * payer. Never, if the connection takes no more by then.
   */
  begin(): Promise<Exchange> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#beginNext();
    });
  }

  /** Whether an exchange has begun and is not over. */
  get isBusy(): boolean {
    return this.#current !== undefined;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** The current exchange is the last: the connection is closed after it. */
  takeNoMore(): void {
    this.#takesMore = false;
  }

  /** The exchange is over, here and now; nothing happens if it was. The next bytes belong to the next exchange. */
  end(exchange: Exchange): void {
    if (exchange !== this.#current) return;
    const traffic = this.open();
    if (traffic) this.#onFinished(traffic);
    this.#before = this.#transferred();
    this.#current = undefined;
    this.#beginNext();
  }

  /** The bytes that are under way and billed. */
  open(): Traffic | undefined {
    const { payer, up: billed_up, free_down = 0 } = this.#current ?? {};
    if (!payer) return undefined;
    const { up, down } = this.#transferred();
    const all_up = up - this.#before.up;
    // With the next request behind it nothing tells where this one ended: all that came is billed.
    const own_up = this.hasWaiting ? all_up : (billed_up ?? all_up);
    return {
      connection: this.name,
      account: payer.account,
      user: payer.user,
      up: Math.min(own_up, all_up),
      // Free bytes may not be written yet.
      down: Math.max(0, down - this.#before.down - free_down),
    };
  }

  #beginNext(): void {
    if (this.#current || !this.#takesMore) return;
    const begin = this.#waiting.shift();
    if (!begin) return;
    this.#current = { payer: undefined, up: undefined, free_down: 0 };
    begin(this.#current);
  }

  /** Over TLS these are the bytes inside. Bytes that the system has not taken yet are not transferred. */
  #transferred() {
    const { bytesRead, bytesWritten, writableLength } = this.socket;
    return { up: bytesRead, down: bytesWritten - writableLength };
  }
}

interface Cursor {
  boot: string;
  /** How many have finished since the engine started, until then. */
  n: number;
}

export class Connections {
  readonly #boot = randomBytes(6).toString('hex');
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #byName = new Map<string, Connection>();
  readonly #bySocket = new WeakMap<Socket, Connection>();
  #count = 0;
  /** Exchanges that no poll has acknowledged yet; of all that finished, the last ones. */
  #finished: Finished[] = [];
  #finishedCount = 0;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** `onClosed` hears of its end when it has been counted. */
  add(socket: Socket, port: number, onClosed: (connection: Connection) => void): Connection {
    this.#count += 1;
    const name = `${this.#boot}-${this.#count}`;
    const own = ownedByConnection(this.#log, socket);
    const connection = new Connection(name, socket, port, own, (traffic) => {
      this.#finished.push({ ...traffic, at: this.#clock.now() });
      this.#finishedCount += 1;
    });
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

  /** The connection of a socket, if it is one: not before TLS is negotiated. */
  find(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** How many are open. */
  byPort(): Map<number, number> {
    const open = new Map<number, number>();
    for (const { port } of this.#byName.values()) open.set(port, (open.get(port) ?? 0) + 1);
    return open;
  }

  close(name: string): void {
    this.#byName.get(name)?.socket.destroy();
  }

  /** Every finished exchange is told until a cursor comes that was given together with it. */
  poll(cursor: unknown): Poll {
    const { boot, n } = (cursor ?? {}) as Partial<Cursor>;
    if (boot === this.#boot && n !== undefined) {
      const first = this.#finishedCount - this.#finished.length;
      this.#finished.splice(0, Math.max(0, n - first));
    }
    const open: Traffic[] = [];
    for (const connection of this.#byName.values()) {
      const traffic = connection.open();
      if (traffic) open.push(traffic);
    }
    const next: Cursor = { boot: this.#boot, n: this.#finishedCount };
    return { finished: [...this.#finished], open, cursor: next };
  }
}
