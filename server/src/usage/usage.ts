// Usage: bytes by contract, server, user and hour, as the nodes report them; added up for answers and limits.
import type { Reader, Transaction } from '../db/database.ts';
import { hourOf, periodAt } from './periods.ts';
import * as store from './store.ts';

export { hourOf, periodAt } from './periods.ts';
export type { UsageBucket } from './store.ts';
export { claimBatch, hasUsage, removeOldJournals, report as reportUsage } from './store.ts';

const window_hours = 720;

/** Bytes never exceed what JSON can tell exactly. */
export function safeBytes(bytes: number): number {
  return Math.min(Math.round(bytes), Number.MAX_SAFE_INTEGER);
}

/** Sums rows that share `keyOf`; the result keeps the first row of each key with the sum in `field`. */
function sumBy<T extends Record<F, number>, F extends string>(
  rows: T[],
  keyOf: (row: T) => string,
  field: F,
): T[] {
  const sums = new Map<string, T>();
  for (const row of rows) {
    const sum = sums.get(keyOf(row));
    if (sum) sum[field] = safeBytes(sum[field] + row[field]) as T[F];
    else sums.set(keyOf(row), { ...row });
  }
  return Array.from(sums.values());
}

/**
 * Adds measured traffic to the buckets and their sums. `contractStart` tells where an account's
 * billing periods begin; traffic before that counts in the first one. `hour` of a bucket may be any time
 * in that hour: the billing period goes by it.
 */
export async function recordUsage(
  tx: Transaction,
  buckets: store.UsageBucket[],
  contractStart: (account_id: number) => number,
): Promise<void> {
  const hourly = new Map<string, store.UsageBucket>();
  for (const bucket of buckets) {
    const hour = hourOf(bucket.hour);
    const key = `${bucket.account_id} ${bucket.server_id} ${bucket.user_id} ${hour}`;
    const sum = hourly.get(key);
    if (sum) {
      sum.up = safeBytes(sum.up + bucket.up);
      sum.down = safeBytes(sum.down + bucket.down);
    } else hourly.set(key, { ...bucket, hour });
  }
  const rows = Array.from(hourly.values());
  if (rows.length === 0) return;
  await store.addBuckets(tx, rows);
  const bytes = rows.map(({ account_id, server_id, hour, up, down }) => ({
    account_id,
    server_id,
    hour,
    bytes: safeBytes(up + down),
  }));
  await store.addServerHours(
    tx,
    sumBy(bytes, (row) => `${row.account_id} ${row.server_id} ${row.hour}`, 'bytes'),
  );
  // By the traffic's own time: a period may begin in the middle of an hour.
  const periods = buckets.map(({ account_id, server_id, hour, up, down }) => ({
    account_id,
    period_start: periodAt(contractStart(account_id), hour).start,
    server_id,
    bytes: safeBytes(up + down),
  }));
  await store.addPeriods(
    tx,
    sumBy(periods, (row) => `${row.account_id} ${row.period_start} ${row.server_id}`, 'bytes'),
  );
}

/** Bytes of the billing period that starts at `period_start`: in all, and by server. */
export async function periodUsage(
  db: Reader,
  account_id: number,
  period_start: number,
): Promise<{ total: number; byServer: Map<number, number> }> {
  const rows = await store.periodByServer(db, account_id, period_start);
  return {
    total: safeBytes(rows.reduce((sum, row) => sum + row.bytes, 0)),
    byServer: new Map(rows.map((row) => [row.server_id, row.bytes])),
  };
}

/** Bytes by server in the last 720 whole hours and the running one. */
export async function last30Days(
  db: Reader,
  account_id: number,
  now: number,
): Promise<Map<number, number>> {
  const rows = await store.hoursByServer(db, account_id, hourOf(now) - window_hours * 3600);
  return new Map(rows.map((row) => [row.server_id, safeBytes(row.bytes)]));
}

/** When the window of `last30Days` moves on: the next full hour. */
export function nextHour(now: number): number {
  return hourOf(now) + 3600;
}
