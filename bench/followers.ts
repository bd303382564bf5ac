// Nodes in one process that follow the changes and acknowledge them as the agent does: one at a
// time, the newest. Started by follow.ts.
import { connect, type Socket } from 'node:net';

/** The first message that it gets; it answers when all follow. */
export interface Following {
  url: string;
  /** One for each node. */
  tokens: string[];
  /** Where they begin. */
  position: string;
}

export interface Change {
  /** By which it is found in the stream. */
  ip: string;
  /** Of the steady clock that all processes of a machine share. */
  asked_ms: number;
  answered_ms: number;
}

export interface Times {
  p50_ms: number;
  p99_ms: number;
  most_ms: number;
}

/** Its answer to the changes that were made. */
export interface Followed {
  /** From the change's answer on. */
  received: Times;
  acknowledged: Times;
  acknowledgements: number;
}

/** That everything up to a revision had happened at a time. */
type Moment = [revision: number, ms: number];

/** As in agent/src/link/link.ts. */
const pauseMs = 100;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
/** By address: each change is another address. */
const revisions = new Map<string, number>();

class Follower {
  readonly received: Moment[] = [];
  readonly acknowledged: Moment[] = [];
  readonly #url: URL;
  readonly #token: string;
  readonly #epoch: string;
  readonly #stream: Socket;
  readonly #acks: Socket;
  readonly #isWitness: boolean;
  #rest = '';
  #sent = 0;
  #isWaiting = false;

  constructor({ url, position }: Following, token: string, isWitness: boolean) {
    this.#url = new URL(url);
    this.#token = token;
    this.#epoch = position.slice(0, position.indexOf(':'));
    this.#isWitness = isWitness;
    this.#stream = this.#connect((text) => this.#read(text));
    this.#acks = this.#connect((text) => this.#noteAcknowledged(text));
    this.#ask(this.#stream, 'GET /node/changes', `Last-Event-ID: ${position}\r\n\r\n`);
  }

  get revision(): number {
    return this.received.at(-1)?.[0] ?? 0;
  }

  #connect(read: (text: string) => void): Socket {
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port) });
    socket.setNoDelay().setEncoding('latin1');
    socket.on('data', read);
    socket.on('close', () => {
      throw new Error('a connection of a node ended');
    });
    return socket;
  }

  #ask(socket: Socket, what: string, rest: string): void {
    socket.write(
      `${what} HTTP/1.1\r\nHost: ${this.#url.host}\r\nAuthorization: Bearer ${this.#token}\r\n${rest}`,
    );
  }

  /** An event is a chunk of its own: what ends like one is whole. */
  #read(text: string): void {
    const all = this.#rest + text;
    const end = all.lastIndexOf('\n\n\r\n');
    if (end < 0) {
      this.#rest = all;
      return;
    }
    this.#rest = all.slice(end + 4);
    const ms = nowMs();
    const newest = all.lastIndexOf(`id: ${this.#epoch}:`, end);
    const revision = Number.parseInt(all.slice(newest + 5 + this.#epoch.length), 10);
    if (revision > this.revision) this.received.push([revision, ms]);
    if (this.#isWitness) {
      for (const [, of, ip] of all.matchAll(/^id: [^:]+:(\d+)\n.*\ndata: .*"ip":"([^"]+)"/gm)) {
        revisions.set(ip as string, Number(of));
      }
    }
    if (!this.#isWaiting) this.#acknowledge();
  }

  #acknowledge(): void {
    this.#isWaiting = true;
    this.#sent = this.revision;
    const body = `{"epoch":"${this.#epoch}","revision":${this.#sent}}`;
    this.#ask(
      this.#acks,
      'POST /node/acks',
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  }

  #noteAcknowledged(text: string): void {
    if (!text.startsWith('HTTP/1.1 204')) throw new Error(text);
    this.acknowledged.push([this.#sent, nowMs()]);
    setTimeout(() => {
      this.#isWaiting = false;
      if (this.revision > this.#sent) this.#acknowledge();
    }, pauseMs);
  }
}

let followers: Follower[] = [];

async function until(met: () => boolean): Promise<void> {
  while (!met()) await new Promise((resolve) => setTimeout(resolve, 20));
}

function timesOf(changes: Array<[revision: number, answered_ms: number]>, what: Moments): Times {
  const all: number[] = [];
  for (const follower of followers) {
    const moments = follower[what];
    let at = 0;
    for (const [revision, answered_ms] of changes) {
      while ((moments[at] as Moment)[0] < revision) at += 1;
      // A node may have it before its author has the answer.
      all.push(Math.max(0, (moments[at] as Moment)[1] - answered_ms));
    }
  }
  const sorted = Float64Array.from(all).sort();
  const quantile = (part: number) => sorted[Math.floor((sorted.length - 1) * part)] as number;
  return { p50_ms: quantile(0.5), p99_ms: quantile(0.99), most_ms: quantile(1) };
}

type Moments = 'received' | 'acknowledged';

process.on('message', async (message: Following | Change[]) => {
  if (!Array.isArray(message)) {
    followers = message.tokens.map((token, at) => new Follower(message, token, at === 0));
    await until(() => followers.every(({ acknowledged }) => acknowledged.length > 0));
    process.send?.('following');
    return;
  }
  await until(() => message.every(({ ip }) => revisions.has(ip)));
  const changes = message
    .map(({ ip, answered_ms }): [number, number] => [revisions.get(ip) as number, answered_ms])
    .sort(([a], [b]) => a - b);
  const last = changes.at(-1)?.[0] ?? 0;
  await until(() =>
    followers.every((follower) => (follower.acknowledged.at(-1)?.[0] ?? 0) >= last),
  );
  const followed: Followed = {
    received: timesOf(changes, 'received'),
    acknowledged: timesOf(changes, 'acknowledged'),
    acknowledgements: followers.reduce((sum, follower) => sum + follower.acknowledged.length, 0),
  };
  process.send?.(followed);
});
