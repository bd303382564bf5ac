// The connection that writes to SQLite: its commits are durable when the log has been flushed in
// parallel with the event loop.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Row, Value } from './database.ts';
import type { DurableReads } from './durable_reads.ts';
import { isStorageFault, lostFile, markStorageFault } from './faults.ts';
import type { WriteConnection } from './group.ts';
import { busySeconds, type Connection, isBusy, isFull } from './sqlite_connection.ts';
import type { Wal } from './wal.ts';

/**
 * How often the lock is tried while another process holds it; SQLite's own waiting would block all
 * reads.
 */
const busyRetryMs = 20;

export class SqliteWriter implements WriteConnection {
  readonly isRemote = false;
  readonly #connection: Connection;
  readonly #reads: DurableReads;
  readonly #wal: Wal;
  readonly #checkpoints: Checkpoints;
  readonly #clock: Clock;
  readonly #isLost: () => boolean;
  /** Why the running transaction cannot commit any more. */
  #fault: unknown;
  /**
   * How many rows this connection had changed when the running transaction began; -1: it changes
   * the schema.
   */
  #changesBefore = 0;

  constructor(
    connection: Connection,
    reads: DurableReads,
    wal: Wal,
    checkpoints: Checkpoints,
    clock: Clock,
    isLost: () => boolean,
  ) {
    this.#connection = connection;
    this.#reads = reads;
    this.#wal = wal;
    this.#checkpoints = checkpoints;
    this.#clock = clock;
    this.#isLost = isLost;
  }

  /**
   * A full disk may end SQLite's transaction in the middle; from then on each statement would
   * commit by itself. So after the first error nothing runs until the rollback.
   */
  #inTransaction<T>(work: () => T): T {
    if (this.#fault) throw this.#fault;
    try {
      return work();
    } catch (error) {
      if (isStorageFault(error)) this.#fault = error;
      throw error;
    }
  }

  async begin(): Promise<void> {
    // A flush succeeds there, too, but no restart would find what was confirmed.
    if (this.#isLost()) throw new Error(lostFile);
    await this.#checkpoints.beginLog();
    const until = this.#clock.steady() + busySeconds;
    for (;;) {
      try {
        this.#connection.exec('begin immediate');
        break;
      } catch (error) {
        if (!isBusy(error) || this.#clock.steady() >= until) throw error;
      }
      await sleep(busyRetryMs);
    }
    if (this.#wal.isUnsure) await this.#rewrite();
    this.#changesBefore = this.#changes();
  }

  /**
   * Writes the log to the disk, whatever happened to it before; nothing is written or acknowledged
   * until that is done.
   */
  async #rewrite(): Promise<void> {
    try {
      await this.#wal.rewrite();
      this.#reads.isWhole();
    } catch (error) {
      this.#fault = markStorageFault(error);
      throw error;
    }
  }

  #changes(): number {
    const row = this.#connection.row<{ changes: number }>('select total_changes() as changes');
    return row?.changes ?? 0;
  }

  /** For statements that belong to no action: those of a migration. */
  exec(sql: string): void {
    this.#changesBefore = -1;
    this.#inTransaction(() => this.#connection.exec(sql));
  }
  async all<R>(sql: string, values: readonly Value[]): Promise<R[]> {
    return this.#inTransaction(() => this.#connection.rows<R>(sql, values));
  }
  async run(sql: string, values: readonly Value[]): Promise<number> {
    return this.#inTransaction(() => this.#connection.change(sql, values));
  }
  async insertMany(table: string, rows: readonly Row[], suffix: string): Promise<number> {
    const first = rows[0];
    if (!first) return 0;
    const columns = Object.keys(first);
    const places = columns.map((_, at) => `$${at + 1}`);
    const sql = `insert into ${table} (${columns}) values (${places}) ${suffix}`;
    return this.#inTransaction(() => {
      let changed = 0;
      for (const row of rows) {
        changed += this.#connection.change(
          sql,
          columns.map((column) => row[column] ?? null),
        );
      }
      return changed;
    });
  }
  async commit(): Promise<void> {
    if (this.#fault) throw this.#fault;
    // Even without a row of its own it may depend on what another process has committed and not yet
    // flushed.
    const isFlushed = this.#changes() === this.#changesBefore && !this.#reads.isBehind;
    if (!isFlushed) this.#reads.hold();
    this.#inTransaction(() => this.#connection.exec('commit'));
    if (isFlushed) return;
    try {
      await this.#wal.sync();
    } catch (error) {
      this.#fault = error;
      throw error;
    }
    this.#reads.release();
  }
  async rollback(): Promise<void> {
    const fault = this.#fault;
    this.#fault = undefined;
    try {
      if (this.#connection.inTransaction) this.#connection.exec('rollback');
      if (!fault || isFull(fault)) {
        if (!this.#wal.isUnsure) this.#reads.release();
        return;
      }
    } catch {
      // If even that fails, the connection is opened again as well.
    }
    // Reads stay where they are until the log has been rewritten, since the outcome is unknown.
    this.#wal.doubt();
    try {
      // After an I/O error the connection may have cached what the disk does not hold: a new one
      // reads it again.
      this.#reads.reopenWriter();
    } catch {
      // Still no disk: the next write tries again.
    }
  }
}
