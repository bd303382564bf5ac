// The SQL of accounts and their contracts.
import type { Reader, Transaction } from '../db/database.ts';
import { idCondition } from '../db/one_of.ts';
import { inserter, updater } from '../db/rows.ts';

export interface AccountRow {
  id: number;
  name: string;
  plan: string;
  /** Contract start: billing periods are counted from here. */
  start: number;
  expiry: number;
  /** Bytes of the whole network in a billing period. */
  limit_bytes: number;
  /** 1: limits of single servers apply. */
  detailed_billing: number;
  suspended: number;
  over_limit: number;
  /** When to evaluate `over_limit` again: the end of its billing period; 0 while it is not over. */
  over_until: number;
  /** How nodes treat connections over the limit. */
  on_limit: 'refuse' | 'allow';
  port_scheme_id: number;
  /** Lifetime of proxy access tokens of its users. */
  token_lifetime_seconds: number;
  created_at: number;
}

const changeable = [
  'plan',
  'start',
  'expiry',
  'limit_bytes',
  'detailed_billing',
  'suspended',
  'over_limit',
  'over_until',
  'on_limit',
  'port_scheme_id',
  'token_lifetime_seconds',
] as const;

export function findById(db: Reader, id: number): Promise<AccountRow | undefined> {
  return db.one('select * from accounts where id = $1', [id]);
}

const shareName = (id: number) => `account ${id}`;

/** Read once for all actions of a group, and again after a write. */
export function findAccountInGroup(tx: Transaction, id: number): Promise<AccountRow | undefined> {
  return tx.group.share(shareName(id), () => findById(tx, id));
}

export function findByName(db: Reader, name: string): Promise<AccountRow | undefined> {
  return db.one('select * from accounts where name = $1', [name]);
}

/** The names of these accounts. */
export async function accountNames(
  db: Reader,
  ids: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const { sql, ids: values } = idCondition('id', ids);
  const rows = await db.all<Pick<AccountRow, 'id' | 'name'>>(
    `select id, name from accounts where ${sql}`,
    values,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** The accounts with these ids. */
export async function accountsWithIds(
  db: Reader,
  ids: readonly number[],
): Promise<ReadonlyMap<number, AccountRow>> {
  const { sql, ids: values } = idCondition('id', ids);
  const rows = await db.all<AccountRow>(`select * from accounts where ${sql}`, values);
  return new Map(rows.map((row) => [row.id, row]));
}

/** A page of accounts in the order of their names. */
export function pageOfAccounts(db: Reader, after: string, maxRows: number): Promise<AccountRow[]> {
  return db.all('select * from accounts where name > $1 order by name limit $2', [after, maxRows]);
}

const insertAccount = inserter<AccountRow>('accounts', ['id', 'name', ...changeable, 'created_at']);
const updateAccount = updater<AccountRow>('accounts', ['id'], changeable);

/** False when the name is taken. */
export function insert(tx: Transaction, row: AccountRow): Promise<boolean> {
  tx.group.forget(shareName(row.id));
  return insertAccount(tx, row);
}

export function update(tx: Transaction, row: AccountRow): Promise<number> {
  tx.group.forget(shareName(row.id));
  return updateAccount(tx, row);
}

/** The accounts that use a port scheme: the first by name, and how many there are. */
export async function accountsOnScheme(db: Reader, port_scheme_id: number, maxNamed: number) {
  const rows = await db.all<{ name: string; all_of_them: number }>(
    `select name, count(*) over () as all_of_them from accounts
     where port_scheme_id = $1 order by name limit $2`,
    [port_scheme_id, maxNamed],
  );
  return { first: rows.map(({ name }) => name), all: rows[0]?.all_of_them ?? 0 };
}

/** The names of the account's servers that do not listen on a port scheme. */
export async function serversWithoutScheme(
  db: Reader,
  account_id: number,
  port_scheme_id: number,
): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    `select s.name from contract_servers c join servers s on s.id = c.server_id
     where c.account_id = $1 and not exists (
       select 1 from server_port_schemes p where p.server_id = s.id and p.port_scheme_id = $2)
     order by s.name`,
    [account_id, port_scheme_id],
  );
  return rows.map((row) => row.name);
}

/** Accounts over the limit of a billing period that has ended. */
export function overLimit(db: Reader, now: number, maxRows: number): Promise<AccountRow[]> {
  return db.all(
    'select * from accounts where over_limit = 1 and over_until <= $1 order by over_until limit $2',
    [now, maxRows],
  );
}
