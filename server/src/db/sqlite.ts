// SQLite, the embedded default: one connection writes in groups, another reads what is committed.
import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type {
  Actor,
  Database,
  DatabaseOptions,
  Reader,
  Row,
  Transaction,
  Value,
} from './database.ts';
import { GroupWriter, isStorageFault, markStorageFault, storageFault, type WriteConnection } from './group.ts';

/** Result codes that speak of the disk or the file, not of the statement: BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB. */
const storageCodes = new Set([5, 8, 10, 11, 13, 14, 26]);

/** How long another process (a backup, a migration) may hold the write lock before we answer 503. */
const busy_milliseconds = 5000;

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
      timeout: busy_milliseconds,
      enableForeignKeyConstraints: true,
    });
    if (!this.#readOnly) db.exec('pragma journal_mode = wal');
    // WAL falls back to NORMAL when a file is opened again, and NORMAL loses acknowledged writes.
    db.exec('pragma synchronous = full');
    db.exec('pragma cache_size = -16000');
    db.exec('pragma temp_store = memory');
    const level = db.prepare('pragma synchronous').get()?.synchronous;
    if (level !== 2) throw new Error(`SQLite runs with synchronous=${level}; Exitward needs 2 (FULL).`);
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

class SqliteWriter implements WriteConnection {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }
  async begin(): Promise<void> {
    this.#connection.exec('begin immediate');
  }
  async all<R>(sql: string, values: readonly Value[]): Promise<R[]> {
    return this.#connection.rows<R>(sql, values);
  }
  async run(sql: string, values: readonly Value[]): Promise<number> {
    return this.#connection.change(sql, values);
  }
  async insertMany(table: string, rows: readonly Row[], suffix: string): Promise<void> {
    const first = rows[0];
    if (!first) return;
    const columns = Object.keys(first);
    const places = columns.map((_, at) => `$${at + 1}`);
    const sql = `insert into ${table} (${columns}) values (${places}) ${suffix}`;
    for (const row of rows) {
      this.#connection.change(sql, columns.map((column) => row[column] ?? null));
    }
  }
  async commit(): Promise<void> {
    this.#connection.exec('commit');
  }
  async rollback(): Promise<void> {
    try {
      if (this.#connection.inTransaction) this.#connection.exec('rollback');
      this.#connection.row('pragma user_version');
    } catch {
      // After an I/O error the state of the connection is unknown: a new one reads it from the disk.
      try {
        this.#connection.reopen();
      } catch {
        // Still no disk: the next write tries again.
      }
    }
  }
}

class SqliteDatabase implements Database {
  readonly engine = 'sqlite';
  readonly #file: string;
  readonly #writer: Connection;
  readonly #reader: Connection;
  readonly #groups: GroupWriter;
  readonly #listeners = new Set<() => void>();
  #versionThisTurn: number | undefined;

  constructor(file: string, options: DatabaseOptions) {
    this.#file = file;
    this.#writer = new Connection(file, false);
    this.#reader = new Connection(file, true);
    this.#groups = new GroupWriter(new SqliteWriter(this.#writer), options, () => {
      this.#versionThisTurn = undefined;
      for (const heard of this.#listeners) heard();
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
    const connection = new Connection(this.#file, true);
    try {
      connection.exec('begin');
      return await read(connection);
    } finally {
      connection.close();
    }
  }

  dataVersion(): number {
    // Once per turn of the event loop: what is committed after a request was read may wait for the next.
    if (this.#versionThisTurn === undefined) {
      const row = this.#reader.row<{ data_version: number }>('pragma data_version');
      this.#versionThisTurn = row?.data_version ?? 0;
      setImmediate(() => {
        this.#versionThisTurn = undefined;
      });
    }
    return this.#versionThisTurn;
  }

  listen(heard: () => void): () => void {
    this.#listeners.add(heard);
    // Commits of this process are told by their group; this hears those of another one on the same file.
    let last = this.dataVersion();
    const timer = setInterval(() => {
      try {
        const version = this.dataVersion();
        if (version !== last) heard();
        last = version;
      } catch {
        // The file is away for now; the next tick looks again.
      }
    }, 100);
    timer.unref();
    return () => {
      this.#listeners.delete(heard);
      clearInterval(timer);
    };
  }

  async script(statements: readonly string[]): Promise<void> {
    this.#writer.exec('begin immediate');
    try {
      for (const statement of statements) this.#writer.exec(statement);
      this.#writer.exec('commit');
    } catch (error) {
      if (this.#writer.inTransaction) this.#writer.exec('rollback');
      throw error;
    }
  }

  async backup(file: string): Promise<void> {
    const unfinished = `${file}.unfinished`;
    rmSync(unfinished, { force: true });
    const source = new Connection(this.#file, true);
    try {
      source.rows('vacuum into $1', [unfinished]);
    } finally {
      source.close();
    }
    const handle = openSync(unfinished, 'r+');
    fsyncSync(handle);
    closeSync(handle);
    renameSync(unfinished, file);
  }

  async close(): Promise<void> {
    await this.#groups.settled();
    this.#reader.close();
    this.#writer.close();
  }
}

/** Opens (and makes) the database file; WAL and synchronous=FULL, asserted. */
export function openSqlite(file: string, options: DatabaseOptions): Database {
  try {
    return new SqliteDatabase(file, options);
  } catch (error) {
    throw new Error(`The database file ${file} cannot be opened: ${(error as Error).message}.`);
  }
}
