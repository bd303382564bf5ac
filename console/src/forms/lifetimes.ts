// Lifetimes of new tokens, as forms offer them.

import { daySeconds } from '../charts/days.ts';
import { count } from '../format.ts';

const hourSeconds = 3600;

/** In seconds. */
export const lifetimes = {
  hour: hourSeconds,
  day: daySeconds,
  week: 7 * daySeconds,
  month: 30 * daySeconds,
  quarter: 90 * daySeconds,
  year: 365 * daySeconds,
} as const;

/** 31536000 -> "365 days". */
export function duration(seconds: number): string {
  if (seconds >= 2 * daySeconds) return count(Math.round(seconds / daySeconds), 'day');
  if (seconds >= hourSeconds) return count(Math.round(seconds / hourSeconds), 'hour');
  return count(Math.max(1, Math.round(seconds / 60)), 'minute');
}

/** Options of a form: seconds as the value, with a text. */
export function lifetimeOptions(...seconds: number[]): Array<{ value: string; text: string }> {
  return seconds.map((lifetime) => ({ value: String(lifetime), text: duration(lifetime) }));
}
