// Days and hours of usage: the spans that can be asked for, and a row for each, also for those without traffic. All in UTC.

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

/** The lengths of the parts that usage is told by. */
export const part_seconds = { day: day_seconds, hour: 3_600 } as const;
export type Part = keyof typeof part_seconds;

export interface UsageOfPart extends Bytes {
  /** Where the day or hour begins. */
  start: number;
}

/** One row for each day or hour with a part in `from <= time < to`, in order. */
export function everyPart(
  { from, to }: { from: number; to: number },
  rows: ReadonlyArray<Bytes & { [K in Part]?: number | undefined }>,
  by: Part,
): UsageOfPart[] {
  const seconds = part_seconds[by];
  const known = new Map(rows.map((row) => [row[by], row]));
  const parts: UsageOfPart[] = [];
  for (let start = Math.floor(from / seconds) * seconds; start < to; start += seconds) {
    const { up = 0, down = 0, total = 0 } = known.get(start) ?? {};
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
