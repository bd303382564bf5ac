// A small scripted node: joins, takes the snapshot, follows the stream, acknowledges when the test
// says so.
import type { Transaction } from '../src/db/database.ts';
import type { Running } from '../src/main.ts';
import { createInvite } from '../src/nodes/nodes.ts';
import { requireServer } from '../src/servers/servers.ts';
import { until } from './waiting.ts';

/** A record as it was received. */
export interface NodeRecord {
  kind: string;
  account?: number;
  id?: number;
  value: unknown;
}

export interface StreamEvent {
  id: string;
  revision: number;
  event: string;
  records: NodeRecord[];
}

export class TestNode {
  readonly url: string;
  readonly token: string;
  readonly id: number;
  epoch = '';
  /** The last revision seen, by snapshot or stream. */
  revision = 0;
  readonly events: StreamEvent[] = [];
  #stream: AbortController | undefined;
  #headers: Record<string, string> = {};
  /** Set when the server ended the stream. */
  ended = false;

  constructor(url: string, id: number, token: string) {
    this.url = url;
    this.id = id;
    this.token = token;
  }

  static async join(
    running: Running,
    write: <T>(action: (tx: Transaction) => Promise<T>) => Promise<T>,
    server: string,
    name = `${server}-node`,
  ): Promise<TestNode> {
    const { code } = await write(async (tx) =>
      createInvite(tx, running.ctx.secrets, await requireServer(tx, server)),
    );
    return TestNode.invited(running.node_url, code, name);
  }

  /** Joins by an invitation. */
  static async invited(url: string, code: string, name = 'fra1-a'): Promise<TestNode> {
    const response = await fetch(`${url}/node/join`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code, name, version: 'test' }),
    });
    const body = (await response.json()) as { node: number; token: string; message?: string };
    if (response.status !== 201) throw new Error(`join: ${response.status} ${body.message}`);
    return new TestNode(url, body.node, body.token);
  }

  send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(`${this.url}/node${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Takes a snapshot; answers its records without the first and the last line. */
  async snapshot(): Promise<NodeRecord[]> {
    const response = await this.send('GET', '/snapshot');
    const lines = (await response.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [first, last] = [lines[0], lines.at(-1)];
    if (first.kind !== 'snapshot' || last.kind !== 'end' || last.records !== lines.length - 2) {
      throw new Error('the snapshot is not whole');
    }
    this.epoch = first.epoch;
    this.revision = first.revision;
    return lines.slice(1, -1);
  }

  /** Follows the stream from the last revision seen; resolves when it is open. */
  async follow(headers: Record<string, string> = {}): Promise<void> {
    const controller = new AbortController();
    this.#stream = controller;
    this.#headers = headers;
    this.ended = false;
    const response = await fetch(`${this.url}/node/changes`, {
      headers: {
        authorization: `Bearer ${this.token}`,
        'last-event-id': `${this.epoch}:${this.revision}`,
        ...headers,
      },
      signal: controller.signal,
    });
    if (response.status !== 200)
      throw new Error(`follow: ${response.status} ${await response.text()}`);
    const ended = () => {
      if (this.#stream === controller) this.ended = true;
    };
    void this.#read(response).then(ended, ended);
  }

  async #read(response: Response): Promise<void> {
    let text = '';
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      text += new TextDecoder().decode(chunk);
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        this.#take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  }

  #take(block: string): void {
    const field = (name: string) =>
      block
        .split('\n')
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2) ?? '';
    const id = field('id');
    const event = field('event');
    const revision = Number(id.split(':')[1]);
    this.revision = Math.max(this.revision, revision);
    const records = event === 'change' ? (JSON.parse(field('data')) as NodeRecord[]) : [];
    this.events.push({ id, revision, event, records });
  }

  /**
   * Resolves when `met` holds of what was heard so far. A stream that the server has ended is
   * followed again meanwhile, as the agent does: where a test's clock leaps, the node was silent.
   * Errors: after a minute and a half, with the events.
   */
  async until(met: (node: TestNode) => boolean): Promise<void> {
    const otherwise = () => `not heard in time; heard ${JSON.stringify(this.events)}`;
    const look = async () => {
      if (met(this)) return true;
      if (this.ended && !this.#stream?.signal.aborted) await this.follow(this.#headers);
      return met(this);
    };
    await until(look, 90, otherwise);
  }

  /** All records heard by stream of one kind, in order. */
  heard(kind: string): NodeRecord[] {
    return this.events.flatMap((event) => event.records).filter((record) => record.kind === kind);
  }

  /** Acknowledges a revision; the last one seen when nothing is said. */
  async ack(revision = this.revision): Promise<number> {
    const response = await this.send('POST', '/acks', { epoch: this.epoch, revision });
    await response.text();
    return response.status;
  }

  /** Acknowledges whatever it hears, one look later; returns how that ends. */
  keepAcknowledging(): () => void {
    let seen = this.revision;
    const timer = setInterval(() => {
      if (this.revision > seen) void this.ack();
      seen = this.revision;
    }, 20);
    return () => clearInterval(timer);
  }

  /** Takes a snapshot, follows, and acknowledges it. */
  async start(): Promise<void> {
    await this.snapshot();
    await this.follow();
    await this.ack();
  }

  stop(): void {
    this.#stream?.abort();
  }
}
