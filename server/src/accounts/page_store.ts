// The SQL of pages of accounts, filtered and sorted.
import type { Reader } from '../db/database.ts';
import { idSlices } from '../db/slices.ts';
import * as lists from '../lists/list_pages.ts';
import type { AccountRow } from './store.ts';

/**
 * Bytes of the current billing period: doubles, which cannot overflow, capped at what JSON holds
 * exactly.
 */
const usage = `coalesce((select case when sum(cast(p.bytes as double precision)) > ${Number.MAX_SAFE_INTEGER}
    then ${Number.MAX_SAFE_INTEGER} else sum(cast(p.bytes as double precision)) end from usage_periods p
  where p.account_id = a.id and p.period_start = period_start(a.start, $3)), 0)`;

/** The sort orders of a page. */
const sorts = {
  id: lists.byNumber('a.id'),
  name: lists.byText('a.name'),
  plan: lists.byText('a.plan'),
  expiry: lists.byNumber('a.expiry'),
  usage: lists.byNumber(usage),
};

export type AccountSort = keyof typeof sorts;
export const accountSorts = Object.keys(sorts) as AccountSort[];

const endsSoonSeconds = 30 * 86_400;

/** The condition of each contract state, at the time `$3`. */
const states = {
  active: 'a.suspended = 0 and a.over_limit = 0 and a.expiry > $3',
  over: 'a.over_limit = 1',
  ended: 'a.expiry <= $3',
  ending: `a.expiry > $3 and a.expiry <= $3 + ${endsSoonSeconds}`,
  suspended: 'a.suspended = 1',
} as const;
export const accountStates = Object.keys(states) as Array<keyof typeof states>;

/** Filters of accounts; a filter that is left out selects all. */
export interface AccountFilter {
  /** A part of a name or a plan. */
  search?: string | undefined;
  state?: keyof typeof states | undefined;
  /** Epoch seconds: only contracts that expire before this time. */
  ends_before?: number | undefined;
}

/** All accounts, with their state at `now`. */
export function accountPageSlices(
  db: Reader,
  { search = '', state, ends_before = 0 }: AccountFilter,
  page: lists.PageRequest<AccountSort>,
  now: number,
): AsyncGenerator<lists.PageSlice<AccountRow>, void, void> {
  const matches = `($4 = '' or lower(a.name) like $4 escape '\\' or ${lists.foldOf(search)}(a.plan) like $4 escape '\\')
    and (cast($5 as bigint) = 0 or a.expiry < cast($5 as bigint))`;
  const sql = {
    slices: (rows: number) => idSlices(db, 'accounts', rows),
    row: 'a',
    from: 'accounts a',
    columns: 'a.*',
    joins: '',
    // `$3` is used in states and usage alone; a statement without them must name it, too.
    shown: { sql: 'cast($3 as bigint) is not null', values: [now] },
    filter: lists.filterOf(
      matches,
      [lists.containing(search), ends_before],
      state && states[state],
    ),
    sort: sorts[page.sort],
  };
  return lists.pageSlices(db, sql, page);
}
