// Usage: bytes by contract, server, user and hour, later by day, as the nodes report them, with
// sums by billing period.
import type { Reader, Transaction } from '../db/database.ts';
import { findByKeys, type Key } from '../db/one_of.ts';
import { dayOf, hourOf, periodAt } from '../values/periods.ts';
import * as store from './store.ts';
import { safeBytes } from './store.ts';
import { addSums, kinds, type Sum } from './sum_store.ts';

export { comparedOfDay, largestParts, sumsOverTime } from './over_time.ts';
export { UsageRollUp } from './roll_up.ts';
export type { UsageBucket } from './store.ts';
export {
  claimBatch,
  hasUsage,
  removeOldJournals,
  removeOldUserPeriods,
  safeBytes,
  sumSlices,
} from './store.ts';

const windowHours = 720;

/** One row for each key of `keyOf`, with the bytes of all rows that share it. */
function sumBy<T extends { bytes: number }>(rows: T[], keyOf: (row: T) => string): T[] {
  const sums = new Map<string, T>();
  for (const row of rows) {
    const sum = sums.get(keyOf(row));
    if (sum) sum.bytes = safeBytes(sum.bytes + row.bytes);
    else sums.set(keyOf(row), { ...row });
  }
  return Array.from(sums.values());
}

/**
 * Adds measured traffic to the buckets and their sums. `contractStart` returns when an account's
 * billing periods begin; earlier traffic counts in the first one. `hour` of a bucket may be any
 * time in that hour. A period may begin within an hour: that hour has a bucket for each of its two
 * periods, so that buckets and periods add up to the same.
 */
export async function recordUsage(
  tx: Transaction,
  buckets: store.UsageBucket[],
  contractStart: (account_id: number) => number,
): Promise<void> {
  const hourly = new Map<string, store.UsageBucket & { period_start: number }>();
  for (const bucket of buckets) {
    const { start } = periodAt(contractStart(bucket.account_id), bucket.hour);
    const hourStart = hourOf(bucket.hour);
    const hour = start <= bucket.hour ? Math.max(hourStart, start) : hourStart;
    const key = `${bucket.account_id} ${bucket.server_id} ${bucket.user_id} ${hour}`;
    const sum = hourly.get(key);
    if (sum) {
      sum.up = safeBytes(sum.up + bucket.up);
      sum.down = safeBytes(sum.down + bucket.down);
    } else hourly.set(key, { ...bucket, hour, period_start: start });
  }
  const rows = Array.from(hourly.values());
  if (rows.length === 0) return;
  await store.addBuckets(
    tx,
    rows.map(({ period_start: _, ...bucket }) => bucket),
  );
  const hours = rows.map(({ account_id, server_id, hour, up, down }) => ({
    account_id,
    server_id,
    hour: hourOf(hour),
    bytes: safeBytes(up + down),
  }));
  const serverHours = sumBy(hours, (row) => `${row.account_id} ${row.server_id} ${row.hour}`);
  await store.addServerHours(tx, serverHours);
  await addToSums(tx, serverHours);
  const periods = rows.map(({ account_id, server_id, user_id, period_start, up, down }) => ({
    account_id,
    period_start,
    server_id,
    user_id,
    bytes: safeBytes(up + down),
  }));
  await store.addPeriods(
    tx,
    sumBy(
      periods.map(({ user_id: _, ...period }) => period),
      (row) => `${row.account_id} ${row.period_start} ${row.server_id}`,
    ),
  );
  await store.addUserPeriods(
    tx,
    sumBy(
      periods.map(({ server_id: _, ...period }) => period),
      (row) => `${row.account_id} ${row.period_start} ${row.user_id}`,
    ),
  );
}

/** Adds bytes to the sums of the network, the accounts and the servers, by hour and by day. */
async function addToSums(tx: Transaction, rows: readonly store.ServerHour[]): Promise<void> {
  const ofHours = rows.flatMap(({ account_id, server_id, hour, bytes }): Sum[] => [
    { kind: kinds.network, id: 0, at: hour, bytes },
    { kind: kinds.account, id: account_id, at: hour, bytes },
    { kind: kinds.server, id: server_id, at: hour, bytes },
  ]);
  const keyOf = ({ kind, id, at }: Sum) => `${kind} ${id} ${at}`;
  const hours = sumBy(ofHours, keyOf);
  const days = sumBy(
    hours.map((sum) => ({ ...sum, at: dayOf(sum.at) })),
    keyOf,
  );
  await addSums(tx, 'hour', hours);
  await addSums(tx, 'day', days);
}

/**
 * Bytes of the billing period that starts at `period_start`: in total, and by server; of these
 * servers, or of all.
 */
export async function periodUsage(
  db: Reader,
  account_id: number,
  period_start: number,
  server_ids?: readonly number[],
): Promise<{ total: number; byServer: Map<number, number> }> {
  const rows = await store.periodByServer(db, account_id, period_start, server_ids);
  return {
    total: safeBytes(rows.reduce((sum, row) => sum + row.bytes, 0)),
    byServer: new Map(rows.map((row) => [row.server_id, row.bytes])),
  };
}

/** How many users one statement names. */
const usersOfStatement = 512;

/**
 * Returns a function that gives the bytes of one of these users in the billing period of the
 * account that begins at `period_start`.
 */
export async function bytesOfUsers(
  db: Reader,
  account_id: number,
  period_start: number,
  user_ids: readonly number[],
): Promise<(user_id: number) => number> {
  const bytes = new Map<number, number>();
  for (let at = 0; at < user_ids.length; at += usersOfStatement) {
    const ids = user_ids.slice(at, at + usersOfStatement);
    const rows = await store.periodOfUsers(db, account_id, period_start, ids);
    for (const row of rows) bytes.set(row.user_id, row.bytes);
  }
  return (id) => bytes.get(id) ?? 0;
}

/**
 * Returns a function that gives the bytes of one of these accounts in the billing period that
 * begins then.
 */
export async function periodTotals(db: Reader, periods: readonly Key[]) {
  const find = await findByKeys<store.PeriodTotal>(
    periods,
    ({ account_id, period_start }) => [account_id, period_start],
    (keys) => store.periodTotals(db, keys),
  );
  return (...period: Key) => safeBytes(find(...period)?.bytes ?? 0);
}

/** The first hour of the last 720 whole ones. */
export const firstHour = (now: number) => hourOf(now) - windowHours * 3600;

/** Bytes by server, of these or of all, in the last 720 whole hours and the current one. */
export async function last30Days(
  db: Reader,
  account_id: number,
  now: number,
  server_ids?: readonly number[],
): Promise<Map<number, number>> {
  const rows = await store.hoursByServer(db, account_id, firstHour(now), server_ids);
  return new Map(rows.map((row) => [row.server_id, safeBytes(row.bytes)]));
}

/** When the window of `last30Days` moves on: the next full hour. */
export function nextHour(now: number): number {
  return hourOf(now) + 3600;
}

/** One sum for each key, in the order of the keys. */
export async function addUp(
  slices: AsyncIterable<{ sums: store.UsageSum[] }>,
): Promise<store.UsageSum[]> {
  const all = new Map<store.UsageSum['key'], store.UsageSum>();
  for await (const { sums } of slices) {
    for (const sum of sums) {
      const before = all.get(sum.key);
      if (before) {
        before.up += sum.up;
        before.down += sum.down;
      } else all.set(sum.key, sum);
    }
  }
  return Array.from(all.values()).sort((a, b) => (a.key < b.key ? -1 : 1));
}
