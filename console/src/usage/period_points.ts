// The points of the current billing period: usage up to each day, then the forecast; pure.
import { daySeconds } from '../charts/days.ts';

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
  /** Bytes at the end of the period; undefined while there is too little data. */
  forecast: number | undefined;
}

/** Times are the start, each midnight of the period, now and the end. */
export function periodPoints({ period, days, now, forecast }: Given): PeriodPoints {
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
  projected.push(isOver || forecast === undefined ? null : usage);
  if (!isOver) {
    times.push(end);
    used.push(null);
    projected.push(forecast ?? null);
  }
  return { times, used, projected, limit };
}
