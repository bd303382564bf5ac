// A report of usage from the server, and the names of its files.
import type { AccountGiven, AccountResponse } from '../api/reading.ts';
import { isoDay } from '../charts/days.ts';

export type Report = AccountResponse<'get_usage'>;
/** The requested days, server and user, without the grouping. */
export type ReportQuery = Omit<NonNullable<AccountGiven<'get_usage'>['query']>, 'by'>;

/** "usage-acme-2026-11-01-2026-11-21.csv": the account, the first and the last day. */
export function fileName(
  account: string,
  { from, to }: Pick<Report, 'from' | 'to'>,
  by = '',
): string {
  const name = account.replaceAll(/[^\w.-]/g, '_');
  return `usage-${name}-${isoDay(from)}-${isoDay(to - 1)}${by && `-by-${by}`}.csv`;
}
