// Days and hours of usage, in UTC: the spans on offer, and a row for each, also without traffic.

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
  /** The start of the day or hour. */
  start: number;
}

/** One row for each day or hour with a part in `from <= time < to`, in order. */
export function everyPart(
  { from, to }: { from: number; to: number },
  rows: ReadonlyArray<Bytes & { [K in Part]?: number | undefined }>,
  by: Part,
): UsageOfPart[] {
  const seconds = partSeconds[by];
  const rowsByStart = new Map(rows.map((row) => [row[by], row]));
  const parts: UsageOfPart[] = [];
  for (let start = Math.floor(from / seconds) * seconds; start < to; start += seconds) {
    const { up = 0, down = 0, total = 0 } = rowsByStart.get(start) ?? {};
    parts.push({ start, up, down, total });
  }
  return parts;
}

const writtenTime = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** "Sat, 21 Nov 2026", and of an hour "Sat, 21 Nov 2026, 14:00", in UTC. */
export function writtenPart(start: number, by: Part): string {
  const day = writtenDay(start);
  return by === 'day' ? day : `${day}, ${writtenTime.format(start * 1000)}`;
}
