// The names and passwords of VPN logins: derived from a key of the server, so that nothing is stored for each user.
import { createHmac } from 'node:crypto';

export const vpnServices = ['vpn-ikev2', 'vpn-ikev1', 'vpn-l2tp'] as const;

export type VpnService = (typeof vpnServices)[number];

export interface LoginNames {
  user: string;
  account: string;
  /** Of the password, epoch seconds; null never. */
  expiry: number | null;
}

/**
 * Reads `user@account`, or `user@account~expiry` with the expiry in whole minutes since 1970, in base 36. Names may
 * have an `@` in them: all that it can mean. None: it is neither.
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
 * The password of a login: 100 bits in four groups of five characters. `key`: the server's, in base64url. It holds
 * as long as the user's token version; an expiry is part of the login, and of the password.
 */
export function vpnPassword(
  key: string,
  of: { account: number; user: number; token_version: number; expiry: number | null },
): string {
  const { account, user, token_version, expiry } = of;
  const text = ['vpn1', account, user, token_version, expiry ?? ''].join('|');
  return groupsOf(createHmac('sha256', Buffer.from(key, 'base64url')).update(text).digest());
}

/** The key that all of a server share for IKEv1, which asks for one ahead of the password. */
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
