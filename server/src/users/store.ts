// The SQL of users.
import type { Reader, Transaction } from '../db/database.ts';

export interface UserRow {
  account_id: number;
  id: number;
  name: string;
  display_name: string;
  active: number;
  proxy: number;
  billing: number;
  admin: number;
  token_version: number;
}

export function all(db: Reader, account_id: number): Promise<UserRow[]> {
  return db.all('select * from users where account_id = $1 order by id', [account_id]);
}

export function active(db: Reader, account_id: number): Promise<UserRow[]> {
  return db.all('select * from users where account_id = $1 and active = 1 order by id', [
    account_id,
  ]);
}

export function findById(db: Reader, account_id: number, id: number): Promise<UserRow | undefined> {
  return db.one('select * from users where account_id = $1 and id = $2', [account_id, id]);
}

export function findByName(
  db: Reader,
  account_id: number,
  name: string,
): Promise<UserRow | undefined> {
  return db.one('select * from users where account_id = $1 and name = $2', [account_id, name]);
}

/** False when the account has a user of that name. */
export async function insert(tx: Transaction, row: UserRow): Promise<boolean> {
  const rows = await tx.put(
    `insert into users (account_id, id, name, display_name, active, proxy, billing, admin, token_version)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing returning id`,
    [
      row.account_id,
      row.id,
      row.name,
      row.display_name,
      row.active,
      row.proxy,
      row.billing,
      row.admin,
      row.token_version,
    ],
  );
  return rows.length > 0;
}

export function update(tx: Transaction, row: UserRow): Promise<number> {
  return tx.run(
    `update users set display_name = $3, active = $4, proxy = $5, billing = $6, admin = $7, token_version = $8
     where account_id = $1 and id = $2`,
    [
      row.account_id,
      row.id,
      row.display_name,
      row.active,
      row.proxy,
      row.billing,
      row.admin,
      row.token_version,
    ],
  );
}
