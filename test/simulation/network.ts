// The simulated network between one machine and the control plane: it delays, loses and breaks off.
import { EventEmitter } from 'node:events';
import { ControlError } from '../../agent/src/control_error.ts';
import type { OpenConnection } from '../../agent/src/engine.ts';
import type { ControlPlane, StreamEvent } from '../../agent/src/link/control.ts';
import { EventReader, type ServerEvent } from '../../agent/src/link/events.ts';
import type { NodeRecord } from '../../agent/src/policy/records.ts';
import type { UsageAnswer } from '../../agent/src/usage/sender.ts';
import type { Elsewhere } from '../../agent/src/user_counts.ts';
import type {
  HoldingsReport,
  LargestGroups,
  Position,
  UsageBatch,
} from '../../kit/src/node_interface.ts';
import { ApiError } from '../../server/src/errors.ts';
import type { Random } from '../../server/test/random.ts';
import type { Owner, Scheduler, Trace } from './scheduler.ts';

/** The requests that the control plane takes from a node; an error when it rejects one. */
export interface Door {
  readonly isUp: boolean;
  snapshot(token: string, response: Response): Promise<void>;
  changes(token: string, after: Position, response: Response): Promise<void>;
  acknowledge(token: string, position: Position): Promise<void>;
  reportUsage(token: string, batch: UsageBatch): Promise<UsageAnswer>;
  reportConnections(
    token: string,
    watch: number,
    largest: LargestGroups,
    held: readonly OpenConnection[],
  ): Promise<void>;
  reportHoldings(token: string, report: HoldingsReport): Promise<Elsewhere[]>;
  takeOrder(token: string, order: number): Promise<void>;
  reportEnded(token: string, order: number, ended: number): Promise<void>;
}

/** As long as the HTTP client waits for an answer, and for more of one. */
const answerSeconds = 10;
const silenceSeconds = 40;
/** How long the control plane may believe in a connection that is none any more. */
const halfOpen_seconds = 60;
const mostLineBytes = 2 ** 20;
const usualSlowestSeconds = 0.05;

export interface LineOptions {
  owner: Owner;
  scheduler: Scheduler;
  random: Random;
  trace: Trace;
  /** Hears of each piece of a stream that the agent reads. */
  onContact: () => void;
}

/** The line between a node and its control plane: its state, and all connections over it. */
export class Line {
  readonly options: LineOptions;
  isCut = false;
  /** Of a hundred. */
  requestsLost = 0;
  answersLost = 0;
  slowest_seconds = usualSlowestSeconds;
  readonly #connections = new Set<Connection>();
  /** Requests that the agent sends while it is not certain that it lives on. */
  #held: Array<() => void> | undefined;

  constructor(options: LineOptions) {
    this.options = options;
  }

  latency(): number {
    return 0.001 + this.options.random.next() * this.slowest_seconds;
  }

  heal(): void {
    this.isCut = false;
    this.requestsLost = 0;
    this.answersLost = 0;
    this.slowest_seconds = usualSlowestSeconds;
  }

  get isWell(): boolean {
    const isSlow = this.slowest_seconds > usualSlowestSeconds;
    return !this.isCut && this.requestsLost + this.answersLost === 0 && !isSlow;
  }

  /** Brings a request to the control plane, perhaps. */
  send(what: string, arrive: () => void): void {
    const { owner, scheduler, random, trace } = this.options;
    if (this.#held) {
      this.#held.push(() => this.send(what, arrive));
      return;
    }
    const isLost = random.between(0, 99) < this.requestsLost;
    const come = () => {
      if (isLost || this.isCut) return trace.note('request-lost', `${owner.name} ${what}`);
      trace.note('request', `${owner.name} ${what}`);
      arrive();
    };
    scheduler.after(this.latency(), come, undefined, true);
  }

  /** Brings an answer back, perhaps. */
  sendBack(what: string, arrive: () => void): void {
    const { owner, scheduler, random, trace } = this.options;
    const isLost = random.between(0, 99) < this.answersLost;
    scheduler.after(
      this.latency(),
      () => {
        if (isLost || this.isCut) return trace.note('answer-lost', `${owner.name} ${what}`);
        trace.note('answer', `${owner.name} ${what}`);
        arrive();
      },
      owner,
    );
  }

  hold(): void {
    this.#held = [];
  }

  /** Sends the first so many of what was held. */
  release(count: number): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const send of held.slice(0, count)) send();
  }

  get held(): number {
    return this.#held?.length ?? 0;
  }

  connect(): Connection {
    const connection = new Connection(this);
    this.#connections.add(connection);
    return connection;
  }

  get open(): Connection[] {
    for (const connection of this.#connections) {
      if (connection.isClosed && connection.response.destroyed)
        this.#connections.delete(connection);
    }
    return [...this.#connections].filter(({ isClosed }) => !isClosed);
  }

  /** The control plane's process ended: so do all its connections. */
  reset(): void {
    for (const connection of this.#connections) connection.break('the connection was reset');
  }
}

/** The answer as the control plane writes it: as much of node's ServerResponse as it uses. */
export class Response extends EventEmitter {
  readonly #connection: Connection;
  destroyed = false;
  writableEnded = false;
  /** Full now and then: the client is slow to read. */
  writableLength = 0;

  constructor(connection: Connection) {
    super();
    this.#connection = connection;
  }
  get writableNeedDrain(): boolean {
    return this.writableLength > 0;
  }
  write(text: string | Uint8Array): void {
    if (this.destroyed || this.writableEnded) return;
    this.#connection.carry(Buffer.from(text));
    this.#connection.beSlow(() => {
      this.writableLength = 0;
      this.emit('drain');
    });
  }
  end(): void {
    if (this.writableEnded) return;
    this.writableEnded = true;
    this.#connection.carryEnd(undefined);
  }
  destroy(): void {
    this.#connection.carryEnd(new ControlError('the stream was cut'));
    this.close();
  }
  /** The other side went away. */
  close(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

export class Connection {
  readonly #line: Line;
  readonly response: Response;
  readonly inbox = new Inbox();
  /** The client has let go of it. */
  isClosed = false;
  /** Nothing comes through any more, though neither side heard of it. */
  #isDead = false;
  /** When the last piece comes: none overtakes another. */
  #last = 0;
  #silence = () => {};

  constructor(line: Line) {
    this.#line = line;
    this.response = new Response(this);
    this.#listen();
  }

  /** In one or two pieces, wherever they are cut. */
  carry(bytes: Buffer): void {
    const { random } = this.#line.options;
    const cut = random.between(0, 3) === 0 ? random.between(0, bytes.length) : bytes.length;
    for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
      if (piece.length > 0) this.#later(() => this.#deliver(piece));
    }
  }

  /** Fills up what waits to be read, perhaps. */
  beSlow(drained: () => void): void {
    const { random, scheduler, trace, owner } = this.#line.options;
    if (this.response.writableNeedDrain || random.between(0, 9) > 0) return;
    trace.note('full', owner.name);
    this.response.writableLength = mostLineBytes;
    scheduler.after(random.next() * 3, drained);
  }

  carryEnd(error: Error | undefined): void {
    this.#later(() => this.#end(error));
  }

  /** Both sides learn of it, the control plane perhaps much later. */
  break(why: string): void {
    if (this.#isDead) return;
    this.#isDead = true;
    const { scheduler, owner } = this.#line.options;
    scheduler.after(this.#line.latency(), () => this.#end(new ControlError(why)), owner);
    this.#tellServer();
  }

  /** The client lets go. */
  hangUp(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#silence();
    this.#tellServer();
  }

  #tellServer(): void {
    const { scheduler, random } = this.#line.options;
    const isNoticed = !this.#line.isCut && random.between(0, 3) > 0;
    const seconds = isNoticed ? this.#line.latency() : random.next() * halfOpen_seconds;
    scheduler.after(seconds, () => this.response.close());
  }

  #later(run: () => void): void {
    const { scheduler, owner } = this.#line.options;
    this.#last = Math.max(this.#last, scheduler.time + this.#line.latency());
    scheduler.after(
      this.#last - scheduler.time,
      () => {
        if (this.#line.isCut) this.#isDead = true;
        if (!this.#isDead && !this.isClosed) run();
      },
      owner,
    );
  }

  #deliver(piece: Buffer): void {
    const { owner, trace } = this.#line.options;
    trace.note('piece', `${owner.name} ${piece.length}`);
    this.#silence();
    this.#listen();
    this.inbox.push(piece);
  }

  #listen(): void {
    const { scheduler, owner, trace } = this.#line.options;
    this.#silence = scheduler.after(
      silenceSeconds,
      () => {
        trace.note('silence', owner.name);
        this.#end(new ControlError(`nothing was heard for ${silenceSeconds} seconds`));
      },
      owner,
    );
  }

  #end(error: Error | undefined): void {
    if (this.isClosed) return;
    this.#silence();
    this.inbox.end(error);
  }
}

/** The bytes that arrived, for their reader. */
export class Inbox implements AsyncIterable<Uint8Array> {
  readonly #pieces: Uint8Array[] = [];
  #end: { error: Error | undefined } | undefined;
  #wake = () => {};

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
    this.#wake();
  }
  end(error: Error | undefined): void {
    this.#end ??= { error };
    this.#wake();
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) yield piece;
      else if (this.#end?.error) throw this.#end.error;
      else if (this.#end) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

export interface WireOptions {
  line: Line;
  door: Door;
  token: string;
  isAlive: () => boolean;
  /** Hears what the agent says that it has applied, as it says it. */
  onClaim: (position: Position) => void;
  /** The control plane has taken note of where the agent goes on. */
  onHeard: () => void;
}

/** The control plane as one run of an agent sees it. */
export class Wire implements ControlPlane {
  readonly #options: WireOptions;
  readonly #connections = new Set<Connection>();
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(options: WireOptions) {
    this.#options = options;
  }

  async *snapshot(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { door, token } = this.#options;
    yield* this.#stream('snapshot', signal, (response) => door.snapshot(token, response));
  }

  async *changes(after: Position, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    const { door, token, onClaim, onHeard } = this.#options;
    onClaim(after);
    const reader = new EventReader(mostLineBytes);
    const stream = this.#stream(`changes ${after.revision}`, signal, (response) =>
      door.changes(token, after, response).then(onHeard),
    );
    for await (const piece of stream) {
      for (const event of reader.read(piece)) yield stepOf(event);
    }
  }

  acknowledge(position: Position): Promise<void> {
    const { door, token, onClaim } = this.#options;
    onClaim(position);
    return this.#ask(`ack ${position.revision}`, () => door.acknowledge(token, position));
  }

  reportUsage(batch: UsageBatch): Promise<UsageAnswer> {
    const { door, token } = this.#options;
    return this.#ask(`usage ${batch.seq}`, () => door.reportUsage(token, batch));
  }

  /** `held`: the connections that the engine had open when the answer was made. */
  reportConnections(
    watch: number,
    largest: LargestGroups,
    held: readonly OpenConnection[],
  ): Promise<void> {
    const { door, token } = this.#options;
    return this.#ask(`connections ${watch}`, () =>
      door.reportConnections(token, watch, largest, held),
    );
  }

  reportHoldings(report: HoldingsReport): Promise<Elsewhere[]> {
    const { door, token } = this.#options;
    const what = `holdings ${report.users.length}`;
    return this.#ask(what, () => door.reportHoldings(token, report));
  }

  takeOrder(order: number): Promise<void> {
    const { door, token } = this.#options;
    return this.#ask(`take ${order}`, () => door.takeOrder(token, order));
  }

  reportEnded(order: number, ended: number): Promise<void> {
    const { door, token } = this.#options;
    return this.#ask(`ended ${order} ${ended}`, () => door.reportEnded(token, order, ended));
  }

  reportHealth(): Promise<never> {
    throw new Error('there is no health in the simulation');
  }

  answer(): Promise<never> {
    throw new Error('there are no questions in the simulation');
  }

  /**
   * The process is gone, and its sockets with it. Calls that wait must end, so that they let go of
   * their files.
   */
  die(): void {
    const killed = new ControlError('the agent was killed');
    for (const reject of this.#waiting) reject(killed);
    for (const connection of this.#connections) {
      connection.hangUp();
      connection.inbox.end(killed);
    }
  }

  async *#stream(
    what: string,
    signal: AbortSignal,
    serve: (response: Response) => Promise<void>,
  ): AsyncGenerator<Uint8Array> {
    const connection = this.#options.line.connect();
    const giveUp = () => connection.inbox.end(signal.reason as Error);
    this.#connections.add(connection);
    signal.addEventListener('abort', giveUp);
    try {
      await this.#ask(what, () => serve(connection.response));
      signal.throwIfAborted();
      for await (const piece of connection.inbox) {
        this.#options.line.options.onContact();
        yield piece;
      }
    } finally {
      signal.removeEventListener('abort', giveUp);
      connection.hangUp();
      this.#connections.delete(connection);
    }
  }

  #ask<T>(what: string, serve: () => Promise<T>): Promise<T> {
    const { line, door, isAlive } = this.#options;
    const { scheduler, owner, random, trace } = line.options;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject);
      const settle = (outcome: () => void) => {
        cancel();
        this.#waiting.delete(reject);
        if (isAlive()) outcome();
      };
      const cancel = scheduler.after(
        answerSeconds,
        () => {
          trace.note('timeout', `${owner.name} ${what}`);
          settle(() => reject(new ControlError(`no answer within ${answerSeconds} seconds`)));
        },
        owner,
      );
      const answer = (said: string, outcome: () => void) =>
        line.sendBack(`${what} ${said}`, () => settle(outcome));
      line.send(what, () => {
        if (!door.isUp) {
          answer('refused', () => reject(new ControlError('connect ECONNREFUSED')));
        } else if (random.between(0, 99) === 0) {
          // Something between answers in place of the control plane.
          answer('502', () => reject(new ControlError('bad gateway', { status: 502 })));
        } else {
          serve().then(
            (value) => answer('ok', () => resolve(value)),
            (error: Error) => {
              const refusal = refusalOf(error);
              // It would be answered 500, and nothing may come to that.
              if (!refusal) {
                scheduler.fault ??= error;
                return;
              }
              trace.note(`refused-${refusal.status}`, `${owner.name} ${what} ${error.message}`);
              answer(String(refusal.status), () => reject(refusal));
            },
          );
        }
      });
    });
  }
}

function refusalOf(error: Error): ControlError | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { message, status, code, field } = error;
  return new ControlError(message, { status, code, field, isOurs: true });
}

function stepOf({ id = '', event, data }: ServerEvent): StreamEvent {
  const [epoch = '', revision = ''] = id.split(':');
  const records = event === 'change' ? (JSON.parse(data) as NodeRecord[]) : [];
  return { position: { epoch, revision: Number(revision) }, records };
}
