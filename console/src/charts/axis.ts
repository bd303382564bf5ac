// The axes of a chart: their ticks, and the buckets that its pixels have room for; pure.
import { bucketsIn, daySeconds } from './days.ts';
import type { Span } from './span.ts';
import type { Unit } from './units.ts';

export interface Tick {
  at: number;
  text: string;
}

const maxSteps = 4;

/** The ticks of values from 0 to at least `max`, in one unit; the last is the top of the scale. */
export function valueTicks(max: number, { sizes }: Unit): Tick[] {
  const [size, name] = sizes.findLast(([size]) => size <= max) ?? sizes[0] ?? [1, ''];
  // Nothing is less than one byte, connection or second.
  const step = niceStep(Math.max(max / size / maxSteps, size === 1 ? 1 : 0));
  const count = Math.max(1, Math.ceil(max / size / step));
  return Array.from({ length: count + 1 }, (_, index) => {
    const value = Number((index * step).toPrecision(9));
    return { at: value * size, text: `${value.toLocaleString('en')} ${name}`.trim() };
  });
}

/** 1, 2 or 5 times a power of ten, at least this. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((factor) => factor * power >= least) ?? 10) * power;
}

const minute = 60;
const hour = 3600;

/** Widths of buckets: a day and a week have a whole number of each. */
const bucketSeconds = [
  ...[5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 4, 6, 12].map((count) => count * hour),
  ...[1, 7, 28].map((count) => count * daySeconds),
];

/** The narrowest bucket of at least `narrowest` seconds that has so many of these pixels. */
export function bucketFor(
  { from, to }: Span,
  pixels: number,
  { narrowest = 0, pixelsOfBucket = 4 } = {},
): number {
  const least = Math.max(narrowest, ((to - from) / Math.max(1, pixels)) * pixelsOfBucket);
  return bucketSeconds.find((seconds) => seconds >= least) ?? 28 * daySeconds;
}

const inUtc = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' });
const clock = inUtc({ hour: '2-digit', minute: '2-digit' });
const dayOfMonth = inUtc({ day: 'numeric', month: 'short' });
const month = inUtc({ month: 'short', year: 'numeric' });

/** Steps between ticks of less than a month. */
const tickSeconds = [
  ...[5, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 7, 14].map((count) => count * daySeconds),
];
const tickMonths = [1, 2, 3, 6, 12];

/** At most so many ticks within the span: round times of the day, days or months, in UTC. */
export function timeTicks({ from, to }: Span, maxTicks: number): Tick[] {
  const step = tickSeconds.find((seconds) => (to - from) / seconds <= maxTicks);
  if (step !== undefined) {
    return bucketsIn({ from, to }, step)
      .filter((at) => at >= from)
      .map((at) => ({
        at,
        text: (at % daySeconds === 0 ? dayOfMonth : clock).format(at * 1000),
      }));
  }
  const months = firstsOfMonths({ from, to });
  const every = tickMonths.find((count) => months.length / count <= maxTicks) ?? 12;
  return months
    .filter((at) => new Date(at * 1000).getUTCMonth() % every === 0)
    .slice(-Math.max(1, maxTicks))
    .map((at) => ({ at, text: month.format(at * 1000) }));
}

function firstsOfMonths({ from, to }: Span): number[] {
  const start = new Date(from * 1000);
  const firsts: number[] = [];
  for (let count = 0; ; count += 1) {
    const first = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + count) / 1000;
    if (first >= to) return firsts;
    if (first >= from) firsts.push(first);
  }
}

const wholeDay = inUtc({ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });

/** "Sat, 21 Nov 2026", "16 Nov to 22 Nov", or with times of the day; `seconds` 0: a moment. */
export function bucketText(start: number, seconds: number): string {
  const day = wholeDay.format(start * 1000);
  if (seconds === daySeconds) return day;
  const last = start + seconds;
  if (seconds > daySeconds) {
    const range = [start, last - daySeconds].map((time) => dayOfMonth.format(time * 1000));
    return range.join(' to ');
  }
  const times = [start, ...(seconds > 0 ? [last] : [])].map((time) => clock.format(time * 1000));
  return `${day}, ${times.join('–')}`;
}
