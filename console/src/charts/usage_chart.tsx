// Days or hours as stacked bars, drawn by uPlot; pointer and arrow keys select one, which is
// described in words.
import uPlot from 'uplot';
import { bytes } from '../format.ts';
import { daySeconds, type Part, partSeconds, writtenPart } from './days.ts';
import { axisTime, drawnColor } from './drawn.ts';
import { axisOptions, plotOptions, type SetAt, usePlot, valueAxis } from './plot.ts';

export interface Series {
  name: string;
  /** Bytes, one for each day or hour. */
  values: readonly number[];
  /** The number of its colour; its place when left out. */
  color?: number;
}

interface UsageChartProps {
  label: string;
  by: Part;
  /** The starts of the days or hours, UTC. */
  starts: readonly number[];
  /** From the bottom up. */
  series: readonly Series[];
}

export function UsageChart({ label, by, starts, series }: UsageChartProps) {
  const draw = (parent: HTMLElement, setAt: SetAt) =>
    new uPlot(options(parent, by, starts, series, setAt), stacked(starts, series), parent);
  const { box, plot, at } = usePlot(draw, [by, starts, series]);

  const point = (index: number) => {
    const to = Math.max(0, Math.min(starts.length - 1, index));
    plot.current?.setCursor({ left: plot.current.valToPos(starts[to] ?? 0, 'x'), top: 0 });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = at ?? starts.length;
    const steps: Record<string, number> = {
      ArrowLeft: here - 1,
      ArrowDown: here - 1,
      ArrowRight: at === undefined ? 0 : here + 1,
      ArrowUp: at === undefined ? 0 : here + 1,
      Home: 0,
      End: starts.length - 1,
    };
    const index = steps[event.key];
    if (index === undefined) return;
    event.preventDefault();
    point(index);
  };
  const shown = at === undefined || starts[at] === undefined ? undefined : at;
  const description =
    shown === undefined
      ? undefined
      : partInWords(writtenPart(starts[shown] ?? 0, by), series, shown);
  return (
    <figure class="usage-chart">
      <Legend series={series} at={shown} />
      <p class="note usage-chart-told" aria-hidden="true">
        {/* The legend has the parts. */}
        {description?.replace(/ \(.*$/, '') ??
          `Point at ${by === 'day' ? 'a day' : 'an hour'}, or use the arrow keys.`}
      </p>
      <div
        ref={box}
        class="usage-chart-box"
        role="slider"
        tabIndex={0}
        aria-label={`${label}: ${by}`}
        aria-valuemin={0}
        aria-valuemax={starts.length - 1}
        aria-valuenow={shown ?? starts.length - 1}
        aria-valuetext={description ?? `No ${by} selected; use the arrow keys`}
        onKeyDown={onKeyDown}
      />
    </figure>
  );
}

function Legend({ series, at }: { series: readonly Series[]; at: number | undefined }) {
  return (
    <ul class="usage-legend">
      {series.map(({ name, values, color }, index) => (
        <li key={name}>
          <span
            class="swatch"
            style={{ background: `var(${colorOf(color ?? index)})` }}
            aria-hidden="true"
          />
          {name}
          {at !== undefined && <span class="note">{bytes(values[at] ?? 0)}</span>}
        </li>
      ))}
    </ul>
  );
}

function partInWords(part: string, series: readonly Series[], at: number): string {
  const total = series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0);
  const parts = series
    .filter(({ values }) => (values[at] ?? 0) > 0)
    .map(({ name, values }) => `${name} ${bytes(values[at] ?? 0)}`);
  return `${part}: ${bytes(total)}${parts.length > 1 ? ` (${parts.join(', ')})` : ''}`;
}

const heightPixels = 280;

/** The variable with the colour of a part; colours repeat after the seventh. */
const colorOf = (at: number) => `--series-${at % 7}`;

/** Starts, then the height of each stack, the whole first: each is drawn over the previous one. */
function stacked(starts: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  const heights: number[][] = [];
  let below = starts.map(() => 0);
  for (const { values } of series) {
    below = below.map((height, at) => height + (values[at] ?? 0));
    heights.unshift(below);
  }
  return [[...starts], ...heights];
}

function options(
  box: HTMLElement,
  by: Part,
  starts: readonly number[],
  series: readonly Series[],
  setAt: SetAt,
): uPlot.Options {
  const part = partSeconds[by];
  const paths = uPlot.paths.bars?.({ size: [0.72, 48] });
  const axis = axisOptions(box);
  const totals = starts.map((_, at) =>
    series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
  );
  const ofValues = valueAxis(Math.max(0, ...totals), bytes);
  const fills = series.map(({ color }, at) => drawnColor(box, colorOf(color ?? at))).reverse();
  return {
    ...plotOptions(box, heightPixels, setAt),
    scales: {
      x: {
        time: false,
        // Half a bar more on each side, since a bar is centred on its start.
        range: [(starts[0] ?? 0) - part * 0.6, (starts.at(-1) ?? part) + part * 0.6],
      },
      y: ofValues.scale,
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 56,
        incrs: [...(by === 'hour' ? [0.25, 0.5] : []), 1, 2, 3, 4, 7, 14, 28, 56, 112, 224].map(
          (days) => days * daySeconds,
        ),
        values: (_plot, splits) => splits.map(axisTime),
      },
      { ...axis, size: 72, ...ofValues.axis },
    ],
    series: [
      {},
      ...fills.map((fill) => ({
        fill,
        width: 0,
        points: { show: false },
        ...(paths && { paths }),
      })),
    ],
  };
}
