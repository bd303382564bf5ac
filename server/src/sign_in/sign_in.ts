// Signing in: people of an account with a browser, by password and second factor, by invitation, or
// by a link.
//
// A sign-in is a user's password hash and second factor; each success begins a session. Functions
// here: sign in, enter by link, accept an invitation, revoke sessions, reset a sign-in. Those of a
// signed-in person are in own_sign_in.ts, those of one session in sessions.ts. This file is the
// module's door: it exports them all.
import { audit } from '../changes/audit.ts';
import { bumpVersion } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { findByKeys, type Key } from '../db/one_of.ts';
import { unauthorized } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import type { User } from '../users/users.ts';
import { requireCode, useCode } from './codes.ts';
import {
  actorOf,
  anonymous,
  hashInQueue,
  knownAs,
  type SignInContext,
  setPassword,
  subjectsOf,
  tryPassword,
  type Visitor,
} from './context.ts';
import { createDevice, type DeviceToken } from './devices.ts';
import { checkPassword } from './passwords.ts';
import { useSecondFactor } from './second_factor.ts';
import { createSession, endSessions, idleSeconds, type NewSession } from './sessions.ts';
import * as store from './store.ts';
import { clearAttempts, countAttempt, giveBackAttempt } from './throttle.ts';

export {
  createInvite,
  createSignInLink,
  type OneTimeCode,
  purgeCodes,
  requireCode,
} from './codes.ts';
export type { Visitor } from './context.ts';
export {
  changePassword,
  confirmPassword,
  putSecondFactorInForce,
  signInOfPerson,
} from './own_sign_in.ts';
export { userFlags, userPageSlices, userSorts, userStates } from './page_store.ts';
export { maxPasswordLength, minPasswordLength } from './passwords.ts';
export { beginSecondFactor, openSealedSecrets, removeSecondFactor } from './second_factor.ts';
export {
  describeSession,
  endSession,
  endSessions,
  findPerson,
  listSessions,
  markSessionsSeen,
  type Person,
  requireOwnSession,
  requirePerson,
  sessionEnded,
  sessionStillHolds,
  sweepSessions,
} from './sessions.ts';
export { purgeAttempts } from './throttle.ts';

/**
 * Signs in by password and, if there is one, second factor. Returns `totp` when only its code is
 * missing. Errors: 401, 429, 503.
 */
export async function signIn(
  ctx: SignInContext,
  visitor: Visitor,
  given: { account: string; user: string; password: string; code?: string | undefined },
): Promise<SignedIn | 'totp'> {
  const { db, secrets } = ctx;
  const knownBy = await knownAs(ctx, visitor, given);
  const subjects = subjectsOf(secrets, given.account, given.user, visitor, knownBy);
  const wrong = () =>
    unauthorized('account, user or password is not right.', 'Cookie', { code: 'wrong_password' });
  const signInRow = await tryPassword(ctx, visitor, subjects.all, given, knownBy);
  if (!signInRow) throw wrong();
  return db.write(actorOf(signInRow, visitor), async (tx) => {
    const row = await store.signInById(tx, signInRow);
    if (!row || row.password !== signInRow.password) throw wrong();
    if (row.totp_sealed !== null) {
      if (given.code === undefined) {
        // Wrong codes stay counted: knowing the password allows no extra guesses.
        await giveBackAttempt(tx, subjects.all);
        return 'totp';
      }
      await useSecondFactor(tx, secrets, row, 'code', given.code);
    }
    await giveBackAttempt(tx, subjects.all);
    await clearAttempts(tx, subjects.name);
    const session = await startSession(tx, secrets, row, visitor, 'password');
    return { ...session, device: createDevice(secrets, row, tx.now) };
  });
}

/**
 * A new session. If the password was entered in this browser, the browser is a known device from
 * now on.
 */
export interface SignedIn extends NewSession {
  device?: DeviceToken;
}

async function startSession(
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
  { db, secrets, clock }: SignInContext,
  visitor: Visitor,
  code: string,
): Promise<NewSession> {
  const openCode = await requireCode(db, secrets, 'sign_in', code, clock.now());
  return db.write(actorOf(openCode, visitor), async (tx) => {
    const row = await requireCode(tx, secrets, 'sign_in', code, tx.now);
    await useCode(tx, secrets, code);
    return startSession(tx, secrets, row, visitor, 'link');
  });
}

/**
 * Sets the password of an invited user and signs the user in; the user's other sessions end. A
 * second factor must be shown if there is one. Errors: 401 for an invalid code, or a second factor
 * that is missing or wrong; 400 for a password that is not accepted; 429, 503.
 */
export async function acceptInvite(
  ctx: SignInContext,
  visitor: Visitor,
  given: { code: string; password: string; second_factor_code?: string | undefined },
): Promise<SignedIn> {
  const { db, secrets, clock } = ctx;
  const openCode = await requireCode(db, secrets, 'invite', given.code, clock.now());
  checkPassword(given.password, { name: openCode.user_name, account: openCode.account_name });
  const subjects = subjectsOf(secrets, openCode.account_name, openCode.user_name, visitor);
  const factor = given.second_factor_code;
  if (openCode.totp_sealed !== null) {
    if (factor === undefined) throw factorMissing();
    await db.write(anonymous(visitor), (tx) => countAttempt(tx, subjects.all));
  }
  const password = await hashInQueue(visitor, openCode.account_name, given.password);
  return db.write(actorOf(openCode, visitor), async (tx) => {
    const row = await requireCode(tx, secrets, 'invite', given.code, tx.now);
    if (row.totp_sealed !== null) {
      if (factor === undefined) throw factorMissing();
      await useSecondFactor(tx, secrets, row, 'second_factor_code', factor);
      await giveBackAttempt(tx, subjects.all);
    }
    await setPassword(tx, row, password);
    await endSessions(tx, row);
    await clearAttempts(tx, subjects.name);
    const session = await startSession(tx, secrets, row, visitor, 'invitation');
    return { ...session, device: createDevice(secrets, { ...row, password }, tx.now) };
  });
}

const factorMissing = () =>
  unauthorized('is missing; this user has a second factor.', 'Cookie', {
    code: 'second_factor_required',
    field: 'second_factor_code',
  });

/** Ends everything that lets a user in without a password: sessions, invitations, links. */
export async function revokeSessions(tx: Transaction, user: User): Promise<void> {
  const ids = { account_id: user.account_id, user_id: user.id };
  await store.removeCodesOf(tx, ids);
  await endSessions(tx, ids);
}

/**
 * Removes everything that a user signs in with, including open codes, and ends the user's sessions.
 */
export async function resetSignIn(tx: Transaction, user: User): Promise<void> {
  const ids = { account_id: user.account_id, user_id: user.id };
  await store.changeSignIn(tx, ids, { password: null, totp_sealed: null, totp_pending: null });
  await store.replaceRecoveryCodes(tx, ids, []);
  await store.removeCodesOf(tx, ids);
  const sessions = await endSessions(tx, ids);
  await bumpVersion(tx, user.account_id, 'users');
  await audit(tx, {
    account_id: user.account_id,
    action: 'user.reset_sign_in',
    target: user.name,
    after: { sessions_ended: sessions },
  });
}

/** Deletes everything that a user signs in with, and that the user ever signed in. */
export async function forgetSignIn(tx: Transaction, user: User): Promise<void> {
  const ids = { account_id: user.account_id, user_id: user.id };
  await store.replaceRecoveryCodes(tx, ids, []);
  await revokeSessions(tx, user);
  await store.removeSignIn(tx, ids);
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

const neverSignedIn: SignInFacts = {
  has_password: false,
  second_factor: false,
  invited_until: null,
  last_sign_in_at: null,
  sessions: 0,
};

/** Returns a function that says how one of these users can sign in. */
export async function signInFacts(db: Reader, users: readonly User[], now: number) {
  const keyOf = ({ account_id, id }: User): Key => [account_id, id];
  const find = await findByKeys<store.SignInFactsRow>(
    users.map(keyOf),
    ({ account_id, user_id }) => [account_id, user_id],
    (keys) => store.facts(db, keys, now, now - idleSeconds),
  );
  return (user: User): SignInFacts => {
    const row = find(...keyOf(user));
    if (!row) return neverSignedIn;
    const { account_id: _, user_id: __, has_password, second_factor, ...facts } = row;
    return { has_password: has_password === 1, second_factor: second_factor === 1, ...facts };
  };
}
