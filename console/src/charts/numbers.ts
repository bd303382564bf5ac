// The numbers of a chart: columns for a table and a file, and sentences for those who do not see
// it; pure.
import { isoTime } from '../format.ts';
import { bucketText } from './axis.ts';
import { daySeconds, isoDay } from './days.ts';
import type { Charted, Series } from './marks.ts';

export interface Numbers {
  name: string;
  values: ReadonlyArray<number | null>;
}

const isBar = ({ mark }: Series) => mark === 'bar';

/** A column for each series, for the ends of its band, and for the sum of stacked bars. */
export function numbersOf({ starts, series }: Pick<Charted, 'starts' | 'series'>): Numbers[] {
  const columns = series.flatMap(({ name, values, low, high }): Numbers[] => [
    { name, values },
    ...(low && high
      ? [
          { name: `${name}, lowest`, values: low },
          { name: `${name}, highest`, values: high },
        ]
      : []),
  ]);
  const bars = series.filter(isBar);
  if (bars.length < 2) return columns;
  const sums = starts.map((_, at) => sumAt(bars, at));
  return [...columns, { name: 'Total', values: sums }];
}

function sumAt(bars: readonly Series[], at: number): number | null {
  const present = bars.flatMap(({ values }) => values[at] ?? []);
  return present.length === 0 ? null : present.reduce((sum, value) => sum + value, 0);
}

/** The buckets of which something is present. */
export const knownAt = ({ starts, series }: Pick<Charted, 'starts' | 'series'>) =>
  starts.flatMap((_, at) =>
    series.some(({ values }) => (values[at] ?? null) !== null) ? [at] : [],
  );

/**
 * The header and the rows of a file with the numbers of these charts, which have the same buckets.
 * Names of columns end with their unit.
 */
export function csvOf(...charts: ReadonlyArray<Omit<Charted, 'span'> & { title?: string }>) {
  const [first] = charts;
  if (!first) return { header: [], rows: [] };
  const { starts, seconds } = first;
  const isByDay = seconds === daySeconds;
  const columns = charts.flatMap(({ title = '', unit, ...chart }) =>
    numbersOf(chart).map(({ name, values }) => ({
      name: [title, name, unit.column]
        .filter(Boolean)
        .join(' ')
        .toLowerCase()
        .replaceAll(/[ ,]+/g, '_'),
      values,
    })),
  );
  const series = charts.flatMap((chart) => chart.series);
  return {
    header: [isByDay ? 'day' : 'from', ...columns.map(({ name }) => name)],
    rows: knownAt({ starts, series }).map((at) => [
      isByDay ? isoDay(starts[at] ?? 0) : isoTime(starts[at] ?? 0),
      ...columns.map(({ values }) => values[at] ?? ''),
    ]),
  };
}

/** "Sat, 21 Nov 2026, 14:00–14:15: 9 kB (Down 6 kB, Up 3 kB)". */
export function bucketInWords(charted: Charted, at: number): string {
  const { starts, seconds, series, unit } = charted;
  const parts = series.flatMap(({ name, values, low, high }) => {
    const value = values[at] ?? null;
    if (value === null) return [];
    const [lowest, highest] = [low?.[at] ?? null, high?.[at] ?? null];
    const band =
      lowest === null || highest === null ? '' : ` (${unit.text(lowest)} to ${unit.text(highest)})`;
    return [`${name} ${unit.text(value)}${band}`];
  });
  const bars = series.filter(isBar);
  const sum = bars.length > 1 ? sumAt(bars, at) : null;
  const total = sum === null ? '' : `${unit.text(sum)} in all: `;
  const time = bucketText(starts[at] ?? 0, seconds);
  return `${time}: ${parts.length === 0 ? 'unknown' : `${total}${parts.join(', ')}`}`;
}

/** The series as a whole: "Down: 4 Mbit/s at the end, at most 9 Mbit/s. Refused: 12." */
export function inWords({ series, unit }: Charted): string {
  const sentences = series.map(({ name, mark, values, high = [] }) => {
    const present = values.filter((value) => value !== null);
    const last = present.at(-1);
    if (last === undefined) return `${name}: unknown.`;
    if (mark === 'bar') {
      return `${name}: ${unit.text(present.reduce((sum, value) => sum + value, 0))}.`;
    }
    const highest = [...present, ...high].reduce<number>(
      (max, value) => Math.max(max, value ?? 0),
      0,
    );
    return `${name}: ${unit.text(last)} at the end, at most ${unit.text(highest)}.`;
  });
  return sentences.join(' ');
}
