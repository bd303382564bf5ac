// The cookies of a browser, for session and device: names and flags, how they are read and set.
import type { Config } from '../config.ts';

/** Whether browsers reach this server over TLS: then cookies are sent over TLS only. */
export const isSecure = (config: Config): boolean =>
  config.tls !== undefined || config.tls_terminated;

const names = { session: 'exitward', device: 'exitward-device' };
export type Cookie = keyof typeof names;

/** `__Host-` binds a cookie to this host, over TLS; without TLS only loopback is listened on. */
const nameOf = (cookie: Cookie, secure: boolean): string =>
  (secure ? '__Host-' : '') + names[cookie];

/** One value of a Cookie header; undefined if there is none, or more than one. */
export function readCookie(
  header: string | undefined,
  cookie: Cookie,
  secure: boolean,
): string | undefined {
  const start = `${nameOf(cookie, secure)}=`;
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length));
  return values.length === 1 ? values[0] : undefined;
}

/** A Set-Cookie header that gives a browser a token, or removes it (an empty one, 0 seconds). */
export function setCookie(
  cookie: Cookie,
  { token, lifetime_seconds }: { token: string; lifetime_seconds: number },
  secure: boolean,
): string {
  const flags = `Path=/; Max-Age=${lifetime_seconds}; HttpOnly; SameSite=Strict`;
  return `${nameOf(cookie, secure)}=${token}; ${flags}${secure ? '; Secure' : ''}`;
}
