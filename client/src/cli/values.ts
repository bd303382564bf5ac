// Values as account holders write them on a command line: times from now on, addresses, ids, ports.
import { isIPv4, isIPv6 } from 'node:net';
import { invalid, pastFrom, timeFrom } from '../../../kit/src/cli/values.ts';

export const now = (): number => Math.floor(Date.now() / 1000);

/** The default lifetime of an entry, */
export const defaultLifetimeSeconds = 8 * 3600;
/** and the sentence that mentions it. */
export const expiryHint = ' Use --expiry to set another end.';

type Given<Values> = { [Name in keyof Values]?: Exclude<Values[Name], undefined> };

/** The values without those that are undefined. */
export function given<Values extends object>(values: Values): Given<Values> {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Given<Values>;
}

/** Epoch seconds: a number, an ISO date or time (UTC by default), or from now on: `+8h`, `+30d`. */
export function time(text: string): number {
  return timeFrom(text, now());
}

/** A time that has passed: the same, or before now: `2h`, `7d`. */
export function past(text: string): number {
  return pastFrom(text, now());
}

/**
 * The one spelling of an address (RFC 5952; IPv4-mapped IPv6 becomes IPv4), or undefined when the
 * text is anything else: a zone, a prefix length, octal, hexadecimal or short forms, blanks.
 */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const ip = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(ip) ?? [];
  if (high === undefined || low === undefined) return ip;
  const bytes = [high, low].flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 255];
  });
  return bytes.join('.');
}

export function address(text: string): string {
  if (canonicalAddress(text) !== undefined) return text;
  throw invalid('an IP address', text, 'one such as 203.0.113.7');
}

/** The id of an entry. */
export function id(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid('an id', text, 'a number, as shown in lists');
}

/** An entry of the authlist: by its id, or by its address. */
export function idOrAddress(text: string): number | string {
  if (canonicalAddress(text) !== undefined) return text;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid('an id or an IP address', text, 'such as 12 or 203.0.113.7');
}

export function port(text: string): number {
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number <= 65_535) return number;
  throw invalid('a port', text, '0 to 65535');
}

/** Whether two texts are the same address: IPv6 has several spellings. */
export function isSameAddress(ip: string, other: string): boolean {
  return (canonicalAddress(ip) ?? ip) === (canonicalAddress(other) ?? other);
}
