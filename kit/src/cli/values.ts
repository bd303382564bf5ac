// Values as people write and read them on a command line: times, spans, bytes, lists.
import { quoted } from '../quoted.ts';
import { UsageFault } from './failures.ts';
import { now as currentTime } from './now.ts';

/** The fault for a text that is not such a value. */
export const invalid = (kind: string, text: string, expected: string) =>
  new UsageFault(`${quoted(text)} isn't ${kind}; expected ${expected}`);

const daySeconds = 86_400;
/** Seconds by the unit; `m` is a minute, as a month is `mo`. */
export const units: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  min: 60,
  h: 3600,
  d: daySeconds,
  w: 7 * daySeconds,
};

/** The units of a time that is relative to now, and of a span, as help and errors name them. */
export const timeUnits = 's, m or min (minutes), h, d, w, mo (months), y';
export const spanUnits = 's, m or min (minutes), h';

/** The count and unit of a text such as `2h` or `3mo`; none of any other. */
function amountIn(text: string): { count: number; unit: string } | undefined {
  const [, count, unit = ''] = /^(\d{1,5})(s|m|min|h|d|w|mo|y)$/.exec(text) ?? [];
  return count === undefined ? undefined : { count: Number(count), unit };
}

/**
 * Epoch seconds: a number, an ISO date or time, or from `now` on: `+30d`, `+1y`. A time without a
 * zone is UTC. `relative`: the examples of relative times in an error.
 */
export function timeFrom(text: string, now: number, relative = '+8h, +30d'): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const amount = text.startsWith('+') ? amountIn(text.slice(1)) : undefined;
  if (amount) return later(now, amount.count, amount.unit);
  const [, day = '', clock = '00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?)?$/i.exec(text) ?? [];
  const milliseconds = Date.parse(`${day}T${clock}${zone}`);
  // Date.parse takes 30 February for 2 March.
  if (Number.isNaN(milliseconds) || !new Date(`${day}T00:00Z`).toISOString().startsWith(day)) {
    throw invalid(
      'a time',
      text,
      `${relative}, 2027-01-31, 2027-01-31T12:00Z or epoch seconds; units are ${timeUnits}`,
    );
  }
  return Math.floor(milliseconds / 1000);
}

/** The same for a time that has passed: also before `now`, as `2h` or `7d`. */
export function pastFrom(text: string, now: number): number {
  const amount = amountIn(text.replace(/^-/, ''));
  return amount ? later(now, -amount.count, amount.unit) : timeFrom(text, now, '2h, 7d');
}

/** Months and years by the calendar (UTC); a month that lacks the day ends on its last. */
function later(now: number, count: number, unit: string): number {
  const seconds = units[unit];
  if (seconds !== undefined) return now + count * seconds;
  const date = new Date(now * 1000);
  const day = date.getUTCDate();
  date.setUTCMonth(date.getUTCMonth() + (unit === 'y' ? 12 * count : count));
  if (date.getUTCDate() !== day) date.setUTCDate(0);
  return Math.floor(date.getTime() / 1000);
}

/** Seconds: a plain number, or `90s`, `5m`, `1h`; at most a day, which timers can take. */
export function span(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,5})(s|m|min|h)?$/.exec(text) ?? [];
  const seconds = Number(count ?? Number.NaN) * (units[unit] ?? Number.NaN);
  if (seconds >= 1 && seconds <= 86_400) return seconds;
  throw invalid('a span of time', text, `30s, 5m or 1h, a day at most; units are ${spanUnits}`);
}

/** How many, at least one. */
export const count = countUpTo(Number.POSITIVE_INFINITY);

/** The same, and no more than `max`. */
export function countUpTo(max: number): (text: string) => number {
  const range = max === Number.POSITIVE_INFINITY ? 'of at least 1' : `from 1 to ${max}`;
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (number >= 1 && number <= max) return number;
    throw new UsageFault(`expected a whole number ${range}`);
  };
}

export function list(text: string): string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.every(Boolean)) return words;
  throw new UsageFault(`${quoted(text)}: expected names separated by commas`);
}

/** The times that a Date can hold: some 270,000 years. */
const maxSeconds = 8.64e12;

/**
 * `2027-01-31 12:00Z`; a dash for 0, which stands for never. The number itself where no calendar
 * has the time.
 */
export function timeInWords(seconds: number): string {
  if (seconds === 0) return '-';
  if (!(Math.abs(seconds) <= maxSeconds)) return String(seconds);
  return new Date(seconds * 1000)
    .toISOString()
    .replace('T', ' ')
    .replace(/:\d\d\.\d+Z/, 'Z');
}

/** `12:00:30Z`, for a time of today. */
export const clockInWords = (seconds: number) =>
  `${new Date(seconds * 1000).toISOString().slice(11, 19)}Z`;

const relative = new Intl.RelativeTimeFormat('en');

/** A time that has passed: `4 minutes ago`, as in the console; the time itself after a day. */
export function pastInWords(seconds: number, now = currentTime()): string {
  const ago = now - seconds;
  if (ago >= 0.95 * daySeconds) return timeInWords(seconds);
  if (ago < 45) return 'just now';
  return ago < 0.95 * 3600
    ? relative.format(-Math.round(ago / 60), 'minute')
    : relative.format(-Math.round(ago / 3600), 'hour');
}

/**
 * Three significant digits, in decimal units: `1.25 TB`.
 * Rounded before the unit is selected, so that 999,999 bytes are `1 MB`.
 */
export function bytesInWords(bytes: number): string {
  const sizes = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'];
  const rounded = Number(Math.round(bytes).toPrecision(3));
  const step = Math.min(sizes.length - 1, Math.floor(Math.log10(rounded || 1) / 3));
  return `${Number((rounded / 1000 ** step).toPrecision(3))} ${sizes[step]}`;
}

/** The same for a column, where digits stay in their places: `2.90 GB`. */
export function columnBytes(bytes: number): string {
  const [amount = '', unit] = bytesInWords(bytes).split(' ');
  return `${unit === 'B' ? amount : Number(amount).toPrecision(3)} ${unit}`;
}

/** `365 days`: seconds in the largest unit that has no rest. */
export function secondsInWords(seconds: number): string {
  const steps = { day: daySeconds, hour: 3600, minute: 60 };
  const [unit, size] = Object.entries(steps).find(([, size]) => seconds % size === 0) ?? [
    'second',
    1,
  ];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Bits a second: `2.4 Mbit/s`. */
export function bitsInWords(bits: number): string {
  return `${bytesInWords(bits).replace(/B$/, 'bit')}/s`;
}
