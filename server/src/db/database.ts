// The seam between the modules and storage: read, write in a transaction, and one URL that says where.
import type { Clock } from '../clock.ts';
import type { Sync } from './wal.ts';

export type Value = string | number | bigint | null;
export type Row = Record<string, Value>;

/** Statements use `$1`, `$2`, … on both engines. Whole numbers beyond 2^53 come back as the nearest number. */
export interface Reader {
  one<R = Row>(sql: string, values?: readonly Value[]): Promise<R | undefined>;
  all<R = Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
}

/** The principal that makes a change; ends up in the audit log. */
export interface Actor {
  kind: 'account' | 'user' | 'operator' | 'node' | 'system';
  name: string;
  address: string;
  request_id: string;
}

/**
 * One action's view of the transaction that it runs in. Several actions that arrive together share
 * one transaction and one commit (a group); each sees what those before it wrote. An action may run
 * twice: keep side effects out of it.
 */
export interface Transaction extends Reader {
  /** Epoch seconds, read once for the whole action. */
  readonly now: number;
  readonly actor: Actor;
  /** The things that the actions of one group share. Lost with the group. */
  readonly group: Group;
  /** A statement that writes; returns how many rows it changed. */
  run(sql: string, values?: readonly Value[]): Promise<number>;
  /** A statement that writes and returns rows (`returning`). No row must mean that nothing was written. */
  put<R = Row>(sql: string, values?: readonly Value[]): Promise<R[]>;
  /** Inserts rows in one go; all rows have the same columns. `suffix` is an `on conflict` clause. */
  insertMany(table: string, rows: readonly Row[], suffix?: string): Promise<void>;
  /** Says that this action has an effect which must go if it fails. `run` and `put` say so themselves. */
  markWritten(): void;
}

export interface Group {
  /** The group's own thing under `key`, made on first use. */
  share<T>(key: string, make: () => Promise<T>): Promise<T>;
  /** Runs once, after the group's last action and before its commit. */
  beforeCommit(flush: (tx: Transaction) => Promise<void>): void;
}

export interface WriteOptions {
  /** It takes something away: among accounts' turns it goes first. */
  isUrgent?: boolean | undefined;
}

export type Engine = 'sqlite' | 'postgres';

export interface Database extends Reader {
  readonly engine: Engine;
  /**
   * Runs `action` in a transaction and resolves when its commit is durable. Write transactions
   * follow one another in the whole network, so an action checks and writes without a race.
   * An `ApiError` from the action undoes it alone. Errors: 503 when the database does not answer or
   * cannot store; then nothing is acknowledged and the outcome is unknown. Accounts have their turns in it, so
   * that many writes of one delay another by little; those of one account keep their order.
   */
  write<T>(
    actor: Actor,
    action: (tx: Transaction) => Promise<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /** Reads that all see the same moment, on a connection of their own, a page at a time. */
  snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T>;
  /** SQLite: a number that moves when any connection has committed what is durable. PostgreSQL has none: undefined. */
  dataVersion?(): number;
  /** Calls `listener` after each commit of this process and soon after one of another; returns a function that stops it. */
  listen(listener: () => void): () => void;
  /** DDL and everything else that migrations need, outside of groups. */
  script(statements: readonly string[]): Promise<void>;
  /** Writes a consistent copy to a file (SQLite only). */
  backup(file: string): Promise<void>;
  /** Looks how the database is set up, and changes nothing. */
  examine(): Promise<DatabaseFacts>;
  close(): Promise<void>;
}

/** The facts that durability and exclusion rest on, as the database tells them now. */
export type DatabaseFacts =
  | { engine: 'sqlite'; bytes: number; log_bytes: number }
  | {
      engine: 'postgres';
      /** Why it cannot be relied on, in a sentence: it is no primary, a lock excludes nobody, a notification is lost. */
      unfit: string | null;
      version: string;
      synchronous_commit: string;
      fsync: string;
      full_page_writes: string;
      /** How many follow it. */
      standbys: number;
    };

export interface DatabaseOptions {
  clock: Clock;
  /** Test-only: resolve writes before the commit. The durability test's control. */
  acknowledge_early?: boolean;
  /** Test-only: in place of the disk's own flush of SQLite's log, for a disk that is slow or fails. */
  sync?: Sync | undefined;
  /** How many actions share a commit at most; 1 is a commit per action. For measuring. */
  largest_group?: number | undefined;
  /** Called once for each group with its size and seconds; feeds the metrics. */
  onGroup?: (actions: number, seconds: number) => void;
}
