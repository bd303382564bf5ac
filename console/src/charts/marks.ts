// The marks of a chart in a box of pixels: bars that are stacked, lines with their gaps, and bands
// from the lowest to the highest; pure.
import { type Tick, timeTicks, valueTicks } from './axis.ts';
import type { Span } from './span.ts';
import type { Unit } from './units.ts';

export interface Series {
  name: string;
  /** A colour variable of the style sheet. */
  color: string;
  /** Bars are stacked, from the bottom up. */
  mark: 'bar' | 'line';
  /** One for each bucket; null: unknown. Of a bucket with a band: the mean. */
  values: ReadonlyArray<number | null>;
  /** The band: the lowest and the highest value in each bucket. */
  low?: ReadonlyArray<number | null>;
  high?: ReadonlyArray<number | null>;
  isDashed?: boolean;
}

export interface Charted {
  /** The axis is exactly this, whatever is known. */
  span: Span;
  /** The buckets, ascending, each so many seconds long; 0: moments. */
  starts: readonly number[];
  seconds: number;
  series: readonly Series[];
  /** A level that is always in the scale. */
  limit?: number | undefined;
  unit: Unit;
}

/** The box of the marks; the axes are around it. */
export interface Box {
  width: number;
  height: number;
}

export interface Marks {
  x: (time: number) => number;
  y: (value: number) => number;
  /** The middle of each bucket, as far as it is in the span. */
  centers: number[];
  times: Tick[];
  values: Tick[];
  /** The paths of each series. */
  paths: Array<{ fill?: string; band?: string; line?: string }>;
}

const tickPixels = 64;

export function marksOf(charted: Charted, { width, height }: Box): Marks {
  const { span, starts, seconds, series, unit } = charted;
  const values = valueTicks(maxOf(charted), unit);
  const top = values.at(-1)?.at ?? 1;
  const clipped = (time: number) => Math.min(Math.max(time, span.from), span.to);
  const x = (time: number) => ((clipped(time) - span.from) / (span.to - span.from)) * width;
  const y = (value: number) => height - (value / top) * height;
  const edges = starts.map((start) => [x(start), x(start + seconds)] as const);
  const centers = edges.map(([begin, end]) => (begin + end) / 2);
  const below = starts.map(() => 0);
  const paths = series.map(({ mark, values, low, high }) => {
    if (mark === 'bar') return { fill: barsOf(values, below, edges, y) };
    return {
      line: linesOf(runsOf(values), centers, y),
      ...(low && high && { band: bandOf(low, high, edges, centers, y) }),
    };
  });
  const times = timeTicks(span, Math.max(1, Math.floor(width / tickPixels)));
  return { x, y, centers, times, values, paths };
}

/** The highest thing that is drawn. */
function maxOf({ starts, series, limit = 0 }: Charted): number {
  const bars = series.filter(({ mark }) => mark === 'bar');
  const stacks = starts.map((_, at) =>
    bars.reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
  );
  const lines = series
    .filter(({ mark }) => mark === 'line')
    .flatMap(({ values, high = [] }) => [...values, ...high]);
  return [limit, ...stacks, ...lines].reduce<number>((max, value) => Math.max(max, value ?? 0), 0);
}

type Edges = ReadonlyArray<readonly [begin: number, end: number]>;

/** The bars of one series on those below it, whose heights grow. */
function barsOf(
  values: Series['values'],
  below: number[],
  edges: Edges,
  y: (value: number) => number,
): string {
  return values
    .map((value, at) => {
      const [begin, end] = edges[at] ?? [0, 0];
      if (!value || end <= begin) return '';
      const base = below[at] ?? 0;
      below[at] = base + value;
      // A gap between bars, unless they are narrow.
      const gap = Math.min(4, (end - begin) * 0.2) / 2;
      const width = fixed(end - begin - 2 * gap);
      return `M${fixed(begin + gap)} ${fixed(y(base))}h${width}V${fixed(y(base + value))}h${-width}z`;
    })
    .join('');
}

type Run = Array<[at: number, value: number]>;

/** The known values, in runs without a gap. */
function runsOf(values: Series['values']): Run[] {
  const runs: Run[] = [];
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    const isNext = at > 0 && values[at - 1] !== null && runs.length > 0;
    if (isNext) runs.at(-1)?.push([at, value]);
    else runs.push([[at, value]]);
  }
  return runs;
}

const linesOf = (runs: readonly Run[], centers: readonly number[], y: (value: number) => number) =>
  runs
    .map((run) => {
      const points = run.map(([at, value]) => `${fixed(centers[at] ?? 0)} ${fixed(y(value))}`);
      // A single value is a dot, by the round ends of the line.
      return `M${points.join('L')}${points.length === 1 ? 'h0.01' : ''}`;
    })
    .join('');

function bandOf(
  low: Series['values'],
  high: Series['values'],
  edges: Edges,
  centers: readonly number[],
  y: (value: number) => number,
): string {
  const inBand = high.map((value, at) => ((low[at] ?? null) === null ? null : value));
  return runsOf(inBand)
    .map((run) => {
      const [first, last] = [run[0]?.[0] ?? 0, run.at(-1)?.[0] ?? 0];
      // To the edges of its first and last bucket, so that a single one is seen.
      const at = (index: number) =>
        index === first && index === last ? edges[index] : [centers[index], centers[index]];
      const upper = run.flatMap(([index, value]) =>
        (at(index) ?? []).map((x = 0) => `${fixed(x)} ${fixed(y(value))}`),
      );
      const lower = run
        .toReversed()
        .flatMap(([index]) =>
          (at(index) ?? []).toReversed().map((x = 0) => `${fixed(x)} ${fixed(y(low[index] ?? 0))}`),
        );
      return `M${[...upper, ...lower].join('L')}z`;
    })
    .join('');
}

const fixed = (pixels: number) => Math.round(pixels * 100) / 100;

/** The index of the bucket whose middle is the nearest; undefined: there is none. */
export function nearest(centers: readonly number[], x: number): number | undefined {
  let best: number | undefined;
  for (const [at, center] of centers.entries()) {
    if (best === undefined || Math.abs(center - x) < Math.abs((centers[best] ?? 0) - x)) best = at;
  }
  return best;
}
