// Days as stacked bars, drawn by uPlot; pointer and arrow keys go from day to day, and the day is told in words.
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { bytes } from '../format.ts';
import { theme } from '../theme.ts';
import { day_seconds, writtenDay } from '../usage/days.ts';

export interface Series {
  name: string;
  /** Bytes, one for each day. */
  values: readonly number[];
}

interface DaysChartProps {
  label: string;
  /** Starts of days, UTC. */
  days: readonly number[];
  /** From the bottom up. */
  series: readonly Series[];
}

export function DaysChart({ label, days, series }: DaysChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const [at, setAt] = useState<number>();
  const darkness = useDarkness();

  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    const made = new uPlot(options(parent, days, series, setAt), stacked(days, series), parent);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      const width = parent.clientWidth;
      if (width > 0 && width !== made.width) made.setSize({ width, height: height_pixels });
    });
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [days, series, darkness]);

  const point = (index: number) => {
    const to = Math.max(0, Math.min(days.length - 1, index));
    plot.current?.setCursor({ left: plot.current.valToPos(days[to] ?? 0, 'x'), top: 0 });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const here = at ?? days.length;
    const steps: Record<string, number> = {
      ArrowLeft: here - 1,
      ArrowDown: here - 1,
      ArrowRight: at === undefined ? 0 : here + 1,
      ArrowUp: at === undefined ? 0 : here + 1,
      Home: 0,
      End: days.length - 1,
    };
    const index = steps[event.key];
    if (index === undefined) return;
    event.preventDefault();
    point(index);
  };
  const shown = at === undefined || days[at] === undefined ? undefined : at;
  const told = shown === undefined ? undefined : dayInWords(days[shown] ?? 0, series, shown);
  return (
    <figure class="days-chart">
      <Legend series={series} at={shown} />
      <p class="note days-chart-told" aria-hidden="true">
        {/* The legend beside it tells the parts. */}
        {told?.replace(/ \(.*$/, '') ?? 'Point at a day, or use the arrow keys.'}
      </p>
      <div
        ref={box}
        class="days-chart-box"
        role="slider"
        tabIndex={0}
        aria-label={`${label}: day`}
        aria-valuemin={0}
        aria-valuemax={days.length - 1}
        aria-valuenow={shown ?? days.length - 1}
        aria-valuetext={told ?? 'No day chosen; arrow keys go from day to day'}
        onKeyDown={onKeyDown}
      />
    </figure>
  );
}

function Legend({ series, at }: { series: readonly Series[]; at: number | undefined }) {
  return (
    <ul class="days-legend">
      {series.map(({ name, values }, index) => (
        <li key={name}>
          <span
            class="swatch"
            style={{ background: `var(${colorOf(index)})` }}
            aria-hidden="true"
          />
          {name}
          {at !== undefined && <span class="note">{bytes(values[at] ?? 0)}</span>}
        </li>
      ))}
    </ul>
  );
}

function dayInWords(day: number, series: readonly Series[], at: number): string {
  const total = series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0);
  const parts = series
    .filter(({ values }) => (values[at] ?? 0) > 0)
    .map(({ name, values }) => `${name} ${bytes(values[at] ?? 0)}`);
  return `${writtenDay(day)}: ${bytes(total)}${parts.length > 1 ? ` (${parts.join(', ')})` : ''}`;
}

const height_pixels = 280;

/** The variable with the colour of a part; after the seventh they come round again. */
const colorOf = (at: number) => `--series-${at % 7}`;

/**
 * A variable of the style sheet, resolved: a canvas knows neither variables nor light-dark(). Asked of
 * a new element, as one that is there may still be on its way from the colour of the theme before.
 */
function drawnColor(within: HTMLElement, variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  within.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Days, then the height of each stack, the whole first: each is drawn over the one before. */
function stacked(days: readonly number[], series: readonly Series[]): uPlot.AlignedData {
  const heights: number[][] = [];
  let below = days.map(() => 0);
  for (const { values } of series) {
    below = below.map((height, at) => height + (values[at] ?? 0));
    heights.unshift(below);
  }
  return [[...days], ...heights];
}

function options(
  box: HTMLElement,
  days: readonly number[],
  series: readonly Series[],
  setAt: (at: number | undefined) => void,
): uPlot.Options {
  const { fontSize, fontFamily } = getComputedStyle(box);
  const paths = uPlot.paths.bars?.({ size: [0.72, 48] });
  const axis = {
    stroke: drawnColor(box, '--text-soft'),
    font: `${fontSize} ${fontFamily}`,
    grid: { stroke: drawnColor(box, '--line'), width: 1 },
    ticks: { show: false },
  };
  const fills = series.map((_, at) => drawnColor(box, colorOf(at))).reverse();
  return {
    width: box.clientWidth,
    height: height_pixels,
    // The table beside the chart holds the numbers; the legend is our own.
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: {
        time: false,
        // Half a day more on each side: a bar stands around its middle.
        range: [
          (days[0] ?? 0) - day_seconds * 0.6,
          (days.at(-1) ?? day_seconds) + day_seconds * 0.6,
        ],
      },
      y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.06 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 56,
        incrs: [1, 2, 3, 4, 7, 14, 28, 56, 112, 224].map((count) => count * day_seconds),
        values: (_plot, splits) => splits.map((day) => shortDay.format(day * 1000)),
      },
      {
        ...axis,
        size: 72,
        space: 45,
        values: (_plot, splits) => splits.map((value) => bytes(value)),
      },
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
    hooks: { setCursor: [(plot) => setAt(plot.cursor.idx ?? undefined)] },
  };
}

const shortDay = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});

/** Changes whenever the page turns light or dark, by the reader's choice or the system's. */
function useDarkness(): string {
  const [system, setSystem] = useState(darkSystem.matches);
  useEffect(() => {
    const heard = () => setSystem(darkSystem.matches);
    darkSystem.addEventListener('change', heard);
    return () => darkSystem.removeEventListener('change', heard);
  }, []);
  return `${theme.value} ${system}`;
}

const darkSystem = matchMedia('(prefers-color-scheme: dark)');
