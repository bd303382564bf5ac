// A control plane that a test scripts, over real HTTP, and that remembers what it received.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';
import type { Position } from '../../kit/src/node_interface.ts';
import type { NodeRecord } from '../src/policy/records.ts';

/** A response instead of the usual one. */
export interface Rejection {
  status: number;
  /** JSON, unless it is a text. */
  body?: object | string;
  headers?: Record<string, string>;
  /** How often; default: always. */
  times?: number;
}

interface Answered {
  id: number;
  answer: Record<string, unknown>;
}

export class ScriptedControl {
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #streams = new Set<ServerResponse>();
  url = '';
  epoch = 'e1';
  revision = 1;
  records: NodeRecord[] = [];
  /** By `METHOD /path` below /node; removed by the test. */
  readonly rejections = new Map<string, Rejection>();
  /** While set, acknowledgements are not answered. */
  ackGate: Promise<void> | undefined;
  /** The address that it claims to see; undefined: the true one. */
  seen_as: string | undefined;
  /** The seconds by which its clock is ahead of this machine's. */
  ahead_seconds = 0;
  /** All requests: `GET /snapshot`. */
  readonly asked: string[] = [];
  /** The requested start of each stream. */
  readonly resumed: string[] = [];
  /** Those of them that did not acknowledge it. */
  readonly unacknowledging: string[] = [];
  readonly acknowledged: Position[] = [];
  /** The number of open connections in the last acknowledgement. */
  connections: string | string[] | undefined;
  readonly usage: unknown[] = [];
  readonly lastUsed: unknown[] = [];
  readonly health: unknown[] = [];
  readonly answers: Answered[] = [];
  readonly faults: Array<Array<Record<string, unknown>>> = [];

  static async start(): Promise<ScriptedControl> {
    const control = new ScriptedControl();
    await new Promise<void>((resolve) => control.#server.listen(0, '127.0.0.1', resolve));
    control.url = `http://127.0.0.1:${(control.#server.address() as AddressInfo).port}`;
    return control;
  }

  async stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
  }

  get streams(): number {
    return this.#streams.size;
  }

  /** The lines of the current snapshot. */
  snapshot(): string {
    const { epoch, revision, records } = this;
    const lines = [{ kind: 'snapshot', epoch, revision }, ...records];
    return [...lines, { kind: 'end', records: records.length }]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join('');
  }

  /** Sends a change. It is in the next snapshot only if the test adds it. */
  change(...records: NodeRecord[]): void {
    this.revision += 1;
    this.write(
      `id: ${this.epoch}:${this.revision}\nevent: change\ndata: ${JSON.stringify(records)}\n\n`,
    );
  }

  position(): void {
    this.write(`id: ${this.epoch}:${this.revision}\nevent: position\ndata: ${this.revision}\n\n`);
  }

  write(text: string): void {
    for (const stream of this.#streams) stream.write(text);
  }

  /** Breaks off the streams. */
  cut(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  /** Resolves when this is true. Errors: after half a minute, with the last requests. */
  async until(met: () => boolean): Promise<void> {
    const check = () => {
      if (met()) return;
      const acknowledged = JSON.stringify(this.acknowledged.slice(-5));
      throw new Error(`not met; asked: ${this.asked.slice(-20)}; acknowledged: ${acknowledged}`);
    };
    await vi.waitFor(check, { timeout: 90_000, interval: 5 });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const line = `${request.method} ${request.url?.replace(/^\/node/, '')}`;
    const text = await readText(request);
    this.asked.push(line);
    const time = new Date(Date.now() + this.ahead_seconds * 1000);
    response.setHeader('date', time.toUTCString());
    const rejection = this.rejections.get(line);
    if (rejection?.times !== undefined) rejection.times -= 1;
    if (rejection && (rejection.times ?? 0) >= 0) {
      const { status, body = { message: `${status}` }, headers = {} } = rejection;
      response.writeHead(status, headers);
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    } else if (line === 'GET /healthz') response.end('{"status":"ok"}');
    else if (line === 'GET /echo') {
      response.end(JSON.stringify({ address: this.seen_as ?? request.socket.remoteAddress }));
    } else if (line === 'GET /snapshot') response.end(this.snapshot());
    else if (line === 'GET /changes') this.#open(request, response);
    else {
      if (line === 'POST /acks') this.connections = request.headers['exitward-connections'];
      await this.#take(line, JSON.parse(text || '{}'), response);
    }
  }

  #open(request: IncomingMessage, response: ServerResponse): void {
    const from = String(request.headers['last-event-id']);
    this.resumed.push(from);
    if (request.headers['exitward-acknowledges'] === 'false') this.unacknowledging.push(from);
    if (!from.startsWith(`${this.epoch}:`)) {
      const body = { message: 'another history', code: 'snapshot_needed' };
      response.writeHead(409).end(JSON.stringify(body));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    this.#streams.add(response);
    response.once('close', () => this.#streams.delete(response));
    this.position();
  }

  async #take(line: string, body: object, response: ServerResponse): Promise<void> {
    const send = (status: number, value?: unknown) => {
      response.writeHead(status);
      response.end(value === undefined ? undefined : JSON.stringify(value));
    };
    if (line === 'POST /acks') {
      this.acknowledged.push(body as Position);
      await this.ackGate;
      send(204);
    } else if (line === 'POST /answers') {
      this.answers.push(body as Answered);
      send(204);
    } else if (line === 'POST /usage') {
      this.usage.push(body);
      send(200, { counted: true, held: false, left_out: [], limits: [] });
    } else if (line === 'POST /last-used') {
      this.lastUsed.push(body);
      send(204);
    } else if (line === 'POST /health') {
      this.health.push(body);
      send(200, { known: 1 });
    } else if (line === 'POST /faults') {
      this.faults.push((body as { faults: [] }).faults);
      send(204);
    } else if (line === 'POST /join') send(201, { node: 7, server: 'fra1', token: 'ewn_secret' });
    else send(404, { message: `There is no ${line}.` });
  }
}

async function readText(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return text;
}
