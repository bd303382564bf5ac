// PostgreSQL: one pipelined connection writes in groups under one lock, a small pool reads.
import pg from 'pg';
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
import { isStorageFault, markStorageFault, storageFault } from './faults.ts';
import { GroupWriter } from './group.ts';
import { Listeners } from './listeners.ts';
import { checkServer } from './postgres_checks.ts';
import {
  type ConnectionSettings,
  connectionSettings,
  durably,
  marked,
  named,
  newClient,
} from './postgres_connection.ts';
import { PostgresListener } from './postgres_listener.ts';
import { Primary, Unfit } from './postgres_primary.ts';
import { PostgresWriter, writeLock } from './postgres_writer.ts';

/** Longer than any migration takes; a script has no other time limit. */
const scriptMs = 3_600_000;
/** More than the connections of the pool, all of which may lead to a former primary. */
const maxTries = 10;

const connecting: Actor = { kind: 'system', name: 'connect', address: '', request_id: '' };

/** Calls the server; an error of the server becomes the 503 that clients get. */
async function unlessAway<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw isStorageFault(marked(error)) ? storageFault(error) : error;
  }
}

class PostgresDatabase implements Database {
  readonly engine = 'postgres';
  readonly #settings: ConnectionSettings;
  readonly #primary = new Primary();
  readonly #pool: pg.Pool;
  readonly #writer: PostgresWriter;
  readonly #groups: GroupWriter;
  readonly #listeners = new Listeners(() => {
    const listener = new PostgresListener(
      this.#settings,
      this.#primary,
      (reached) => this.#beginHistory(reached),
      () => this.#listeners.notify(),
    );
    return () => listener.stop();
  });

  constructor(url: string, options: DatabaseOptions) {
    this.#settings = connectionSettings(url);
    this.#pool = new pg.Pool({
      ...this.#settings,
      max: 4,
      idleTimeoutMillis: 60_000,
      verify: (client, done) => this.#primary.admit(client).then(() => done(), done),
    });
    this.#pool.on('error', () => {});
    // The pool only notices the loss of idle connections.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
    this.#writer = new PostgresWriter(this.#settings, this.#primary);
    this.#groups = new GroupWriter(this.#writer, options, () => this.#listeners.notify());
  }

  async one<R>(sql: string, values?: readonly Value[]): Promise<R | undefined> {
    return (await this.all<R>(sql, values))[0];
  }
  async all<R>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    return unlessAway(async () => {
      for (let tries = 0; tries < maxTries; tries += 1) {
        const client = await this.#pool.connect();
        let rows: R[] | undefined;
        try {
          if (this.#primary.holds(client)) rows = (await client.query(named(sql, values))).rows;
        } finally {
          // After a failed query the state of the connection is unknown; one to a former primary
          // reads a lost history.
          const isGood = rows !== undefined && this.#primary.holds(client);
          client.release(!isGood);
          if (!isGood) rows = undefined;
        }
        if (rows) return rows;
      }
      throw markStorageFault(new Error('Each connection reaches another PostgreSQL server.'));
    });
  }

  write<T>(
    actor: Actor,
    action: (tx: Transaction) => Promise<T>,
    options?: WriteOptions,
  ): Promise<T> {
    return this.#groups.write(actor, action, options);
  }

  async snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T> {
    const client = newClient(this.#settings);
    try {
      const rows = <R>(sql: string, values: readonly Value[] = []) =>
        unlessAway(async () => (await client.query(named(sql, values))).rows as R[]);
      await unlessAway(async () => {
        await client.connect();
        await this.#primary.admit(client);
      });
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
    const run = (text: string) => client.query({ text, query_timeout: scriptMs } as pg.QueryConfig);
    try {
      await client.connect();
      await run('begin');
      await run('set local statement_timeout = 0');
      await run(`select pg_advisory_xact_lock(${writeLock})`);
      for (const statement of statements) await run(statement);
      await run(`select ${durably}`);
      await run('commit');
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** On another server the new history begins at once, not with the next change. */
  async #beginHistory(reached: string): Promise<void> {
    const network = await this.one<{ history: string | null }>('select history from network');
    if (network?.history !== reached) await this.write(connecting, async () => {});
  }

  /** Errors: `Unfit` when the server cannot be relied on. */
  async check(): Promise<void> {
    const client = await this.#pool.connect();
    let other: pg.PoolClient | undefined;
    let isGood = false;
    try {
      other = await this.#pool.connect();
      await checkServer(client, other);
      isGood = true;
    } finally {
      client.release(!isGood);
      other?.release(!isGood);
    }
  }

  async examine(): Promise<DatabaseFacts> {
    const unfit = await this.check().then(
      () => null,
      (error: unknown) => {
        if (error instanceof Unfit) return error.message;
        throw error;
      },
    );
    const facts = await this.one<Omit<DatabaseFacts & { engine: 'postgres' }, 'engine' | 'unfit'>>(
      `select current_setting('server_version') as version,
         (select reset_val from pg_settings where name = 'synchronous_commit') as synchronous_commit,
         current_setting('fsync') as fsync,
         current_setting('full_page_writes') as full_page_writes,
         (select count(*) from pg_stat_replication) as standbys`,
    );
    if (!facts) throw new Error('PostgreSQL reports nothing about itself');
    return { engine: 'postgres', unfit, ...facts };
  }

  backup(): Promise<void> {
    throw new Error('Back up PostgreSQL with its own tools (pg_dump); see docs/operating.md.');
  }

  async close(): Promise<void> {
    // First, because each of its connections begins with a write.
    this.#listeners.close();
    await this.#groups.settled();
    this.#writer.close();
    await this.#pool.end();
  }
}

/** Opens a pool to the server that `url` names and checks that it can be relied on. */
export async function openPostgres(url: string, options: DatabaseOptions): Promise<Database> {
  const database = new PostgresDatabase(url, options);
  try {
    await database.check();
  } catch (error) {
    await database.close().catch(() => {});
    if (error instanceof Unfit) throw error;
    const cause = (error as Error).cause ?? error;
    const reason = (cause as Error).message || (cause as { code?: string }).code || 'no answer';
    // An error of the server itself has a severity: it answered, and refused.
    const outcome =
      'severity' in (cause as object)
        ? 'The PostgreSQL server refuses the connection'
        : 'Cannot connect to the PostgreSQL server';
    throw new Error(`${outcome}: ${reason}.`);
  }
  return database;
}
