// SQLite, the embedded default: one connection writes in groups, another reads what is on the disk,
// a thread checkpoints.
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { createUnfinished, nameDurably, removeUnfinished } from '../../../kit/src/durable.ts';
import { Checkpoints } from './checkpoints.ts';
import type {
  Actor,
  Database,
  DatabaseFacts,
  DatabaseOptions,
  Reader,
  Transaction,
  Value,
  WriteOptions,
} from './database.ts';
import { DurableReads } from './durable_reads.ts';
import { isStorageFault, storageFault } from './faults.ts';
import { GroupWriter } from './group.ts';
import { Listeners } from './listeners.ts';
import { busySeconds, Connection, isBusy, marked } from './sqlite_connection.ts';
import { SqliteWriter } from './sqlite_writer.ts';
import { Wal } from './wal.ts';

/** How soon a commit of another process is noticed. */
const lookMs = 100;

/**
 * Only its owner may read the database, so it is created before SQLite would create it readable for
 * all.
 */
function ensureFile(file: string): void {
  // Closing a file that exists would drop this process's locks on it.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600));
}

class SqliteDatabase implements Database {
  readonly engine = 'sqlite';
  readonly #file: string;
  /** Identifies the file on its disk, whatever its name is later. */
  readonly #inode: number;
  readonly #connection: Connection;
  readonly #wal: Wal;
  readonly #reads: DurableReads;
  readonly #writer: SqliteWriter;
  readonly #groups: GroupWriter;
  readonly #checkpoints: Checkpoints;
  readonly #listeners = new Listeners(() => this.#lookForOthers());
  /** A connection that no snapshot uses now: it has read the schema and prepared its statements. */
  #spare: Connection | undefined;
  #isClosed = false;

  constructor(file: string, options: DatabaseOptions) {
    this.#file = file;
    ensureFile(file);
    this.#inode = statSync(file).ino;
    this.#connection = new Connection(file, 'write');
    this.#wal = new Wal(file, options.sync);
    this.#reads = new DurableReads(new Connection(file, 'read'), this.#connection, this.#wal);
    this.#checkpoints = new Checkpoints(file, this.#wal, () => options.clock.steady());
    const isLost = () => this.isLost();
    this.#writer = new SqliteWriter(
      this.#connection,
      this.#reads,
      this.#wal,
      this.#checkpoints,
      options.clock,
      isLost,
    );
    this.#groups = new GroupWriter(this.#writer, options, () => {
      this.#listeners.notify();
      this.#checkpoints.look();
    });
  }

  /**
   * Flushes the log of earlier writers to the disk. Errors: when another process holds the write
   * lock.
   */
  async open(): Promise<void> {
    try {
      await this.#writer.begin();
      await this.#writer.rollback();
    } catch (error) {
      await this.#writer.rollback();
      await this.close();
      if (!isBusy(error)) throw error;
      throw new Error(`another process has held its write lock for ${busySeconds} seconds`);
    }
  }

  isLost(): boolean {
    return statSync(this.#file, { throwIfNoEntry: false })?.ino !== this.#inode;
  }

  async one<R>(sql: string, values?: readonly Value[]): Promise<R | undefined> {
    return this.#read((reader) => reader.row<R>(sql, values));
  }
  async all<R>(sql: string, values?: readonly Value[]): Promise<R[]> {
    return this.#read((reader) => reader.rows<R>(sql, values));
  }
  async #read<T>(read: (reader: Connection) => T): Promise<T> {
    try {
      return await this.#reads.read(read);
    } catch (error) {
      throw isStorageFault(error) ? storageFault(error) : error;
    }
  }

  async write<T>(
    actor: Actor,
    action: (tx: Transaction) => Promise<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#groups.write(actor, action, options);
  }

  async snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T> {
    let connection = this.#spare;
    this.#spare = undefined;
    try {
      connection ??= new Connection(this.#file, 'read');
      connection.exec('begin');
      connection.row('select 1 from sqlite_schema limit 1');
      await this.#wal.sync();
      const result = await read(connection);
      connection.exec('rollback');
      // One is kept, but none that has met an error: it may have cached what the disk does not
      // hold.
      if (!this.#spare && !this.#isClosed) {
        connection.exec('pragma shrink_memory');
        this.#spare = connection;
        connection = undefined;
      }
      return result;
    } catch (error) {
      throw isStorageFault(marked(error)) ? storageFault(error) : error;
    } finally {
      connection?.close();
    }
  }

  /** Errors: 503. */
  dataVersion(): number {
    try {
      return this.#reads.version();
    } catch (error) {
      throw isStorageFault(error) ? storageFault(error) : error;
    }
  }

  async examine(): Promise<DatabaseFacts> {
    const sizeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    return {
      engine: 'sqlite',
      bytes: sizeOf(this.#file),
      log_bytes: sizeOf(`${this.#file}-wal`),
      is_lost: this.isLost(),
      has_failed: this.#checkpoints.hasFailed,
    };
  }

  listen(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Commits of this process are announced by their group; this watches for those of other processes
   * on the same file.
   */
  #lookForOthers(): () => void {
    let last = this.dataVersion();
    const timer = setInterval(() => {
      try {
        const version = this.dataVersion();
        if (version !== last) this.#listeners.notify();
        last = version;
      } catch {
        // The file is missing for now; the next tick looks again.
      }
    }, lookMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  async script(statements: readonly string[]): Promise<void> {
    try {
      await this.#writer.begin();
      for (const statement of statements) this.#writer.exec(statement);
      await this.#writer.commit();
    } catch (error) {
      await this.#writer.rollback();
      throw error;
    }
  }

  async backup(file: string): Promise<void> {
    const unfinished = createUnfinished(file);
    try {
      this.#copyTo(unfinished);
      await this.#wal.sync();
      if (!nameDurably(unfinished, file)) throw new Error(`${file} is there already.`);
    } finally {
      rmSync(unfinished, { force: true });
    }
    removeUnfinished(file);
  }

  #copyTo(file: string): void {
    const source = new Connection(this.#file, 'read');
    try {
      source.rows('vacuum into $1', [file]);
    } finally {
      source.close();
    }
  }

  async close(): Promise<void> {
    await this.#groups.settled();
    this.#listeners.close();
    await this.#checkpoints.close();
    await this.#wal.close();
    this.#isClosed = true;
    this.#spare?.close();
    this.#reads.close();
    // The last connection that closes folds the log, but pages that may not be on the disk must not
    // go into the database.
    if (!this.#wal.isUnsure) this.#connection.close();
  }
}

/**
 * Opens (and creates) the database file, and asserts how it is written. Errors: a plain Error with
 * one sentence.
 */
export async function openSqlite(file: string, options: DatabaseOptions): Promise<Database> {
  try {
    const database = new SqliteDatabase(file, options);
    await database.open();
    return database;
  } catch (error) {
    throw new Error(`The database file ${file} cannot be opened: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
