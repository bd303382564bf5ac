// The SQL of pages of custom DNS entries, filtered and sorted.
import type { Reader } from '../db/database.ts';
import { liveSlices } from '../lists/batches.ts';
import * as lists from '../lists/list_pages.ts';
import { columns, isApplied, joins, type Override } from './store.ts';

/** The sort orders of a page, and the tables that they need. */
const sorts = {
  id: lists.byNumber('o.id'),
  hostname: lists.byText('o.hostname'),
  ip: lists.byAddress('o.ip'),
  server: lists.byText('s.name', joins),
  expiry: lists.byNumber('o.expiry + 0'),
};

export type OverrideSort = keyof typeof sorts;
export const overrideSorts = Object.keys(sorts) as OverrideSort[];

/** `current`: all except the expired ones. */
export const overrideStates = ['pending', 'active', 'expiring', 'expired', 'current'] as const;

/** Filters for entries; omitted ones match everything. */
export interface OverrideFilter {
  /** A part of a hostname, an address or a note. */
  search?: string | undefined;
  /** By name. */
  server?: string | undefined;
  state?: (typeof overrideStates)[number] | undefined;
  /** Epoch seconds: only entries that are still wanted, and end before this. */
  ends_before?: number | undefined;
}

const status = `case when o.expiry > $5 then case when ${isApplied} then 'active' else 'pending' end
  else case when ${isApplied} then 'expiring' else 'expired' end end`;
const matchesSql = (
  fold: string,
) => `($6 = '' or o.hostname like $6 escape '\\' or o.ip like $6 escape '\\'
    or (o.note <> '' and ${fold}(o.note) like $6 escape '\\'))
  and ($7 = '' or o.server_id = (select id from servers where name = $7))
  and (cast($8 as bigint) = 0 or (o.expiry > $5 and o.expiry < cast($8 as bigint)))`;
const isInState = `(($9 = 'current' and ${status} <> 'expired') or $9 = ${status})`;

/** The slices of a page of the entries that expire after `since`, with their states at `now`. */
export function pageSlicesOf(
  db: Reader,
  account_id: number,
  { search = '', server = '', state, ends_before = 0 }: OverrideFilter,
  page: lists.PageRequest<OverrideSort>,
  { since, now }: { since: number; now: number },
): AsyncGenerator<lists.PageSlice<Override>, void, void> {
  const sort = sorts[page.sort];
  const sql = {
    slices: (rows: number) => liveSlices(db, 'overrides', account_id, rows),
    row: 'o',
    from: `overrides o ${state ? joins : sort.join}`,
    columns,
    joins,
    // `$5` is used in filters and states alone; a statement without them must name it, too.
    shown: {
      sql: 'o.account_id = $3 and o.expiry > $4 and cast($5 as bigint) is not null',
      values: [account_id, since, now],
    },
    filter: lists.filterOf(
      matchesSql(lists.foldOf(search)),
      [lists.containing(search), server, ends_before, ...(state ? [state] : [])],
      state && isInState,
    ),
    sort,
  };
  return lists.pageSlices(db, sql, page);
}
