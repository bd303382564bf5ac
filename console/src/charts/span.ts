// The selected time range of charts and reports, and the one before it; pure.
import { daySeconds, isoDay, parseIsoDay, startOfDay, writtenDay } from './days.ts';

const hourSeconds = 3600;

export const spanNames = {
  day: '24 hours',
  week: '7 days',
  month: '30 days',
  quarter: '90 days',
  year: '12 months',
  own: 'Custom range',
} as const;
export type SpanName = keyof typeof spanNames;

const daysIn: Record<string, number> = { day: 1, week: 7, month: 30, quarter: 90, year: 365 };

export interface Choice {
  /**
   * One of the names above, `period` for the current billing period, or an earlier one by its first
   * day: `period:2026-10-17`.
   */
  name: string;
  /** Custom dates, in the format of date fields. */
  first: string;
  last: string;
}

/** Epoch seconds: `from <= time < to`. */
export interface Span {
  from: number;
  to: number;
}

/** A billing period: `start <= time < end`. */
export interface Period {
  start: number;
  end: number;
}

export const nameOfPeriod = ({ start }: Period) => `period:${isoDay(start)}`;

interface Calendar {
  now: number;
  /** The last part of a span of days is this long, and is the one of `now`. */
  grain: number;
  /** When counting began. */
  start?: number | undefined;
  period?: Period | undefined;
  /** Billing periods that are over, the latest first. */
  earlier?: readonly Period[] | undefined;
}

/** The span of a choice, or what is wrong with it. A span may end in the future. */
export function spanOf(choice: Choice, calendar: Calendar): Span | { wrong: string } {
  const { name, first, last } = choice;
  const { now, grain, start = 0, period, earlier = [] } = calendar;
  const days = Object.hasOwn(daysIn, name) ? daysIn[name] : undefined;
  if (days !== undefined) {
    // A day is 24 hours, not what there is of today.
    const part = Math.min(grain, days === 1 ? hourSeconds : daySeconds);
    const to = (Math.floor(now / part) + 1) * part;
    return { from: to - days * daySeconds, to };
  }
  if (name === 'period' && period) return { from: period.start, to: period.end };
  if (name !== 'own') {
    const match = earlier.find((candidate) => nameOfPeriod(candidate) === name);
    return match ? spanOfPeriod(match, start) : { wrong: 'There is no such billing period.' };
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
  return { from: start === first ? start : Math.ceil(start / hourSeconds) * hourSeconds, to: end };
}

/**
 * As long as the span, directly before it; of a span that is not over, as much of it as has passed,
 * so that both can be compared. Of a billing period: the one before, undefined if there is none.
 */
export function spanBefore(choice: Choice, span: Span, calendar: Calendar): Span | undefined {
  const { now, start = 0, earlier = [] } = calendar;
  const here = Math.min(span.to, (Math.floor(now / hourSeconds) + 1) * hourSeconds);
  if (choice.name.startsWith('period')) {
    const at = earlier.findIndex((candidate) => nameOfPeriod(candidate) === choice.name);
    const before = earlier[at + 1];
    if (!before) return undefined;
    const { from, to } = spanOfPeriod(before, start);
    return { from, to: here < span.to ? Math.min(to, from + here - span.from) : to };
  }
  const length = span.to - span.from;
  return { from: span.from - length, to: here - length };
}

/** "12% more than in the previous period". */
export function changeInWords(value: number, before: number): string {
  const than = 'the previous period';
  if (before === 0) return value === 0 ? `as in ${than}` : `none in ${than}`;
  const percent = Math.round((Math.abs(value - before) / before) * 100);
  if (percent === 0) return `as in ${than}`;
  return `${percent.toLocaleString('en')}% ${value > before ? 'more' : 'less'} than in ${than}`;
}
