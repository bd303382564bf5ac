// Values as operators write them on a command line: sizes, times, lifetimes, coordinates.

import { UsageFault } from '../../../kit/src/cli/failures.ts';
import { invalid, pastFrom, timeFrom, units } from '../../../kit/src/cli/values.ts';
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
  throw invalid('a size', text, 'whole bytes such as 500GB, 1TiB or 1000000');
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

/** A time in the past: as `time`, or before now: `2h`, `7d`. */
export function past(text: string): number {
  return pastFrom(text, systemClock.now());
}

/** The units of a lifetime, as help and errors name them. */
export const lifetimeUnits = 's, m or min (minutes), h, d, w, y (365 days)';

/** Seconds: a plain number, or `12h`, `30d`, `1y` (of 365 days). */
export function lifetime(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,10})(s|m|min|h|d|w|y)?$/.exec(text) ?? [];
  const seconds =
    Number(count ?? Number.NaN) * (unit === 'y' ? 365 * 86_400 : (units[unit] ?? Number.NaN));
  if (Number.isSafeInteger(seconds)) return seconds;
  throw invalid('a lifetime', text, `90s, 15m, 12h, 30d or 1y; units are ${lifetimeUnits}`);
}

export function whole(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid('a whole number', text, 'such as 100');
}

/** The id of a node. Tables also show its name, which can't be used here. */
export function nodeId(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalid('the id of a node', text, 'a number, as "exitward node list" shows it');
}

export function decimal(text: string): number {
  if (/^-?\d{1,9}(\.\d{1,15})?$/.test(text)) return Number(text);
  throw invalid('a number', text, 'such as 52.37');
}

export function yesNo(text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new UsageFault('expected yes or no');
}
