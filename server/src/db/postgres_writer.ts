// The one connection of this process that writes to PostgreSQL: pipelined, under the network's
// write lock.
import type pg from 'pg';
import type { Row, Transaction, Value } from './database.ts';
import { isStorageFault, markStorageFault } from './faults.ts';
import type { WriteConnection } from './group.ts';
import { keepHistory } from './history.ts';
import {
  type ConnectionSettings,
  durably,
  marked,
  named,
  newClient,
} from './postgres_connection.ts';
import type { Primary } from './postgres_primary.ts';

/** The holder of this advisory lock writes; all others wait. So revisions commit in order. */
export const writeLock = 0x65786974;
/** The channel on which commits are announced to all processes. */
export const channel = 'exitward';

export class PostgresWriter implements WriteConnection {
  readonly isRemote = true;
  readonly #settings: ConnectionSettings;
  /** Reused from one transaction to the next while it is open. */
  #client: pg.Client | undefined;
  /** The connection that the running transaction began on; no other may run its statements. */
  #transaction: pg.Client | undefined;
  #doubtful = false;
  readonly #primary: Primary;
  /** The server of the connection, until a commit on it has recorded the history. */
  #reached: string | undefined;

  constructor(settings: ConnectionSettings, primary: Primary) {
    this.#settings = settings;
    this.#primary = primary;
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client && this.#primary.holds(this.#client)) return this.#client;
    this.close();
    const client = newClient({ ...this.#settings, pipeline: true } as ConnectionSettings);
    const lost = () => {
      if (this.#client === client) this.#client = undefined;
    };
    client.on('error', lost);
    client.on('end', lost);
    try {
      await client.connect();
      this.#reached = await this.#primary.admit(client);
    } catch (error) {
      client.end().catch(() => {});
      throw marked(error);
    }
    this.#client = client;
    return client;
  }

  async #query(sql: string, values: readonly Value[]): Promise<pg.QueryResult> {
    const client = this.#transaction;
    if (!client) throw markStorageFault(new Error('There is no transaction.'));
    try {
      return await client.query(named(sql, values));
    } catch (error) {
      if (isStorageFault(marked(error))) this.#doubtful = true;
      throw error;
    }
  }

  async begin(): Promise<void> {
    this.#doubtful = false;
    this.#transaction = await this.#connected();
    // Pipelined: the lock costs no extra round trip.
    await Promise.all([
      this.#query('begin', []),
      this.#query(`select pg_advisory_xact_lock(${writeLock})`, []),
    ]);
  }
  /**
   * A server stays the same as long as a connection to it lives, so each connection is checked
   * once.
   */
  async prepare(tx: Transaction): Promise<void> {
    if (this.#reached !== undefined) await keepHistory(tx, this.#reached);
  }
  async all<R>(sql: string, values: readonly Value[]): Promise<R[]> {
    return (await this.#query(sql, values)).rows as R[];
  }
  async run(sql: string, values: readonly Value[]): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }
  async insertMany(table: string, rows: readonly Row[], suffix: string): Promise<number> {
    const first = rows[0];
    if (!first) return 0;
    const columns = Object.keys(first);
    return this.run(
      `insert into ${table} (${columns}) select ${columns} from jsonb_populate_recordset(null::${table}, $1) ${suffix}`,
      [JSON.stringify(rows)],
    );
  }
  async commit(): Promise<void> {
    if (this.#transaction && !this.#primary.holds(this.#transaction)) {
      throw markStorageFault(new Error('The PostgreSQL server is a former primary.'));
    }
    const [, ended] = await Promise.all([
      this.#query(`select pg_notify('${channel}', ''), ${durably}`, []),
      this.#query('commit', []),
    ]);
    // PostgreSQL answers the commit of a broken transaction with ROLLBACK, not with an error.
    if (ended.command !== 'COMMIT') {
      throw markStorageFault(new Error(`The commit ended as ${ended.command}.`));
    }
    this.#transaction = undefined;
    this.#reached = undefined;
  }
  async rollback(): Promise<void> {
    const client = this.#transaction;
    this.#transaction = undefined;
    // The server undoes what a closed connection leaves.
    if (this.#doubtful) return this.close();
    try {
      await client?.query('rollback');
    } catch {
      this.close();
    }
  }
  /** Does not wait for the server, which may be the one that does not answer. */
  close(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.end().catch(() => {});
  }
}
