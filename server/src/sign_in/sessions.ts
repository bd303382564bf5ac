// Sessions: a signed-in browser has one; how they begin, stay valid and end.
import { randomBytes } from 'node:crypto';
import { bumpVersion, nextId } from '../changes/changes.ts';
import type { Database, Reader, Transaction } from '../db/database.ts';
import { notFound, unauthorized } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { Flags } from '../users/users.ts';
import * as store from './session_store.ts';
import { changeSignIn } from './store.ts';

export { markSessionsSeen } from './session_store.ts';

/** The signed-in person of a request. */
export interface Person {
  account_id: number;
  account_name: string;
  user_id: number;
  user_name: string;
  flags: Flags;
  session_id: number;
  contract: { suspended: boolean; expiry: number };
}

/** A new session; the token's text is shown only here. */
export interface NewSession {
  id: number;
  token: string;
  lifetime_seconds: number;
}

const longestSeconds = 30 * 86_400;
export const idleSeconds = 7 * 86_400;
const maxPerUser = 50;
const longestBrowser = 200;
const tokenFormat = /^[A-Za-z0-9_-]{43}$/;

/**
 * The person of a session's token; undefined when it has ended or its user is inactive. It is
 * looked up again for each request, so that a session ends at once, on every process.
 */
export async function findPerson(
  db: Database,
  secrets: Secrets,
  token: string,
  now: number,
): Promise<Person | undefined> {
  if (!tokenFormat.test(token)) return undefined;
  const row = await store.sessionByHash(db, secrets.hashesOf(token), now, now - idleSeconds);
  return row && toPerson(row);
}

function toPerson(row: store.PersonRow): Person {
  const { account_id, account_name, user_id, user_name, session_id } = row;
  return {
    account_id,
    account_name,
    user_id,
    user_name,
    flags: { admin: row.admin === 1, billing: row.billing === 1, proxy: row.proxy === 1 },
    session_id,
    contract: { suspended: row.suspended === 1, expiry: row.contract_expiry },
  };
}

/** Whether a session is still valid; a stream that stays open for long checks it repeatedly. */
export async function sessionStillHolds(
  db: Reader,
  { account_id, session_id }: Pick<Person, 'account_id' | 'session_id'>,
  now: number,
): Promise<boolean> {
  const row = await store.sessionById(db, account_id, session_id, now, now - idleSeconds);
  return row !== undefined;
}

/**
 * The person at this moment: a body may take long to arrive, and session or flags may have ended
 * since its head. Errors: 401 when the session has ended.
 */
export async function requirePerson(
  db: Reader,
  { account_id, session_id }: Person,
  now: number,
): Promise<Person> {
  const row = await store.sessionById(db, account_id, session_id, now, now - idleSeconds);
  if (!row) throw sessionEnded();
  return toPerson(row);
}

export const sessionEnded = () =>
  unauthorized('Sign in first: this request carries no session, or one that has ended.', 'Cookie', {
    code: 'session_ended',
  });

/** Begins a session. The browser's earlier session ends. */
export async function createSession(
  tx: Transaction,
  secrets: Secrets,
  { account_id, user_id }: { account_id: number; user_id: number },
  visitor: { address: string; browser: string; earlier: string | undefined },
): Promise<NewSession> {
  const { address, browser, earlier } = visitor;
  if (earlier !== undefined) {
    const endedAccountId = await store.removeSessionByHash(tx, secrets.hashesOf(earlier));
    if (endedAccountId !== undefined) await bumpVersion(tx, endedAccountId, 'users');
  }
  const id = await nextId(tx, account_id, 'sessions');
  const token = randomBytes(32).toString('base64url');
  await store.removeOldestSessions(tx, account_id, user_id, maxPerUser - 1);
  await store.insertSession(tx, {
    account_id,
    id,
    user_id,
    hash: secrets.hashToken(token),
    created_at: tx.now,
    seen_at: tx.now,
    expiry: tx.now + longestSeconds,
    address,
    browser: browser.slice(0, longestBrowser),
  });
  await changeSignIn(tx, { account_id, user_id }, { last_sign_in_at: tx.now });
  await bumpVersion(tx, account_id, 'users');
  return { id, token, lifetime_seconds: longestSeconds };
}

/** The current session, as its person sees it. Errors: 401 when it has ended. */
export async function describeSession(db: Reader, person: Person, now: number) {
  const row = await store.sessionFacts(db, person.account_id, person.session_id);
  if (!row) throw sessionEnded();
  const { suspended, expiry } = person.contract;
  return {
    account: person.account_name,
    user: {
      id: person.user_id,
      name: person.user_name,
      display_name: row.display_name,
      flags: person.flags,
    },
    session_id: person.session_id,
    created_at: row.created_at,
    expiry: row.expiry,
    second_factor: row.second_factor === 1,
    has_password: row.has_password === 1,
    writable: !suspended && now < expiry,
    contract: person.contract,
    now,
  };
}

/** The valid sessions of a person, newest first. */
export function listSessions(db: Reader, person: Person, now: number) {
  return store.sessionsOfUser(db, person.account_id, person.user_id, now, now - idleSeconds);
}

/** Errors: 404 when the person has no such session. */
export async function requireOwnSession(
  db: Reader,
  { account_id, user_id }: Person,
  id: number | undefined,
): Promise<void> {
  const row = id === undefined ? undefined : await store.findSession(db, account_id, user_id, id);
  if (!row) throw notFound('You have no such session.');
}

/** Ends one of a person's own sessions. Errors: 404. */
export async function endSession(
  tx: Transaction,
  person: Person,
  id: number | undefined,
): Promise<void> {
  await requireOwnSession(tx, person, id);
  await store.removeSession(tx, person.account_id, id as number);
  await bumpVersion(tx, person.account_id, 'users');
}

/** Ends the sessions of a user except one; returns how many. */
export async function endSessions(
  tx: Transaction,
  { account_id, user_id }: { account_id: number; user_id: number },
  but_id = 0,
): Promise<number> {
  const ended = await store.removeSessionsOfUser(tx, account_id, user_id, but_id);
  if (ended > 0) await bumpVersion(tx, account_id, 'users');
  return ended;
}

/**
 * Removes sessions that are over, and those of inactive users, which would become valid again with
 * them.
 */
export function sweepSessions(tx: Transaction, maxSessions: number): Promise<number> {
  return store.sweepSessions(tx, tx.now, tx.now - idleSeconds, maxSessions);
}
