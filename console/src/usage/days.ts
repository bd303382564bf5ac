// Days of usage: the spans that can be asked for, and a row for each day, also for those without traffic. All in UTC.

export const day_seconds = 86_400;

export const startOfDay = (time: number) => Math.floor(time / day_seconds) * day_seconds;

/** The first of the last `count` days, today among them. */
export const daysBack = (now: number, count: number) => startOfDay(now) - (count - 1) * day_seconds;

/** "2026-11-21" of a time, in UTC: what files and date fields call a day. */
export const isoDay = (time: number) => new Date(time * 1000).toISOString().slice(0, 10);

/** The start of a day that is written like that; undefined for what is none. */
export function parseIsoDay(text: string): number | undefined {
  const time = Date.parse(`${text}T00:00:00Z`) / 1000;
  // February 30 is read as March 2, and is no day.
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text) && Number.isFinite(time) && isoDay(time) === text;
  return isDay ? time : undefined;
}

const written = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

/** "Sat, 21 Nov 2026", in UTC. */
export const writtenDay = (time: number) => written.format(time * 1000);

export interface Bytes {
  up: number;
  down: number;
  total: number;
}

export interface UsageOfDay extends Bytes {
  day: number;
}

/** One row for each day with a part in `from <= time < to`, in order. */
export function everyDay(
  { from, to }: { from: number; to: number },
  rows: ReadonlyArray<Bytes & { day?: number | undefined }>,
): UsageOfDay[] {
  const known = new Map(rows.map((row) => [row.day, row]));
  const days: UsageOfDay[] = [];
  for (let day = startOfDay(from); day < to; day += day_seconds) {
    const { up = 0, down = 0, total = 0 } = known.get(day) ?? {};
    days.push({ day, up, down, total });
  }
  return days;
}
