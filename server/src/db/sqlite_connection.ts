// One connection to the SQLite file, in one of the ways that this server opens it; its settings are
// asserted each time.
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from 'node:sqlite';
import { periodAt } from '../values/periods.ts';
import type { Reader, Value } from './database.ts';
import { markStorageFault } from './faults.ts';
import { folded } from './folded.ts';
import { ipOrder } from './ip_order.ts';

/**
 * Result codes that are about the disk or the file, not the statement: BUSY, READONLY, IOERR,
 * CORRUPT, FULL, CANTOPEN, NOTADB.
 */
const storageCodes = new Set([5, 8, 10, 11, 13, 14, 26]);

const busy = 5;
const inputOutput = 10;
const full = 13;

/**
 * How long another process (a backup, a migration) may hold the write lock before a write, or a
 * start, gives up.
 */
export const busySeconds = 5;

/**
 * The ways to open the file, with the time that a statement waits inside SQLite. That blocks the
 * thread, so the writer retries by itself, and readers wait only for a recovery.
 *
 * The writer commits with NORMAL: SQLite then flushes only what keeps the database intact. No
 * client hears of a commit before the log is flushed in parallel with the event loop (see wal.ts
 * and durable_reads.ts). The thread that moves the log's pages into the database flushes both by
 * itself.
 */
const ways = {
  write: { readOnly: false, synchronous: 1, wait_milliseconds: 0 },
  read: { readOnly: true, synchronous: 2, wait_milliseconds: 500 },
  checkpoint: { readOnly: false, synchronous: 2, wait_milliseconds: 100 },
} as const;

/** As in the schema of PostgreSQL. */
const periodStart = (start: unknown, now: unknown) => periodAt(Number(start), Number(now)).start;

/** A connection that caches its prepared statements by their text. */
export class Connection implements Reader {
  #db: DatabaseSync;
  readonly #file: string;
  readonly #way: keyof typeof ways;
  readonly #statements = new Map<string, StatementSync>();

  /** Errors: when the file is not written in the way that durability depends on. */
  constructor(file: string, way: keyof typeof ways) {
    this.#file = file;
    this.#way = way;
    this.#db = this.#open();
  }

  #open(): DatabaseSync {
    const { readOnly, synchronous, wait_milliseconds } = ways[this.#way];
    const db = new DatabaseSync(this.#file, {
      readOnly,
      timeout: busySeconds * 1000,
      enableForeignKeyConstraints: true,
    });
    if (!readOnly) db.exec('pragma journal_mode = wal');
    // Deleted content is overwritten: an erased name must not stay in free space.
    if (!readOnly) db.exec('pragma secure_delete = on');
    db.exec(`pragma synchronous = ${synchronous}`);
    // A checkpoint flushes, so it must never run in a commit, which runs on the event loop.
    db.exec('pragma wal_autocheckpoint = 0');
    db.exec('pragma cache_size = -16000');
    db.exec('pragma temp_store = memory');
    const of = (name: string) => db.prepare(`pragma ${name}`).get()?.[name];
    const actual = `journal_mode=${of('journal_mode')} synchronous=${of('synchronous')} wal_autocheckpoint=${of('wal_autocheckpoint')}`;
    const needed = `journal_mode=wal synchronous=${synchronous} wal_autocheckpoint=0`;
    if (actual !== needed) throw new Error(`SQLite runs with ${actual}; Exitward needs ${needed}`);
    db.exec(`pragma busy_timeout = ${wait_milliseconds}`);
    db.function('folded', { deterministic: true }, (text) => text && folded(String(text)));
    db.function('ip_order', { deterministic: true }, ipOrder);
    db.function('period_start', { deterministic: true }, periodStart);
    return db;
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql.replace(/\$(\d+)/g, '?$1'));
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  rows<R>(sql: string, values: readonly Value[] = []): R[] {
    return this.#answer(sql, (statement) => statement.all(...(values as SQLInputValue[]))) as R[];
  }
  row<R>(sql: string, values: readonly Value[] = []): R | undefined {
    const [row] = this.#answer(sql, (statement) => {
      const row = statement.get(...(values as SQLInputValue[]));
      return row ? [row] : [];
    });
    return row as R | undefined;
  }
  /**
   * The rows of a statement. A read that meets a whole number beyond 2^53 - 1 is repeated, and
   * returns the nearest number.
   */
  #answer(sql: string, run: (statement: StatementSync) => SqlRow[]): SqlRow[] {
    try {
      const statement = this.#statement(sql);
      try {
        return run(statement);
      } catch (error) {
        if ((error as { code?: string }).code !== 'ERR_OUT_OF_RANGE' || !isRead.test(sql))
          throw error;
        statement.setReadBigInts(true);
        try {
          return run(statement).map(inNumbers);
        } finally {
          statement.setReadBigInts(false);
        }
      }
    } catch (error) {
      throw marked(error);
    }
  }
  change(sql: string, values: readonly Value[] = []): number {
    try {
      return Number(this.#statement(sql).run(...(values as SQLInputValue[])).changes);
    } catch (error) {
      throw marked(error);
    }
  }
  async one<R>(sql: string, values: readonly Value[] = []): Promise<R | undefined> {
    return this.row<R>(sql, values);
  }
  async all<R>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    return this.rows<R>(sql, values);
  }
  exec(sql: string): void {
    try {
      this.#db.exec(sql);
    } catch (error) {
      throw marked(error);
    }
  }
  get inTransaction(): boolean {
    return this.#db.isTransaction;
  }
  /** Another connection to the same file, opened in the same way. */
  another(): Connection {
    return new Connection(this.#file, this.#way);
  }
  /** Closes, and continues as the other connection, which must not be used any more. */
  become(other: Connection): void {
    other.#statements.clear();
    try {
      this.close();
    } finally {
      this.#db = other.#db;
    }
  }
  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }
}

type SqlRow = Record<string, SQLOutputValue>;
const isRead = /^\s*select\b/i;

function inNumbers(row: SqlRow): SqlRow {
  const values = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'bigint' ? Number(value) : value,
  ]);
  return Object.fromEntries(values);
}

export function marked(error: unknown): unknown {
  const code = (error as { errcode?: number }).errcode;
  return code !== undefined && storageCodes.has(code & 0xff) ? markStorageFault(error) : error;
}

function isA(code: number, error: unknown): boolean {
  return ((error as { errcode?: number } | undefined)?.errcode ?? 0) % 256 === code;
}

export const isBusy = (error: unknown) => isA(busy, error);
export const isFull = (error: unknown) => isA(full, error);
export const isInputOutput = (error: unknown) => isA(inputOutput, error);
