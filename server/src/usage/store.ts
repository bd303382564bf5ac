// The SQL of usage: hourly buckets, and the sums kept beside them.
import type { Reader, Row, Transaction, Value } from '../db/database.ts';

export interface UsageBucket {
  account_id: number;
  server_id: number;
  user_id: number;
  /** Start of the hour, epoch seconds; or of the billing period, where that begins within the hour. */
  hour: number;
  /** Bytes from the client. */
  up: number;
  /** Bytes to the client. */
  down: number;
}

const largest = Number.MAX_SAFE_INTEGER;

/** Adds rows to those with the same key. Counters stop at 2^53-1: past it a number could not be told exactly in JSON. */
function addRows(
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

export function addServerHours(
  tx: Transaction,
  rows: Array<{ account_id: number; server_id: number; hour: number; bytes: number }>,
): Promise<void> {
  return addRows(tx, 'usage_server_hours', 'account_id, server_id, hour', ['bytes'], rows);
}

export function addPeriods(
  tx: Transaction,
  rows: Array<{ account_id: number; period_start: number; server_id: number; bytes: number }>,
): Promise<void> {
  return addRows(tx, 'usage_periods', 'account_id, period_start, server_id', ['bytes'], rows);
}

/** Bytes of one billing period by server. */
export function periodByServer(
  db: Reader,
  account_id: number,
  period_start: number,
): Promise<Array<{ server_id: number; bytes: number }>> {
  return db.all(
    'select server_id, bytes from usage_periods where account_id = $1 and period_start = $2',
    [account_id, period_start],
  );
}

/** Bytes by server in the hours from `first_hour` on. Sums are doubles: exact to 2^53, and they cannot overflow. */
export function hoursByServer(db: Reader, account_id: number, first_hour: number) {
  return db.all<{ server_id: number; bytes: number }>(
    `select server_id, sum(cast(bytes as double precision)) as bytes from usage_server_hours
     where account_id = $1 and hour >= $2 group by server_id`,
    [account_id, first_hour],
  );
}

export async function hasUsage(db: Reader, account_id: number): Promise<boolean> {
  return (
    (await db.one('select bytes from usage_periods where account_id = $1 limit 1', [
      account_id,
    ])) !== undefined
  );
}

/** True when this batch is above all of its journal before: the row is what makes sending it again harmless. */
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
  return rows.length > 0;
}

export type UsageBy = 'hour' | 'day' | 'server' | 'user';

/** Only this server's or user's, by the name that a report shows for it. */
export interface UsageFilter {
  server?: string | undefined;
  user?: string | undefined;
}

/** Names as reports show them: a server may have been removed since; no name starts with "#". */
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

/** The bytes of one hour, day, server or user; the key: start of the hour or (UTC) day, or a name. */
export interface UsageSum {
  key: number | string;
  up: number;
  down: number;
}

/** Where a bucket lies among those of its account. */
type Place = Pick<UsageBucket, 'hour' | 'server_id' | 'user_id'>;

/** As many buckets as are summed in one turn of the event loop. */
const bucketsOfSlice = 2000;
const place = '(u.hour, u.server_id, u.user_id)';
const atStartOf = (hour: number): Place => ({ hour, server_id: -1, user_id: -1 });

/** Sums of an account's buckets with from <= hour < to, for so many buckets after one another. */
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
      `select u.hour, u.server_id, u.user_id from usage_hours u
       where u.account_id = $1 and ${place} > ($2, $3, $4) and ${place} < ($5, $6, $7)
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

/** Of the buckets behind one place, up to another. */
function sumBetween(
  db: Reader,
  account_id: number,
  after: Place,
  upTo: Place,
  by: UsageBy,
  filter: UsageFilter,
): Promise<UsageSum[]> {
  const values: Value[] = [account_id, ...placed(after), ...placed(upTo)];
  const conditions = ['u.account_id = $1', `${place} > ($2, $3, $4)`, `${place} <= ($5, $6, $7)`];
  const joined = (['server', 'user'] as const).filter((one) => {
    const wanted = filter[one];
    if (wanted !== undefined) conditions.push(`${names[one]} = $${values.push(wanted)}`);
    return wanted !== undefined || by === one;
  });
  const { key, by: columns } = groups[by];
  return db.all(
    `select ${key} as key, sum(cast(u.up as double precision)) as up, sum(cast(u.down as double precision)) as down
     from usage_hours u ${joined.map((one) => joins[one]).join(' ')} where ${conditions.join(' and ')}
     group by ${columns}`,
    values,
  );
}

export function removeOldJournals(
  tx: Transaction,
  older_than: number,
  most: number,
): Promise<number> {
  return tx.run(
    `delete from usage_journals where (node_id, boot) in
     (select node_id, boot from usage_journals where at < $1 limit $2)`,
    [older_than, most],
  );
}
