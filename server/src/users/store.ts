// The SQL of users.
import { setImmediate } from 'node:timers/promises';
import type { Reader, Transaction } from '../db/database.ts';
import { type Key, listOfKeys } from '../db/one_of.ts';
import { inserter, updater } from '../db/rows.ts';
import { type Ids, slice } from '../db/slices.ts';

/** The limits of a user (`limits.ts`); null: no limit. */
export interface LimitColumns {
  /** Bytes in a billing period. */
  limit_bytes: number | null;
  /** When they are used up, nodes refuse the user, or the user only needs attention. */
  on_limit: 'refuse' | 'notify';
  /** At once, in the whole network. */
  max_connections: number | null;
  /** Source addresses within `address_seconds`; an IPv6 address counts as its /64. */
  max_addresses: number | null;
  address_seconds: number;
  /** Epoch seconds. */
  active_until: number | null;
  /** JSON: array of names. */
  services: string | null;
  /** JSON: array of ids. */
  server_ids: string | null;
}

export interface UserRow extends LimitColumns {
  account_id: number;
  id: number;
  name: string;
  display_name: string;
  active: number;
  proxy: number;
  billing: number;
  admin: number;
  token_version: number;
  /** Whether the bytes of a billing period are used up. */
  over_limit: number;
  /** When to evaluate `over_limit` again: the end of that period; 0 while it is not over. */
  over_until: number;
  /** The end of the period in which most of them are used up; 0: none. */
  near_until: number;
}

const changeable = [
  'display_name',
  'active',
  'proxy',
  'billing',
  'admin',
  'token_version',
  'limit_bytes',
  'on_limit',
  'max_connections',
  'max_addresses',
  'address_seconds',
  'active_until',
  'services',
  'server_ids',
  'over_limit',
  'over_until',
  'near_until',
] as const;

export function listUsers(db: Reader, account_id: number): Promise<UserRow[]> {
  return db.all('select * from users where account_id = $1 order by id', [account_id]);
}

export async function countUsers(db: Reader, account_id: number): Promise<number> {
  const row = await db.one<{ users: number }>(
    'select count(*) as users from users where account_id = $1',
    [account_id],
  );
  return row?.users ?? 0;
}

/** A part of the users of an account. */
interface UserSlice extends Ids {
  users: UserRow[];
}

/** The users of an account by id, including inactive ones, a slice at a time. */
export async function* userSlices(
  db: Reader,
  account_id: number,
): AsyncGenerator<UserSlice, void, void> {
  for (let after = 0; ; ) {
    const users = await db.all<UserRow>(
      `select * from users where account_id = $1 and id > $2 order by id limit ${slice}`,
      [account_id, after],
    );
    const isLast = users.length < slice;
    const to = (!isLast && users.at(-1)?.id) || Number.MAX_SAFE_INTEGER;
    yield { after, to, isLast, users };
    if (isLast) return;
    after = to;
    await setImmediate();
  }
}

export function listActiveUsers(db: Reader, account_id: number): Promise<UserRow[]> {
  return db.all('select * from users where account_id = $1 and active = 1 order by id', [
    account_id,
  ]);
}

/** Whether the account has another active admin. */
export async function hasOtherAdmin(db: Reader, { account_id, id }: UserRow): Promise<boolean> {
  const other = await db.one(
    'select id from users where account_id = $1 and active = 1 and admin = 1 and id <> $2 limit 1',
    [account_id, id],
  );
  return other !== undefined;
}

export function findUser(db: Reader, account_id: number, id: number): Promise<UserRow | undefined> {
  return db.one('select * from users where account_id = $1 and id = $2', [account_id, id]);
}

export function findUsers(db: Reader, keys: readonly Key[]): Promise<UserRow[]> {
  const { list, values } = listOfKeys(keys);
  return db.all(`select * from users where (account_id, id) in ${list}`, values);
}

/** How many keys one statement names. */
const maxKeys = 512;

/** Those of these users who have a limit of bytes. */
export async function findLimitedUsers(db: Reader, keys: readonly Key[]): Promise<UserRow[]> {
  const users: UserRow[] = [];
  for (let at = 0; at < keys.length; at += maxKeys) {
    const { list, values } = listOfKeys(keys.slice(at, at + maxKeys));
    users.push(
      ...(await db.all<UserRow>(
        `select * from users where (account_id, id) in ${list} and limit_bytes is not null`,
        values,
      )),
    );
  }
  return users;
}

/** Users over the limit of a billing period that has ended. */
export function overLimit(db: Reader, now: number, maxRows: number): Promise<UserRow[]> {
  return db.all(
    'select * from users where over_limit = 1 and over_until <= $1 order by over_until limit $2',
    [now, maxRows],
  );
}

/** Active users who are near their limit now, or over it; of one account or of all. */
export function nearLimit(
  db: Reader,
  over_limit: 0 | 1,
  account_id: number | undefined,
  now: number,
  maxRows: number,
): Promise<UserRow[]> {
  const ofAccount = account_id === undefined ? '' : 'and account_id = $3';
  return db.all(
    `select * from users
     where near_until > 0 and over_limit = $1 and near_until > $2 and active = 1 ${ofAccount}
     order by near_until limit ${maxRows}`,
    account_id === undefined ? [over_limit, now] : [over_limit, now, account_id],
  );
}

export function findUserNamed(db: Reader, account_id: number, name: string) {
  return db.one<UserRow>('select * from users where account_id = $1 and name = $2', [
    account_id,
    name,
  ]);
}

const shareName = (account_id: number, name: string) => `user ${account_id} ${name}`;

/** Read once for all actions of a group, and again after a write. */
export function findUserInGroup(
  tx: Transaction,
  account_id: number,
  name: string,
): Promise<UserRow | undefined> {
  return tx.group.share(shareName(account_id, name), () => findUserNamed(tx, account_id, name));
}

const insertUser = inserter<UserRow>('users', ['account_id', 'id', 'name', ...changeable]);
const updateUser = updater<UserRow>('users', ['account_id', 'id'], changeable);

/** False when the account has a user of that name. */
export function insert(tx: Transaction, row: UserRow): Promise<boolean> {
  tx.group.forget(shareName(row.account_id, row.name));
  return insertUser(tx, row);
}

export function update(tx: Transaction, row: UserRow): Promise<number> {
  tx.group.forget(shareName(row.account_id, row.name));
  return updateUser(tx, row);
}

/** False when the account has another user of that name. */
export async function changeName(tx: Transaction, row: UserRow, name: string): Promise<boolean> {
  for (const either of [row.name, name]) tx.group.forget(shareName(row.account_id, either));
  const renamed = await tx.put(
    `update users set name = $1, display_name = $1 where account_id = $2 and id = $3
     and not exists (select 1 from users where account_id = $2 and name = $1 and id <> $3) returning id`,
    [name, row.account_id, row.id],
  );
  return renamed.length > 0;
}

/** The maximum number of values in a statement. */
const maxValues = 1000;

export interface UserNamed {
  account_id: number;
  user_id: number;
}

/** The users among these that exist, each once. */
export async function existingUsers(db: Reader, named: UserNamed[]): Promise<UserNamed[]> {
  const existing: UserNamed[] = [];
  const maxUsers = maxValues / 2;
  for (let at = 0; at < named.length; at += maxUsers) {
    const slice = named.slice(at, at + maxUsers);
    const rows = slice.map(
      (_, index) => `(cast($${2 * index + 1} as bigint), cast($${2 * index + 2} as bigint))`,
    );
    existing.push(
      ...(await db.all<UserNamed>(
        `select account_id, id as user_id from users where (account_id, id) in (values ${rows})`,
        slice.flatMap(({ account_id, user_id }) => [account_id, user_id]),
      )),
    );
  }
  return existing;
}
