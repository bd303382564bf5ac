// PostgreSQL: one pipelined connection writes in groups under one lock, a small pool reads.
import pg from 'pg';
import type { Actor, Database, DatabaseOptions, Reader, Transaction, Value } from './database.ts';
import { isStorageFault, storageFault } from './faults.ts';
import { GroupWriter } from './group.ts';
import { Listeners } from './listeners.ts';
import { connectionSettings, marked, named, newClient } from './postgres_connection.ts';
import { PostgresListener } from './postgres_listener.ts';
import { PostgresWriter, writeLock } from './postgres_writer.ts';

/** Longer than any migration takes; a script has no other limit. */
const script_milliseconds = 3_600_000;

/** Asks the server; its faults become the 503 that the client sees. */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw isStorageFault(marked(error)) ? storageFault(error) : error;
  }
}

class PostgresDatabase implements Database {
  readonly engine = 'postgres';
  readonly #settings: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #writer: PostgresWriter;
  readonly #groups: GroupWriter;
  readonly #listeners = new Listeners(() => {
    const listener = new PostgresListener(this.#settings, () => this.#listeners.notify());
    return () => listener.stop();
  });

  constructor(url: string, options: DatabaseOptions) {
    this.#settings = connectionSettings(url);
    this.#pool = new pg.Pool({ ...this.#settings, max: 4, idleTimeoutMillis: 60_000 });
    this.#pool.on('error', () => {});
    this.#writer = new PostgresWriter(this.#settings);
    this.#groups = new GroupWriter(this.#writer, options, () => this.#listeners.notify());
  }

  async one<R>(sql: string, values?: readonly Value[]): Promise<R | undefined> {
    return (await this.all<R>(sql, values))[0];
  }
  async all<R>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    return asked(async () => (await this.#pool.query(named(sql, values))).rows as R[]);
  }

  write<T>(actor: Actor, action: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#groups.write(actor, action);
  }

  async snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T> {
    const client = newClient(this.#settings);
    try {
      const rows = <R>(sql: string, values: readonly Value[] = []) =>
        asked(async () => (await client.query(named(sql, values))).rows as R[]);
      await asked(() => client.connect());
      await rows('begin isolation level repeatable read read only');
      return await read({
        all: rows,
        one: async (sql, values) => (await rows(sql, values))[0] as never,
      });
    } finally {
      await client.end().catch(() => {});
    }
  }

  listen(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  async script(statements: readonly string[]): Promise<void> {
    const client = newClient(this.#settings);
    const run = (text: string) =>
      client.query({ text, query_timeout: script_milliseconds } as pg.QueryConfig);
    try {
      await client.connect();
      await run('begin');
      await run('set local statement_timeout = 0');
      await run(`select pg_advisory_xact_lock(${writeLock})`);
      for (const statement of statements) await run(statement);
      await run('commit');
    } finally {
      await client.end().catch(() => {});
    }
  }

  backup(): Promise<void> {
    throw new Error('Back up PostgreSQL with its own tools (pg_dump); see docs/operating.md.');
  }

  async close(): Promise<void> {
    await this.#groups.settled();
    this.#listeners.close();
    this.#writer.close();
    await this.#pool.end();
  }
}

/** Opens a pool to the server that `url` names and checks that it answers. */
export async function openPostgres(url: string, options: DatabaseOptions): Promise<Database> {
  const database = new PostgresDatabase(url, options);
  try {
    await database.one('select 1');
  } catch (error) {
    await database.close().catch(() => {});
    const cause = (error as Error).cause ?? error;
    const reason = (cause as Error).message || (cause as { code?: string }).code || 'no answer';
    throw new Error(`The PostgreSQL server does not answer: ${reason}.`);
  }
  return database;
}
