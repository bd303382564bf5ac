// Lines over time, drawn by uPlot; the pointer tells the values at a time, and the label tells all in words.
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { day_seconds } from '../usage/days.ts';
import { axisTime, drawnColor, useDarkness } from './drawn.ts';

export interface Line {
  name: string;
  /** Of the style sheet. */
  variable: string;
  /** One for each time; null: unknown. */
  values: ReadonlyArray<number | null>;
  isDashed?: boolean;
}

export interface Lines {
  /** Epoch seconds, ascending. */
  times: readonly number[];
  lines: readonly Line[];
}

interface LineChartProps {
  label: string;
  /** Drawn anew when it is another object. */
  of: Lines;
  /** A value, and a time, as they are shown. */
  value: (value: number) => string;
  time: (time: number) => string;
  /** Only whole values. */
  isCount?: boolean;
}

const height_pixels = 200;

export function LineChart({ label, of, value, time, isCount = false }: LineChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number>();
  const darkness = useDarkness();
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    const { times, lines } = of;
    const data: uPlot.AlignedData = [[...times], ...lines.map(({ values }) => [...values])];
    const made = new uPlot(options(parent, of, value, isCount, setAt), data, parent);
    const observer = new ResizeObserver(() => {
      const width = parent.clientWidth;
      if (width > 0 && width !== made.width) made.setSize({ width, height: height_pixels });
    });
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [of, darkness]);
  const shown = at === undefined ? undefined : of.times[at];
  return (
    <figure class="usage-chart">
      <ul class="usage-legend">
        {of.lines.map(({ name, variable, values }) => (
          <li key={name}>
            <span class="swatch" style={{ background: `var(${variable})` }} aria-hidden="true" />
            {name}
            {at !== undefined && values[at] != null && (
              <span class="note">{value(values[at] as number)}</span>
            )}
          </li>
        ))}
        {shown !== undefined && <li class="note">{time(shown)}</li>}
      </ul>
      <div ref={box} class="line-chart-box" role="img" aria-label={label} />
    </figure>
  );
}

/** The steps between two times on the axis. */
const hours = [1, 2, 3, 6, 12].map((hours) => hours * 3600);
const days = [1, 2, 3, 4, 7, 14, 28, 56].map((days) => days * day_seconds);
/** And between two values that are whole. */
const counts = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((n) => n * 10 ** power));

const mostOf = (lines: readonly Line[]) =>
  Math.max(1, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));

function options(
  box: HTMLElement,
  { times, lines }: Lines,
  value: (value: number) => string,
  isCount: boolean,
  setAt: (at: number | undefined) => void,
): uPlot.Options {
  const { fontSize, fontFamily } = getComputedStyle(box);
  const axis = {
    stroke: drawnColor(box, '--text-soft'),
    font: `${fontSize} ${fontFamily}`,
    grid: { stroke: drawnColor(box, '--line'), width: 1 },
    ticks: { show: false },
  };
  const [first = 0, last = 1] = [times[0], times.at(-1)];
  return {
    width: box.clientWidth,
    height: height_pixels,
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      // A single point stands in the middle.
      x: { time: false, range: first === last ? [first - 1, last + 1] : [first, last] },
      y: { range: [0, mostOf(lines) * 1.06] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 90,
        incrs: last - first > 3 * day_seconds ? days : [...hours, ...days],
        values: (_plot, splits) => splits.map(axisTime),
      },
      {
        ...axis,
        size: 84,
        space: 45,
        ...(isCount && { incrs: counts.flat() }),
        values: (_plot, splits) => splits.map(value),
      },
    ],
    series: [
      {},
      ...lines.map(({ variable, isDashed }) => ({
        stroke: drawnColor(box, variable),
        width: 2,
        points: { show: times.length < 3 },
        ...(isDashed && { dash: [5, 5] }),
      })),
    ],
    hooks: { setCursor: [(plot) => setAt(plot.cursor.idx ?? undefined)] },
  };
}
