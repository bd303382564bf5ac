// The link to the control plane: changes go to the disk and the engine, and are acknowledged when
// they are in force.
import { EventEmitter, once } from 'node:events';
import type { Logger } from 'pino';
import type {
  ConnectionQuestion,
  EndOrder,
  LoginQuestion,
  Position,
} from '../../../kit/src/node_interface.ts';
import type { Clock } from '../clock.ts';
import { ControlError } from '../control_error.ts';
import type { Engine } from '../engine.ts';
import type { Fault } from '../faults.ts';
import {
  BadRecord,
  isQuestion,
  type NodeRecord,
  type QuestionKind,
  readRecord,
} from '../policy/records.ts';
import type { Store } from '../store/store.ts';
import type { Payer } from '../usage/limits.ts';
import type { ControlPlane, StreamEvent } from './control.ts';
import { type Answering, answerTo } from './questions.ts';
import { keepRepaired } from './repair.ts';
import { emptySnapshot, Revocation } from './revocation.ts';

export interface LinkOptions {
  store: Store;
  engine: Pick<Engine, 'catchUp'> & Answering;
  control: ControlPlane;
  clock: Clock;
  log: Logger;
  /** Called when a contract or a user has changed; without an argument, after a snapshot. */
  onPayer?: (payer?: Payer) => void;
  /** Called with each record of a change. */
  onRecord?: (record: NodeRecord) => void;
  /** Called with an order once all changes before it are applied. */
  onOrder?: (id: number, order: EndOrder) => void;
  /** Called when the control plane is first heard from, and after each outage. */
  onFollowing?: () => void;
}

export interface LinkStatus {
  /**
   * `following`: changes arrive as they are made. `revoked`: no connection is let in until the node
   * joins again.
   */
  state: 'connecting' | 'following' | 'revoked';
  /** The position that the engine has put in force. */
  applied: Position | undefined;
  /** Epoch seconds when the control plane was last heard from in this run. */
  heard_at: number | undefined;
  /** For how long there have been changes that are not in force; 0 if there are none. */
  behind_seconds: number;
}

type Question = Extract<NodeRecord, { kind: QuestionKind }>;
type Order = Extract<NodeRecord, { kind: 'end_connections' }>;

/** The pause between acknowledgements: hundreds of nodes must not overload the control plane. */
const acknowledgingPauseSeconds = 0.1;
const shortestDelaySeconds = 0.2;
const longestDelaySeconds = 30;

export class Link {
  readonly #store: Store;
  readonly #engine: Pick<Engine, 'catchUp'> & Answering;
  readonly #control: ControlPlane;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onPayer: (payer?: Payer) => void;
  readonly #onRecord: (record: NodeRecord) => void;
  readonly #onOrder: (id: number, order: EndOrder) => void;
  readonly #onFollowing: () => void;
  readonly #revocation: Revocation;
  /** `moved`: one of the fields below has changed. */
  readonly #events = new EventEmitter();
  #applied: Position | undefined;
  /** Whether something is stored that may not be applied yet. */
  #hasUnapplied = true;
  #unacknowledged: Position | undefined;
  #needsSnapshot = false;
  /** Questions and orders that wait until the changes before them are applied. */
  #pending: Array<Question | Order> = [];
  #isFollowing = false;
  #lastHeardAt: number | undefined;
  /** Steady seconds. */
  #behindSince: number | undefined;
  readonly #faults = new Map<'control' | 'engine', string>();
  /** Ends the open stream. */
  #stream = new AbortController();

  constructor(options: LinkOptions) {
    const { store, engine, control, clock, log, onPayer, onRecord, onOrder, onFollowing } = options;
    this.#store = store;
    this.#engine = engine;
    this.#control = control;
    this.#clock = clock;
    this.#log = log;
    this.#onPayer = onPayer ?? (() => {});
    this.#onRecord = onRecord ?? (() => {});
    this.#onOrder = onOrder ?? (() => {});
    this.#onFollowing = onFollowing ?? (() => {});
    this.#revocation = new Revocation(() => clock.steady());
  }

  status(): LinkStatus {
    const { isRevoked } = this.#revocation;
    const steady = this.#clock.steady();
    return {
      state: isRevoked ? 'revoked' : this.#isFollowing ? 'following' : 'connecting',
      applied: this.#applied,
      heard_at: this.#lastHeardAt,
      behind_seconds: steady - (this.#behindSince ?? steady),
    };
  }

  faults(): Fault[] {
    return Array.from(this.#faults, ([kind, message]) => ({ kind, message }));
  }

  /**
   * Follows the control plane until the signal is aborted. First it puts the policy on disk in
   * force, even if the control plane is unreachable. Anything that fails is tried again.
   */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#keepFollowing(signal),
      this.#keepApplying(signal),
      keepRepaired(
        {
          store: this.#store,
          clock: this.#clock,
          log: this.#log,
          moved: (end) => this.#moved(end),
          onRepaired: () => this.#noteStored(),
        },
        signal,
      ),
      this.#keepAcknowledging(signal),
    ]);
  }

  // ---- From the control plane to the disk ---------------------------------------------------

  async #keepFollowing(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const start = this.#clock.steady();
      try {
        await this.#follow(signal);
      } catch (error) {
        this.#isFollowing = false;
        if (signal.aborted) return;
        if (this.#clock.steady() - start > longestDelaySeconds) failures = 0;
        await this.#clock.sleep(await this.#afterFailure(error as Error, failures), signal);
      }
    }
  }

  /** Takes a snapshot if necessary, and follows the stream. Always ends with an error. */
  async #follow(signal: AbortSignal): Promise<void> {
    if (this.#needsSnapshot || !this.#store.position) await this.#takeSnapshot(signal);
    // Opening the stream acknowledges its first position, which the disk must not lose.
    const applied = await this.#whenApplied(signal);
    this.#stream = new AbortController();
    const over = AbortSignal.any([signal, this.#stream.signal]);
    try {
      const events = this.#control.changes(applied, over, this.#store.isSound);
      for await (const event of events) this.#take(event);
    } catch (error) {
      throw this.#stream.signal.aborted ? this.#stream.signal.reason : error;
    }
    throw new ControlError('the stream ended');
  }

  async #takeSnapshot(signal: AbortSignal): Promise<void> {
    // A snapshot counts as heard when it was requested.
    const start = this.#clock.now();
    await this.#store.replace(this.#control.snapshot(signal), start);
    this.#needsSnapshot = false;
    this.#onPayer();
    this.#log.info({ ...this.#store.position }, 'took a snapshot');
    for (const { message } of this.#store.unreadable.faults()) this.#log.error(message);
    this.#noteHeard();
    this.#noteStored();
  }

  #take({ position, records: received }: StreamEvent): void {
    const held = this.#store.held;
    if (position.epoch !== held?.epoch) throw gap('the history of changes was replaced');
    this.#noteHeard();
    if (!this.#isFollowing) {
      this.#isFollowing = true;
      this.#log.info({ ...position }, 'following the control plane');
      this.#onFollowing();
    }
    const records = readAll(received);
    for (const record of records) {
      if (isQuestion(record) || record.kind === 'end_connections') this.#pending.push(record);
      this.#onRecord(record);
      if (record.kind === 'unreadable') this.#log.error({ record }, 'a record cannot be read');
      const { kind } = record;
      if (kind === 'contract' || kind === 'account') this.#onPayer({ account: record.account });
      if (kind === 'user') this.#onPayer({ account: record.account, user: record.id });
    }
    // A change that was stored but not applied comes again.
    if (position.revision < held.revision) return;
    this.#store.append(position.revision, this.#clock.now(), records);
    this.#noteStored();
  }

  /**
   * Notes that, by this node's own count, a payer is over the limit until then (epoch seconds; 0:
   * not over). This applies like a change, until the next record of the contract or the user.
   */
  limit({ account, user }: Payer, until: number): void {
    const { held } = this.#store;
    // The change needs the age of the policy, unknown until this run hears from the control plane.
    if (!held || this.#lastHeardAt === undefined) return;
    const value = until > 0 ? { until } : null;
    const record: NodeRecord =
      user === undefined
        ? { kind: 'limit_reached', account, value }
        : { kind: 'user_limit_reached', account, id: user, value };
    this.#store.append(held.revision, this.#lastHeardAt, [record]);
    this.#noteStored();
  }

  #noteHeard(): void {
    this.#lastHeardAt = this.#clock.now();
    this.#revocation.noteAccepted();
    this.#faults.delete('control');
  }

  #noteStored(): void {
    this.#hasUnapplied = true;
    this.#behindSince ??= this.#clock.steady();
    this.#events.emit('moved');
  }

  /** Logs a failure and reacts to it; returns how long to wait. */
  async #afterFailure(error: Error, failures: number): Promise<number> {
    const { code, status, retry_after_seconds = 0 } = error as Partial<ControlError>;
    this.#faults.set('control', `Changes from the control plane do not arrive: ${error.message}`);
    this.#log.warn(
      { err: error, status, code, failures },
      'changes from the control plane do not arrive',
    );
    if (code === 'snapshot_needed') this.#needsSnapshot = true;
    if (code === 'node_token_unknown') {
      if (this.#revocation.noteRejected()) await this.#stopAuthorising();
      return this.#revocation.delay_seconds;
    }
    // Hundreds of nodes may get the same number, so each waits for a random time.
    return Math.max(retry_after_seconds * (1 + Math.random()), delayAfter(failures));
  }

  /** Stores an empty policy, which lets no connection in, so that the node starts over. */
  async #stopAuthorising(): Promise<void> {
    try {
      await this.#forget();
    } catch (error) {
      this.#log.error({ err: error }, 'this node was revoked, and cannot forget its policy');
      return;
    }
    this.#revocation.isRevoked = true;
    this.#log.error('this node was revoked: it lets no client in until it joins again');
    this.#noteStored();
  }

  /** Works even on a full disk: removing the old policy makes room. */
  async #forget(): Promise<void> {
    const replace = () => this.#store.replace(emptySnapshot(), this.#clock.now());
    await replace().catch(async (error) => {
      this.#log.warn({ err: error }, 'the policy is removed before the new one is stored');
      await this.#store.clear();
      await replace();
    });
  }

  // ---- From the disk to the engine ----------------------------------------------------------

  async #keepApplying(signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; ) {
      while (!this.#hasUnapplied && !signal.aborted) await this.#moved(signal);
      if (signal.aborted) return;
      try {
        await this.#apply();
        failures = 0;
        this.#faults.delete('engine');
      } catch (error) {
        this.#hasUnapplied = true;
        this.#faults.set('engine', `Changes cannot be put in force: ${(error as Error).message}`);
        this.#log.error({ err: error, failures }, 'changes cannot be put in force');
        await this.#clock.sleep(delayAfter(failures), signal);
        failures += 1;
      }
    }
  }

  /** Puts all held changes in force. */
  async #apply(): Promise<void> {
    this.#hasUnapplied = false;
    const stored = this.#store.position;
    const pendingCount = this.#pending.length;
    const applied = await this.#engine.catchUp();
    // If the policy was replaced meanwhile, the next round applies it.
    const isSame = stored && stored.epoch === this.#store.position?.epoch;
    if (isSame && !covers(applied, stored)) this.#startOver('the policy on disk is damaged');
    if (!applied) return;
    this.#applied = applied;
    const { held } = this.#store;
    if (held && covers(applied, held)) this.#behindSince = undefined;
    this.#unacknowledged = this.#store.isSound ? this.#storedOf(applied) : undefined;
    this.#events.emit('moved');
    for (const record of this.#pending.splice(0, pendingCount)) this.#carryOut(record);
  }

  /** The part of a position that is stored. Workers may have changes that no disk has. */
  #storedOf(applied: Position): Position {
    const { position } = this.#store;
    return position && covers(applied, position) ? position : applied;
  }

  /** Takes a snapshot as soon as possible. Until then the engine uses its current policy. */
  #startOver(reason: string): void {
    this.#needsSnapshot = true;
    this.#stream.abort(gap(reason));
    this.#events.emit('moved');
  }

  /** Resolves with the held position once it is applied. Errors: it cannot be applied. */
  async #whenApplied(signal: AbortSignal): Promise<Position> {
    for (;;) {
      signal.throwIfAborted();
      if (this.#needsSnapshot) throw gap('the policy on disk is damaged');
      const { held } = this.#store;
      if (this.#applied && held && covers(this.#applied, held)) return held;
      await this.#moved(signal);
    }
  }

  // ---- From the engine to the control plane -------------------------------------------------

  /** One acknowledgement at a time: the next one covers everything applied meanwhile. */
  async #keepAcknowledging(signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; ) {
      while (!this.#unacknowledged && !signal.aborted) await this.#moved(signal);
      if (signal.aborted) return;
      const position = this.#unacknowledged as Position;
      this.#unacknowledged = undefined;
      try {
        // Opening the stream acknowledges, too, so no acknowledgement is needed until it is open.
        if (this.#isFollowing) {
          await this.#control.acknowledge(position);
          await this.#clock.sleep(acknowledgingPauseSeconds, signal);
        }
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        const { code } = error as Partial<ControlError>;
        this.#log.warn({ err: error, ...position }, 'the applied position cannot be acknowledged');
        const isUnknown = code === 'snapshot_needed';
        if (isUnknown && position.epoch === this.#store.position?.epoch) {
          this.#startOver('the control plane does not know the applied position');
        }
        this.#unacknowledged ??= position;
        await this.#clock.sleep(delayAfter(failures), signal);
        failures += 1;
      }
    }
  }

  /** Resolves when something has changed, or the signal is aborted. */
  async #moved(signal: AbortSignal): Promise<void> {
    await once(this.#events, 'moved', { signal }).catch(() => {});
  }

  // ---- Questions and orders -----------------------------------------------------------------

  #carryOut(record: Question | Order): void {
    const { kind, id, value } = record;
    // Without a value the question has ended.
    if (!value) return;
    if (kind === 'end_connections') this.#onOrder(id, value);
    else void this.#answer(id, value);
  }

  async #answer(id: number, value: ConnectionQuestion | LoginQuestion): Promise<void> {
    try {
      await this.#control.answer(id, await answerTo(value, this.#engine));
    } catch (error) {
      // Another node answered first, or the question has ended.
      if ((error as Partial<ControlError>).status === 404) return;
      this.#log.warn({ err: error, question: id }, 'a question cannot be answered');
    }
  }
}

/** A growing delay, random so that not all nodes retry at once. */
function delayAfter(failures: number): number {
  const maxSeconds = Math.min(
    longestDelaySeconds,
    shortestDelaySeconds * 2 ** Math.min(failures, 16),
  );
  return maxSeconds * (0.5 + Math.random() / 2);
}

function gap(reason: string): ControlError {
  return new ControlError(reason, { code: 'snapshot_needed' });
}

/**
 * Reads all records; of an unreadable one, the readable part. Errors: a record does not identify
 * itself. It may have withdrawn a right, so a snapshot is needed.
 */
function readAll(received: readonly unknown[]): NodeRecord[] {
  try {
    return received.flatMap(readRecord);
  } catch (error) {
    if (error instanceof BadRecord) throw gap(`a change cannot be applied: ${error.message}`);
    throw error;
  }
}

/** Whether everything that is stored is applied. */
function covers(applied: Position | undefined, stored: Position): boolean {
  return applied?.epoch === stored.epoch && applied.revision >= stored.revision;
}
