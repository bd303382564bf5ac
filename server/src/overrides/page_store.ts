// The SQL of pages of custom DNS entries, filtered and sorted.
import type { Reader } from '../db/database.ts';
import { containing, type PageAsked, type PageSlice, pageSlices } from '../list_pages.ts';
import { columns, isApplied, type Override, tables } from './store.ts';

/** What a page may be sorted by. */
const sorts = {
  id: 'o.id',
  hostname: 'o.hostname',
  ip: 'ip_order(o.ip)',
  server: 's.name',
  expiry: 'o.expiry',
} as const;

export type OverrideSort = keyof typeof sorts;
export const overrideSorts = Object.keys(sorts) as OverrideSort[];

/** `current`: all but the expired ones. */
export const overrideStates = ['pending', 'active', 'expiring', 'expired', 'current'] as const;

/** Which entries; those that are left out ask for nothing. */
export interface OverrideFilter {
  /** A part of a hostname, an address or a note. */
  search?: string | undefined;
  /** By name. */
  server?: string | undefined;
  state?: (typeof overrideStates)[number] | undefined;
  /** Epoch seconds: those that are wanted still, and end before. */
  ends_before?: number | undefined;
}

const status = `case when o.expiry > $5 then case when ${isApplied} then 'active' else 'pending' end
  else case when ${isApplied} then 'expiring' else 'expired' end end`;
const asked = `($6 = '' or o.hostname like $6 escape '\\' or o.ip like $6 escape '\\' or lower(o.note) like $6 escape '\\')
  and ($7 = '' or s.name = $7)
  and ($8 = '' or ($8 = 'current' and ${status} <> 'expired') or $8 = ${status})
  and (cast($9 as bigint) = 0 or (o.expiry > $5 and o.expiry < cast($9 as bigint)))`;

/** The entries that expire after `since`, at `now`. */
export function pageSlicesOf(
  db: Reader,
  account_id: number,
  { search = '', server = '', state, ends_before = 0 }: OverrideFilter,
  page: PageAsked<OverrideSort>,
  { since, now }: { since: number; now: number },
): AsyncGenerator<PageSlice<Override>, void, void> {
  const isAsked = search !== '' || server !== '' || state !== undefined || ends_before > 0;
  const sql = {
    list: 'overrides' as const,
    row: 'o',
    table: 'overrides o',
    tables,
    columns,
    shown: { sql: 'o.expiry > $4', values: [since] },
    asked: isAsked
      ? { sql: asked, values: [now, containing(search), server, state ?? '', ends_before] }
      : undefined,
    sort: sorts[page.sort],
  };
  return pageSlices(db, account_id, sql, page);
}
