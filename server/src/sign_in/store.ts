// The SQL of signing in: passwords and second factors, one-time codes, attempts.

import type { Reader, Row, Transaction } from '../db/database.ts';
import { type Key, listOfKeys } from '../db/one_of.ts';
import type { Hashes } from '../keys/secrets.ts';

/** The password and second factor of an active user; null where there is none. */
export interface SignInRow {
  account_id: number;
  account_name: string;
  user_id: number;
  user_name: string;
  display_name: string;
  password: string | null;
  totp_sealed: string | null;
  totp_step: number;
  totp_pending: string | null;
}

/** A user by ids. */
interface UserIds {
  account_id: number;
  user_id: number;
}

const columns = `u.account_id, a.name as account_name, u.id as user_id, u.name as user_name, u.display_name,
  p.password, p.totp_sealed, coalesce(p.totp_step, 0) as totp_step, p.totp_pending`;
const people = `from accounts a join users u on u.account_id = a.id
  left join sign_ins p on p.account_id = u.account_id and p.user_id = u.id`;

/** An active user by names. */
export function signInOf(db: Reader, account: string, user: string) {
  return db.one<SignInRow>(
    `select ${columns} ${people} where a.name = $1 and u.name = $2 and u.active = 1`,
    [account, user],
  );
}

/** An active user by ids. */
export function signInById(db: Reader, { account_id, user_id }: UserIds) {
  return db.one<SignInRow>(
    `select ${columns} ${people} where u.account_id = $1 and u.id = $2 and u.active = 1`,
    [account_id, user_id],
  );
}

/** The second factors of all users. */
export function sealedSecrets(db: Reader) {
  return db.all<{ account_id: number; user_id: number; totp_sealed: string }>(
    'select account_id, user_id, totp_sealed from sign_ins where totp_sealed is not null',
  );
}

type Changes = Partial<
  Pick<SignInRow, 'password' | 'totp_sealed' | 'totp_step' | 'totp_pending'> & {
    last_sign_in_at: number;
  }
>;

/** Deletes the record of a user's sign-ins. */
export function removeSignIn(tx: Transaction, { account_id, user_id }: UserIds): Promise<number> {
  return tx.run('delete from sign_ins where account_id = $1 and user_id = $2', [
    account_id,
    user_id,
  ]);
}

/** Changes some of these fields. */
export async function changeSignIn(
  tx: Transaction,
  { account_id, user_id }: UserIds,
  changes: Changes,
): Promise<void> {
  const names = Object.keys(changes);
  await tx.insertMany(
    'sign_ins',
    [{ account_id, user_id, ...changes } as Row],
    `on conflict (account_id, user_id) do update set ${names
      .map((name) => `${name} = excluded.${name}`)
      .join(', ')}`,
  );
}

export interface SignInFactsRow {
  account_id: number;
  user_id: number;
  has_password: number;
  second_factor: number;
  invited_until: number | null;
  last_sign_in_at: number | null;
  sessions: number;
}

/** How each of these users can sign in. */
export function facts(db: Reader, users: readonly Key[], now: number, used_after: number) {
  const { list, values } = listOfKeys(users);
  const [at_now, at_used] = [`$${values.length + 1}`, `$${values.length + 2}`];
  return db.all<SignInFactsRow>(
    `select u.account_id, u.id as user_id, case when p.password is null then 0 else 1 end as has_password,
       case when p.totp_sealed is null then 0 else 1 end as second_factor, p.last_sign_in_at,
       (select c.expiry from sign_in_codes c where c.account_id = u.account_id and c.user_id = u.id
          and c.purpose = 'invite' and c.expiry > ${at_now}) as invited_until,
       (select count(*) from sessions s where s.account_id = u.account_id and s.user_id = u.id
          and s.expiry > ${at_now} and s.seen_at > ${at_used}) as sessions
     from users u left join sign_ins p on p.account_id = u.account_id and p.user_id = u.id
     where (u.account_id, u.id) in ${list}`,
    [...values, now, used_after],
  );
}

export async function replaceRecoveryCodes(
  tx: Transaction,
  { account_id, user_id }: UserIds,
  hashes: readonly string[],
): Promise<void> {
  await tx.run('delete from recovery_codes where account_id = $1 and user_id = $2', [
    account_id,
    user_id,
  ]);
  if (hashes.length === 0) return;
  await tx.insertMany(
    'recovery_codes',
    hashes.map((hash) => ({ account_id, user_id, hash })),
  );
}

/** False when the user has no such code. */
export async function removeRecoveryCode(
  tx: Transaction,
  { account_id, user_id }: UserIds,
  hashes: Hashes,
): Promise<boolean> {
  const rows = await tx.put(
    'delete from recovery_codes where account_id = $1 and user_id = $2 and hash in ($3, $4, $5) returning hash',
    [account_id, user_id, ...hashes],
  );
  return rows.length > 0;
}

export async function recoveryCodesLeft(
  db: Reader,
  { account_id, user_id }: UserIds,
): Promise<number> {
  const row = await db.one<{ codes: number }>(
    'select count(*) as codes from recovery_codes where account_id = $1 and user_id = $2',
    [account_id, user_id],
  );
  return row?.codes ?? 0;
}

// ---- One-time codes -----------------------------------------------------------------------

export type Purpose = 'invite' | 'sign_in';

export interface CodeRow {
  hash: string;
  account_id: number;
  user_id: number;
  purpose: Purpose;
  expiry: number;
}

/** Stores a code, replacing the user's earlier one for this purpose. */
export function putCode(tx: Transaction, row: CodeRow): Promise<void> {
  return tx.insertMany(
    'sign_in_codes',
    [row as unknown as Row],
    'on conflict (account_id, user_id, purpose) do update set hash = excluded.hash, expiry = excluded.expiry',
  );
}

/** The active user of a valid code. */
export function codeByHash(db: Reader, hashes: Hashes, purpose: Purpose, now: number) {
  return db.one<SignInRow & { expiry: number }>(
    `select ${columns}, c.expiry ${people}
     join sign_in_codes c on c.account_id = u.account_id and c.user_id = u.id
     where c.hash in ($1, $2, $3) and c.purpose = $4 and c.expiry > $5 and u.active = 1`,
    [...hashes, purpose, now],
  );
}

export function removeCode(tx: Transaction, hashes: Hashes): Promise<number> {
  return tx.run('delete from sign_in_codes where hash in ($1, $2, $3)', [...hashes]);
}

export function removeCodesOf(tx: Transaction, { account_id, user_id }: UserIds): Promise<number> {
  return tx.run('delete from sign_in_codes where account_id = $1 and user_id = $2', [
    account_id,
    user_id,
  ]);
}

export function purgeCodes(tx: Transaction, now: number, maxCodes: number): Promise<number> {
  return tx.run(
    'delete from sign_in_codes where hash in (select hash from sign_in_codes where expiry <= $1 limit $2)',
    [now, maxCodes],
  );
}

// ---- Attempts -----------------------------------------------------------------------------

export interface AttemptsRow {
  subject: string;
  failures: number;
  wait_until: number;
  at: number;
}

export function attempts(db: Reader, subjects: readonly string[]): Promise<AttemptsRow[]> {
  const places = subjects.map((_, at) => `$${at + 1}`).join(', ');
  return db.all(`select * from sign_in_attempts where subject in (${places})`, subjects);
}

export function putAttempts(tx: Transaction, row: AttemptsRow): Promise<void> {
  return tx.insertMany(
    'sign_in_attempts',
    [row as unknown as Row],
    `on conflict (subject) do update set failures = excluded.failures, wait_until = excluded.wait_until,
       at = excluded.at`,
  );
}

/** One attempt less, without a wait after it. */
export function takeAttempt(tx: Transaction, subject: string): Promise<number> {
  return tx.run(
    'update sign_in_attempts set failures = failures - 1, wait_until = 0 where subject = $1 and failures > 0',
    [subject],
  );
}

export function removeAttempts(tx: Transaction, subject: string): Promise<number> {
  return tx.run('delete from sign_in_attempts where subject = $1', [subject]);
}

export function purgeAttempts(tx: Transaction, older_than: number, limit: number): Promise<number> {
  return tx.run(
    `delete from sign_in_attempts where subject in
       (select subject from sign_in_attempts where at <= $1 limit $2)`,
    [older_than, limit],
  );
}
