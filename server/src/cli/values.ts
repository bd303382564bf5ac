// Values as people write them on a command line: sizes, times, lifetimes, coordinates, lists.
import { systemClock } from '../clock.ts';
import { UsageFault } from './failures.ts';

/** The fault of a text that is no such value. */
const no = (what: string, text: string, expected: string) =>
  new UsageFault(`${JSON.stringify(text)} is no ${what}; expected ${expected}`);

const sizes: Record<string, number> = { B: 1 };
for (const [at, letter] of ['K', 'M', 'G', 'T', 'P'].entries()) {
  sizes[`${letter}B`] = 1000 ** (at + 1);
  sizes[`${letter}IB`] = 1024 ** (at + 1);
}

/** Bytes: `500GB`, `1.5TiB`, or a plain number. */
export function size(text: string): number {
  const [, number = '', unit = 'B'] = /^(\d+(?:\.\d+)?)\s*([kmgtp]?i?b)?$/i.exec(text) ?? [];
  const bytes = Number(number || Number.NaN) * (sizes[unit.toUpperCase()] ?? Number.NaN);
  if (Number.isSafeInteger(bytes)) return bytes;
  throw no('size', text, 'whole bytes such as 500GB, 1TiB or 1000000');
}

/** A limit that can also be lifted. */
export function sizeOrNone(text: string): number | null {
  return text === 'none' ? null : size(text);
}

const day_seconds = 86_400;
const units: Record<string, number> = {
  s: 1,
  min: 60,
  h: 3600,
  d: day_seconds,
  w: 7 * day_seconds,
};

/** Epoch seconds: a number, an ISO date or time, or from now on: `+30d`, `+1y`. A time without a zone is UTC. */
export function time(text: string): number {
  return timeFrom(text, systemClock.now());
}

/** As `time`, with the moment that `+` counts from; `relative`: what an error shows of such times. */
export function timeFrom(text: string, now: number, relative = '+8h, +30d'): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  const [, count, unit = ''] = /^\+(\d{1,5})(s|min|h|d|w|mo|y)$/.exec(text) ?? [];
  if (count !== undefined) return later(now, Number(count), unit);
  const [, day = '', clock = '00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?)?$/i.exec(text) ?? [];
  const milliseconds = Date.parse(`${day}T${clock}${zone}`);
  // Date.parse takes 30 February for 2 March.
  if (Number.isNaN(milliseconds) || !new Date(`${day}T00:00Z`).toISOString().startsWith(day)) {
    throw no('time', text, `${relative}, 2027-01-31, 2027-01-31T12:00Z or epoch seconds`);
  }
  return Math.floor(milliseconds / 1000);
}

/** A time that is over: as `time`, or so long ago: `2h`, `7d`. */
export function past(text: string): number {
  return pastFrom(text, systemClock.now());
}

/** As `past`, with the moment that is counted back from. */
export function pastFrom(text: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,5})(s|min|h|d|w|mo|y)$/.exec(text) ?? [];
  return count === undefined ? timeFrom(text, now, '2h, 7d') : later(now, -Number(count), unit);
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

/** Seconds: a plain number, or `12h`, `30d`, `1y` (of 365 days). */
export function lifetime(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,10})(s|min|h|d|w|y)?$/.exec(text) ?? [];
  const seconds =
    Number(count ?? Number.NaN) * (unit === 'y' ? 365 * day_seconds : (units[unit] ?? Number.NaN));
  if (Number.isSafeInteger(seconds)) return seconds;
  throw no('lifetime', text, 'such as 90s, 12h, 30d or 1y');
}

export function whole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw no('whole number', text, 'such as 100');
}

export function decimal(text: string): number {
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  throw no('number', text, 'such as 52.37');
}

export function yesNo(text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new UsageFault('expected yes or no');
}

export function list(text: string): string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.every(Boolean)) return words;
  throw new UsageFault(`${JSON.stringify(text)}: expected names with commas between them`);
}
