// The cookies of a browser, for session and device: names and flags, how they are read and set.
import type { IncomingMessage } from 'node:http';
import type { Config } from '../config.ts';

/** Whether browsers reach this server over TLS: then cookies are sent over TLS only. */
export const isSecure = (config: Config): boolean =>
  config.tls !== undefined || config.tls_terminated;

const names = { session: 'exitward', device: 'exitward-device' };
export type Cookie = keyof typeof names;

/** A request, by the part that browsers choose cookies by. */
export type OfBrowser = Pick<IncomingMessage, 'headers'>;

/**
 * `__Host-` binds a cookie to this host, over TLS; without TLS only loopback is listened on. All
 * ports of a host share cookies: with the port in the name, servers there keep theirs apart.
 */
function nameOf({ headers }: OfBrowser, cookie: Cookie, secure: boolean): string {
  const [, port] = /:(\d{1,5})$/.exec(headers.host ?? '') ?? [];
  return [(secure ? '__Host-' : '') + names[cookie], ...(port ? [port] : [])].join('-');
}

/** One cookie of a request; undefined if there is none, or more than one. */
export function readCookie(
  request: OfBrowser,
  cookie: Cookie,
  secure: boolean,
): string | undefined {
  const start = `${nameOf(request, cookie, secure)}=`;
  const values = (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length));
  return values.length === 1 ? values[0] : undefined;
}

/** A Set-Cookie header that gives a browser a token, or removes it (an empty one, 0 seconds). */
export function setCookie(
  request: OfBrowser,
  cookie: Cookie,
  { token, lifetime_seconds }: { token: string; lifetime_seconds: number },
  secure: boolean,
): string {
  const flags = `Path=/; Max-Age=${lifetime_seconds}; HttpOnly; SameSite=Strict`;
  return `${nameOf(request, cookie, secure)}=${token}; ${flags}${secure ? '; Secure' : ''}`;
}
