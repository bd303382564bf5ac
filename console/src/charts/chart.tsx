// A chart over time: bars, lines and bands in one unit, over exactly the selected time range. The
// pointer or the arrow keys select a bucket in all charts of the page; a table has the same
// numbers.
import '../style/charts.css';
import { signal } from '@preact/signals';
import { useEffect, useId, useMemo } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { Table } from '../ui/ui.ts';
import { usePixels } from '../ui/width.ts';
import { bucketText } from './axis.ts';
import { type Charted, type Marks, marksOf, nearest, type Series } from './marks.ts';
import { bucketInWords, inWords, knownAt, numbersOf } from './numbers.ts';

interface ChartProps extends Charted {
  title: string;
  /** The text that is shown when there are no marks. */
  empty: string;
  heightPixels?: number;
}

/** The time under the pointer, and the chart that the pointer is in, which shows the values. */
const pointed = signal<{ time: number; chart: string; top: number } | undefined>(undefined);

const margin = { top: 12, right: 10, bottom: 24 };
const characterPixels = 6.8;

export function Chart({ title, empty, heightPixels = 220, ...charted }: ChartProps) {
  const { span, starts, seconds, series, limit, unit } = charted;
  const [box, pixels] = usePixels<HTMLDivElement>();
  const id = useId();
  const height = heightPixels - margin.top - margin.bottom;
  const inputs = [span.from, span.to, starts, seconds, series, limit, unit, pixels, height];
  const { marks, indent } = useMemo(() => {
    const widest = Math.max(
      ...marksOf(charted, { width: 1, height }).values.map(({ text }) => text.length),
    );
    const indent = Math.ceil(widest * characterPixels) + 10;
    const width = Math.max(1, pixels - indent - margin.right);
    return { marks: marksOf(charted, { width, height }), indent };
  }, inputs);
  const isEmpty = series.every(({ values }) => values.every((value) => !value));
  const drawn = useMemo(
    () => <Drawing charted={charted} marks={marks} height={height} isEmpty={isEmpty} />,
    [marks, isEmpty],
  );
  const words = useMemo(() => inWords(charted), inputs);
  const legend = useMemo(() => <Legend series={series} limit={limit} />, inputs);
  const table = useMemo(() => <AsTable title={title} {...charted} />, inputs);
  useEffect(
    () => () => {
      if (pointed.peek()?.chart === id) pointed.value = undefined;
    },
    [id],
  );

  const at =
    pointed.value && marks.centers.length > 0
      ? nearest(marks.centers, marks.x(pointed.value.time))
      : undefined;
  const isHere = pointed.value?.chart === id;
  const point = (index: number | undefined, top: number) => {
    const start = starts[index ?? -1];
    if (index === undefined || start === undefined) return;
    const middle = Math.max(start, span.from) + Math.min(start + seconds, span.to);
    pointed.value = { time: middle / 2 || start, chart: id, top };
  };
  const onPointer = (event: PointerEvent) => {
    const { left: edge, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    point(nearest(marks.centers, event.clientX - edge - indent), event.clientY - top);
  };
  const leave = () => {
    if (isHere) pointed.value = undefined;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = starts.length - 1;
    const here = at ?? starts.length;
    const steps: Record<string, number> = {
      ...{ ArrowLeft: here - 1, ArrowDown: here - 1, Home: 0, End: last },
      ...{ ArrowRight: at === undefined ? 0 : here + 1, ArrowUp: at === undefined ? 0 : here + 1 },
      ...{ PageUp: Math.min(last, here + 10), PageDown: here - 10 },
    };
    if (event.key === 'Escape' && isHere) leave();
    const index = steps[event.key];
    if (index === undefined) return;
    event.preventDefault();
    point(Math.max(0, Math.min(last, index)), 0);
  };
  return (
    <figure class="chart">
      {legend}
      <div
        ref={box}
        class="chart-box"
        style={{ blockSize: `${heightPixels}px` }}
        role="slider"
        tabIndex={0}
        aria-label={title}
        aria-describedby={`${id}-words`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, starts.length - 1)}
        aria-valuenow={at ?? Math.max(0, starts.length - 1)}
        aria-valuetext={at === undefined ? words : bucketInWords(charted, at)}
        onKeyDown={onKeyDown}
        onPointerMove={onPointer}
        onPointerDown={onPointer}
        onPointerLeave={leave}
        onBlur={leave}
      >
        {pixels > 0 && (
          <svg width={pixels} height={heightPixels} aria-hidden="true">
            <g transform={`translate(${indent} ${margin.top})`}>
              {drawn}
              {at !== undefined && <Crosshair {...{ charted, marks, height, at }} />}
            </g>
          </svg>
        )}
        {isEmpty && <p class="chart-empty note">{empty}</p>}
        {at !== undefined && isHere && !isEmpty && (
          <Tooltip
            charted={charted}
            at={at}
            x={indent + (marks.centers[at] ?? 0)}
            pixels={pixels}
            top={Math.min(pointed.value?.top ?? 0, heightPixels / 2)}
          />
        )}
      </div>
      <figcaption id={`${id}-words`} class="visually-hidden">
        {isEmpty ? empty : words}
      </figcaption>
      {table}
    </figure>
  );
}

interface DrawingProps {
  charted: Charted;
  marks: Marks;
  height: number;
}

function Drawing({ charted, marks, height, isEmpty }: DrawingProps & { isEmpty: boolean }) {
  const { x, y, times, values, paths } = marks;
  const { span, series, limit } = charted;
  const right = x(span.to);
  const isFaint = (color: string) => ({ color: `var(${color})` });
  return (
    <>
      {values.map(({ at, text }) => (
        <g key={at} class="chart-tick">
          <line x2={right} y1={y(at)} y2={y(at)} />
          {(!isEmpty || at === 0 || limit !== undefined) && (
            <text x={-8} y={y(at)} dy="0.32em" text-anchor="end">
              {text}
            </text>
          )}
        </g>
      ))}
      {times.map(({ at, text }) => (
        <text
          key={at}
          class="chart-time"
          x={x(at)}
          y={height + 18}
          text-anchor={x(at) < 24 ? 'start' : right - x(at) < 24 ? 'end' : 'middle'}
        >
          {text}
        </text>
      ))}
      {paths.map(({ band }, at) => (
        <path
          key={series[at]?.name}
          class="chart-band"
          style={isFaint(series[at]?.color ?? '')}
          d={band ?? ''}
        />
      ))}
      {paths.map(({ fill, line }, at) => (
        <path
          key={series[at]?.name}
          class={
            fill === undefined ? `chart-line${series[at]?.isDashed ? ' dashed' : ''}` : 'chart-bar'
          }
          style={isFaint(series[at]?.color ?? '')}
          d={fill ?? line ?? ''}
        />
      ))}
      {limit !== undefined && <line class="chart-limit" x2={right} y1={y(limit)} y2={y(limit)} />}
    </>
  );
}

function Crosshair({ charted, marks, height, at }: DrawingProps & { at: number }) {
  const x = marks.centers[at] ?? 0;
  return (
    <g class="chart-crosshair">
      <line x1={x} x2={x} y2={height} />
      {charted.series.map(({ name, mark, values, color }) => {
        const value = values[at] ?? null;
        if (mark === 'bar' || value === null) return null;
        return (
          <circle key={name} cx={x} cy={marks.y(value)} r={4} style={{ color: `var(${color})` }} />
        );
      })}
    </g>
  );
}

interface TooltipProps {
  charted: Charted;
  at: number;
  /** The place of the crosshair in a box of so many pixels. */
  x: number;
  pixels: number;
  top: number;
}

/** For sighted people; the slider announces the same values. */
function Tooltip({ charted, at, x, pixels, top }: TooltipProps) {
  const { starts, seconds, series, unit } = charted;
  const isLeft = x > pixels / 2;
  const bars = series.filter(({ mark }) => mark === 'bar');
  const sum = bars.reduce((sum, { values }) => sum + (values[at] ?? 0), 0);
  const all = [...bars.toReversed(), ...series.filter(({ mark }) => mark === 'line')];
  const rows = all.filter(({ values }) => (values[at] ?? null) !== null);
  return (
    <div
      class="chart-tooltip"
      aria-hidden="true"
      style={{
        insetBlockStart: `${top}px`,
        ...(isLeft ? { right: `${pixels - x + 12}px` } : { left: `${x + 12}px` }),
      }}
    >
      <p class="chart-tooltip-time">{bucketText(starts[at] ?? 0, seconds)}</p>
      {rows.length === 0 && <p>Unknown</p>}
      <dl>
        {rows.map((row) => {
          const [low, high] = [row.low?.[at] ?? null, row.high?.[at] ?? null];
          return (
            <div key={row.name}>
              <dt>
                <Swatch series={row} />
                {row.name}
              </dt>
              <dd>
                {unit.text(row.values[at] ?? 0)}
                {low !== null && high !== null && (
                  <span class="note">{`${unit.text(low)} to ${unit.text(high)}`}</span>
                )}
              </dd>
            </div>
          );
        })}
        {bars.length > 1 && (
          <div class="chart-tooltip-total">
            <dt>Total</dt>
            <dd>{unit.text(sum)}</dd>
          </div>
        )}
      </dl>
    </div>
  );
}

const Swatch = ({
  series: { color, mark, isDashed },
}: {
  series: Omit<Series, 'name' | 'values'>;
}) => (
  <span
    class={`swatch ${mark}${isDashed ? ' dashed' : ''}`}
    style={{ color: `var(${color})` }}
    aria-hidden="true"
  />
);

const limitMark = { color: '--bad', mark: 'line', isDashed: true } as const;

function Legend({ series, limit }: Pick<Charted, 'series' | 'limit'>) {
  if (series.length < 2 && limit === undefined) return null;
  return (
    <ul class="chart-legend">
      {series.map((line) => (
        <li key={line.name}>
          <Swatch series={line} />
          {line.name}
        </li>
      ))}
      {limit !== undefined && (
        <li>
          <Swatch series={limitMark} />
          Limit
        </li>
      )}
    </ul>
  );
}

/** The same numbers, the newest first; which tables are open is part of the address. */
function AsTable({ title, ...charted }: Charted & { title: string }) {
  const [names, setNames] = useAddressState('numbers');
  const others = names.split(',').filter((name) => name && name !== title);
  const isOpen = names.split(',').includes(title);
  const { starts, seconds, unit } = charted;
  const text = (value: number | null | undefined) => (value == null ? 'unknown' : unit.cell(value));
  return (
    <details
      class="numbers"
      open={isOpen}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== isOpen)
          setNames([...others, ...(currentTarget.open ? [title] : [])].join(','));
      }}
    >
      <summary>
        Show as table<span class="visually-hidden">: {title}</span>
      </summary>
      {isOpen && (
        <Table
          caption={`${title}, UTC`}
          rows={knownAt(charted).toReversed()}
          keyOf={(at) => at}
          columns={[
            { heading: 'Time', names: true, cell: (at) => bucketText(starts[at] ?? 0, seconds) },
            ...numbersOf(charted).map(({ name, values }) => ({
              heading: name,
              numeric: true,
              cell: (at: number) => text(values[at]),
            })),
          ]}
        />
      )}
    </details>
  );
}
