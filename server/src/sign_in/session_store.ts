// The SQL of sessions.
import type { Reader, Row, Transaction } from '../db/database.ts';
import type { Hashes } from '../keys/secrets.ts';
import type { Use } from '../observed/last_used.ts';

export interface SessionRow {
  account_id: number;
  id: number;
  user_id: number;
  hash: string;
  created_at: number;
  seen_at: number;
  expiry: number;
  address: string;
  browser: string;
}

export interface PersonRow {
  account_id: number;
  account_name: string;
  user_id: number;
  user_name: string;
  admin: number;
  billing: number;
  proxy: number;
  session_id: number;
  seen_at: number;
  suspended: number;
  contract_expiry: number;
}

const person = `select s.account_id, a.name as account_name, s.user_id, u.name as user_name, u.admin,
    u.billing, u.proxy, s.id as session_id, s.seen_at, a.suspended, a.expiry as contract_expiry
  from sessions s join users u on u.account_id = s.account_id and u.id = s.user_id
  join accounts a on a.id = s.account_id
  where u.active = 1 and s.expiry > $1 and s.seen_at > $2`;

/** The active user of a valid session: it ends after `now`, and was used since `used_after`. */
export function sessionByHash(db: Reader, hashes: Hashes, now: number, used_after: number) {
  return db.one<PersonRow>(`${person} and s.hash in ($3, $4, $5)`, [now, used_after, ...hashes]);
}

/** The same, by ids. */
export function sessionById(
  db: Reader,
  account_id: number,
  id: number,
  now: number,
  used_after: number,
): Promise<PersonRow | undefined> {
  return db.one(`${person} and s.account_id = $3 and s.id = $4`, [now, used_after, account_id, id]);
}

/** One session of a person, with facts of its user. */
export interface SessionFactsRow {
  id: number;
  created_at: number;
  expiry: number;
  display_name: string;
  has_password: number;
  second_factor: number;
}

export function sessionFacts(db: Reader, account_id: number, id: number) {
  return db.one<SessionFactsRow>(
    `select s.id, s.created_at, s.expiry, u.display_name,
       case when p.password is null then 0 else 1 end as has_password,
       case when p.totp_sealed is null then 0 else 1 end as second_factor
     from sessions s join users u on u.account_id = s.account_id and u.id = s.user_id
     left join sign_ins p on p.account_id = s.account_id and p.user_id = s.user_id
     where s.account_id = $1 and s.id = $2`,
    [account_id, id],
  );
}

/** Newest first. */
export function sessionsOfUser(
  db: Reader,
  account_id: number,
  user_id: number,
  now: number,
  used_after: number,
): Promise<SessionRow[]> {
  return db.all(
    `select * from sessions where account_id = $1 and user_id = $2 and expiry > $3 and seen_at > $4
     order by id desc`,
    [account_id, user_id, now, used_after],
  );
}

export function insertSession(tx: Transaction, row: SessionRow): Promise<void> {
  return tx.insertMany('sessions', [row as unknown as Row]);
}

export async function markSessionsSeen(tx: Transaction, uses: readonly Use[]): Promise<void> {
  await Promise.all(
    uses.map(({ account_id, id, at }) =>
      tx.run(
        'update sessions set seen_at = $3 where account_id = $1 and id = $2 and seen_at < $3',
        [account_id, id, at],
      ),
    ),
  );
}

export function findSession(db: Reader, account_id: number, user_id: number, id: number) {
  return db.one<SessionRow>(
    'select * from sessions where account_id = $1 and user_id = $2 and id = $3',
    [account_id, user_id, id],
  );
}

export function removeSession(tx: Transaction, account_id: number, id: number): Promise<number> {
  return tx.run('delete from sessions where account_id = $1 and id = $2', [account_id, id]);
}

/** Returns the account that it belonged to. */
export async function removeSessionByHash(
  tx: Transaction,
  hashes: Hashes,
): Promise<number | undefined> {
  const [row] = await tx.put<{ account_id: number }>(
    'delete from sessions where hash in ($1, $2, $3) returning account_id',
    [...hashes],
  );
  return row?.account_id;
}

export function removeSessionsOfUser(
  tx: Transaction,
  account_id: number,
  user_id: number,
  but_id: number,
): Promise<number> {
  return tx.run('delete from sessions where account_id = $1 and user_id = $2 and id <> $3', [
    account_id,
    user_id,
    but_id,
  ]);
}

/** Keeps only the newest `maxSessions` sessions of a user. */
export function removeOldestSessions(
  tx: Transaction,
  account_id: number,
  user_id: number,
  maxSessions: number,
): Promise<number> {
  return tx.run(
    `delete from sessions where account_id = $1 and user_id = $2 and id <= (
       select id from sessions where account_id = $1 and user_id = $2 order by id desc limit 1 offset $3)`,
    [account_id, user_id, maxSessions],
  );
}

/** Removes sessions that are over, were not used since `used_after`, or whose user is inactive. */
export function sweepSessions(tx: Transaction, now: number, used_after: number, limit: number) {
  return tx.run(
    `delete from sessions where hash in (select s.hash from sessions s
       join users u on u.account_id = s.account_id and u.id = s.user_id
       where s.expiry <= $1 or s.seen_at <= $2 or u.active = 0 limit $3)`,
    [now, used_after, limit],
  );
}
