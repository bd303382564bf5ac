// One-time codes: invitations, with which a user sets a password, and links that sign a user in.
import { audit } from '../changes/audit.ts';
import { bumpVersion } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict, unauthorized } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { newTokenText, tokenTextIsPlausible } from '../keys/token_text.ts';
import type { User } from '../users/users.ts';
import * as store from './store.ts';

/** A code as it is handed out, once. */
export interface OneTimeCode {
  code: string;
  /**
   * Where the console accepts it, below the console's address. Browsers do not send the part after
   * the `#`.
   */
  path: string;
  expiry: number;
}

const inviteSeconds = 7 * 86_400;
export const signInLinkSeconds = 900;

/**
 * Invites a user to set a password; an earlier invitation ends. Errors: 409 for an inactive user.
 */
export function createInvite(tx: Transaction, secrets: Secrets, user: User): Promise<OneTimeCode> {
  return createCode(tx, secrets, user, 'invite', inviteSeconds);
}

/** A link that signs the user in; an earlier link ends. Errors: 409 for an inactive user. */
export function createSignInLink(
  tx: Transaction,
  secrets: Secrets,
  user: User,
  lifetime_seconds = signInLinkSeconds,
): Promise<OneTimeCode> {
  return createCode(tx, secrets, user, 'sign_in', lifetime_seconds);
}

const paths = { invite: '/#/invite/', sign_in: '/#/enter/' };

async function createCode(
  tx: Transaction,
  secrets: Secrets,
  user: User,
  purpose: store.Purpose,
  lifetime_seconds: number,
): Promise<OneTimeCode> {
  if (!user.active) throw conflict(`${JSON.stringify(user.name)} is inactive.`, { field: 'user' });
  const code = newTokenText('ewl_');
  const expiry = tx.now + lifetime_seconds;
  await store.putCode(tx, {
    hash: secrets.hashToken(code),
    account_id: user.account_id,
    user_id: user.id,
    purpose,
    expiry,
  });
  await bumpVersion(tx, user.account_id, 'users');
  await audit(tx, {
    account_id: user.account_id,
    action: purpose === 'invite' ? 'user.invite' : 'user.sign_in_link',
    target: user.name,
    after: { expiry },
  });
  return { code, path: paths[purpose] + code, expiry };
}

/**
 * The user that a code is for, and its expiry. Errors: 401 for a code that is unknown, used,
 * replaced or expired.
 */
export async function requireCode(
  db: Reader,
  secrets: Secrets,
  purpose: store.Purpose,
  code: string,
  now: number,
): Promise<store.SignInRow & { expiry: number }> {
  const row = tokenTextIsPlausible(code)
    ? await store.codeByHash(db, secrets.hashesOf(code), purpose, now)
    : undefined;
  if (row) return row;
  const noun = purpose === 'invite' ? 'invitation' : 'link';
  throw unauthorized(`this ${noun} was used or replaced, or is over; ask for another.`, 'Cookie', {
    code: 'code_used_up',
    field: 'code',
  });
}

/** Uses up a code. Call it in the transaction that begins the session. */
export async function useCode(tx: Transaction, secrets: Secrets, code: string): Promise<void> {
  await store.removeCode(tx, secrets.hashesOf(code));
}

/** Removes expired codes. */
export function purgeCodes(tx: Transaction, maxCodes: number): Promise<number> {
  return store.purgeCodes(tx, tx.now, maxCodes);
}
