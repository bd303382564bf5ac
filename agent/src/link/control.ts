// The control plane's interface for the agent (docs/node.md), and the HTTP client that implements
// it.
import type { Agent as HttpAgent, IncomingMessage } from 'node:http';
import type {
  Answer,
  HealthReport,
  HoldingsReport,
  LargestGroups,
  Position,
  RefusalReport,
  UsageBatch,
} from '../../../kit/src/node_interface.ts';
import { ControlError } from '../control_error.ts';
import type { KnownFault } from '../faults.ts';
import type { ControlTime } from '../health/control_time.ts';
import type { LastUsed } from '../policy/last_used.ts';
import type { NodeRecord } from '../policy/records.ts';
import type { LastUsedReports } from '../usage/last_used_reporter.ts';
import type { UsageAnswer } from '../usage/sender.ts';
import type { Elsewhere } from '../user_counts.ts';
import type { OrderReports } from './end_orders.ts';
import { EventReader, EventTooLong, type ServerEvent } from './events.ts';
import type { ExitUseAnswer, ExitUseReports } from './exit_use_questions.ts';
import type { FaultReports } from './fault_reporter.ts';
import type { HoldingReports } from './holdings_reporter.ts';
import { IdleTimeout, newAgent, notOurs, piecesOf, readJson, send } from './http.ts';
import type { RefusalReports } from './refusal_reporter.ts';
import type { RejectionReports, Rejections } from './rejection_reporter.ts';
import type { ConnectionReports } from './watches.ts';

/** One step of the history. */
export interface StreamEvent {
  position: Position;
  /** All records of this revision; empty if the step only reports how far the history reaches. */
  records: NodeRecord[];
}

/** Requests fail with a ControlError. */
export interface ControlPlane {
  /** The response of GET /node/snapshot, in pieces of any size. */
  snapshot(signal: AbortSignal): AsyncIterable<Uint8Array>;
  /**
   * The changes after a position, until the stream breaks. The request acknowledges that position
   * unless `acknowledges` is false.
   */
  changes(after: Position, signal: AbortSignal, acknowledges?: boolean): AsyncIterable<StreamEvent>;
  acknowledge(position: Position): Promise<void>;
  reportUsage(batch: UsageBatch): Promise<UsageAnswer>;
  reportHealth(report: HealthReport): Promise<{ known: number }>;
  /** Answers an operator's question. */
  answer(id: number, answer: Answer): Promise<void>;
}

/** Everything that the agent requests from the control plane and reports to it. */
export type Control = ControlPlane &
  LastUsedReports &
  FaultReports &
  RejectionReports &
  RefusalReports &
  HoldingReports &
  ExitUseReports &
  ConnectionReports &
  OrderReports;

export interface HttpControlOptions {
  /** Of the node interface, without `/node`. */
  url: string;
  token: string;
  /** Aborts everything that is under way. */
  signal: AbortSignal;
  /** Notes the control plane's time, from its successful responses. */
  time?: ControlTime;
  /** Open requests and tunnels of clients, for acknowledgements; undefined while unknown. */
  connections?: () => number | undefined;
  /** How the agent logs connections, for acknowledgements. */
  connection_log?: string;
  /** How long a response may take to begin; a short one may take three times as long to end. */
  response_seconds?: number;
  /** A stream without an event for this long is dead, as is a snapshot without data. */
  silence_seconds?: number;
  /** The longest event, in characters of its lines: a whole account is one line. */
  max_event_length?: number;
}

const usualResponseSeconds = 10;
/** A large event is a sign of life with each of these pieces, not only at its end. */
const eventPieceBytes = 64 * 1024;

export class HttpControl implements Control {
  readonly #options: Required<Omit<HttpControlOptions, 'time' | 'connections' | 'connection_log'>>;
  readonly #time: ControlTime | undefined;
  readonly #connections: HttpControlOptions['connections'];
  readonly #connectionLog: string | undefined;
  readonly #agent: HttpAgent;

  constructor(options: HttpControlOptions) {
    this.#options = {
      response_seconds: usualResponseSeconds,
      silence_seconds: 40,
      max_event_length: 64 * 1024 * 1024,
      ...options,
    };
    this.#time = options.time;
    this.#connections = options.connections;
    this.#connectionLog = options.connection_log;
    this.#agent = newAgent(options.url);
    options.signal.addEventListener('abort', () => this.#agent.destroy(), { once: true });
  }

  async *snapshot(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const response = await this.#open('GET', '/snapshot', {}, signal);
    const silence = this.#silence(response);
    for await (const piece of piecesOf(response, silence)) {
      silence.renew();
      yield piece;
    }
  }

  async *changes(
    after: Position,
    signal: AbortSignal,
    acknowledges = true,
  ): AsyncGenerator<StreamEvent> {
    const headers = {
      'last-event-id': `${after.epoch}:${after.revision}`,
      ...(acknowledges ? this.#agentHeaders() : { 'exitward-acknowledges': 'false' }),
    };
    const response = await this.#open('GET', '/changes', headers, signal);
    const reader = new EventReader(this.#options.max_event_length);
    const silence = this.#silence(response);
    // Comments, or a trickle of bytes, are not a sign of life.
    let nextBytes = eventPieceBytes;
    for await (const piece of piecesOf(response, silence)) {
      for (const event of readEvents(reader, piece)) {
        const step = stepOf(event);
        if (!step) continue;
        silence.renew();
        nextBytes = eventPieceBytes;
        yield step;
      }
      if (reader.heldBytes < nextBytes) continue;
      silence.renew();
      nextBytes = reader.heldBytes + eventPieceBytes;
    }
  }

  #silence(response: IncomingMessage): IdleTimeout {
    return new IdleTimeout(response, this.#options.silence_seconds, 'nothing was heard for');
  }

  async acknowledge(position: Position): Promise<void> {
    await this.#post('/acks', position, this.#agentHeaders());
  }

  /** Sent as headers, since older control planes reject unknown members. */
  #agentHeaders(): Record<string, string> {
    const connections = this.#connections?.();
    const log = this.#connectionLog;
    return {
      ...(connections === undefined ? {} : { 'exitward-connections': String(connections) }),
      ...(log === undefined ? {} : { 'exitward-connection-log': log }),
    };
  }

  async reportUsage(batch: UsageBatch): Promise<UsageAnswer> {
    const response = (await this.#post('/usage', batch)) ?? {};
    const { counted, held, left_out, limits, user_limits } = response as Record<
      keyof UsageAnswer,
      unknown
    >;
    // The journal drops usage because of this response, so its form is checked.
    const isAnswer =
      typeof counted === 'boolean' &&
      typeof held === 'boolean' &&
      Array.isArray(left_out) &&
      Array.isArray(limits);
    if (!isAnswer) throw notOurs();
    const ofUsers = Array.isArray(user_limits) ? { user_limits } : {};
    return { counted, held, left_out, limits, ...ofUsers };
  }

  async reportLastUsed(list: LastUsed[]): Promise<void> {
    await this.#post('/last-used', { uses: list });
  }

  async reportHealth(report: HealthReport): Promise<{ known: number }> {
    return (await this.#post('/health', report)) as { known: number };
  }

  async reportFaults(faults: KnownFault[]): Promise<void> {
    await this.#post('/faults', { faults });
  }

  async reportRejections(boot: string, reasons: Rejections): Promise<void> {
    await this.#post('/rejections', { boot, reasons });
  }

  async reportRefusals(report: RefusalReport): Promise<void> {
    await this.#post('/refusals', report);
  }

  async reportConnections(watch: number, largest: LargestGroups): Promise<void> {
    await this.#post('/connections', { watch, ...largest });
  }

  async takeOrder(order: number): Promise<void> {
    await this.#post('/end-orders', { order });
  }

  async reportEnded(order: number, ended: number): Promise<void> {
    await this.#post('/end-orders', { order, ended });
  }

  async reportHoldings(report: HoldingsReport): Promise<Elsewhere[]> {
    const response = await this.#post('/holdings', report);
    const { users } = (response ?? {}) as { users?: Elsewhere[] };
    if (!Array.isArray(users)) throw notOurs();
    return users;
  }

  async answerExitUses(question: number, { uses, ...answer }: ExitUseAnswer): Promise<void> {
    // The exit is the question's.
    const rows = uses.map(({ exit_ip: _, ...use }) => use);
    await this.#post('/exit-uses', { question, ...answer, uses: rows });
  }

  async erasedUsers(): Promise<Array<{ account: number; user: number }>> {
    const response = await this.#open('GET', '/erased-users', {}, undefined);
    const body = await readJson(response, this.#options.response_seconds);
    const { users } = (body ?? {}) as { users?: Array<{ account: number; user: number }> };
    if (!Array.isArray(users)) throw notOurs();
    return users;
  }

  async answer(id: number, answer: Answer): Promise<void> {
    await this.#post('/answers', { id, answer });
  }

  async #post(path: string, value: object, headers = {}): Promise<unknown> {
    const response = await this.#open('POST', path, headers, undefined, JSON.stringify(value));
    return readJson(response, this.#options.response_seconds);
  }

  async #open(
    method: string,
    path: string,
    headers: Record<string, string>,
    signal: AbortSignal | undefined,
    body?: string,
  ): Promise<IncomingMessage> {
    const { url, token, response_seconds, signal: life } = this.#options;
    const noteTime = this.#time?.begin();
    const response = await send({
      url: `${url}/node${path}`,
      method,
      headers: { ...headers, authorization: `Bearer ${token}` },
      body,
      signal: signal ? AbortSignal.any([life, signal]) : life,
      response_seconds,
      agent: this.#agent,
    });
    noteTime?.(response.headers.date);
    return response;
  }
}

// ---- Joining ------------------------------------------------------------------------------

export interface Joined {
  node: number;
  server: string;
  token: string;
}

/** Joins with a one-time code. Errors: ControlError. */
export async function joinControl(
  url: string,
  body: { code: string; name: string; version: string },
): Promise<Joined> {
  const agent = newAgent(url);
  try {
    const response = await send({
      url: `${url}/node/join`,
      method: 'POST',
      headers: {},
      body: JSON.stringify(body),
      signal: undefined,
      response_seconds: usualResponseSeconds,
      agent,
    });
    const joined = (await readJson(response, usualResponseSeconds)) as Partial<Joined> | undefined;
    const { node, server, token } = joined ?? {};
    if (typeof node !== 'number' || typeof server !== 'string' || typeof token !== 'string') {
      throw notOurs();
    }
    return { node, server, token };
  } finally {
    agent.destroy();
  }
}

// ---- The stream ---------------------------------------------------------------------------

function readEvents(reader: EventReader, piece: Uint8Array): ServerEvent[] {
  try {
    return reader.read(piece);
  } catch (error) {
    // It would be too long the next time, too. A snapshot avoids it, as after a gap.
    if (error instanceof EventTooLong)
      throw new ControlError(error.message, { code: 'snapshot_needed' });
    throw error;
  }
}

/** Undefined for an event of an unknown kind. Errors: ControlError if it is malformed. */
function stepOf({ id = '', event, data }: ServerEvent): StreamEvent | undefined {
  if (event !== 'change' && event !== 'position') return undefined;
  const [, epoch, revision] = /^([^:]+):(\d{1,15})$/.exec(id) ?? [];
  if (epoch === undefined) throw new ControlError(`${JSON.stringify(id)} is no id of an event`);
  const position = { epoch, revision: Number(revision) };
  return { position, records: event === 'change' ? readRecords(data) : [] };
}

function readRecords(data: string): NodeRecord[] {
  try {
    const records: unknown = JSON.parse(data);
    if (Array.isArray(records)) return records as NodeRecord[];
  } catch {
    // Text that is not JSON is not a list of records.
  }
  throw new ControlError('a change is not a list of records');
}
