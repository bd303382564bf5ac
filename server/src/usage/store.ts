// The SQL of usage: hourly buckets, the days that old ones are rolled up into, and the sums stored
// next to them.
import type { Reader, Row, Transaction, Value } from '../db/database.ts';
import { idCondition, type Key, listOfKeys } from '../db/one_of.ts';

export interface UsageBucket {
  account_id: number;
  server_id: number;
  user_id: number;
  /** Start of the hour, epoch seconds; or of the billing period, if that begins within the hour. */
  hour: number;
  /** Bytes from the client. */
  up: number;
  /** Bytes to the client. */
  down: number;
}

const largest = Number.MAX_SAFE_INTEGER;

/** Bytes never exceed what JSON holds exactly. */
export function safeBytes(bytes: number): number {
  return Math.min(Math.round(bytes), largest);
}

/**
 * Adds to existing rows with the same key. Counters stop at 2^53-1: JSON does not hold larger
 * numbers exactly.
 */
export function addRows(
  tx: Transaction,
  table: string,
  key: string,
  counters: readonly string[],
  rows: readonly Row[],
): Promise<void> {
  const sums = counters.map(
    (column) => `${column} = case when ${table}.${column} > ${largest} - excluded.${column}
      then ${largest} else ${table}.${column} + excluded.${column} end`,
  );
  return tx.insertMany(table, rows, `on conflict (${key}) do update set ${sums}`);
}

export function addBuckets(tx: Transaction, rows: UsageBucket[]): Promise<void> {
  const key = 'account_id, hour, server_id, user_id';
  return addRows(tx, 'usage_hours', key, ['up', 'down'], rows as never);
}

/** As buckets, but `hour` is the start of a day, or of the billing period that begins within it. */
export function addDays(tx: Transaction, rows: UsageBucket[]): Promise<void> {
  const days = rows.map(({ hour, ...bucket }) => ({ ...bucket, day: hour }));
  return addRows(tx, 'usage_days', 'account_id, day, server_id, user_id', ['up', 'down'], days);
}

/** Removes and returns the oldest buckets of an account before an hour, at most `maxBuckets`. */
export async function takeOldest(
  tx: Transaction,
  account_id: number,
  before: number,
  maxBuckets: number,
): Promise<UsageBucket[]> {
  const rows = await tx.all<UsageBucket>(
    `select account_id, server_id, user_id, hour, up, down from usage_hours
     where account_id = $1 and hour < $2 order by hour, server_id, user_id limit $3`,
    [account_id, before, maxBuckets],
  );
  const last = rows.at(-1);
  if (!last) return [];
  await tx.run(
    'delete from usage_hours where account_id = $1 and (hour, server_id, user_id) <= ($2, $3, $4)',
    [account_id, ...placed(last)],
  );
  return rows;
}

/** The tables whose rows are removed by age, and the column with their time. */
const aged = { usage_server_hours: 'hour', usage_days: 'day' } as const;

/** Removes the oldest rows of an account, at most `maxRows`; returns how many. */
export function removeOldest(
  tx: Transaction,
  table: keyof typeof aged,
  account_id: number,
  before: number,
  maxRows: number,
): Promise<number> {
  const key = `${aged[table]}, server_id${table === 'usage_days' ? ', user_id' : ''}`;
  return tx.run(
    `delete from ${table} where account_id = $1 and (${key}) in
     (select ${key} from ${table} where account_id = $1 and ${aged[table]} < $2 order by ${key} limit $3)`,
    [account_id, before, maxRows],
  );
}

/** The next account that has rows in one of the tables, and its oldest hour or day there. */
export function oldestAfter(
  db: Reader,
  table: 'usage_hours' | 'usage_days',
  account_id: number,
): Promise<{ account_id: number; oldest: number } | undefined> {
  const column = table === 'usage_days' ? 'day' : 'hour';
  return db.one(
    `select account_id, ${column} as oldest from ${table} where account_id > $1
     order by account_id, ${column} limit 1`,
    [account_id],
  );
}

export interface ServerHour {
  account_id: number;
  server_id: number;
  hour: number;
  bytes: number;
}

export function addServerHours(tx: Transaction, hours: readonly ServerHour[]): Promise<void> {
  return addRows(
    tx,
    'usage_server_hours',
    'account_id, server_id, hour',
    ['bytes'],
    hours as never,
  );
}

export function addPeriods(
  tx: Transaction,
  rows: Array<{ account_id: number; period_start: number; server_id: number; bytes: number }>,
): Promise<void> {
  return addRows(tx, 'usage_periods', 'account_id, period_start, server_id', ['bytes'], rows);
}

/** Bytes of one billing period by server: of these servers, or of all. */
export function periodByServer(
  db: Reader,
  account_id: number,
  period_start: number,
  server_ids?: readonly number[],
): Promise<Array<{ server_id: number; bytes: number }>> {
  const { sql, ids } = idCondition('server_id', server_ids, 3);
  return db.all(
    `select server_id, bytes from usage_periods where account_id = $1 and period_start = $2 and ${sql}`,
    [account_id, period_start, ...ids],
  );
}

export interface UserPeriod {
  account_id: number;
  period_start: number;
  user_id: number;
  bytes: number;
}

export function addUserPeriods(tx: Transaction, rows: readonly UserPeriod[]): Promise<void> {
  const key = 'account_id, period_start, user_id';
  return addRows(tx, 'usage_user_periods', key, ['bytes'], rows as never);
}

/** The bytes of these users in the billing period that begins then. */
export function periodOfUsers(
  db: Reader,
  account_id: number,
  period_start: number,
  user_ids: readonly number[],
): Promise<UserPeriod[]> {
  const { sql, ids } = idCondition('user_id', user_ids, 3);
  return db.all(
    `select * from usage_user_periods where account_id = $1 and period_start = $2 and ${sql}`,
    [account_id, period_start, ...ids],
  );
}

export function removeOldUserPeriods(
  tx: Transaction,
  before: number,
  maxRows: number,
): Promise<number> {
  return tx.run(
    `delete from usage_user_periods where (account_id, period_start, user_id) in
     (select account_id, period_start, user_id from usage_user_periods
      where period_start < $1 order by period_start limit $2)`,
    [before, maxRows],
  );
}

export interface PeriodTotal {
  account_id: number;
  period_start: number;
  bytes: number;
}

/** Bytes of each of these accounts in the billing period that begins at the given time. */
export function periodTotals(db: Reader, periods: readonly Key[]) {
  const { list, values } = listOfKeys(periods);
  return db.all<PeriodTotal>(
    `select account_id, period_start, sum(cast(bytes as double precision)) as bytes from usage_periods
     where (account_id, period_start) in ${list} group by account_id, period_start`,
    values,
  );
}

/**
 * Bytes by server, of these or of all, in the hours from `first_hour` on. Sums are doubles: exact
 * up to 2^53, and they cannot overflow.
 */
export function hoursByServer(
  db: Reader,
  account_id: number,
  first_hour: number,
  server_ids?: readonly number[],
) {
  const { sql, ids } = idCondition('server_id', server_ids, 3);
  // The bounds and the sum make SQLite use the index by server: it would scan the hours of all
  // servers.
  const isAfter = server_ids
    ? `hour + 0 >= $2 and server_id between $${3 + ids.length} and $${4 + ids.length}`
    : 'hour >= $2';
  return db.all<{ server_id: number; bytes: number }>(
    `select server_id, sum(cast(bytes as double precision)) as bytes from usage_server_hours
     where account_id = $1 and ${isAfter} and ${sql} group by server_id`,
    [account_id, first_hour, ...ids, ...(server_ids ? [Math.min(...ids), Math.max(...ids)] : [])],
  );
}

export async function hasUsage(db: Reader, account_id: number): Promise<boolean> {
  return (
    (await db.one('select bytes from usage_periods where account_id = $1 limit 1', [
      account_id,
    ])) !== undefined
  );
}

/** A node begins a new journal only if the old one is gone; only a stolen node makes up more. */
const maxJournalsOfNode = 1000;

/**
 * True when this batch is newer than all earlier ones of its journal: this row makes it harmless to
 * send a batch again. Of each node the latest thousand journals are kept.
 */
export async function claimBatch(
  tx: Transaction,
  node_id: number,
  boot: string,
  seq: number,
): Promise<boolean> {
  const rows = await tx.put(
    `insert into usage_journals (node_id, boot, seq, at) values ($1, $2, $3, $4)
     on conflict (node_id, boot) do update set seq = excluded.seq, at = excluded.at
       where usage_journals.seq < excluded.seq
     returning seq`,
    [node_id, boot, seq, tx.now],
  );
  if (rows.length === 0) return false;
  await tx.run(
    `delete from usage_journals where node_id = $1 and boot in
       (select boot from usage_journals where node_id = $1 and boot <> $2
        order by at desc limit 100 offset ${maxJournalsOfNode - 1})`,
    [node_id, boot],
  );
  return true;
}

export type UsageBy = 'hour' | 'day' | 'server' | 'user';

/** Only this server's or user's usage, by the name that a report shows. */
export interface UsageFilter {
  server?: string | undefined;
  user?: string | undefined;
}

/** Names as reports show them. A server may have been removed since; no name starts with "#". */
const names = {
  server: "coalesce(s.name, '#' || u.server_id)",
  user: "coalesce(n.name, '#' || u.user_id)",
};
const joins = {
  server: 'left join servers s on s.id = u.server_id',
  user: 'left join users n on n.account_id = u.account_id and n.id = u.user_id',
};

/** The key that each grouping shows, and the columns by which it groups. */
const groups: Record<UsageBy, { key: string; by: string }> = {
  hour: { key: 'u.hour - u.hour % 3600', by: 'u.hour - u.hour % 3600' },
  day: { key: 'u.hour - u.hour % 86400', by: 'u.hour - u.hour % 86400' },
  server: { key: names.server, by: 'u.server_id, s.name' },
  user: { key: names.user, by: 'u.user_id, n.name' },
};

/**
 * The bytes of one hour, day, server or user; the key: start of the hour or (UTC) day, or a name.
 */
export interface UsageSum {
  key: number | string;
  up: number;
  down: number;
}

/** The position of a bucket among those of its account. */
type Place = Pick<UsageBucket, 'hour' | 'server_id' | 'user_id'>;

/** How many buckets are summed in one turn of the event loop. */
const bucketsOfSlice = 2000;
/**
 * An account's hours, and its days counted as the hour in which they begin, after one place and
 * before or up to another.
 */
const bucketsBetween = (end: '<' | '<=') => {
  const between = (start: string) =>
    `account_id = $1 and (${start}, server_id, user_id) > ($2, $3, $4)
     and (${start}, server_id, user_id) ${end} ($5, $6, $7)`;
  return `(select account_id, hour, server_id, user_id, up, down from usage_hours where ${between('hour')}
    union all select account_id, day, server_id, user_id, up, down from usage_days where ${between('day')}) u`;
};
const atStartOf = (hour: number): Place => ({ hour, server_id: -1, user_id: -1 });

/**
 * Sums of an account's buckets, rolled up or not, with from <= hour < to, a slice of buckets at a
 * time.
 */
export async function* sumSlices(
  db: Reader,
  account_id: number,
  from: number,
  to: number,
  by: UsageBy,
  filter: UsageFilter = {},
): AsyncGenerator<{ sums: UsageSum[]; isLast: boolean }, void, void> {
  for (let after = atStartOf(from); ; ) {
    const last = await db.one<Place>(
      `select u.hour, u.server_id, u.user_id from ${bucketsBetween('<')}
       order by u.hour, u.server_id, u.user_id limit 1 offset ${bucketsOfSlice - 1}`,
      [account_id, ...placed(after), ...placed(atStartOf(to))],
    );
    const sums = await sumBetween(db, account_id, after, last ?? atStartOf(to), by, filter);
    yield { sums, isLast: !last };
    if (!last) return;
    after = last;
  }
}

const placed = ({ hour, server_id, user_id }: Place) => [hour, server_id, user_id];

/** Sums of the buckets after one place, up to another. */
function sumBetween(
  db: Reader,
  account_id: number,
  after: Place,
  upTo: Place,
  by: UsageBy,
  filter: UsageFilter,
): Promise<UsageSum[]> {
  const values: Value[] = [account_id, ...placed(after), ...placed(upTo)];
  const conditions: string[] = [];
  const joined = (['server', 'user'] as const).filter((dimension) => {
    const wanted = filter[dimension];
    if (wanted !== undefined) conditions.push(`${names[dimension]} = $${values.push(wanted)}`);
    return wanted !== undefined || by === dimension;
  });
  const { key, by: columns } = groups[by];
  return db.all(
    `select ${key} as key, sum(cast(u.up as double precision)) as up, sum(cast(u.down as double precision)) as down
     from ${bucketsBetween('<=')} ${joined.map((dimension) => joins[dimension]).join(' ')}
     ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     group by ${columns}`,
    values,
  );
}

export function removeOldJournals(
  tx: Transaction,
  older_than: number,
  maxJournals: number,
): Promise<number> {
  return tx.run(
    `delete from usage_journals where (node_id, boot) in
     (select node_id, boot from usage_journals where at < $1 limit $2)`,
    [older_than, maxJournals],
  );
}
