// The SQL of pages of operator tokens, filtered and sorted.
import type { Reader } from '../db/database.ts';
import { idSlices } from '../db/slices.ts';
import * as lists from '../lists/list_pages.ts';
import type { OperatorTokenRow } from './store.ts';

/** The sort orders of a page. */
const sorts = {
  id: lists.byNumber('t.id'),
  name: lists.byText('t.name'),
  created_at: lists.byNumber('t.created_at'),
  last_used_at: lists.byNumber('coalesce(t.last_used_at, 0)'),
};

export type OperatorTokenSort = keyof typeof sorts;
export const operatorTokenSorts = Object.keys(sorts) as OperatorTokenSort[];

const states = { used: 't.last_used_at is not null', unused: 't.last_used_at is null' } as const;

export type OperatorTokenState = keyof typeof states;
export const operatorTokenStates = Object.keys(states) as OperatorTokenState[];

/** Filters of tokens; a filter that is left out selects all. */
export interface OperatorTokenFilter {
  /** A part of a name. */
  search?: string | undefined;
  state?: OperatorTokenState | undefined;
}

export function operatorTokenPageSlices(
  db: Reader,
  { search = '', state }: OperatorTokenFilter,
  page: lists.PageRequest<OperatorTokenSort>,
): AsyncGenerator<lists.PageSlice<OperatorTokenRow>, void, void> {
  const matches = `($3 = '' or ${lists.foldOf(search)}(t.name) like $3 escape '\\')`;
  const sql = {
    slices: (rows: number) => idSlices(db, 'admin_tokens', rows),
    row: 't',
    from: 'admin_tokens t',
    columns: 't.*',
    joins: '',
    shown: { sql: '1 = 1', values: [] },
    filter: lists.filterOf(matches, [lists.containing(search)], state && states[state]),
    sort: sorts[page.sort],
  };
  return lists.pageSlices(db, sql, page);
}
