// Signing in: people of an account with a browser, by password and second factor, by invitation, or by a link.
import { audit } from '../audit.ts';
import { touch } from '../changes.ts';
import type { Clock } from '../clock.ts';
import type { Actor, Database, Reader, Transaction } from '../db/database.ts';
import { badRequest, conflict, forbidden, unauthorized } from '../errors.ts';
import type { Secrets } from '../secrets.ts';
import type { User } from '../users/users.ts';
import { requireCode, useCode } from './codes.ts';
import { atBench, checkPassword, hashPassword, isOfOldCost, passwordIs } from './passwords.ts';
import { confirmSecondFactor, requirePending, useSecondFactor } from './second_factor.ts';
import {
  createSession,
  endSessions,
  idle_seconds,
  type NewSession,
  type Person,
  requirePerson,
} from './sessions.ts';
import * as store from './store.ts';
import {
  addressSubjects,
  clearAttempts,
  countAttempt,
  giveBackAttempt,
  nameSubject,
  neighbourhood,
  refuseIfThrottled,
  type Subject,
} from './throttle.ts';

export {
  createInvite,
  createSignInLink,
  type OneTimeCode,
  purgeCodes,
  requireCode,
} from './codes.ts';
export { max_password_length, min_password_length } from './passwords.ts';
export { beginSecondFactor, removeSecondFactor } from './second_factor.ts';
export {
  describeSession,
  endSession,
  endSessions,
  findPerson,
  listSessions,
  type NewSession,
  type Person,
  requireOwnSession,
  requirePerson,
  sessionEnded,
  sessionStillHolds,
  sweepSessions,
} from './sessions.ts';
export { purgeAttempts } from './throttle.ts';

/** What signing in works with. Hashing a password takes long, so it is never done in a transaction. */
export interface Desk {
  db: Database;
  secrets: Secrets;
  clock: Clock;
}

/** Where somebody signs in from. */
export interface Visitor {
  address: string;
  browser: string;
  request_id: string;
  /** The session's token that the browser held so far. */
  earlier: string | undefined;
}

/** Whoever it is has not signed in yet. */
function nobody({ address, request_id }: Visitor): Actor {
  return { kind: 'system', name: 'sign-in', address, request_id };
}

function actorOf(row: store.SignInRow, { address, request_id }: Visitor): Actor {
  return { kind: 'user', name: `${row.account_name}/${row.user_name}`, address, request_id };
}

function subjectsOf(secrets: Secrets, account: string, user: string, { address }: Visitor) {
  const name = nameSubject(secrets, account, user);
  return { name, all: [name, ...addressSubjects(secrets, address)] };
}

/**
 * Counts an attempt, then tries a password. Answers what the user signs in with, or undefined when there
 * is no such active user, without password, or with another: all at the same cost. Errors: 429, 503.
 */
async function tryPassword(
  { db, clock }: Desk,
  visitor: Visitor,
  subjects: readonly Subject[],
  given: { account: string; user: string; password: string },
): Promise<store.SignInRow | undefined> {
  // First a look, which costs no commit; and counted before it waits: guesses are no way to fill the bench.
  await refuseIfThrottled(db, subjects, clock.now());
  await db.write(nobody(visitor), (tx) => countAttempt(tx, subjects));
  try {
    return await atBench(neighbourhood(visitor.address), async () => {
      const row = await store.signInOf(db, given.account, given.user);
      const stored = row?.password ?? null;
      if (!(await passwordIs(given.password, stored)) || !row || stored === null) return undefined;
      if (!isOfOldCost(stored)) return row;
      const password = await raisedCost(db, actorOf(row, visitor), row, given.password);
      return password === null ? undefined : { ...row, password };
    });
  } catch (error) {
    // It was not judged: there was no place, or no database.
    await db.write(nobody(visitor), (tx) => giveBackAttempt(tx, subjects));
    throw error;
  }
}

/**
 * Stores the right password of a user at today's cost. Answers what is stored then: another sign-in may
 * have been quicker; null when another password was set meanwhile.
 */
async function raisedCost(
  db: Database,
  actor: Actor,
  row: store.SignInRow,
  given: string,
): Promise<string | null> {
  const password = await hashPassword(given);
  const stored = await db.write(actor, async (tx) => {
    const now = (await store.signInById(tx, row))?.password ?? null;
    if (now !== row.password) return now;
    await store.changeSignIn(tx, row, { password });
    return password;
  });
  return stored === password || (await passwordIs(given, stored)) ? stored : null;
}

/**
 * Signs in by password and, where there is one, second factor. Answers `totp` when only its code is
 * missing. Errors: 401, 429, 503.
 */
export async function signIn(
  desk: Desk,
  visitor: Visitor,
  given: { account: string; user: string; password: string; code?: string | undefined },
): Promise<NewSession | 'totp'> {
  const { db, secrets } = desk;
  const subjects = subjectsOf(secrets, given.account, given.user, visitor);
  const wrong = () => unauthorized('account, user or password is not right.', 'Cookie');
  const tried = await tryPassword(desk, visitor, subjects.all, given);
  if (!tried) throw wrong();
  return db.write(actorOf(tried, visitor), async (tx) => {
    const row = await store.signInById(tx, tried);
    if (!row || row.password !== tried.password) throw wrong();
    if (row.totp_sealed !== null) {
      if (given.code === undefined) {
        // Wrong codes stay counted: knowing the password gives no more guesses.
        await giveBackAttempt(tx, subjects.all);
        return 'totp';
      }
      await useSecondFactor(tx, secrets, row, 'code', given.code);
    }
    await giveBackAttempt(tx, subjects.all);
    await clearAttempts(tx, subjects.name);
    return letIn(tx, secrets, row, visitor, 'password');
  });
}

async function letIn(
  tx: Transaction,
  secrets: Secrets,
  row: store.SignInRow,
  visitor: Visitor,
  by: 'password' | 'invitation' | 'link',
): Promise<NewSession> {
  const session = await createSession(tx, secrets, row, visitor);
  await audit(tx, {
    account_id: row.account_id,
    action: 'session.create',
    target: row.user_name,
    after: { session_id: session.id, by },
  });
  return session;
}

/** Signs in by a one-time link. Errors: 401. */
export async function enterByLink(
  { db, secrets, clock }: Desk,
  visitor: Visitor,
  code: string,
): Promise<NewSession> {
  const seen = await requireCode(db, secrets, 'sign_in', code, clock.now());
  return db.write(actorOf(seen, visitor), async (tx) => {
    const row = await requireCode(tx, secrets, 'sign_in', code, tx.now);
    await useCode(tx, secrets, code);
    return letIn(tx, secrets, row, visitor, 'link');
  });
}

/**
 * Sets the password of an invited user, who is signed in; other sessions of the user end. Who has a
 * second factor must show it. Errors: 401 for a code that does not hold, and a second factor that is
 * missing or wrong; 400 for a password that is not taken; 429, 503.
 */
export async function acceptInvite(
  desk: Desk,
  visitor: Visitor,
  given: { code: string; password: string; second_factor_code?: string | undefined },
): Promise<NewSession> {
  const { db, secrets, clock } = desk;
  const seen = await requireCode(db, secrets, 'invite', given.code, clock.now());
  checkPassword(given.password, { name: seen.user_name, account: seen.account_name });
  const subjects = subjectsOf(secrets, seen.account_name, seen.user_name, visitor);
  const factor = given.second_factor_code;
  if (seen.totp_sealed !== null) {
    if (factor === undefined) throw factorMissing();
    await db.write(nobody(visitor), (tx) => countAttempt(tx, subjects.all));
  }
  const password = await hashAtBench(visitor, given.password);
  return db.write(actorOf(seen, visitor), async (tx) => {
    const row = await requireCode(tx, secrets, 'invite', given.code, tx.now);
    if (row.totp_sealed !== null) {
      if (factor === undefined) throw factorMissing();
      await useSecondFactor(tx, secrets, row, 'second_factor_code', factor);
      await giveBackAttempt(tx, subjects.all);
    }
    await setPassword(tx, row, password);
    await endSessions(tx, row);
    await clearAttempts(tx, subjects.name);
    return letIn(tx, secrets, row, visitor, 'invitation');
  });
}

const factorMissing = () =>
  unauthorized('second_factor_code: is missing; this user has a second factor.', 'Cookie');

function hashAtBench({ address }: Visitor, password: string): Promise<string> {
  return atBench(neighbourhood(address), () => hashPassword(password));
}

/** Open codes end with the password before: an invitation or a link that others know is no way past a new one. */
async function setPassword(tx: Transaction, row: store.SignInRow, password: string): Promise<void> {
  await store.changeSignIn(tx, row, { password });
  await store.removeCodesOf(tx, row);
  await touch(tx, row.account_id);
  await audit(tx, {
    account_id: row.account_id,
    action: row.password === null ? 'password.set' : 'password.change',
    target: row.user_name,
  });
}

/** What a signed-in person signs in with. */
export async function signInOfPerson(db: Reader, person: Person): Promise<store.SignInRow> {
  const row = await store.signInById(db, person);
  if (!row) throw unauthorized('Sign in first: this user is inactive.', 'Cookie');
  return row;
}

/**
 * Asks a signed-in person for the password anew, throttled like a sign-in. `field` is where it was sent.
 * Answers what the person signs in with. Errors: 409 when the person has none; 403 when it is wrong; 429, 503.
 */
export async function confirmPassword(
  desk: Desk,
  visitor: Visitor,
  person: Person,
  password: string,
  field = 'password',
): Promise<store.SignInRow> {
  const { account_name: account, user_name: user } = person;
  if ((await signInOfPerson(desk.db, person)).password === null) {
    throw conflict(`${field}: you have no password yet; set one first.`);
  }
  const subjects = subjectsOf(desk.secrets, account, user, visitor).all;
  const right = await tryPassword(desk, visitor, subjects, { account, user, password });
  if (!right) throw forbidden(`${field}: is not right.`);
  await desk.db.write(nobody(visitor), (tx) => giveBackAttempt(tx, subjects));
  return right;
}

/**
 * Sets the password of a signed-in person; the person's other sessions end, and open codes. Errors: 400
 * when it is not taken; 403 when the current one is wrong; 409 when it was changed meanwhile; 401 when the
 * session has ended; 429, 503.
 */
export async function changePassword(
  desk: Desk,
  visitor: Visitor,
  person: Person,
  given: { current_password?: string | undefined; password: string },
): Promise<void> {
  checkPassword(given.password, { name: person.user_name, account: person.account_name });
  let before = await signInOfPerson(desk.db, person);
  if (before.password !== null) {
    if (given.current_password === undefined) {
      throw badRequest('current_password: is missing from the body.');
    }
    before = await confirmPassword(
      desk,
      visitor,
      person,
      given.current_password,
      'current_password',
    );
  } else if (given.current_password !== undefined) {
    throw badRequest('current_password: you have no password yet; leave it out.');
  }
  const password = await hashAtBench(visitor, given.password);
  await desk.db.write(actorOf(before, visitor), async (tx) => {
    const row = await signInOfPerson(tx, await requirePerson(tx, person));
    if (row.password !== before.password) {
      throw conflict('password: it was changed at the same moment; sign in again.');
    }
    await setPassword(tx, row, password);
    await endSessions(tx, row, person.session_id);
  });
}

/**
 * Puts the second factor that a signed-in person has begun into force. Its codes are counted like those of
 * a sign-in. Answers the recovery codes, shown only here. Errors: 409 when none was begun within 15
 * minutes; 400 for a wrong code; 401 when the session has ended; 429.
 */
export async function putSecondFactorInForce(
  { db, secrets, clock }: Desk,
  visitor: Visitor,
  person: Person,
  code: string,
): Promise<string[]> {
  const before = await signInOfPerson(db, person);
  requirePending(secrets, before, clock.now());
  const subjects = subjectsOf(secrets, person.account_name, person.user_name, visitor).all;
  await db.write(nobody(visitor), (tx) => countAttempt(tx, subjects));
  return db.write(actorOf(before, visitor), async (tx) => {
    const row = await signInOfPerson(tx, await requirePerson(tx, person));
    const codes = await confirmSecondFactor(tx, secrets, row, code);
    await giveBackAttempt(tx, subjects);
    return codes;
  });
}

/** Ends everything by which a user is in, or could come in without a password: sessions, invitations, links. */
export async function shutOut(tx: Transaction, user: User): Promise<void> {
  const whose = { account_id: user.account_id, user_id: user.id };
  await store.removeCodesOf(tx, whose);
  await endSessions(tx, whose);
}

/** Takes everything that a user signs in with, open codes too, and ends the user's sessions. */
export async function resetSignIn(tx: Transaction, user: User): Promise<void> {
  const whose = { account_id: user.account_id, user_id: user.id };
  await store.changeSignIn(tx, whose, { password: null, totp_sealed: null, totp_pending: null });
  await store.replaceRecoveryCodes(tx, whose, []);
  await store.removeCodesOf(tx, whose);
  const sessions = await endSessions(tx, whose);
  await touch(tx, user.account_id);
  await audit(tx, {
    account_id: user.account_id,
    action: 'user.reset_sign_in',
    target: user.name,
    after: { sessions_ended: sessions },
  });
}

/** Ends all sessions of a user. */
export async function endSessionsOf(tx: Transaction, user: User): Promise<void> {
  const ended = await endSessions(tx, { account_id: user.account_id, user_id: user.id });
  await audit(tx, {
    account_id: user.account_id,
    action: 'user.end_sessions',
    target: user.name,
    after: { sessions_ended: ended },
  });
}

/** How a user can sign in. */
export interface SignInFacts {
  has_password: boolean;
  second_factor: boolean;
  invited_until: number | null;
  last_sign_in_at: number | null;
  sessions: number;
}

/** How each user of an account can sign in, by user id. */
export async function signInFacts(
  db: Reader,
  account_id: number,
  now: number,
): Promise<Map<number, SignInFacts>> {
  const rows = await store.facts(db, account_id, now, now - idle_seconds);
  return new Map(
    rows.map(({ user_id, has_password, second_factor, ...facts }) => [
      user_id,
      { has_password: has_password === 1, second_factor: second_factor === 1, ...facts },
    ]),
  );
}
