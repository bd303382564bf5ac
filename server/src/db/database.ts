// The interface between the modules and storage: reads, write transactions, and one URL that says
// where.
import type { Clock } from '../clock.ts';
import type { Sync } from './wal.ts';

export type Value = string | number | bigint | null;
export type Row = Record<string, Value>;

/**
 * Statements use `$1`, `$2`, … on both engines. Whole numbers beyond 2^53 come back as the nearest
 * number.
 */
export interface Reader {
  one<R = Row>(sql: string, values?: readonly Value[]): Promise<R | undefined>;
  all<R = Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
}

/** A statement that inserts one row of a table, unless that would violate a unique index. */
export interface Insertion {
  table: string;
  /** In the order of the statement's values. */
  columns: readonly string[];
  sql: string;
}

/** The principal that makes a change, for the audit log. */
export interface Actor {
  kind: 'account' | 'user' | 'operator' | 'node' | 'system';
  name: string;
  address: string;
  request_id: string;
}

/**
 * One action's view of its transaction. Several actions that arrive together share one transaction
 * and one commit (a group); each sees what earlier ones wrote. An action may run twice: keep side
 * effects out of it.
 */
export interface Transaction extends Reader {
  /** Epoch seconds, read once for the whole action. */
  readonly now: number;
  readonly actor: Actor;
  /** State that the actions of one group share. Lost with the group. */
  readonly group: Group;
  /**
   * A statement that writes; returns how many rows it changed. With none it has written nothing.
   */
  run(sql: string, values?: readonly Value[]): Promise<number>;
  /**
   * A statement that writes and returns rows (`returning`). If it returns no row, it must have
   * written nothing.
   */
  put<R = Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
  /**
   * Inserts a row; false, and writes nothing, when it would violate a unique index. On PostgreSQL
   * the rows of a group go in one statement, later; should one of them be refused, all actions of
   * the group run again, and each is answered the truth.
   */
  insert(insertion: Insertion, values: readonly Value[]): Promise<boolean>;
  /**
   * Inserts rows in one statement; all rows have the same columns. `suffix` is an `on conflict`
   * clause.
   */
  insertMany(table: string, rows: readonly Row[], suffix?: string): Promise<void>;
  /**
   * Marks that this action has an effect that must be undone if it fails. `run` and `put` mark it
   * themselves.
   */
  markWritten(): void;
  /**
   * Runs `effect` once, when the outcome of the action is final: `isCommitted`, or refused by an
   * error. Counts in memory are made here, since an action may run twice.
   */
  afterwards(effect: (isCommitted: boolean) => void): void;
}

export interface Group {
  /** The group's value under `key`, made on first use. */
  share<T>(key: string, make: () => Promise<T>): Promise<T>;
  /** The value under `key` is made again on its next use: what it shows was written. */
  forget(key: string): void;
  /** Runs once, after the group's last action and before its commit. */
  beforeCommit(flush: (tx: Transaction) => Promise<void>): void;
}

export interface WriteOptions {
  /** It revokes something: it goes first among the accounts' turns. */
  isUrgent?: boolean | undefined;
}

export type Engine = 'sqlite' | 'postgres';

export interface Database extends Reader {
  readonly engine: Engine;
  /**
   * Runs `action` in a transaction and resolves when its commit is durable. Write transactions
   * follow one another in the whole network, so an action checks and writes without a race. An
   * `ApiError` from the action undoes it alone. Accounts take turns, so that many writes of one
   * account delay others little; those of one account stay in order.
   * Errors: 503 when the database does not answer or cannot store; then nothing is acknowledged and
   * the outcome is unknown.
   */
  write<T>(
    actor: Actor,
    action: (tx: Transaction) => Promise<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /** Reads that all see the same state, on their own connection, a page at a time. */
  snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T>;
  /**
   * SQLite: a number that changes when any connection has committed durably. PostgreSQL has none:
   * undefined.
   */
  dataVersion?(): number;
  /** SQLite: whether its file was removed or replaced: then changes are refused with 503. */
  isLost?(): boolean;
  /**
   * Calls `listener` after each commit of this process, and soon after one of another process.
   * Returns the function that stops it.
   */
  listen(listener: () => void): () => void;
  /** Runs DDL and other statements of migrations, outside of groups. */
  script(statements: readonly string[]): Promise<void>;
  /** Writes a consistent copy to a file (SQLite only). */
  backup(file: string): Promise<void>;
  /** Reports how the database is set up, and changes nothing. */
  examine(): Promise<DatabaseFacts>;
  close(): Promise<void>;
}

/** The facts that durability and exclusion depend on, as the database reports them. */
export type DatabaseFacts =
  | {
      engine: 'sqlite';
      bytes: number;
      log_bytes: number;
      is_lost: boolean;
      /** The disk failed while the log was folded: it grows until a restart. */
      has_failed: boolean;
    }
  | {
      engine: 'postgres';
      /**
       * Why it cannot be relied on: it is no primary, a lock does not exclude, or a notification is
       * lost.
       */
      unfit: string | null;
      version: string;
      synchronous_commit: string;
      fsync: string;
      full_page_writes: string;
      /** The number of standbys. */
      standbys: number;
    };

export interface DatabaseOptions {
  clock: Clock;
  /** Test-only: replaces the flush of SQLite's log, to simulate a disk that is slow or fails. */
  sync?: Sync | undefined;
  /** Called once for each group with its size and seconds; feeds the metrics. */
  onGroup?: (actions: number, seconds: number) => void;
}
