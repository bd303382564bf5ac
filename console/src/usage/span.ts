// The requested days: a named span, or a first and last day.
import {
  daySeconds,
  daysBack,
  isoDay,
  parseIsoDay,
  startOfDay,
  writtenDay,
} from '../charts/days.ts';

export const spanNames = {
  period: 'This billing period',
  7: 'Last 7 days',
  30: 'Last 30 days',
  90: 'Last 90 days',
  own: 'Custom range',
} as const;

export interface Choice {
  /** One of the names above, or an earlier billing period by its first day: `period:2026-10-17`. */
  name: string;
  /** Custom dates, in the format of date fields. */
  first: string;
  last: string;
}

/** The span of a request: `from <= time < to`; without an end, the server selects it. */
export interface Span {
  from?: number;
  to?: number;
}

/** A billing period: `start <= time < end`. */
export interface Period {
  start: number;
  end: number;
}

export const nameOfPeriod = ({ start }: Period) => `period:${isoDay(start)}`;

/** The span of a choice, or what is wrong with it. `start`: the contract's, when counting began. */
export function spanOf(
  { name, first, last }: Choice,
  now: number,
  start = 0,
  earlier: readonly Period[] = [],
): Span | { wrong: string } {
  if (name === 'period') return {};
  if (/^\d+$/.test(name)) return { from: daysBack(now, Number(name)) };
  if (name !== 'own') {
    const period = earlier.find((candidate) => nameOfPeriod(candidate) === name);
    return period ? spanOfPeriod(period, start) : { wrong: 'There is no such billing period.' };
  }
  const from = parseIsoDay(first);
  const to = parseIsoDay(last);
  if (from === undefined || to === undefined) return { wrong: 'Select a first and a last day.' };
  if (from > to) return { wrong: 'The first day is after the last.' };
  if (from > startOfDay(now)) return { wrong: 'The first day is in the future.' };
  if (from < startOfDay(start)) {
    return { wrong: `There is no usage before ${writtenDay(start)}, when the contract began.` };
  }
  return { from, to: to + daySeconds };
}

/** The hour in which a period starts counts to the previous one; the first period has none. */
function spanOfPeriod({ start, end }: Period, first: number): Span {
  return { from: start === first ? start : Math.ceil(start / 3600) * 3600, to: end };
}
