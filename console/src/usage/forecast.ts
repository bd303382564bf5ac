// A forecast of the current billing period from its daily usage; recent days count more.

import { daySeconds } from '../charts/days.ts';

/** Fewer full days are not enough: one busy Monday would stand for the whole month. */
const minDays = 3;
/** A day this much older counts half: a change shows soon, but a weekend does not distort it. */
const halfLifeDays = 7;

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
  contract: {
    period: { start: number; end: number; usage: number; limit: number };
    on_limit: 'refuse' | 'allow';
    suspended: boolean;
    expiry: number;
  };
  /** Usage by UTC day, which starts at `day`; days without usage may be missing. */
  days: ReadonlyArray<{ day: number; total: number }>;
  now: number;
}

/**
 * Undefined if there is too little data, or while nodes refuse everything. Usage does not pass a
 * limit at which they do. Times in epoch seconds.
 */
export function forecast({ contract, days, now }: Given): Forecast | undefined {
  const { period, on_limit, suspended, expiry } = contract;
  const stopsAtLimit = on_limit === 'refuse';
  if (now >= period.end || suspended || expiry <= now) return undefined;
  if (stopsAtLimit && period.usage >= period.limit) return undefined;
  const totals = new Map(days.map(({ day, total }) => [day, total]));
  const first = Math.ceil(period.start / daySeconds) * daySeconds;
  // Today is left out: it is not over.
  const today = Math.floor(now / daySeconds) * daySeconds;
  const count = Math.max(0, (today - first) / daySeconds);
  if (count < minDays) return undefined;
  let weights = 0;
  let sum = 0;
  for (let age = 1; age <= count; age++) {
    const weight = 0.5 ** ((age - 1) / halfLifeDays);
    weights += weight;
    sum += weight * (totals.get(today - age * daySeconds) ?? 0);
  }
  const bytes_per_day = sum / weights;
  const usage = period.usage + (bytes_per_day * (period.end - now)) / daySeconds;
  const isReached = period.usage < period.limit && usage >= period.limit && bytes_per_day > 0;
  const remainingBytes = period.limit - period.usage;
  return {
    usage: Math.round(stopsAtLimit ? Math.min(usage, period.limit) : usage),
    bytes_per_day: Math.round(bytes_per_day),
    days: count,
    limit_reached_at: isReached
      ? Math.round(now + (remainingBytes / bytes_per_day) * daySeconds)
      : undefined,
  };
}
