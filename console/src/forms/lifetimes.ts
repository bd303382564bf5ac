// Lifetimes of new tokens, as forms offer them.

import { day_seconds } from '../charts/days.ts';
import { count } from '../format.ts';

const hour_seconds = 3600;

/** In seconds. */
export const lifetimes = {
  hour: hour_seconds,
  day: day_seconds,
  week: 7 * day_seconds,
  month: 30 * day_seconds,
  quarter: 90 * day_seconds,
  year: 365 * day_seconds,
} as const;

/** 31536000 -> "365 days". */
export function duration(seconds: number): string {
  if (seconds >= 2 * day_seconds) return count(Math.round(seconds / day_seconds), 'day');
  if (seconds >= hour_seconds) return count(Math.round(seconds / hour_seconds), 'hour');
  return count(Math.max(1, Math.round(seconds / 60)), 'minute');
}

/** Options of a form: seconds as the value, with a text. */
export function lifetimeOptions(...seconds: number[]): Array<{ value: string; text: string }> {
  return seconds.map((lifetime) => ({ value: String(lifetime), text: duration(lifetime) }));
}
