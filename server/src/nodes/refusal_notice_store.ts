// The SQL of notices about refusals: their number by account and hour, and addresses that try many
// users.
import type { Reader, Row, Transaction } from '../db/database.ts';
import { idCondition, paddedTexts } from '../db/one_of.ts';

export interface HourRow {
  account_id: number;
  /** Epoch seconds, a whole hour. */
  hour: number;
  count: number;
  /** Of the seven days before the hour. */
  usual: number;
  /** Whether the count is far above the usual: 0 or 1. */
  rising: number;
}

export interface TriesRow {
  /** An IPv4 address, or the /64 of an IPv6 address. */
  network: string;
  /** Of one account, or 0 for the users of all. */
  account_id: number;
  at: number;
  /** How many different users within the hour. */
  users: number;
}

export function hoursOf(
  db: Reader,
  hour: number,
  account_ids: readonly number[],
): Promise<HourRow[]> {
  const { sql, ids } = idCondition('account_id', account_ids, 2);
  return db.all(`select * from refusal_hours where hour = $1 and ${sql}`, [hour, ...ids]);
}

/** How many each of these accounts had from one time until before another. */
export async function countsBetween(
  db: Reader,
  from: number,
  until: number,
  account_ids: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const { sql, ids } = idCondition('account_id', account_ids, 3);
  const rows = await db.all<{ account_id: number; count: number }>(
    `select account_id, cast(sum(count) as bigint) as count from refusal_hours
     where hour >= $1 and hour < $2 and ${sql} group by account_id`,
    [from, until, ...ids],
  );
  return new Map(rows.map(({ account_id, count }) => [account_id, count]));
}

export function putHours(tx: Transaction, rows: readonly HourRow[]): Promise<void> {
  return tx.insertMany(
    'refusal_hours',
    rows.map((row): Row => ({ ...row })),
    `on conflict (account_id, hour) do update
     set count = excluded.count, rising = excluded.rising`,
  );
}

/** Those that rose in this hour or a later one, the largest first; of one account, or of all. */
export function risingSince(
  db: Reader,
  hour: number,
  account_id: number | undefined,
  maxRows: number,
): Promise<HourRow[]> {
  const ofAccount = account_id === undefined ? '' : 'and account_id = $2';
  return db.all(
    `select * from refusal_hours where rising = 1 and hour >= $1 ${ofAccount}
     order by hour desc, count desc limit ${maxRows}`,
    account_id === undefined ? [hour] : [hour, account_id],
  );
}

/** How many users of each account were tried with wrong credentials from these networks. */
export function usersTriedFrom(
  db: Reader,
  networks: readonly string[],
  since: number,
): Promise<Array<Pick<TriesRow, 'network' | 'account_id' | 'users'>>> {
  const texts = paddedTexts(networks);
  const places = texts.map((_, at) => `$${at + 2}`);
  return db.all(
    `select network, account_id, count(distinct user_id) as users from refusals
     where network <> '' and network in (${places}) and at >= $1 group by network, account_id`,
    [since, ...texts],
  );
}

export function putTries(tx: Transaction, rows: readonly TriesRow[]): Promise<void> {
  return tx.insertMany(
    'user_tries',
    rows.map((row): Row => ({ ...row })),
    'on conflict (network, account_id) do update set at = excluded.at, users = excluded.users',
  );
}

/** The newest first; `account_id`: 0 for users of all accounts together. */
export function triesSince(
  db: Reader,
  time: number,
  account_id: number,
  maxRows: number,
): Promise<TriesRow[]> {
  return db.all(
    `select * from user_tries where account_id = $1 and at >= $2
     order by at desc, network limit ${maxRows}`,
    [account_id, time],
  );
}

export async function removeNotices(
  tx: Transaction,
  before: { hours: number; tries: number },
  maxRows: number,
): Promise<number> {
  const hours = await tx.run(
    `delete from refusal_hours where (account_id, hour) in
       (select account_id, hour from refusal_hours where hour < $1 order by hour limit $2)`,
    [before.hours, maxRows],
  );
  const tries = await tx.run(
    `delete from user_tries where (network, account_id) in
       (select network, account_id from user_tries where at < $1 order by at limit $2)`,
    [before.tries, maxRows],
  );
  return Math.max(hours, tries);
}

/** Forgets the networks that tried users of an account, whichever users these were. */
export function removeTriesOf(tx: Transaction, account_id: number): Promise<number> {
  return tx.run('delete from user_tries where account_id in ($1, 0)', [account_id]);
}
