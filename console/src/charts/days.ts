// Days and hours in UTC, the buckets of charts, and a row of usage for each, also without traffic.

export const daySeconds = 86_400;

export const startOfDay = (time: number) => Math.floor(time / daySeconds) * daySeconds;

/** The first of the last `count` days, including today. */
export const daysBack = (now: number, count: number) => startOfDay(now) - (count - 1) * daySeconds;

/** "2026-11-21" in UTC, for files and date fields. */
export const isoDay = (time: number) => new Date(time * 1000).toISOString().slice(0, 10);

/** The start of a day in that format; undefined for an invalid text. */
export function parseIsoDay(text: string): number | undefined {
  const time = Date.parse(`${text}T00:00:00Z`) / 1000;
  // February 30 would be read as March 2.
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

/** The lengths of the parts of usage. */
export const partSeconds = { day: daySeconds, hour: 3_600 } as const;
export type Part = keyof typeof partSeconds;

export interface UsageOfPart extends Bytes {
  /** The start of the bucket. */
  start: number;
}

/** Buckets of weeks begin on Mondays, all others at midnight UTC or within a day. */
const monday = 4 * daySeconds;

/** The start of the bucket with this time. */
export const startOfBucket = (time: number, seconds: number) =>
  time - ((((time - monday) % seconds) + seconds) % seconds);

/** The starts of all buckets with a part in `from <= time < to`. */
export function bucketsIn({ from, to }: { from: number; to: number }, seconds: number): number[] {
  const first = startOfBucket(from, seconds);
  const count = Math.max(0, Math.ceil((to - first) / seconds));
  return Array.from({ length: count }, (_, index) => first + index * seconds);
}

/** One row for each day or hour with a part in `from <= time < to`, or for buckets of several. */
export function everyPart(
  span: { from: number; to: number },
  rows: ReadonlyArray<Bytes & { [K in Part]?: number | undefined }>,
  by: Part,
  seconds: number = partSeconds[by],
): UsageOfPart[] {
  const sums = new Map(
    bucketsIn(span, seconds).map((start) => [start, { start, up: 0, down: 0, total: 0 }]),
  );
  for (const row of rows) {
    const sum = sums.get(startOfBucket(row[by] ?? 0, seconds));
    if (!sum) continue;
    sum.up += row.up;
    sum.down += row.down;
    sum.total += row.total;
  }
  return [...sums.values()];
}
