// The SQL of pages of the IP authlist, filtered and sorted.
import type { Reader } from '../db/database.ts';
import { liveSlices } from '../lists/batches.ts';
import * as lists from '../lists/list_pages.ts';
import type { AuthlistEntry } from './store.ts';

const users = 'join users u on u.account_id = a.account_id and u.id = a.user_id';
const uses = 'left join authlist_uses s on s.account_id = a.account_id and s.entry_id = a.id';

/** The sort orders of a page, and the tables that they need. */
const sorts = {
  id: lists.byNumber('a.id'),
  ip: lists.byAddress('a.ip'),
  user: lists.byText('u.name', users),
  // A sum, so that no index fits: PostgreSQL would walk all accounts' rows in expiry order.
  expiry: lists.byNumber('a.expiry + 0'),
  last_used_at: lists.byNumber('coalesce(s.used_at, 0)', uses),
};

export type EntrySort = keyof typeof sorts;
export const entrySorts = Object.keys(sorts) as EntrySort[];

export const entryStates = ['proven', 'unproven', 'waits', 'idle', 'in_use'] as const;

/** Filters for entries; omitted ones match everything. */
export interface EntryFilter {
  /** A part of an address, a note, or a user's name. */
  search?: string | undefined;
  user?: string | undefined;
  state?: (typeof entryStates)[number] | undefined;
  /** Epoch seconds: only entries that end before this. */
  ends_before?: number | undefined;
}

export interface PagedEntry extends AuthlistEntry {
  last_used_at: number | null;
}

/** Users are few: they are looked up once, not for each row. */
const ofUsers = (condition: string) =>
  `a.user_id in (select id from users where account_id = $3 and ${condition})`;
/** Listed for longer than a day, or for a shorter time and used. */
const isInUse = `${ofUsers('active = 1 and proxy = 1')}
  and (a.expiry - coalesce(a.added_at, 0) > ${86_400} or exists
    (select 1 from authlist_uses where account_id = a.account_id and entry_id = a.id))`;
const filterSql = (
  fold: string,
) => `($6 = '' or a.ip like $6 escape '\\' or (a.note <> '' and ${fold}(a.note) like $6 escape '\\')
    or ${ofUsers("lower(name) like $6 escape '\\'")})
  and ($7 = '' or ${ofUsers('name = $7')})
  and ($8 = '' or ($8 = 'idle' and ${ofUsers('(active = 0 or proxy = 0)')})
    or ($8 = 'in_use' and ${isInUse})
    or $8 = case when a.proven_at is not null then 'proven' when a.waits = 1 then 'waits' else 'unproven' end)
  and (cast($9 as bigint) = 0 or a.expiry < cast($9 as bigint))`;

/** The entries that hold at `now`, of one user or (0) of all. */
export function entryPageSlices(
  db: Reader,
  account_id: number,
  only_user_id: number,
  { search = '', user = '', state, ends_before = 0 }: EntryFilter,
  page: lists.PageRequest<EntrySort>,
  now: number,
): AsyncGenerator<lists.PageSlice<PagedEntry>, void, void> {
  const sort = sorts[page.sort];
  const values = [lists.containing(search), user, state ?? '', ends_before];
  const sql = {
    slices: (rows: number) => liveSlices(db, 'authlist', account_id, rows),
    row: 'a',
    from: `authlist a ${sort.join}`,
    joins: `${users} ${uses}`,
    columns: 'a.*, u.name as "user", u.active, u.proxy, s.used_at as last_used_at',
    shown: {
      sql: 'a.account_id = $3 and a.expiry > $4 and (cast($5 as bigint) = 0 or a.user_id = cast($5 as bigint))',
      values: [account_id, now, only_user_id],
    },
    filter: lists.filterOf(filterSql(lists.foldOf(search)), values),
    sort,
  };
  return lists.pageSlices(db, sql, page);
}
