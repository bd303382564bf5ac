// The second factor: one-time codes of an authenticator app (TOTP, RFC 6238), and recovery codes
// for a lost phone.
import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { audit } from '../changes/audit.ts';
import { bumpVersion } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { badRequest, conflict, unauthorized } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import * as store from './store.ts';

const stepSeconds = 30;
/** A phone's clock may be off by one step. */
const window = 1;
const recoveryCodes = 10;
/**
 * A secret that was not confirmed by then cannot be confirmed any more: it may have been seen
 * meanwhile.
 */
const pendingSeconds = 900;

type Holder = Pick<store.SignInRow, 'account_id' | 'user_id' | 'account_name' | 'user_name'>;

const sealContext = ({ account_id, user_id }: Pick<Holder, 'account_id' | 'user_id'>) =>
  `totp ${account_id} ${user_id}`;

function totpOf(secret: Secret, { account_name, user_name }: Holder): TOTP {
  const label = `${account_name}/${user_name}`;
  return new TOTP({ issuer: 'Exitward', label, secret, period: stepSeconds });
}

/** A secret for an authenticator app; it becomes active when a code of it confirms it. */
export async function beginSecondFactor(
  tx: Transaction,
  secrets: Secrets,
  holder: Holder,
): Promise<{ secret: string; url: string }> {
  const secret = new Secret({ size: 20 });
  await store.changeSignIn(tx, holder, {
    totp_pending: secrets.seal(`${tx.now + pendingSeconds} ${secret.base32}`, sealContext(holder)),
  });
  return { secret: secret.base32, url: totpOf(secret, holder).toString() };
}

/**
 * Opens every second factor of the database, and returns how many there are. Errors: throws when
 * one was sealed with other keys.
 */
export async function openSealedSecrets(db: Reader, secrets: Secrets): Promise<number> {
  const rows = await store.sealedSecrets(db);
  for (const { totp_sealed, ...ids } of rows) secrets.unseal(totp_sealed, sealContext(ids));
  return rows.length;
}

/**
 * The secret that a user has begun to set up. Errors: 409 when there is none, or it was begun too
 * long ago.
 */
export function requirePending(secrets: Secrets, row: store.SignInRow, now: number): string {
  const text = row.totp_pending && secrets.unseal(row.totp_pending, sealContext(row));
  const [until, secret] = text ? text.split(' ') : [];
  if (secret !== undefined && now < Number(until)) return secret;
  throw conflict(
    'Begin to set up the second factor first: there is no secret to confirm, or it was shown more than 15 minutes ago.',
  );
}

/**
 * Activates the secret that was begun. Returns the recovery codes, shown only here; earlier ones
 * end. Errors: 409 when none was begun; 400 when the code is wrong.
 */
export async function confirmSecondFactor(
  tx: Transaction,
  secrets: Secrets,
  row: store.SignInRow,
  code: string,
): Promise<string[]> {
  const secret = requirePending(secrets, row, tx.now);
  const step = stepOf(row, secret, code, tx.now);
  if (step === undefined) {
    throw badRequest(
      "is not the app's code for this secret at this time; check the phone's clock.",
      { code: 'wrong_code', field: 'code' },
    );
  }
  const codes = Array.from({ length: recoveryCodes }, newRecoveryCode);
  await store.changeSignIn(tx, row, {
    totp_sealed: secrets.seal(secret, sealContext(row)),
    totp_pending: null,
    totp_step: step,
  });
  await store.replaceRecoveryCodes(
    tx,
    row,
    codes.map((text) => secrets.hashToken(recoveryText(row, text))),
  );
  await bumpVersion(tx, row.account_id, 'users');
  await audit(tx, {
    account_id: row.account_id,
    action: 'second_factor.set',
    target: row.user_name,
  });
  return codes;
}

/** Removes the second factor. Errors: 409 when there is none. */
export async function removeSecondFactor(tx: Transaction, row: store.SignInRow): Promise<void> {
  if (row.totp_sealed === null) throw conflict('You have no second factor.');
  await store.changeSignIn(tx, row, { totp_sealed: null, totp_pending: null });
  await store.replaceRecoveryCodes(tx, row, []);
  await bumpVersion(tx, row.account_id, 'users');
  await audit(tx, {
    account_id: row.account_id,
    action: 'second_factor.remove',
    target: row.user_name,
  });
}

/**
 * Uses up a code of a user who has a second factor: one of the app, each step once, or a recovery
 * code. Errors: 401 for any other code, and for a used one.
 */
export async function useSecondFactor(
  tx: Transaction,
  secrets: Secrets,
  row: store.SignInRow,
  field: string,
  code: string,
): Promise<void> {
  const digits = code.replace(/\s/g, '');
  if (/^\d{6}$/.test(digits)) {
    const secret = secrets.unseal(row.totp_sealed ?? '', sealContext(row));
    const step = stepOf(row, secret, digits, tx.now);
    if (step !== undefined && step > row.totp_step) {
      await store.changeSignIn(tx, row, { totp_step: step });
      return;
    }
  } else if (await store.removeRecoveryCode(tx, row, secrets.hashesOf(recoveryText(row, code)))) {
    await audit(tx, {
      account_id: row.account_id,
      action: 'second_factor.recover',
      target: row.user_name,
      after: { codes_left: await store.recoveryCodesLeft(tx, row) },
    });
    return;
  }
  throw unauthorized('is not right, or was used already; wait for the next code.', 'Cookie', {
    code: 'wrong_code',
    field,
  });
}

/** The time step of this code; undefined when no current step has it. */
function stepOf(holder: Holder, secret: string, code: string, now: number): number | undefined {
  const token = code.replace(/\s/g, '');
  const delta = totpOf(Secret.fromBase32(secret), holder).validate({
    token,
    window,
    timestamp: now * 1000,
  });
  return delta === null ? undefined : Math.floor(now / stepSeconds) + delta;
}

/** Easy to copy by hand: no i, l, o or u. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Twelve characters, 60 bits: as `k3vd-9x0p-w2mr`. */
function newRecoveryCode(): string {
  const text = Array.from(randomBytes(12), (byte) => alphabet[byte % alphabet.length]).join('');
  return text.replace(/(.{4})(?=.)/g, '$1-');
}

/** The text that is hashed, bound to the user. */
function recoveryText({ account_id, user_id }: Holder, code: string): string {
  const plain = code.toLowerCase().replace(/[\s-]/g, '');
  return `recovery code ${account_id} ${user_id} ${plain}`;
}
