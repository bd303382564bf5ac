// Checks of a PostgreSQL server before it is used: it is new enough and keeps what is written, each
// connection is a session of its own, its locks exclude, its notifications arrive.
import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { Unfit } from './postgres_primary.ts';

const channel = 'exitward_check';
/** Much longer than a notification takes, even on a busy machine. */
const patienceSeconds = 20;
/** The oldest that its makers still maintain, and that of Debian 12. */
const minMajor = 15;

/** The six of a process, and two for snapshots. */
const minConnections = 8;

interface Facts {
  read_only: string;
  version: string;
  encoding: string;
  role: string;
  database: string;
  /** Null without a schema. */
  may_create: boolean | null;
  /** Null without a limit. */
  connections: number | null;
}

/** The reason why nothing can be kept there, and the remedy. */
function unfitFor(facts: Facts, min_major: number): string | undefined {
  const { version, read_only, encoding, role, database, may_create, connections } = facts;
  if (Number.parseInt(version, 10) < min_major) {
    return `PostgreSQL ${version} is too old; expected ${min_major} or newer.`;
  }
  if (read_only === 'on') {
    return 'The PostgreSQL server takes no writes (transaction_read_only is on); EXITWARD_DATABASE_URL must lead to the primary.';
  }
  if (encoding !== 'UTF8') {
    return `The database ${database} has the encoding ${encoding}; expected UTF8: create another one with encoding 'UTF8' template template0.`;
  }
  if (!may_create) {
    return `The role ${role} may not create tables in the database ${database}; make it the owner: alter database ${pg.escapeIdentifier(database)} owner to ${pg.escapeIdentifier(role)}.`;
  }
  if (connections !== null && connections < minConnections) {
    return `The role ${role} may hold ${connections} connections, and a process needs ${minConnections}: alter role ${pg.escapeIdentifier(role)} connection limit -1.`;
  }
  return undefined;
}

/** The clients are two connections that no other code uses at this time. Errors: `Unfit`. */
export async function checkServer(
  client: pg.ClientBase,
  other: pg.ClientBase,
  { notify_seconds = patienceSeconds, min_major = minMajor } = {},
): Promise<void> {
  const { rows } = await client.query<Facts>(
    `select current_setting('transaction_read_only') as read_only,
       current_setting('server_version') as version,
       current_setting('server_encoding') as encoding,
       current_user as role, current_database() as database,
       has_schema_privilege(current_schema(), 'create') as may_create,
       case when not rolsuper and rolconnlimit >= 0 then rolconnlimit end as connections
     from pg_roles where rolname = current_user`,
  );
  const reason = unfitFor(rows[0] as Facts, min_major);
  if (reason !== undefined) throw new Unfit(reason);
  await checkSessions(client, other);
  await checkLock(client, other);
  await checkNotify(client, other, notify_seconds);
}

/**
 * A pooler of transactions runs each in any session that is free. Nothing of a session
 * then lasts: its limits, its prepared statements, what it listens to.
 */
async function checkSessions(client: pg.ClientBase, other: pg.ClientBase): Promise<void> {
  const pids: number[] = [];
  for (const session of [client, client, other]) {
    const { rows } = await session.query('select pg_backend_pid() as pid');
    pids.push(rows[0].pid);
  }
  const [first, second, third] = pids;
  if (first === second && first !== third) return;
  throw new Unfit(
    'EXITWARD_DATABASE_URL leads to a pooler that lends its sessions for a transaction; expected PostgreSQL itself, or a pooler in session mode (PgBouncer: pool_mode = session).',
  );
}

/**
 * The write lock of the network is such a lock: if it did not exclude, revisions would be given
 * twice.
 */
async function checkLock(client: pg.ClientBase, other: pg.ClientBase): Promise<void> {
  // A random lock, which no other client uses, not even a process that starts at the same time.
  const lock = randomBytes(6).readUIntBE(0, 6);
  await client.query('begin');
  try {
    await client.query(`select pg_advisory_xact_lock(${lock})`);
    const { rows } = await other.query(`select pg_try_advisory_xact_lock(${lock}) as taken`);
    if (!rows[0]?.taken) return;
  } finally {
    await client.query('rollback');
  }
  throw new Unfit(
    'The PostgreSQL server gives an advisory lock to two connections at once; EXITWARD_DATABASE_URL must lead to one server, the primary.',
  );
}

/** Processes learn of each other's commits this way. */
async function checkNotify(
  client: pg.ClientBase,
  other: pg.ClientBase,
  seconds: number,
): Promise<void> {
  const token = randomUUID();
  const notified = Promise.withResolvers<boolean>();
  const hear = ({ payload }: pg.Notification) => payload === token && notified.resolve(true);
  client.on('notification', hear);
  const timer = setTimeout(() => notified.resolve(false), seconds * 1000);
  try {
    await client.query(`listen ${channel}`);
    await other.query(`select pg_notify('${channel}', '${token}')`);
    if (await notified.promise) return;
  } finally {
    clearTimeout(timer);
    client.off('notification', hear);
    await client.query(`unlisten ${channel}`);
  }
  throw new Unfit(
    `A notification of the PostgreSQL server did not arrive within ${seconds} s; EXITWARD_DATABASE_URL must lead to PostgreSQL itself, or to a pooler in session mode.`,
  );
}
