// Group commit: actions that wait at the same time share one transaction, one commit and one fsync.
import { setImmediate as turn } from 'node:timers/promises';
import { ApiError } from '../errors.ts';
import type {
  Actor,
  DatabaseOptions,
  Group,
  Insertion,
  Row,
  Transaction,
  Value,
  WriteOptions,
} from './database.ts';
import { isStorageFault, storageFault } from './faults.ts';
import { Turns, type Waiter } from './turns.ts';

/** The connection that writes, as an engine offers it. */
export interface WriteConnection {
  /**
   * Starts the transaction and makes every other writer of the network wait. The statements that
   * follow, up to commit or rollback, run in it or fail; they never run on a connection that
   * replaced a lost one.
   */
  begin(): Promise<void>;
  /** Does what the transaction needs before its actions. */
  prepare?(tx: Transaction): Promise<void>;
  all<R>(sql: string, values: readonly Value[]): Promise<R[]>;
  run(sql: string, values: readonly Value[]): Promise<number>;
  /** Returns how many rows it inserted or changed. */
  insertMany(table: string, rows: readonly Row[], suffix: string): Promise<number>;
  /** Whether each statement is a round trip, so that rows are better inserted together. */
  readonly isRemote: boolean;
  /** Resolves when the transaction is durable. When it rejects, the outcome is unknown. */
  commit(): Promise<void>;
  /** Undoes the transaction; drops the connection when its state is unknown. Never throws. */
  rollback(): Promise<void>;
}

interface Waiting extends Waiter {
  actor: Actor;
  action: (tx: Transaction) => Promise<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

const largestGroup = 512;
/**
 * Where several keys wait, a group takes no further action after this time: each action waits for
 * one group and its commit, however many other actions wait.
 */
const longestGroup_seconds = 0.05;
/** After a refused row: others of the kind are likely to follow. */
const calmSeconds = 1;
/** How long a group's actions may run before other work gets a turn of the event loop. */
const longestTurn_seconds = 0.008;

/**
 * Gives the clients that have just been answered two turns of the event loop for what they ask
 * next: it joins the group of those that wait already.
 */
async function gathered(): Promise<void> {
  await turn();
  await turn();
}

/** One action of several failed after it had written: each starts again in its own transaction. */
class Again extends Error {}

/** A row that was to be inserted later was refused: the actions run again and insert at once. */
class Refused extends Error {}

/** The only action of a group failed after it had written; the cause is what it threw. */
class Failed extends Error {
  readonly tx: GroupTransaction;

  constructor(tx: GroupTransaction, cause: unknown) {
    super('', { cause });
    this.tx = tx;
  }
}

class SharedGroup implements Group {
  readonly flushes: Array<(tx: Transaction) => Promise<void>> = [];
  /** Whether rows are inserted later, many in one statement. */
  readonly insertsLater: boolean;
  /** Whether one of them was refused. */
  isRefused = false;
  readonly #things = new Map<string, Promise<unknown>>();
  /** The rows to be inserted, all of one table: those of another may refer to them. */
  #rows: Row[] = [];
  #insertion: Insertion | undefined;

  constructor(insertsLater: boolean) {
    this.insertsLater = insertsLater;
  }

  share<T>(key: string, make: () => Promise<T>): Promise<T> {
    let thing = this.#things.get(key) as Promise<T> | undefined;
    if (!thing) {
      thing = make();
      this.#things.set(key, thing);
    }
    return thing;
  }
  forget(key: string): void {
    this.#things.delete(key);
  }
  beforeCommit(flush: (tx: Transaction) => Promise<void>): void {
    this.flushes.push(flush);
  }

  async insertLater(
    connection: WriteConnection,
    insertion: Insertion,
    values: readonly Value[],
  ): Promise<void> {
    const earlier = insertion === this.#insertion ? undefined : this.insertRows(connection);
    this.#insertion = insertion;
    const row = insertion.columns.map((column, at) => [column, values[at] ?? null] as const);
    this.#rows.push(Object.fromEntries(row));
    await earlier;
  }

  get hasRows(): boolean {
    return this.#rows.length > 0;
  }

  /** Whether a query could miss a row that is not inserted yet. */
  misses(sql: string): boolean {
    return this.hasRows && sql.includes(this.#insertion?.table ?? '');
  }

  /** Inserts what waits for it. Errors: `Refused` when a row was not inserted. */
  async insertRows(connection: WriteConnection): Promise<void> {
    const rows = this.#rows;
    if (rows.length === 0 || !this.#insertion) return;
    this.#rows = [];
    try {
      const { table } = this.#insertion;
      const inserted = await connection.insertMany(table, rows, 'on conflict do nothing');
      if (inserted === rows.length) return;
    } catch (error) {
      if (isStorageFault(error)) throw error;
    }
    this.isRefused = true;
    throw new Refused();
  }
}

class GroupTransaction implements Transaction {
  readonly now: number;
  readonly actor: Actor;
  readonly group: SharedGroup;
  /** The writes of the action, without those that had no effect. */
  #writes = 0;
  #connection: WriteConnection | undefined;
  readonly #effects: Array<(isCommitted: boolean) => void> = [];

  constructor(connection: WriteConnection, group: SharedGroup, actor: Actor, now: number) {
    this.#connection = connection;
    this.group = group;
    this.actor = actor;
    this.now = now;
  }
  /**
   * Ends the action's use of the transaction: work that it left running must not end up in another
   * one.
   */
  end(): void {
    this.#connection = undefined;
  }
  readonly afterwards: Transaction['afterwards'] = (effect) => void this.#effects.push(effect);

  /** The outcome of the action is final. */
  settle(isCommitted: boolean): void {
    for (const effect of this.#effects) effect(isCommitted);
  }
  get #open(): WriteConnection {
    if (!this.#connection) throw new Error('The action of this transaction has ended.');
    return this.#connection;
  }
  async one<R>(sql: string, values: readonly Value[] = []): Promise<R | undefined> {
    return (await this.all<R>(sql, values))[0];
  }
  async all<R>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    if (this.group.misses(sql)) await this.group.insertRows(this.#open);
    return this.#open.all<R>(sql, values);
  }
  async run(sql: string, values: readonly Value[] = []): Promise<number> {
    this.#writes += 1;
    const changed = await this.#write((connection) => connection.run(sql, values));
    if (changed === 0) this.#writes -= 1;
    return changed;
  }
  async put<R>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    this.#writes += 1;
    const rows = await this.#write((connection) => connection.all<R>(sql, values));
    if (rows.length === 0) this.#writes -= 1;
    return rows;
  }
  async insert(insertion: Insertion, values: readonly Value[]): Promise<boolean> {
    if (this.group.insertsLater) {
      this.#writes += 1;
      await this.group.insertLater(this.#open, insertion, values);
      return true;
    }
    return (await this.run(insertion.sql, values)) > 0;
  }
  async insertMany(table: string, rows: readonly Row[], suffix = ''): Promise<void> {
    this.#writes += 1;
    await this.#write((connection) => connection.insertMany(table, rows, suffix));
  }
  /** Runs a statement that writes; it may depend on any row that is inserted before it. */
  async #write<T>(statement: (connection: WriteConnection) => Promise<T>): Promise<T> {
    if (!this.group.hasRows) return statement(this.#open);
    const inserted = this.group.insertRows(this.#open);
    // Sent at once, so that both take one round trip.
    const written = statement(this.#open);
    written.catch(() => {});
    await inserted;
    return written;
  }
  markWritten(): void {
    this.#writes += 1;
  }
  /** Whether the action has written, or is about to: then it cannot be rejected alone. */
  get isDirty(): boolean {
    return this.#writes > 0;
  }
}

const committer: Actor = { kind: 'system', name: 'commit', address: '', request_id: '' };

/**
 * The queue of an action: one for each account, whichever user acts for it, and one for each other
 * actor.
 */
function lineOf({ kind, name }: Actor): string {
  const isOfAccount = kind === 'account' || kind === 'user';
  return isOfAccount ? `account ${name.split('/', 1)[0]}` : `${kind} ${name}`;
}

/**
 * The waiting actions and the loop that runs them, one group after another. Queues take turns,
 * urgent actions first; the actions of one queue run in the order in which they came.
 */
export class GroupWriter {
  readonly #connection: WriteConnection;
  readonly #options: DatabaseOptions;
  readonly #committed: () => void;
  readonly #waiting = new Turns<Waiting>();
  /**
   * The actions of a group that failed: each gets its own transaction, since any of them may be the
   * cause.
   */
  #alone: Waiting[] = [];
  /** Those of a group whose rows were refused: together again, and each row is inserted at once. */
  #again: Waiting[] = [];
  /** Until when rows are inserted at once, so that conflicts make few groups run twice. */
  #insertsAtOnceUntil = 0;
  #running: Promise<void> | undefined;

  constructor(connection: WriteConnection, options: DatabaseOptions, committed: () => void) {
    this.#connection = connection;
    this.#options = options;
    this.#committed = committed;
  }

  write<T>(
    actor: Actor,
    action: (tx: Transaction) => Promise<T>,
    { isUrgent }: WriteOptions = {},
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({
        key: lineOf(actor),
        isUrgent,
        actor,
        action,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
      // setImmediate: every request that is read in this turn of the event loop joins the same
      // group.
      this.#running ??= new Promise((done) => setImmediate(() => this.#drain().finally(done)));
    });
  }

  /** Resolves when nothing waits any more. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #drain(): Promise<void> {
    try {
      for (;;) {
        const alone = this.#alone.shift();
        if (alone) await this.#commitTogether([alone].values());
        else if (this.#again.length > 0) await this.#commitTogether(this.#repeated());
        else if (this.#waiting.size > 0)
          await this.#commitTogether(this.#next(), this.#insertsLater);
        else break;
        if (this.#waiting.size > 0) await gathered();
      }
    } finally {
      this.#running = undefined;
    }
  }

  /** One action alone gains nothing by it. */
  get #insertsLater(): boolean {
    const isCalm = this.#options.clock.steady() >= this.#insertsAtOnceUntil;
    return this.#connection.isRemote && this.#waiting.size > 1 && isCalm;
  }

  /**
   * The actions of a group, each taken when it is to run: those that wait now, for a limited time.
   */
  *#next(): IteratorObject<Waiting> {
    const { clock } = this.#options;
    const started = clock.steady();
    for (let slots = Math.min(this.#waiting.size, largestGroup); slots > 0; slots -= 1) {
      const waiting = this.#waiting.take();
      if (waiting) yield waiting;
      if (this.#waiting.isShared && clock.steady() - started > longestGroup_seconds) return;
    }
  }

  /** Those whose group was refused; what ends early leaves the rest of them for the next group. */
  *#repeated(): Generator<Waiting> {
    for (let next = this.#again.shift(); next; next = this.#again.shift()) yield next;
  }

  async #commitTogether(next: IteratorObject<Waiting>, insertsLater = false): Promise<void> {
    const actions: Waiting[] = [];
    const group = new SharedGroup(insertsLater);
    const { clock } = this.#options;
    const started = clock.steady();
    try {
      await this.#connection.begin();
      const tx = new GroupTransaction(this.#connection, group, committer, clock.now());
      await this.#connection.prepare?.(tx);
    } catch (error) {
      await this.#connection.rollback();
      // Actions that queued up meanwhile would only wait as long again: they fail at once while the
      // database is offline.
      const all = [...next, ...this.#alone.splice(0), ...this.#waiting.takeAll()];
      for (const waiting of all) waiting.reject(storageFault(error));
      return;
    }
    try {
      await this.#runGroup(group, next, actions);
      this.#committed();
    } catch (error) {
      await this.#connection.rollback();
      if (error instanceof Again) {
        // One by one, so that a second failure does not make other actions run a third time.
        this.#alone.push(...actions);
      } else if (error instanceof Refused) {
        this.#again.push(...actions);
        this.#insertsAtOnceUntil = clock.steady() + calmSeconds;
      } else if (error instanceof Failed) {
        error.tx.settle(false);
        actions[0]?.reject(error.cause);
      } else {
        for (const waiting of actions) waiting.reject(storageFault(error));
      }
    }
    this.#options.onGroup?.(actions.length, clock.steady() - started);
  }

  /** Runs the actions of `next`, and adds each one that it takes to `actions`. */
  async #runGroup(
    group: SharedGroup,
    next: IteratorObject<Waiting>,
    actions: Waiting[],
  ): Promise<void> {
    const { clock } = this.#options;
    const connection = this.#connection;
    const results: Array<[Waiting, unknown, GroupTransaction]> = [];
    const rejections: Array<[Waiting, ApiError, GroupTransaction]> = [];
    let turned = clock.steady();
    for (const waiting of next) {
      actions.push(waiting);
      if (clock.steady() - turned > longestTurn_seconds) {
        await turn();
        turned = clock.steady();
      }
      const tx = new GroupTransaction(connection, group, waiting.actor, clock.now());
      try {
        results.push([waiting, await waiting.action(tx), tx]);
      } catch (error) {
        if (isStorageFault(error)) throw error;
        if (group.isRefused) throw new Refused();
        // A failed statement makes PostgreSQL's transaction unusable, so only an action that wrote
        // nothing may be rejected alone.
        if (tx.isDirty || !(error instanceof ApiError)) {
          throw actions.length > 1 ? new Again() : new Failed(tx, error);
        }
        rejections.push([waiting, error, tx]);
      } finally {
        tx.end();
      }
    }
    const last = new GroupTransaction(connection, group, committer, clock.now());
    const inserted = group.insertRows(connection);
    const flushed = Promise.all(group.flushes.map((flush) => flush(last)));
    flushed.catch(() => {});
    await inserted;
    await flushed;
    if (group.isRefused) throw new Refused();
    await connection.commit();
    for (const [waiting, result, tx] of results) {
      tx.settle(true);
      waiting.resolve(result);
    }
    // Only now: a rejection may be based on records that this group itself wrote.
    for (const [waiting, error, tx] of rejections) {
      tx.settle(false);
      waiting.reject(error);
    }
  }
}
