// Known devices: a browser in which a user has signed in is recognised by a cookie, which grants no
// access.
//
// Its token is not stored: a keyed hash binds it to the user and to the stored password and second
// factor. So a new password or second factor, and a reset of the sign-in, end all devices of the
// user. There are no records whose number would need a limit: someone who knew the password may
// have made any number of devices, but these are no guesses at a second factor set since.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../keys/secrets.ts';
import type { SignInRow } from './store.ts';

const deviceSeconds = 180 * 86_400;

/** A device's token, for its cookie. */
export interface DeviceToken {
  token: string;
  lifetime_seconds: number;
}

type Owner = Pick<SignInRow, 'account_id' | 'user_id' | 'password' | 'totp_sealed'>;

const tokenFormat = /^([A-Za-z0-9_-]{22})\.(\d{1,12})\.([A-Za-z0-9_-]{43})$/;

/** Makes a browser a known device of a user, who has just shown this password and second factor. */
export function createDevice(secrets: Secrets, owner: Owner, now: number): DeviceToken {
  const id = randomBytes(16).toString('base64url');
  const expiry = now + deviceSeconds;
  const hash = signature(secrets.hashToken(boundText(owner, id, expiry)));
  const token = `${id}.${expiry}.${hash}`;
  return { token, lifetime_seconds: deviceSeconds };
}

/** The id of a known device of this user; undefined for any other token. */
export function deviceOf(
  secrets: Secrets,
  owner: Owner,
  token: string,
  now: number,
): string | undefined {
  const [, id = '', expiry = '', hash = ''] = tokenFormat.exec(token) ?? [];
  if (owner.password === null || !(now < Number(expiry))) return undefined;
  const expected = secrets.hashesOf(boundText(owner, id, Number(expiry))).map(signature);
  const isKnown = expected.some((other) => timingSafeEqual(Buffer.from(hash), Buffer.from(other)));
  return isKnown ? id : undefined;
}

/**
 * A keyed hash without the number of its keys: a browser that was known two rotations ago counts as
 * new.
 */
const signature = (hash: string) => hash.slice(-43);

function boundText(owner: Owner, id: string, expiry: number): string {
  const { account_id, user_id, password, totp_sealed } = owner;
  const bound = [account_id, user_id, password, totp_sealed, id, expiry];
  return `device ${JSON.stringify(bound)}`;
}
