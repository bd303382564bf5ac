// Group commit: actions that wait at the same time share one transaction, one commit and one fsync.
import { setImmediate as turn } from 'node:timers/promises';
import { ApiError } from '../errors.ts';
import type {
  Actor,
  DatabaseOptions,
  Group,
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
  insertMany(table: string, rows: readonly Row[], suffix: string): Promise<void>;
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
  readonly #things = new Map<string, Promise<unknown>>();

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
    return (await this.#open.all<R>(sql, values))[0];
  }
  async all<R>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    return this.#open.all<R>(sql, values);
  }
  async run(sql: string, values: readonly Value[] = []): Promise<number> {
    this.#writes += 1;
    const changed = await this.#open.run(sql, values);
    if (changed === 0) this.#writes -= 1;
    return changed;
  }
  async put<R>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    this.#writes += 1;
    const rows = await this.#open.all<R>(sql, values);
    if (rows.length === 0) this.#writes -= 1;
    return rows;
  }
  async insertMany(table: string, rows: readonly Row[], suffix = ''): Promise<void> {
    this.#writes += 1;
    return this.#open.insertMany(table, rows, suffix);
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
        else if (this.#waiting.size > 0) await this.#commitTogether(this.#next());
        else break;
        if (this.#waiting.size > 0) await gathered();
      }
    } finally {
      this.#running = undefined;
    }
  }

  /**
   * The actions of a group, each taken when it is to run: those that wait now, for a limited time.
   */
  *#next(): IteratorObject<Waiting> {
    const { clock, largest_group = largestGroup } = this.#options;
    const started = clock.steady();
    for (let slots = Math.min(this.#waiting.size, largest_group); slots > 0; slots -= 1) {
      const waiting = this.#waiting.take();
      if (waiting) yield waiting;
      if (this.#waiting.isShared && clock.steady() - started > longestGroup_seconds) return;
    }
  }

  async #commitTogether(next: IteratorObject<Waiting>): Promise<void> {
    const actions: Waiting[] = [];
    const group = new SharedGroup();
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
    await Promise.all(group.flushes.map((flush) => flush(last)));
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
