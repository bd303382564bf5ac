// Lines over time, drawn by uPlot; the pointer shows values, and the label has all in words.
import uPlot from 'uplot';
import { daySeconds } from './days.ts';
import { axisTime, drawnColor } from './drawn.ts';
import { axisOptions, plotOptions, type SetAt, usePlot, valueAxis } from './plot.ts';

export interface Line {
  name: string;
  /** A colour variable of the style sheet. */
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
  /** Drawn again when the object changes. */
  of: Lines;
  /** Formats a value, and a time. */
  value: (value: number) => string;
  time: (time: number) => string;
}

const heightPixels = 200;

export function LineChart({ label, of, value, time }: LineChartProps) {
  const draw = (parent: HTMLElement, setAt: SetAt) => {
    const { times, lines } = of;
    const data: uPlot.AlignedData = [[...times], ...lines.map(({ values }) => [...values])];
    return new uPlot(options(parent, of, value, setAt), data, parent);
  };
  const { box, at } = usePlot(draw, [of]);
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
const days = [1, 2, 3, 4, 7, 14, 28, 56].map((days) => days * daySeconds);
const mostOf = (lines: readonly Line[]) =>
  Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));

function options(
  box: HTMLElement,
  { times, lines }: Lines,
  value: (value: number) => string,
  setAt: SetAt,
): uPlot.Options {
  const axis = axisOptions(box);
  const [first = 0, last = 1] = [times[0], times.at(-1)];
  const ofValues = valueAxis(mostOf(lines), value);
  return {
    ...plotOptions(box, heightPixels, setAt),
    scales: {
      // A single point is in the middle.
      x: { time: false, range: first === last ? [first - 1, last + 1] : [first, last] },
      y: ofValues.scale,
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        space: 90,
        incrs: last - first > 3 * daySeconds ? days : [...hours, ...days],
        values: (_plot, splits) => splits.map(axisTime),
      },
      { ...axis, size: 84, ...ofValues.axis },
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
  };
}
