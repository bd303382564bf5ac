// A report of usage as the server sends it, and the names of the files that are made of it.
import type { AccountGiven, AccountResponse } from '../api/reading.ts';
import { isoDay } from '../charts/days.ts';

export type Report = AccountResponse<'get_usage'>;
/** The days, server and user that are asked for, without the grouping. */
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
