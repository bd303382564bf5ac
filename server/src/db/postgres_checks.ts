// Checks of a PostgreSQL server before it is used: it is new enough and accepts writes, each
// connection is a session of its own, its locks exclude, its notifications arrive.
import { randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { Unfit } from './postgres_primary.ts';

const channel = 'exitward_check';
/** Much longer than a notification takes, even on a busy machine. */
const patienceSeconds = 20;
/** The oldest that its makers still maintain, and that of Debian 12. */
const minMajor = 15;

/** The clients are two connections that no other code uses at this time. Errors: `Unfit`. */
export async function checkServer(
  client: pg.ClientBase,
  other: pg.ClientBase,
  { notify_seconds = patienceSeconds, min_major = minMajor } = {},
): Promise<void> {
  const { rows } = await client.query(
    `select current_setting('transaction_read_only') as read_only,
       current_setting('server_version') as version`,
  );
  const { read_only, version } = rows[0] as { read_only: string; version: string };
  if (Number.parseInt(version, 10) < min_major) {
    throw new Unfit(`PostgreSQL ${version} is too old; expected ${min_major} or newer.`);
  }
  if (read_only === 'on') {
    throw new Unfit(
      'The PostgreSQL server takes no writes (transaction_read_only is on); EXITWARD_DATABASE_URL must lead to the primary.',
    );
  }
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
