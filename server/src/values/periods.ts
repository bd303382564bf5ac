// The calendar of billing: monthly periods counted from the contract's start, and the hours of
// usage.

export const daySeconds = 86_400;
const hourSeconds = 3_600;

/**
 * The billing period that contains `now`, from `start` up to but not including `end` (epoch
 * seconds). Periods follow one another by calendar month (UTC) from the contract's start, on its
 * day and time of day. In a month that lacks the day, the period begins on the last day; later
 * periods are back on the day. Before the contract's start it is the first period.
 */
export function periodAt(start: number, now: number): { start: number; end: number } {
  const months = monthNumber(now) - monthNumber(start);
  const periodsBegun = monthsAfter(start, months) <= now ? months : months - 1;
  const period = Math.max(0, periodsBegun);
  return { start: monthsAfter(start, period), end: monthsAfter(start, period + 1) };
}

/** The billing periods that are over at `now`, newest first, at most `maxPeriods` of them. */
export function earlierPeriods(start: number, now: number, maxPeriods: number) {
  const periods: Array<{ start: number; end: number }> = [];
  let period = periodAt(start, now);
  while (period.start > start && periods.length < maxPeriods) {
    period = periodAt(start, period.start - 1);
    periods.push(period);
  }
  return periods;
}

/** The start of the hour (UTC) that contains this moment; both in epoch seconds. */
export function hourOf(seconds: number): number {
  return Math.floor(seconds / hourSeconds) * hourSeconds;
}

/** The start of the day (UTC) that contains this moment; both in epoch seconds. */
export function dayOf(seconds: number): number {
  return Math.floor(seconds / daySeconds) * daySeconds;
}

/** Months since January of year 0. */
function monthNumber(seconds: number): number {
  const date = new Date(seconds * 1000);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Always counted from the anchor, so that a short month does not move the later ones. */
function monthsAfter(anchor: number, months: number): number {
  const date = new Date(anchor * 1000);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth() + months;
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  const timeOfDay = anchor - Math.floor(anchor / daySeconds) * daySeconds;
  return Date.UTC(year, month, day) / 1000 + timeOfDay;
}
