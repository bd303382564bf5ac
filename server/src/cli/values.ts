// Values as operators write them on a command line: sizes, times, lifetimes, coordinates.

import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { later, no, timeFrom, units } from '../../../kit/src/cli/values.ts';
import { systemClock } from '../clock.ts';

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
  throw no('a size', text, 'whole bytes such as 500GB, 1TiB or 1000000');
}

/** The value of a text, or a word that lifts the limit. */
export function orNone<T>(parse: (text: string) => T): (text: string) => T | null {
  return (text) => (text === 'none' ? null : parse(text));
}

/** A size, or a word that lifts the limit. */
export const sizeOrNone = orNone(size);

/**
 * Epoch seconds: a number, an ISO date or time, or relative to now: `+30d`, `+1y`. A time without a
 * zone is UTC.
 */
export function time(text: string): number {
  return timeFrom(text, systemClock.now());
}

/** A time in the past: as `time`, or relative to now: `2h`, `7d`. */
export function past(text: string): number {
  return pastFrom(text, systemClock.now());
}

/** As `past`, relative to the given moment. */
export function pastFrom(text: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,5})(s|min|h|d|w|mo|y)$/.exec(text) ?? [];
  return count === undefined ? timeFrom(text, now, '2h, 7d') : later(now, -Number(count), unit);
}

/** Seconds: a plain number, or `12h`, `30d`, `1y` (of 365 days). */
export function lifetime(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,10})(s|min|h|d|w|y)?$/.exec(text) ?? [];
  const seconds =
    Number(count ?? Number.NaN) * (unit === 'y' ? 365 * 86_400 : (units[unit] ?? Number.NaN));
  if (Number.isSafeInteger(seconds)) return seconds;
  throw no('a lifetime', text, 'such as 90s, 12h, 30d or 1y');
}

export function whole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw no('a whole number', text, 'such as 100');
}

export function decimal(text: string): number {
  if (/^-?\d{1,9}(\.\d{1,15})?$/.test(text)) return Number(text);
  throw no('a number', text, 'such as 52.37');
}

export function yesNo(text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new UsageFault('expected yes or no');
}
