// A billing period as it fills: what is used by each day, where it is going at this pace, and the limit; lines, drawn by uPlot.
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { bytes, date } from '../format.ts';
import { day_seconds } from '../usage/days.ts';
import { drawnColor, useDarkness } from './drawn.ts';

export interface PeriodPoints {
  /** Epoch seconds, ascending; the last is the end of the period. */
  times: readonly number[];
  /** Bytes used up to each of them; null of what is to come. */
  used: ReadonlyArray<number | null>;
  /** Bytes at this pace; null of what is past. */
  projected: ReadonlyArray<number | null>;
  limit: number;
}

const height_pixels = 200;

export function PeriodChart({ label, points }: { label: string; points: PeriodPoints }) {
  const box = useRef<HTMLDivElement>(null);
  const darkness = useDarkness();
  useEffect(() => {
    const parent = box.current;
    if (!parent) return;
    const { times, used, projected, limit } = points;
    const values = [[...used], [...projected], times.map(() => limit)];
    const data: uPlot.AlignedData = [[...times], ...values.slice(0, linesOf(points).length)];
    const made = new uPlot(options(parent, points), data, parent);
    const observer = new ResizeObserver(() => {
      const width = parent.clientWidth;
      if (width > 0 && width !== made.width) made.setSize({ width, height: height_pixels });
    });
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [points, darkness]);
  return (
    <figure class="usage-chart">
      <ul class="usage-legend">
        {linesOf(points).map(({ name, variable }) => (
          <li key={name}>
            <span class="swatch" style={{ background: `var(${variable})` }} aria-hidden="true" />
            {name}
          </li>
        ))}
      </ul>
      <div ref={box} class="period-chart-box" role="img" aria-label={label} />
    </figure>
  );
}

/** A limit far above would press what is used to the ground: it is drawn where it is in reach. */
function linesOf({ used, projected, limit }: PeriodPoints): typeof lines {
  return limit <= reach * mostOf(used, projected) ? lines : lines.slice(0, 2);
}

const reach = 4;
const mostOf = (...values: ReadonlyArray<ReadonlyArray<number | null>>) =>
  Math.max(1, ...values.flat().map((value) => value ?? 0));

const lines = [
  { name: 'Used', variable: '--series-0', width: 2 },
  { name: 'At this pace', variable: '--series-2', width: 2, dash: [5, 5] },
  { name: 'Limit', variable: '--series-5', width: 2 },
];

function options(box: HTMLElement, points: PeriodPoints): uPlot.Options {
  const { times, used, projected, limit } = points;
  const { fontSize, fontFamily } = getComputedStyle(box);
  const axis = {
    stroke: drawnColor(box, '--text-soft'),
    font: `${fontSize} ${fontFamily}`,
    grid: { stroke: drawnColor(box, '--line'), width: 1 },
    ticks: { show: false },
  };
  const most = mostOf(used, projected);
  const drawn = linesOf(points);
  const top = drawn.length === lines.length ? Math.max(limit, most) : most;
  return {
    width: box.clientWidth,
    height: height_pixels,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [times[0] ?? 0, times.at(-1) ?? 1] },
      y: { range: [0, top * 1.06] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 90,
        incrs: [1, 2, 3, 4, 7, 14, 28].map((days) => days * day_seconds),
        values: (_plot, splits) => splits.map((time) => date(time)),
      },
      { ...axis, size: 72, space: 45, values: (_plot, splits) => splits.map((one) => bytes(one)) },
    ],
    series: [
      {},
      ...drawn.map(({ variable, width, dash }) => ({
        stroke: drawnColor(box, variable),
        width,
        points: { show: false },
        ...(dash && { dash }),
      })),
    ],
  };
}
