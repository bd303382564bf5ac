// A signed-in person's own password and second factor: confirmed, set, activated.
import type { Reader } from '../db/database.ts';
import { conflict, forbidden, invalidField } from '../errors.ts';
import {
  actorOf,
  anonymous,
  hashInQueue,
  type KnownBy,
  type SignInContext,
  setPassword,
  subjectsOf,
  tryPassword,
  type Visitor,
} from './context.ts';
import { createDevice, type DeviceToken } from './devices.ts';
import { checkPassword } from './passwords.ts';
import { confirmSecondFactor, requirePending } from './second_factor.ts';
import { endSessions, type Person, requirePerson, sessionEnded } from './sessions.ts';
import * as store from './store.ts';
import { countAttempt, giveBackAttempt } from './throttle.ts';

/** The password and second factor of a signed-in person. Errors: 401 when the session has ended. */
export async function signInOfPerson(
  db: Reader,
  person: Person,
  now: number,
): Promise<store.SignInRow> {
  await requirePerson(db, person, now);
  const row = await store.signInById(db, person);
  if (!row) throw sessionEnded();
  return row;
}

const bySession = ({ session_id }: Person): KnownBy => `session ${session_id}`;

/**
 * Asks a signed-in person for the password again, throttled like a sign-in. `field` is where it was
 * sent. Returns the person's sign-in. Errors: 401 when the session has ended; 403 when the password
 * is wrong; 409 when the person has none; 429, 503.
 */
export async function confirmPassword(
  ctx: SignInContext,
  visitor: Visitor,
  person: Person,
  password: string,
  field = 'password',
): Promise<store.SignInRow> {
  const { account_name: account, user_name: user } = person;
  if ((await signInOfPerson(ctx.db, person, ctx.clock.now())).password === null) {
    throw conflict('you have no password yet; set one first.', { code: 'password_needed', field });
  }
  const knownBy = bySession(person);
  const subjects = subjectsOf(ctx.secrets, account, user, visitor, knownBy).all;
  const right = await tryPassword(ctx, visitor, subjects, { account, user, password }, knownBy);
  if (!right) throw forbidden('is not right.', { code: 'wrong_password', field });
  await ctx.db.write(anonymous(visitor), (tx) => giveBackAttempt(tx, subjects));
  return right;
}

/**
 * Sets the password of a signed-in person. Ends the person's other sessions, open codes and known
 * devices; returns the token of a new device. Errors: 400 when the password is not accepted; 403
 * when the current one is wrong; 409 when it was changed meanwhile; 401 when the session has ended;
 * 429, 503.
 */
export async function changePassword(
  ctx: SignInContext,
  visitor: Visitor,
  person: Person,
  given: { current_password?: string | undefined; password: string },
): Promise<DeviceToken> {
  checkPassword(given.password, { name: person.user_name, account: person.account_name });
  let before = await signInOfPerson(ctx.db, person, ctx.clock.now());
  if (before.password !== null) {
    if (given.current_password === undefined) {
      throw invalidField('current_password', 'is missing from the body.');
    }
    before = await confirmPassword(
      ctx,
      visitor,
      person,
      given.current_password,
      'current_password',
    );
  } else if (given.current_password !== undefined) {
    throw invalidField('current_password', 'you have no password yet; leave it out.');
  }
  const password = await hashInQueue(visitor, person.account_name, given.password);
  return ctx.db.write(actorOf(before, visitor), async (tx) => {
    const row = await signInOfPerson(tx, person, tx.now);
    if (row.password !== before.password) {
      throw conflict('it was changed at the same moment; sign in again.', { field: 'password' });
    }
    await setPassword(tx, row, password);
    await endSessions(tx, row, person.session_id);
    return createDevice(ctx.secrets, { ...row, password }, tx.now);
  });
}

/**
 * Activates the second factor that a signed-in person has begun to set up; known devices end.
 * Attempts at its codes are counted like sign-ins. Returns the recovery codes, shown only here, and
 * the token of a new device. Errors: 409 when none was begun within 15 minutes; 400 for a wrong
 * code; 401 when the session has ended; 429.
 */
export async function putSecondFactorInForce(
  { db, secrets, clock }: SignInContext,
  visitor: Visitor,
  person: Person,
  code: string,
): Promise<{ recovery_codes: string[]; device: DeviceToken }> {
  const before = await signInOfPerson(db, person, clock.now());
  requirePending(secrets, before, clock.now());
  const { account_name, user_name } = person;
  const subjects = subjectsOf(secrets, account_name, user_name, visitor, bySession(person)).all;
  await db.write(anonymous(visitor), (tx) => countAttempt(tx, subjects));
  return db.write(actorOf(before, visitor), async (tx) => {
    const row = await signInOfPerson(tx, person, tx.now);
    const recovery_codes = await confirmSecondFactor(tx, secrets, row, code);
    await giveBackAttempt(tx, subjects);
    const device = createDevice(secrets, await signInOfPerson(tx, person, tx.now), tx.now);
    return { recovery_codes, device };
  });
}
