// The SQL of pages of an account's API tokens, filtered and sorted.
import type { Reader } from '../db/database.ts';
import { idSlices } from '../db/slices.ts';
import * as lists from '../lists/list_pages.ts';
import type { ApiTokenRow } from './store.ts';

/** The sort orders of a page. A token without an expiry sorts after all others. */
const sorts = {
  id: lists.byNumber('t.id'),
  name: lists.byText('t.name'),
  created_at: lists.byNumber('t.created_at'),
  expiry: lists.byNumber(`coalesce(t.expiry, ${Number.MAX_SAFE_INTEGER})`),
  last_used_at: lists.byNumber('coalesce(t.last_used_at, 0)'),
};

type TokenSort = keyof typeof sorts;
export const tokenSorts = Object.keys(sorts) as TokenSort[];

/** The condition of each state, at the time `$4`. */
const states = {
  active: '(t.expiry is null or t.expiry > $4)',
  expired: 't.expiry <= $4',
  unused: 't.last_used_at is null',
} as const;

export type TokenState = keyof typeof states;
export const tokenStates = Object.keys(states) as TokenState[];

/** Filters of tokens; a filter that is left out selects all. */
export interface TokenFilter {
  /** A part of a name. */
  search?: string | undefined;
  state?: TokenState | undefined;
  /** Epoch seconds: only tokens that expire before this time. */
  ends_before?: number | undefined;
}

/** The tokens of an account, with their state at `now`. */
export function tokenPageSlices(
  db: Reader,
  account_id: number,
  { search = '', state, ends_before = 0 }: TokenFilter,
  page: lists.PageRequest<TokenSort>,
  now: number,
): AsyncGenerator<lists.PageSlice<ApiTokenRow>, void, void> {
  const matches = `($5 = '' or ${lists.foldOf(search)}(t.name) like $5 escape '\\')
    and (cast($6 as bigint) = 0 or t.expiry < cast($6 as bigint))`;
  const sql = {
    slices: (rows: number) => idSlices(db, 'api_tokens', rows, account_id),
    row: 't',
    from: 'api_tokens t',
    columns: 't.*',
    joins: '',
    // `$4` is used in states alone; a statement without them must name it, too.
    shown: {
      sql: 't.account_id = $3 and cast($4 as bigint) is not null',
      values: [account_id, now],
    },
    filter: lists.filterOf(
      matches,
      [lists.containing(search), ends_before],
      state && states[state],
    ),
    sort: sorts[page.sort],
  };
  return lists.pageSlices(db, sql, page);
}
