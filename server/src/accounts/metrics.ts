// The metrics of accounts, read at each scrape.
import type { Reader } from '../db/database.ts';
import type { Metrics } from '../observed/metrics.ts';
import { periodUsage } from '../usage/usage.ts';
import { periodAt } from '../values/periods.ts';
import { findByName } from './store.ts';

/**
 * Shows the contracts of the accounts with these names, and no others: a network may have more than
 * a time series database should hold.
 */
export async function showAccounts(
  db: Reader,
  metrics: Metrics,
  names: readonly string[],
  now: number,
): Promise<void> {
  const watched = await Promise.all(
    names.map(async (name) => {
      const account = await findByName(db, name);
      if (!account) return [];
      const period = periodAt(account.start, now);
      const { total } = await periodUsage(db, account.id, period.start);
      return [{ account, period, total }];
    }),
  );
  for (const gauge of Object.values(metrics.accounts)) gauge.reset();
  for (const { account, period, total } of watched.flat()) {
    const labels = { account: account.name };
    const { usage, limit, over_limit, suspended, period_start, period_end, expiry } =
      metrics.accounts;
    usage.set(labels, total);
    limit.set(labels, account.limit_bytes);
    over_limit.set(labels, account.over_limit);
    suspended.set(labels, account.suspended);
    period_start.set(labels, period.start);
    period_end.set(labels, period.end);
    expiry.set(labels, account.expiry);
  }
}
