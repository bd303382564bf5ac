// One connection of a client: one request in work, those behind it wait, and a refusal is sent after the answers before it.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Own } from '../../../kit/src/owner.ts';

interface Request {
  request: IncomingMessage;
  response: ServerResponse;
  start: () => void;
}

/** So many requests may wait on one connection. One read can bring more: then it is cut. */
const maxWaiting = 1000;
/** From so many on, nothing more is read until the last of them has its turn: the rest of its body may be on its way. */
const fewWaiting = 16;
/** On all connections together; past it those with more than a few are cut. */
const maxWaitingInAll = 8192;
/** A request may be on its way for so long after the connection, or its handshake, was complete. */
const beginMs = 1000;
/** How long a refused client may take to read why. */
const lingerMs = 1000;

export class Connection {
  readonly server: Server;
  /** As the system accepted it; it may carry TLS. */
  readonly raw: Socket;
  /** The network that it is counted with. */
  readonly network: string;
  /** The socket that carries HTTP. */
  socket: Socket;
  /** Whether it has had a response. */
  isServed = false;
  /** Since when a request could come. */
  #openSince = performance.now();
  /** The first is in work. */
  readonly #requests: Request[] = [];
  #refusal: (() => void) | undefined;
  /** Whether bytes on it were no request: nothing behind them is read as one. */
  isRefused = false;
  /** Bytes that the client has taken, and since when it has taken no more. */
  #deliveredBytes = 0;
  #deliveredAt = 0;
  #isPaused = false;
  readonly #all: { waiting: number };
  readonly #own: Own;

  /** `all` counts the requests that wait on all connections together. */
  constructor(server: Server, raw: Socket, network: string, all: { waiting: number }, own: Own) {
    this.server = server;
    this.raw = raw;
    this.socket = raw;
    this.network = network;
    this.#all = all;
    this.#own = own;
    this.#ownPause = own(() => this.socket.pause());
  }

  /** Whether nothing is lost when it ends now. */
  get isIdle(): boolean {
    return this.#requests.length === 0;
  }

  /** The handshake is complete: this socket carries HTTP. */
  carryHttp(socket: Socket): void {
    this.socket = socket;
    this.#openSince = performance.now();
  }

  /** Whether no request has begun, and none is on its way: browsers open connections before they need them. */
  get isUnused(): boolean {
    const isInHandshake = this.socket === this.raw && this.server instanceof TlsServer;
    const isSilent = isInHandshake || this.socket.bytesRead === 0;
    return this.isIdle && isSilent && performance.now() - this.#openSince > beginMs;
  }

  /** Whether bytes that were written for the client are still in this process. */
  get hasUnsent(): boolean {
    return this.socket.writableLength > 0 || this.raw.writableLength > 0;
  }

  /** Starts the request when those before it are answered. */
  take(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    // One read can bring more requests behind the one that ended it.
    if (this.isRefused || this.raw.destroyed) return;
    const waiting = this.#requests.push({ request, response, start }) - 1;
    if (waiting === 0) {
      this.#startFirst();
      return;
    }
    this.#all.waiting += 1;
    if (waiting > maxWaiting || (waiting > fewWaiting && this.#all.waiting > maxWaitingInAll)) {
      this.cut();
    } else if (waiting >= fewWaiting && !this.#isPaused) {
      this.#isPaused = true;
      this.socket.on('resume', this.#ownPause);
      this.socket.pause();
    }
  }

  #startFirst(): void {
    const first = this.#requests[0];
    if (!first) return;
    this.#deliveredAt = performance.now();
    first.response.once(
      'close',
      this.#own(() => this.#finish(first)),
    );
    first.start();
  }

  #finish(request: Request): void {
    if (this.#requests[0] !== request) return;
    this.#requests.shift();
    this.isServed = true;
    if (this.#requests.length <= 1) this.#readOn();
    if (this.#requests.length > 0) {
      this.#all.waiting -= 1;
      this.#startFirst();
    } else if (this.#refusal) {
      this.#refusal();
    }
  }

  /** Node reads on for the body of a request, and when a response has gone. */
  readonly #ownPause: () => void;

  #readOn(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.socket.off('resume', this.#ownPause);
    this.socket.resume();
  }

  /**
   * Sends what is said to bytes that are no request, behind the answers to those before them; then the connection ends.
   * A request whose own body is at fault is not answered otherwise.
   */
  refuse(bytes: string): void {
    if (this.isRefused) return;
    this.isRefused = true;
    const last = this.#requests.at(-1);
    if (last && !last.request.complete) {
      this.#requests.pop();
      if (!this.isIdle) this.#all.waiting -= 1;
      // Half of a response cannot be taken back.
      if (this.isIdle && last.response.headersSent) this.cut();
    }
    if (this.isIdle) this.#end(bytes);
    else this.#refusal = () => this.#end(bytes);
  }

  #end(bytes: string): void {
    const cut = this.#own(() => this.cut());
    const late = setTimeout(cut, lingerMs);
    this.socket.once('end', cut);
    this.raw.once('close', () => clearTimeout(late));
    this.socket.end(bytes);
  }

  /** Since how many seconds the client has taken nothing of what was written for it. */
  unreadSeconds(now: number): number {
    const { bytesWritten, writableLength } = this.socket;
    const deliveredBytes = bytesWritten - writableLength;
    if (writableLength === 0 || deliveredBytes !== this.#deliveredBytes) {
      this.#deliveredBytes = deliveredBytes;
      this.#deliveredAt = now;
    }
    return (now - this.#deliveredAt) / 1000;
  }

  /** Ends it at once. The requests that wait are never started. */
  cut(): void {
    this.forget();
    this.socket.destroy();
    this.raw.destroy();
  }

  /** To be called when it has ended. */
  forget(): void {
    this.#all.waiting -= Math.max(0, this.#requests.length - 1);
    this.#requests.length = 0;
  }
}
