// One connection: one request is handled, later ones wait, a refusal follows earlier responses.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { ClientNetwork } from '../../../kit/src/client_networks.ts';
import type { Own } from '../../../kit/src/owner.ts';

interface Request {
  request: IncomingMessage;
  response: ServerResponse;
  start: () => void;
}

/** How many requests may wait on one connection. One read can bring more: then it is cut. */
const maxWaiting = 1000;
/** From this many on, reading pauses until the last has its turn: its body may be on its way. */
const fewWaiting = 16;
/** For all connections together. Beyond it, connections with more than a few waiting are cut. */
const maxWaitingInAll = 8192;
/** How long a request may take to arrive after the connection, or its handshake, is complete. */
const beginMs = 1000;
/** How long a refused client may take to read the reason. */
const lingerMs = 1000;

export class Connection {
  readonly server: Server;
  /** The socket as the system accepted it; it may carry TLS. */
  readonly raw: Socket;
  /** The networks that the connection is counted with, the narrowest first. */
  readonly networks: readonly ClientNetwork[];
  /** The socket that carries HTTP. */
  socket: Socket;
  /** Whether it has sent a response. */
  isServed = false;
  /** Since when a request could arrive. */
  #openSince = performance.now();
  /** The first is the one being handled. */
  readonly #requests: Request[] = [];
  #newest: Request | undefined;
  #refusal: (() => void) | undefined;
  /** Whether it carried bytes that are no request: nothing after them is read as one. */
  isRefused = false;
  /** Bytes delivered to the client, and when that number last changed. */
  #deliveredBytes = 0;
  #deliveredAt = 0;
  #isPaused = false;
  readonly #all: { waiting: number };
  readonly #own: Own;

  /** `all` counts the waiting requests of all connections. */
  constructor(
    server: Server,
    raw: Socket,
    networks: readonly ClientNetwork[],
    all: { waiting: number },
    own: Own,
  ) {
    this.server = server;
    this.raw = raw;
    this.socket = raw;
    this.networks = networks;
    this.#all = all;
    this.#own = own;
    this.#ownPause = own(() => this.socket.pause());
  }

  /** Whether nothing is lost if it ends now. */
  get isIdle(): boolean {
    return this.#requests.length === 0;
  }

  /** Called when the handshake is complete: this socket carries HTTP. */
  carryHttp(socket: Socket): void {
    this.socket = socket;
    this.#openSince = performance.now();
  }

  /** Whether no request has begun or is on its way: browsers open connections in advance. */
  get isUnused(): boolean {
    const isInHandshake = this.socket === this.raw && this.server instanceof TlsServer;
    const isSilent = isInHandshake || this.socket.bytesRead === 0;
    return this.isIdle && isSilent && performance.now() - this.#openSince > beginMs;
  }

  /** Whether bytes for the client are still in this process. */
  get hasUnsent(): boolean {
    return this.socket.writableLength > 0 || this.raw.writableLength > 0;
  }

  /** Starts the request once those before it are answered. */
  take(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    // One read can bring more requests after the one that ended the connection.
    if (this.isRefused || this.raw.destroyed) return;
    this.#newest = { request, response, start };
    const waiting = this.#requests.push(this.#newest) - 1;
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

  /** Node resumes reading for the body of a request, and after a response was sent. */
  readonly #ownPause: () => void;

  #readOn(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.socket.off('resume', this.#ownPause);
    this.socket.resume();
  }

  /**
   * Answers bytes that are no request, after the responses to earlier requests, and ends the
   * connection. A request whose own body is at fault gets this answer instead of its response, or
   * only the end if it has its response.
   */
  refuse(bytes: string): void {
    if (this.isRefused) return;
    this.isRefused = true;
    if (this.isIdle && this.#newest?.request.complete === false) {
      this.#end('');
      return;
    }
    const last = this.#requests.at(-1);
    if (last && !last.request.complete) {
      this.#requests.pop();
      if (!this.isIdle) this.#all.waiting -= 1;
      // A response that is half sent cannot be taken back.
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

  /** How many seconds the client has not read anything that was written for it. */
  unreadSeconds(now: number): number {
    const { bytesWritten, writableLength } = this.socket;
    const deliveredBytes = bytesWritten - writableLength;
    if (writableLength === 0 || deliveredBytes !== this.#deliveredBytes) {
      this.#deliveredBytes = deliveredBytes;
      this.#deliveredAt = now;
    }
    return (now - this.#deliveredAt) / 1000;
  }

  /** Ends it at once. Waiting requests are never started. */
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
