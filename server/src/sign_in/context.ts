// The sign-in context: database, secrets and clock; and how a password is checked and set with
// them.
import { audit } from '../changes/audit.ts';
import { bumpVersion } from '../changes/changes.ts';
import type { Clock } from '../clock.ts';
import type { Actor, Database, Transaction } from '../db/database.ts';
import type { Secrets } from '../keys/secrets.ts';
import { deviceOf } from './devices.ts';
import { inHashQueue } from './hash_queue.ts';
import { hashPassword, isOfOldCost, passwordIs } from './passwords.ts';
import { findPerson } from './sessions.ts';
import * as store from './store.ts';
import {
  addressPrefix,
  addressSubjects,
  countAttempt,
  giveBackAttempt,
  nameSubject,
  rejectIfThrottled,
  type Subject,
} from './throttle.ts';

/**
 * The parts of the server that signing in needs. Hashing a password takes long, so it is never done
 * in a transaction.
 */
export interface SignInContext {
  db: Database;
  secrets: Secrets;
  clock: Clock;
}

/** The place that a person signs in from. */
export interface Visitor {
  address: string;
  browser: string;
  request_id: string;
  /** The token of the session that the browser had so far. */
  earlier: string | undefined;
  /** The token that makes the browser a known device. */
  device: string | undefined;
}

/** The actor of an attempt, when the person is not known yet. */
export function anonymous({ address, request_id }: Visitor): Actor {
  return { kind: 'system', name: 'sign-in', address, request_id };
}

export function actorOf(row: store.SignInRow, { address, request_id }: Visitor): Actor {
  return { kind: 'user', name: `${row.account_name}/${row.user_name}`, address, request_id };
}

/** How a browser is known as a user's: by this user's device, or session. */
export type KnownBy = `device ${string}` | `session ${number}`;

/** How the visitor is known as the named user; undefined otherwise. */
export async function knownAs(
  { db, secrets, clock }: SignInContext,
  { device, earlier }: Visitor,
  given: { account: string; user: string },
): Promise<KnownBy | undefined> {
  const now = clock.now();
  if (device !== undefined) {
    const row = await store.signInOf(db, given.account, given.user);
    const id = row && deviceOf(secrets, row, device, now);
    if (id !== undefined) return `device ${id}`;
  }
  const person = earlier && (await findPerson(db, secrets, earlier, now));
  if (!person || person.account_name !== given.account || person.user_name !== given.user) return;
  return `session ${person.session_id}`;
}

/**
 * The subjects by which attempts are counted: name and address; for a known browser only the
 * browser, so that guesses of others do not make it wait. It may make as many attempts itself.
 */
export function subjectsOf(
  secrets: Secrets,
  account: string,
  user: string,
  { address }: Visitor,
  knownBy?: KnownBy,
) {
  const name = nameSubject(secrets, account, user, knownBy);
  return { name, all: knownBy ? [name] : [name, ...addressSubjects(secrets, address)] };
}

/**
 * Counts an attempt, then checks a password. Returns the user's sign-in; undefined when there is no
 * such active user, the user has no password, or it is another one: all at the same cost. Errors:
 * 429, 503.
 */
export async function tryPassword(
  { db, clock }: SignInContext,
  visitor: Visitor,
  subjects: readonly Subject[],
  given: { account: string; user: string; password: string },
  knownBy: KnownBy | undefined,
): Promise<store.SignInRow | undefined> {
  // Checked first, which costs no commit. Counted before it waits, so that guesses cannot fill the
  // queue.
  await rejectIfThrottled(db, subjects, clock.now());
  await db.write(anonymous(visitor), (tx) => countAttempt(tx, subjects));
  try {
    const place = placeOf(visitor, given.account, knownBy !== undefined);
    return await inHashQueue(place, async () => {
      const row = await store.signInOf(db, given.account, given.user);
      const stored = row?.password ?? null;
      if (!(await passwordIs(given.password, stored)) || !row || stored === null) return undefined;
      if (!isOfOldCost(stored)) return row;
      const password = await raisedCost(db, actorOf(row, visitor), row, given.password);
      return password === null ? undefined : { ...row, password };
    });
  } catch (error) {
    // The password was not tried: the queue was full, or the database did not answer.
    await db.write(anonymous(visitor), (tx) => giveBackAttempt(tx, subjects));
    throw error;
  }
}

/**
 * Stores the right password of a user at today's cost. Returns the stored hash, which may be that
 * of a faster sign-in; null when another password was set meanwhile.
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

const placeOf = ({ address }: Visitor, account: string, isKnown: boolean) => ({
  prefix: addressPrefix(address),
  account,
  isKnown,
});

/** Hashes the new password of a visitor who has a session or an invitation. Errors: 503. */
export function hashInQueue(visitor: Visitor, account: string, password: string): Promise<string> {
  return inHashQueue(placeOf(visitor, account, true), () => hashPassword(password));
}

/**
 * Open codes end with the old password: an invitation or link that others know must not bypass a
 * new one.
 */
export async function setPassword(
  tx: Transaction,
  row: store.SignInRow,
  password: string,
): Promise<void> {
  await store.changeSignIn(tx, row, { password });
  await store.removeCodesOf(tx, row);
  await bumpVersion(tx, row.account_id, 'users');
  await audit(tx, {
    account_id: row.account_id,
    action: row.password === null ? 'password.set' : 'password.change',
    target: row.user_name,
  });
}
