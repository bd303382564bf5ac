// The session's cookie: its name and flags, how it is read and set.
import type { Config } from '../config.ts';

/** Whether browsers reach this server over TLS: then the cookie goes nowhere else. */
export const isSecure = (config: Config): boolean =>
  config.tls !== undefined || config.tls_terminated;

/** `__Host-` binds a cookie to this very host, over TLS; without TLS only loopback is listened on. */
export const cookieName = (secure: boolean): string => (secure ? '__Host-exitward' : 'exitward');

/** The session's token of a Cookie header; undefined when there is none, or more than one to choose from. */
export function readCookie(header: string | undefined, secure: boolean): string | undefined {
  const start = `${cookieName(secure)}=`;
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length));
  return values.length === 1 ? values[0] : undefined;
}

/** A Set-Cookie header that hands a browser its token, or takes it back (an empty one, 0 seconds). */
export function setCookie(token: string, lifetime_seconds: number, secure: boolean): string {
  const flags = `Path=/; Max-Age=${lifetime_seconds}; HttpOnly; SameSite=Strict`;
  return `${cookieName(secure)}=${token}; ${flags}${secure ? '; Secure' : ''}`;
}
