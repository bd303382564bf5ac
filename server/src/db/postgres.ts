// PostgreSQL: one pipelined connection writes in groups under one lock, a small pool reads.
import pg from 'pg';
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

/** Holders of this advisory lock write; all others wait. It makes revisions commit in their order. */
const writeLock = 0x65786974;
const channel = 'exitward';

const int8 = 20;
const numbers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8
      ? (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text))
      : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig;

/** Statement names by text: PostgreSQL plans each statement once per connection. */
const names = new Map<string, string>();
function named(sql: string, values: readonly Value[]): pg.QueryConfig {
  let name = names.get(sql);
  if (!name) {
    name = `s${names.size}`;
    names.set(sql, name);
  }
  return { name, text: sql, values: values as Value[] };
}

/** SQLSTATE classes that speak of the server or its disk: connection, resources, operator, system, read-only. */
function marked(error: unknown): unknown {
  const code = (error as { code?: unknown }).code;
  const sqlstate = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : '';
  return sqlstate === '' || /^(08|53|57|58|25006)/.test(sqlstate) ? markStorageFault(error) : error;
}

class PostgresWriter implements WriteConnection {
  readonly #settings: pg.ClientConfig;
  #client: pg.Client | undefined;
  #opening: Promise<pg.Client> | undefined;

  constructor(settings: pg.ClientConfig) {
    this.#settings = settings;
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client) return this.#client;
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ ...this.#settings, pipeline: true } as pg.ClientConfig);
    const drop = () => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on('error', drop);
    client.on('end', drop);
    await client.connect();
    this.#client = client;
    return client;
  }

  async #query(sql: string, values: readonly Value[]): Promise<pg.QueryResult> {
    try {
      const client = await this.#connected();
      return await client.query(named(sql, values));
    } catch (error) {
      throw marked(error);
    }
  }

  async begin(): Promise<void> {
    // Pipelined: the lock costs no round trip of its own.
    await Promise.all([
      this.#query('begin', []),
      this.#query(`select pg_advisory_xact_lock(${writeLock})`, []),
    ]);
  }
  async all<R>(sql: string, values: readonly Value[]): Promise<R[]> {
    return (await this.#query(sql, values)).rows as R[];
  }
  async run(sql: string, values: readonly Value[]): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }
  async insertMany(table: string, rows: readonly Row[], suffix: string): Promise<void> {
    const first = rows[0];
    if (!first) return;
    const columns = Object.keys(first);
    await this.#query(
      `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, $1) ${suffix}`,
      [JSON.stringify(rows)],
    );
  }
  async commit(): Promise<void> {
    const [, ended] = await Promise.all([
      this.#query(`select pg_notify('${channel}', '')`, []),
      this.#query('commit', []),
    ]);
    // PostgreSQL answers the commit of a broken transaction with ROLLBACK, not with an error.
    if (ended.command !== 'COMMIT') {
      throw markStorageFault(new Error(`The commit ended as ${ended.command}.`));
    }
  }
  async rollback(): Promise<void> {
    try {
      await this.#client?.query('rollback');
    } catch {
      await this.close();
    }
  }
  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }
}

class PostgresDatabase implements Database {
  readonly engine = 'postgres';
  readonly #settings: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #writer: PostgresWriter;
  readonly #groups: GroupWriter;
  readonly #listeners = new Set<() => void>();

  constructor(url: string, options: DatabaseOptions) {
    this.#settings = {
      connectionString: url,
      types: numbers,
      application_name: 'exitward',
      connectionTimeoutMillis: 5000,
      keepAlive: true,
      // Without it one stuck statement would hold the write lock of the whole network.
      options: '-c statement_timeout=30000 -c idle_in_transaction_session_timeout=30000 -c random_page_cost=1.1 -c synchronous_commit=on',
    };
    this.#pool = new pg.Pool({ ...this.#settings, max: 4, idleTimeoutMillis: 60_000 });
    this.#pool.on('error', () => {});
    this.#writer = new PostgresWriter(this.#settings);
    this.#groups = new GroupWriter(this.#writer, options, () => {
      for (const heard of this.#listeners) heard();
    });
  }

  async one<R>(sql: string, values?: readonly Value[]): Promise<R | undefined> {
    return (await this.all<R>(sql, values))[0];
  }
  async all<R>(sql: string, values: readonly Value[] = []): Promise<R[]> {
    try {
      return (await this.#pool.query(named(sql, values))).rows as R[];
    } catch (error) {
      throw isStorageFault(marked(error)) ? storageFault(error) : error;
    }
  }

  write<T>(actor: Actor, action: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#groups.write(actor, action);
  }

  async snapshot<T>(read: (reader: Reader) => Promise<T>): Promise<T> {
    const client = new pg.Client(this.#settings);
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('begin isolation level repeatable read read only');
      const reader: Reader = {
        one: async <R>(sql: string, values: readonly Value[] = []) =>
          (await client.query(named(sql, values))).rows[0] as R | undefined,
        all: async <R>(sql: string, values: readonly Value[] = []) =>
          (await client.query(named(sql, values))).rows as R[],
      };
      return await read(reader);
    } catch (error) {
      throw isStorageFault(marked(error)) ? storageFault(error) : error;
    } finally {
      await client.end().catch(() => {});
    }
  }

  listen(heard: () => void): () => void {
    this.#listeners.add(heard);
    let stopped = false;
    let client: pg.Client | undefined;
    let retry: NodeJS.Timeout | undefined;
    const connect = async () => {
      if (stopped) return;
      const mine = new pg.Client(this.#settings);
      client = mine;
      let lost = false;
      const again = () => {
        if (lost) return;
        lost = true;
        retry = setTimeout(connect, 1000);
        retry.unref();
      };
      mine.on('error', again);
      mine.on('end', again);
      mine.on('notification', heard);
      try {
        await mine.connect();
        await mine.query(`listen ${channel}`);
        heard();
      } catch {
        again();
      }
    };
    void connect();
    return () => {
      stopped = true;
      this.#listeners.delete(heard);
      clearTimeout(retry);
      void client?.end().catch(() => {});
    };
  }

  async script(statements: readonly string[]): Promise<void> {
    const client = new pg.Client(this.#settings);
    await client.connect();
    try {
      await client.query('begin');
      await client.query(`select pg_advisory_xact_lock(${writeLock})`);
      for (const statement of statements) await client.query(statement);
      await client.query('commit');
    } finally {
      await client.end();
    }
  }

  backup(): Promise<void> {
    throw new Error('Back up PostgreSQL with its own tools (pg_dump); see docs/operating.md.');
  }

  async close(): Promise<void> {
    await this.#groups.settled();
    await this.#writer.close();
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
