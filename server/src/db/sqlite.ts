// SQLite, the embedded default: one connection writes in groups, another reads what is committed.
import { closeSync, openSync, rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { renameDurably } from '../durable.ts';
import type {
  Actor,
  Database,
  DatabaseOptions,
  Reader,
  Row,
  Transaction,
  Value,
} from './database.ts';
import { isStorageFault, markStorageFault, storageFault } from './faults.ts';
import { GroupWriter, type WriteConnection } from './group.ts';
import { Listeners } from './listeners.ts';

/** Result codes that speak of the disk or the file, not of the statement: BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB. */
const storageCodes = new Set([5, 8, 10, 11, 13, 14, 26]);

const busy = 5;
const full = 13;

/** How long another process (a backup, a migration) may hold the write lock before a write ends with 503. */
const busy_seconds = 5;
/** How often the lock is tried meanwhile; SQLite's own waiting would hold up all reads. */
const busy_retry_milliseconds = 20;
/** How soon a commit of another process is noticed. */
const look_milliseconds = 100;
/** How long an open connection waits inside SQLite. Readers wait for nobody but a recovery. */
const wait_milliseconds = { write: 0, read: 500 };

/** Only its owner reads the database: it is made before SQLite would make it for everybody. */
function ensureFile(file: string): void {
  closeSync(openSync(file, 'a', 0o600));
}

/** A connection that keeps its statements prepared, by their text. */
class Connection implements Reader {
  #db: DatabaseSync;
  readonly #file: string;
  readonly #readOnly: boolean;
  readonly #statements = new Map<string, StatementSync>();

  constructor(file: string, readOnly: boolean) {
    this.#file = file;
    this.#readOnly = readOnly;
    this.#db = this.#open();
  }

  #open(): DatabaseSync {
    const db = new DatabaseSync(this.#file, {
      readOnly: this.#readOnly,
      timeout: busy_seconds * 1000,
      enableForeignKeyConstraints: true,
    });
    if (!this.#readOnly) db.exec('pragma journal_mode = wal');
    // WAL falls back to NORMAL when a file is opened again, and NORMAL loses acknowledged writes.
    db.exec('pragma synchronous = full');
    db.exec('pragma cache_size = -16000');
    db.exec('pragma temp_store = memory');
    const level = db.prepare('pragma synchronous').get()?.synchronous;
    if (level !== 2) {
      throw new Error(`SQLite runs with synchronous=${level}; Exitward needs 2 (FULL)`);
    }
    db.exec(`pragma busy_timeout = ${wait_milliseconds[this.#readOnly ? 'read' : 'write']}`);
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
    try {
      return this.#statement(sql).all(...(values as SQLInputValue[])) as R[];
    } catch (error) {
      throw marked(error);
    }
  }
  row<R>(sql: string, values: readonly Value[] = []): R | undefined {
    try {
      return this.#statement(sql).get(...(values as SQLInputValue[])) as R | undefined;
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
  reopen(): void {
    this.close();
    this.#db = this.#open();
  }
  close(): void {
    this.#statements.clear();
    if (this.#db.isOpen) this.#db.close();
  }
}

function marked(error: unknown): unknown {
  const code = (error as { errcode?: number }).errcode;
  return code !== undefined && storageCodes.has(code & 0xff) ? markStorageFault(error) : error;
}

function isA(code: number, error: unknown): boolean {
  return ((error as { errcode?: number } | undefined)?.errcode ?? 0) % 256 === code;
}

class SqliteWriter implements WriteConnection {
  readonly #connection: Connection;
  readonly #clock: Clock;
  /** Why the running transaction cannot commit any more. */
  #fault: unknown;

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /**
   * A full disk may end SQLite's transaction in the middle; from then on each statement would commit
   * by itself. So after the first fault nothing runs until the rollback.
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
    const until = this.#clock.steady() + busy_seconds;
    for (;;) {
      try {
        return this.#connection.exec('begin immediate');
      } catch (error) {
        if (!isA(busy, error) || this.#clock.steady() >= until) throw error;
      }
      await sleep(busy_retry_milliseconds);
    }
  }
  /** For statements that are of no action: those of a migration. */
  exec(sql: string): void {
    this.#inTransaction(() => this.#connection.exec(sql));
  }
  async all<R>(sql: string, values: readonly Value[]): Promise<R[]> {
    return this.#inTransaction(() => this.#connection.rows<R>(sql, values));
  }
  async run(sql: string, values: readonly Value[]): Promise<number> {
    return this.#inTransaction(() => this.#connection.change(sql, values));
  }
  async insertMany(table: string, rows: readonly Row[], suffix: string): Promise<void> {
    const first = rows[0];
    if (!first) return;
    const columns = Object.keys(first);
    const places = columns.map((_, at) => `$${at + 1}`);
    const sql = `insert into ${table} (${columns}) values (${places}) ${suffix}`;
    this.#inTransaction(() => {
      for (const row of rows) {
        this.#connection.change(
          sql,
          columns.map((column) => row[column] ?? null),
        );
      }
    });
  }
  async commit(): Promise<void> {
    this.#inTransaction(() => this.#connection.exec('commit'));
  }
  async rollback(): Promise<void> {
    const fault = this.#fault;
    this.#fault = undefined;
    try {
      if (this.#connection.inTransaction) this.#connection.exec('rollback');
      if (!fault || isA(full, fault)) return;
    } catch {
      // Not even that: then a new connection, too.
    }
    try {
      // After an I/O error the connection may believe what the disk does not hold: a new one reads it anew.
      this.#connection.reopen();
    } catch {
      // Still no disk: the next write tries again.
    }
  }
}

class SqliteDatabase implements Database {
  readonly engine = 'sqlite';
  readonly #file: string;
  readonly #connection: Connection;
  readonly #reader: Connection;
  readonly #writer: SqliteWriter;
  readonly #groups: GroupWriter;
  readonly #listeners = new Listeners(() => this.#lookForOthers());
  #versionThisTurn: number | undefined;

  constructor(file: string, options: DatabaseOptions) {
    this.#file = file;
    ensureFile(file);
    this.#connection = new Connection(file, false);
    this.#reader = new Connection(file, true);
    this.#writer = new SqliteWriter(this.#connection, options.clock);
    this.#groups = new GroupWriter(this.#writer, options, () => {
      this.#versionThisTurn = undefined;
      this.#listeners.notify();
    });
  }

  async one<R>(sql: string, values?: readonly Value[]): Promise<R | undefined> {
    return this.#read(() => this.#reader.row<R>(sql, values));
  }
  async all<R>(sql: string, values?: readonly Value[]): Promise<R[]> {
    return this.#read(() => this.#reader.rows<R>(sql, values));
  }
  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw isStorageFault(error) ? storageFault(error) : error;
    }
  }

  async write<T>(actor: Actor, action: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#groups.write(actor, action);
  }

  async snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T> {
    let connection: Connection | undefined;
    try {
      connection = new Connection(this.#file, true);
      connection.exec('begin');
      return await read(connection);
    } catch (error) {
      throw isStorageFault(marked(error)) ? storageFault(error) : error;
    } finally {
      connection?.close();
    }
  }

  /** Errors: 503. */
  dataVersion(): number {
    // Once per turn of the event loop: what is committed after a request was read may wait for the next.
    if (this.#versionThisTurn === undefined) {
      const row = this.#read(() =>
        this.#reader.row<{ data_version: number }>('pragma data_version'),
      );
      this.#versionThisTurn = row?.data_version ?? 0;
      setImmediate(() => {
        this.#versionThisTurn = undefined;
      });
    }
    return this.#versionThisTurn;
  }

  listen(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Commits of this process are told by their group; this hears those of another one on the same file. */
  #lookForOthers(): () => void {
    let last = this.dataVersion();
    const timer = setInterval(() => {
      try {
        const version = this.dataVersion();
        if (version !== last) this.#listeners.notify();
        last = version;
      } catch {
        // The file is away for now; the next tick looks again.
      }
    }, look_milliseconds);
    timer.unref();
    return () => clearInterval(timer);
  }

  async script(statements: readonly string[]): Promise<void> {
    await this.#writer.begin();
    try {
      for (const statement of statements) this.#writer.exec(statement);
      await this.#writer.commit();
    } catch (error) {
      await this.#writer.rollback();
      throw error;
    }
  }

  async backup(file: string): Promise<void> {
    const unfinished = `${file}.unfinished`;
    rmSync(unfinished, { force: true });
    ensureFile(unfinished);
    const source = new Connection(this.#file, true);
    try {
      source.rows('vacuum into $1', [unfinished]);
    } finally {
      source.close();
    }
    renameDurably(unfinished, file);
  }

  async close(): Promise<void> {
    await this.#groups.settled();
    this.#listeners.close();
    this.#reader.close();
    this.#connection.close();
  }
}

/** Opens (and makes) the database file; WAL and synchronous=FULL, asserted. */
export function openSqlite(file: string, options: DatabaseOptions): Database {
  try {
    return new SqliteDatabase(file, options);
  } catch (error) {
    throw new Error(`The database file ${file} cannot be opened: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
