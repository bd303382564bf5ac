// The names and passwords of VPN logins, derived from a server's key: nothing is stored per user.
import { createHmac } from 'node:crypto';

export const vpnServices = ['vpn-ikev2', 'vpn-ikev1', 'vpn-l2tp'] as const;

export type VpnService = (typeof vpnServices)[number];

export interface LoginNames {
  user: string;
  account: string;
  /** When the password expires, epoch seconds; null: never. */
  expiry: number | null;
}

/**
 * Reads `user@account` or `user@account~expiry`, with the expiry in minutes since 1970, in base 36.
 * Names may contain an `@`, so it returns all possible readings; none when the text is neither.
 */
export function readLogin(login: string): LoginNames[] {
  const [, names = '', minutes] = /^([^~]+)(?:~([0-9a-z]{1,7}))?$/.exec(login) ?? [];
  const expiry = minutes === undefined ? null : Number.parseInt(minutes, 36) * 60;
  const parts = names.split('@');
  return parts.slice(1).map((_, at) => {
    const user = parts.slice(0, at + 1).join('@');
    return { user, account: parts.slice(at + 1).join('@'), expiry };
  });
}

/**
 * The password of a login: 100 bits in four groups of five characters, for one token version of the
 * user. `key`: the server's, in base64url. An expiry is part of login and password.
 */
export function vpnPassword(
  key: string,
  of: { account: number; user: number; token_version: number; expiry: number | null },
): string {
  const { account, user, token_version, expiry } = of;
  const text = ['vpn1', account, user, token_version, expiry ?? ''].join('|');
  return groupsOf(createHmac('sha256', Buffer.from(key, 'base64url')).update(text).digest());
}

/** The key that all users of a server share for IKEv1, which needs one before the password. */
export function sharedKey(key: string): string {
  return groupsOf(createHmac('sha256', Buffer.from(key, 'base64url')).update('psk1').digest());
}

/** RFC 4648's base 32 in lower case: no 0 or 1 that could be read as o or l. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

function groupsOf(digest: Buffer): string {
  const bits = BigInt(`0x${digest.subarray(0, 13).toString('hex')}`) >> 4n;
  const characters = Array.from({ length: 20 }, (_, at) => {
    return alphabet[Number((bits >> BigInt(95 - 5 * at)) & 31n)];
  });
  return characters.join('').replace(/(.{5})(?=.)/g, '$1-');
}
