// The SQL of pages of an account's users, filtered and sorted, also by how they sign in.
import type { Reader } from '../db/database.ts';
import { idSlices } from '../db/slices.ts';
import * as lists from '../lists/list_pages.ts';
import type { User } from '../users/users.ts';

const signIns = 'left join sign_ins p on p.account_id = u.account_id and p.user_id = u.id';

/** The sort orders of a page, and the tables that they need. */
const sorts = {
  id: lists.byNumber('u.id'),
  name: lists.byText('u.name'),
  // Inactive users first, then by their permissions.
  flags: lists.byNumber('u.active * 8 + u.admin * 4 + u.billing * 2 + u.proxy'),
  last_sign_in_at: lists.byNumber('coalesce(p.last_sign_in_at, 0)', signIns),
};

export type UserSort = keyof typeof sorts;
export const userSorts = Object.keys(sorts) as UserSort[];

/**
 * `invited`: active users who have an invitation and never signed in. `limit_reached`: users whose
 * bytes of the billing period are used up, or whose end has come.
 */
const states = {
  active: 'u.active = 1',
  inactive: 'u.active = 0',
  limit_reached: '(u.over_limit = 1 or u.active_until <= $5)',
  invited: `u.active = 1
    and exists (select 1 from sign_in_codes c where c.account_id = u.account_id and c.user_id = u.id
      and c.purpose = 'invite' and c.expiry > $5)
    and not exists (select 1 from sign_ins s where s.account_id = u.account_id and s.user_id = u.id
      and s.last_sign_in_at is not null)`,
} as const;
export const userStates = Object.keys(states) as Array<keyof typeof states>;

const flags = { proxy: 'u.proxy = 1', billing: 'u.billing = 1', admin: 'u.admin = 1' } as const;
export const userFlags = Object.keys(flags) as Array<keyof typeof flags>;

/** Filters of users; a filter that is left out selects all. */
export interface UserFilter {
  /** A part of a name or a display name. */
  search?: string | undefined;
  state?: keyof typeof states | undefined;
  /** Users who have this flag. */
  flag?: keyof typeof flags | undefined;
}

/** The users of an account, including inactive ones; one of them, or (0) all. */
export function userPageSlices(
  db: Reader,
  account_id: number,
  only_user_id: number,
  { search = '', state, flag }: UserFilter,
  page: lists.PageRequest<UserSort>,
  now: number,
): AsyncGenerator<lists.PageSlice<User>, void, void> {
  const sort = sorts[page.sort];
  const matches = `($6 = '' or lower(u.name) like $6 escape '\\' or ${lists.foldOf(search)}(u.display_name) like $6 escape '\\')`;
  const sql = {
    slices: (rows: number) => idSlices(db, 'users', rows, account_id),
    row: 'u',
    from: `users u ${sort.join}`,
    columns: 'u.*',
    joins: '',
    shown: {
      sql: `u.account_id = $3 and (cast($4 as bigint) = 0 or u.id = cast($4 as bigint))
        and cast($5 as bigint) is not null`,
      values: [account_id, only_user_id, now],
    },
    filter: lists.filterOf(
      matches,
      [lists.containing(search)],
      state && states[state],
      flag && flags[flag],
    ),
    sort,
  };
  return lists.pageSlices(db, sql, page);
}
