// The days that are asked for: a span by its name, or by its first and last day.
import { day_seconds, daysBack, parseIsoDay, startOfDay, writtenDay } from './days.ts';

export const spanNames = {
  period: 'This billing period',
  7: 'Last 7 days',
  30: 'Last 30 days',
  90: 'Last 90 days',
  own: 'Own dates',
} as const;

export type SpanName = keyof typeof spanNames;

export interface Choice {
  name: `${SpanName}`;
  /** Own dates, as date fields write them. */
  first: string;
  last: string;
}

/** The span of a request: `from <= time < to`; the server chooses an end that is left out. */
export interface Span {
  from?: number;
  to?: number;
}

/** The span of a choice, or what is wrong with it. `start`: of the contract, as nothing was counted before. */
export function spanOf(
  { name, first, last }: Choice,
  now: number,
  start = 0,
): Span | { wrong: string } {
  if (name === 'period') return {};
  if (name !== 'own') return { from: daysBack(now, Number(name)) };
  const from = parseIsoDay(first);
  const to = parseIsoDay(last);
  if (from === undefined || to === undefined) return { wrong: 'Choose a first and a last day.' };
  if (from > to) return { wrong: 'The first day is after the last.' };
  if (from > startOfDay(now)) return { wrong: 'The first day is still to come.' };
  if (from < startOfDay(start)) {
    return { wrong: `Nothing was counted before ${writtenDay(start)}, when the contract began.` };
  }
  return { from, to: to + day_seconds };
}
