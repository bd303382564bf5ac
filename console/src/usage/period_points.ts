// The points of the current billing period: usage up to each day, then the forecast; pure.
import { daySeconds } from '../charts/days.ts';
import type { Forecast } from './forecast.ts';

export interface PeriodPoints {
  /** Epoch seconds, ascending; the last is the end of the period. */
  times: readonly number[];
  /** Bytes used up to each time; null in the future. */
  used: ReadonlyArray<number | null>;
  /** Bytes in the forecast; null in the past. */
  projected: ReadonlyArray<number | null>;
  limit: number;
}

interface Given {
  period: { start: number; end: number; usage: number; limit: number };
  /** Usage by UTC day. */
  days: ReadonlyArray<{ day?: number | undefined; total: number }>;
  now: number;
  /** Undefined: there is none. */
  ahead: Pick<Forecast, 'usage' | 'limit_reached_at'> | undefined;
}

/** Times: the start, each midnight, now, when the limit is reached, and the end. */
export function periodPoints({ period, days, now, ahead }: Given): PeriodPoints {
  const { start, end, usage, limit } = period;
  const totals = days.map(({ day = 0, total }) => ({ day, total })).sort((a, b) => a.day - b.day);
  const times = [start];
  const first = Math.floor(start / daySeconds + 1) * daySeconds;
  for (let midnight = first; midnight < Math.min(now, end); midnight += daySeconds) {
    times.push(midnight);
  }
  const used: Array<number | null> = times.map((time) =>
    // A day counts when it is over.
    totals.reduce((sum, { day, total }) => (day + daySeconds <= time ? sum + total : sum), 0),
  );
  const projected: Array<number | null> = times.map(() => null);
  const here = Math.min(now, end);
  const isOver = now >= end;
  times.push(here);
  used.push(usage);
  projected.push(isOver || !ahead ? null : usage);
  const point = (time: number, bytes: number | null) => {
    times.push(time);
    used.push(null);
    projected.push(bytes);
  };
  if (!isOver && ahead?.limit_reached_at !== undefined) point(ahead.limit_reached_at, limit);
  if (!isOver) point(end, ahead?.usage ?? null);
  return { times, used, projected, limit };
}
