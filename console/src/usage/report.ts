// A report of usage as the server answers it, and the names of the files that are made of it.
import type { Answer, Given } from '../api/api.ts';
import { isoDay } from './days.ts';

export type Report = Answer<'console_get_usage'>;
/** What is asked for, but for how it is grouped. */
export type ReportQuery = Omit<Given<'console_get_usage'>['query'], 'by'>;

/** "usage-acme-2026-11-01-2026-11-21.csv": the account, the first and the last day. */
export function fileName(
  account: string,
  { from, to }: Pick<Report, 'from' | 'to'>,
  by = '',
): string {
  const name = account.replaceAll(/[^\w.-]/g, '_');
  return `usage-${name}-${isoDay(from)}-${isoDay(to - 1)}${by && `-by-${by}`}.csv`;
}
