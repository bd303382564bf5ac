// Values as people write them on a command line: times, spans, addresses, names, lists.
import { isIPv4, isIPv6 } from 'node:net';
import { UsageFault } from './failures.ts';

const unit_seconds: Record<string, number> = {
  s: 1,
  min: 60,
  h: 3600,
  d: 86_400,
  w: 7 * 86_400,
};

export const now = (): number => Math.floor(Date.now() / 1000);

/** Epoch seconds: a number, an ISO date or time, or from now on: `+8h`, `+30d`. A time without a zone is UTC. */
export function time(text: string): number {
  return timeFrom(text, now());
}

/** As `time`, with the moment that `+` counts from. */
export function timeFrom(text: string, start: number): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const [, count, unit = ''] = /^\+(\d{1,5})(s|min|h|d|w|mo|y)$/.exec(text) ?? [];
  if (count !== undefined) return later(start, Number(count), unit);
  const [, day = '', clock = '00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?)?$/i.exec(text) ?? [];
  const milliseconds = Date.parse(`${day}T${clock}${zone}`);
  // Date.parse takes 30 February for 2 March.
  if (Number.isNaN(milliseconds) || !new Date(`${day}T00:00Z`).toISOString().startsWith(day)) {
    throw new UsageFault(
      `${JSON.stringify(text)} is no time; expected +8h, +30d, 2027-01-31, 2027-01-31T12:00Z or epoch seconds`,
    );
  }
  return Math.floor(milliseconds / 1000);
}

/** Months and years by the calendar (UTC); a month that lacks the day ends on its last. */
function later(start: number, count: number, unit: string): number {
  const seconds = unit_seconds[unit];
  if (seconds !== undefined) return start + count * seconds;
  const date = new Date(start * 1000);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + (unit === 'y' ? 12 * count : count));
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return Math.floor(date.getTime() / 1000);
}

/** Seconds: a plain number, or `90s`, `5min`, `1h`; at most a day, which is what a timer is good for. */
export function span(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,5})(s|min|h)?$/.exec(text) ?? [];
  const seconds = Number(count ?? Number.NaN) * (unit_seconds[unit] ?? Number.NaN);
  if (seconds >= 1 && seconds <= 86_400) return seconds;
  throw new UsageFault(
    `${JSON.stringify(text)} is no span; expected such as 30s, 5min or 1h, a day at most`,
  );
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
  throw new UsageFault(
    `${JSON.stringify(text)} is no IP address; expected one such as 203.0.113.7`,
  );
}

/** The id of an entry. */
export function id(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageFault(`${JSON.stringify(text)} is no id; expected a number, as lists show it`);
}

/** An entry of the authlist: by its id, or by its address. */
export function idOrAddress(text: string): number | string {
  if (canonicalAddress(text) !== undefined) return text;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageFault(
    `${JSON.stringify(text)} is neither an id nor an IP address; expected such as 12 or 203.0.113.7`,
  );
}

export function port(text: string): number {
  const number = Number(text);
  if (/^\d{1,5}$/.test(text) && number <= 65_535) return number;
  throw new UsageFault(`${JSON.stringify(text)} is no port; expected 0 to 65535`);
}

export function list(text: string): string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.every(Boolean)) return words;
  throw new UsageFault(`${JSON.stringify(text)}: expected names with commas between them`);
}

/** Whether two texts are the same address: IPv6 has several spellings. */
export function isSameAddress(one: string, other: string): boolean {
  return (canonicalAddress(one) ?? one) === (canonicalAddress(other) ?? other);
}

/** `2027-01-31 12:00Z`; a dash for 0, which stands for never. */
export function timeInWords(seconds: number): string {
  if (seconds === 0) return '-';
  return new Date(seconds * 1000)
    .toISOString()
    .replace('T', ' ')
    .replace(/:\d\d\.\d+Z/, 'Z');
}
