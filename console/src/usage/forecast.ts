// A forecast of the current billing period from its daily usage; recent days count more.

import { day_seconds } from '../charts/days.ts';

/** Fewer full days are not enough: one busy Monday would stand for the whole month. */
const fewest_days = 3;
/** A day this much older counts half: a change shows soon, but a weekend does not distort it. */
const half_life_days = 7;

export interface Forecast {
  /** Bytes at the end of the period. */
  usage: number;
  bytes_per_day: number;
  /** The number of full days that it is based on. */
  days: number;
  /** When the limit would be reached, if that is in the future and before the end of the period. */
  limit_reached_at: number | undefined;
}

interface Given {
  period: { start: number; end: number; usage: number; limit: number };
  /** Usage by UTC day, which starts at `day`; days without usage may be missing. */
  days: ReadonlyArray<{ day: number; total: number }>;
  now: number;
}

/** Undefined if there is too little data. Times in epoch seconds. */
export function forecast({ period, days, now }: Given): Forecast | undefined {
  if (now >= period.end) return undefined;
  const totals = new Map(days.map(({ day, total }) => [day, total]));
  const first = Math.ceil(period.start / day_seconds) * day_seconds;
  // Today is left out: it is not over.
  const today = Math.floor(now / day_seconds) * day_seconds;
  const count = Math.max(0, (today - first) / day_seconds);
  if (count < fewest_days) return undefined;
  let weights = 0;
  let sum = 0;
  for (let age = 1; age <= count; age++) {
    const weight = 0.5 ** ((age - 1) / half_life_days);
    weights += weight;
    sum += weight * (totals.get(today - age * day_seconds) ?? 0);
  }
  const bytes_per_day = sum / weights;
  const usage = period.usage + (bytes_per_day * (period.end - now)) / day_seconds;
  const isReached = period.usage < period.limit && usage >= period.limit && bytes_per_day > 0;
  const remainingBytes = period.limit - period.usage;
  return {
    usage: Math.round(usage),
    bytes_per_day: Math.round(bytes_per_day),
    days: count,
    limit_reached_at: isReached
      ? Math.round(now + (remainingBytes / bytes_per_day) * day_seconds)
      : undefined,
  };
}
