// How we connect to PostgreSQL: settings, names of statements, and which of its errors are about
// the server.
import pg from 'pg';
import type { Value } from './database.ts';
import { markStorageFault } from './faults.ts';

const int8 = 20;
const numbers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? Number : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig;

const connectSeconds = 5;

/** Of each session; the URL may name others. Poolers refuse them as parameters of the start. */
const sessionSettings = {
  // A connection that swallows what we send and never answers is dropped, by either side.
  statement_timeout: '10000',
  // A process that stops in the middle of a transaction would hold the write lock of the whole
  // network.
  idle_in_transaction_session_timeout: '10000',
  random_page_cost: '1.1',
  // In others the wait for the write lock ends with what was there when it began.
  default_transaction_isolation: 'read committed',
};

export interface ConnectionSettings extends pg.ClientConfig {
  /** To be called with a new connection, before anything else. */
  onConnect(client: pg.ClientBase): Promise<unknown>;
}

/**
 * Settings for the server that `url` names. Its parameters `connect_timeout` (seconds),
 * `query_timeout`, `statement_timeout` and `idle_in_transaction_session_timeout` (milliseconds)
 * override ours.
 */
export function connectionSettings(url: string): ConnectionSettings {
  const wanted = new URL(url);
  // `pg` checks certificate and name with each of them, and warns that a later version will not.
  if (/^(prefer|require|verify-ca)$/.test(wanted.searchParams.get('sslmode') ?? '')) {
    if (!wanted.searchParams.has('uselibpqcompat')) {
      wanted.searchParams.set('sslmode', 'verify-full');
    }
  }
  const calls = Object.entries(sessionSettings).map(([name, usual]) => {
    const value = wanted.searchParams.get(name) ?? usual;
    wanted.searchParams.delete(name);
    return `set_config('${name}', ${pg.escapeLiteral(value)}, false)`;
  });
  return {
    connectionString: wanted.href,
    types: numbers,
    application_name: 'exitward',
    connectionTimeoutMillis:
      Number(wanted.searchParams.get('connect_timeout') ?? connectSeconds) * 1000,
    query_timeout: 12_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    onConnect: (client) => client.query(`select ${calls}`),
  };
}

/**
 * Makes this transaction's commit wait for the disk; run it before `commit`. An operator's stricter
 * setting stays: with `remote_apply` the commit also waits for the standbys.
 */
export const durably = `set_config('synchronous_commit',
  case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, true)`;

/** A client whose loss ends only its own queries. The caller connects and ends it. */
export function newClient(settings: ConnectionSettings): pg.Client {
  const client = new pg.Client(settings);
  client.on('error', () => {});
  client.once('connect', () => settings.onConnect(client).catch(() => client.end()));
  return client;
}

/** Statement names by text: PostgreSQL plans each statement once per connection. */
const names = new Map<string, string>();

export function named(sql: string, values: readonly Value[]): pg.QueryConfig {
  let name = names.get(sql);
  if (!name) {
    name = `s${names.size}`;
    names.set(sql, name);
  }
  return { name, text: sql, values: values as Value[] };
}

/**
 * SQLSTATE classes that are about the server and not the statement: connection, a plan of the
 * schema before a migration, authorisation, a missing database, a transaction ended from outside,
 * resources, locks, operator actions, the system, internal errors, and a read-only server.
 */
const serverFaults = /^(08|0A|28|3D|40|53|55|57|58|XX|25P03|25006)/;

/** Marks an error that is about the server, or the connection to it. */
export function marked(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  const sqlstate = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
  return sqlstate === undefined || serverFaults.test(sqlstate) ? markStorageFault(error) : error;
}
