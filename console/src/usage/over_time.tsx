// Usage by day or hour: as a chart, a table and a file.
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { useAddressField } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { bucketFor } from '../charts/axis.ts';
import { Chart } from '../charts/chart.tsx';
import { daySeconds, everyPart, type Part, partSeconds, type UsageOfPart } from '../charts/days.ts';
import type { Charted, Series } from '../charts/marks.ts';
import { csvOf } from '../charts/numbers.ts';
import type { Span } from '../charts/span.ts';
import { inBytes } from '../charts/units.ts';
import { csv, download } from '../csv.ts';
import { now } from '../now.ts';
import { Card, ExportCsvButton, Loaded, optionsIn, SelectField, together } from '../ui/ui.ts';
import { usePixels } from '../ui/width.ts';
import { colorOfOthers, colorsOf } from './colors.ts';
import { fileName, type Report, type ReportQuery } from './report.ts';

/** The parts that can be distinguished in a bar; the rest is one part. */
const maxServers = 6;

interface OverTimeCardProps {
  /** By day. */
  report: Report;
  query: ReportQuery;
  /** The axis of the chart; it may end after the report. */
  span: Span;
  /** To compare with. */
  before?: Span | undefined;
  /** Names of servers, the most traffic first. */
  servers: readonly string[];
  /** Fields above the chart. */
  children?: ComponentChildren;
}

/** Fewer pixels are too few for a bar. */
const pixelsOfBar = 5;

export function OverTimeCard(props: OverTimeCardProps) {
  const { report: daily, query, span, before, servers, children } = props;
  const scope = useScope();
  const [box, pixels] = usePixels<HTMLDivElement>();
  const split = useAddressField('split', 'direction');
  const bySplit = split.value === 'server' && servers.length > 1;
  const each = useAddressField('each', 'day');
  const hasHours = canTellHours(daily);
  const isShort = span.to - span.from <= 2 * daySeconds;
  const by: Part = hasHours && (isShort || each.value === 'hour') ? 'hour' : 'day';
  const seconds = bucketFor(span, pixels || 1000, {
    narrowest: partSeconds[by],
    pixelsOfBucket: pixelsOfBar,
  });
  const ofHours = { enabled: by === 'hour' };
  const hourly = useReadIn(scope, 'get_usage', { query: { ...query, by: 'hour' } }, ofHours);
  const earlier = useReadIn(
    scope,
    'get_usage',
    { query: { ...query, ...before, by } },
    { enabled: before !== undefined },
  );
  const report = by === 'hour' ? hourly.data : daily;
  const parts = useMemo(
    () => (report ? everyPart(span, report.rows, by, seconds) : []),
    [report, by, seconds, span.from, span.to],
  );
  const starts = useMemo(() => parts.map(({ start }) => start), [parts]);
  const top = bySplit ? servers.slice(0, maxServers) : [];
  const { ofServers, reads } = usePartsOfServers(top, query, span, by, seconds);
  const shown = together([
    ...(by === 'hour' ? [hourly] : []),
    ...(before ? [earlier] : []),
    ...reads,
  ]);
  const series = useMemo(
    () => [
      ...(bySplit ? withOthers(ofServers, parts) : byDirection(parts)),
      ...previousOf(before && earlier.data, before, parts.length, by, seconds),
    ],
    [bySplit, ofServers, parts, earlier.data, before?.from, before?.to],
  );
  const save = () => {
    const { header, rows } = csvOf({ starts, seconds, series, unit: inBytes });
    download(fileName(scope.account, daily, by === 'hour' ? 'hour' : ''), csv(header, rows));
  };
  const name = seconds > daySeconds ? 'By week' : seconds === daySeconds ? 'By day' : 'By hour';
  return (
    <Card
      title={name}
      note="Times are UTC."
      actions={
        <>
          {hasHours && !isShort && (
            <div class="split">
              <SelectField
                label="Each bar"
                {...each}
                value={by}
                options={optionsIn({ day: 'A day', hour: 'An hour' })}
              />
            </div>
          )}
          {servers.length > 1 && (
            <div class="split">
              <SelectField
                label="Split by"
                {...split}
                options={optionsIn({ direction: 'Direction', server: 'Server' })}
              />
            </div>
          )}
          <ExportCsvButton records={name.toLowerCase()} disabled={!shown.data} onClick={save} />
        </>
      }
    >
      {children}
      <div ref={box}>
        <Loaded reading={shown} name={`usage by ${by}`}>
          {() => <UsageChart span={span} starts={starts} seconds={seconds} series={series} />}
        </Loaded>
      </div>
    </Card>
  );
}

/** The chart of usage over time, of an account or of the network. */
export function UsageChart(charted: Pick<Charted, 'span' | 'starts' | 'seconds' | 'series'>) {
  return (
    <Chart
      {...charted}
      title="Usage over time"
      unit={inBytes}
      empty="No traffic in this time range."
      heightPixels={300}
    />
  );
}

/** The total in the same bucket of the period before. */
function previousOf(
  report: Report | undefined,
  before: Span | undefined,
  count: number,
  by: Part,
  seconds: number,
): Series[] {
  if (!report || !before) return [];
  const totals = everyPart(before, report.rows, by, seconds).map(({ total }) => total);
  const values = Array.from({ length: count }, (_, at) => totals[at] ?? null);
  return [{ name: 'Previous period', color: '--text-soft', mark: 'line', isDashed: true, values }];
}

/** Hours are stored for a while only, and a bar for each hour of a month would be too small. */
const maxDaysInHours = 8;
const hoursKeptSeconds = 90 * daySeconds;

function canTellHours({ from, to }: Pick<Report, 'from' | 'to'>): boolean {
  const isShort = to - from <= maxDaysInHours * daySeconds;
  return isShort && from > now.value - hoursKeptSeconds;
}

/** Buckets of the future have no value. */
export const pastValues = (parts: readonly UsageOfPart[], read: (part: UsageOfPart) => number) =>
  parts.map((part) => (part.start > now.peek() ? null : read(part)));

export const byDirection = (parts: readonly UsageOfPart[]): Series[] => [
  { name: 'Down', color: '--series-0', mark: 'bar', values: pastValues(parts, ({ down }) => down) },
  { name: 'Up', color: '--series-1', mark: 'bar', values: pastValues(parts, ({ up }) => up) },
];

/** Adds a series for the rest, of other servers. */
function withOthers(series: readonly Series[], parts: readonly UsageOfPart[]): Series[] {
  const rest = parts.map(({ total }, at) =>
    Math.max(0, total - series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  );
  return rest.some((value) => value > 0)
    ? [...series, { name: 'Others', values: rest, color: colorOfOthers, mark: 'bar' }]
    : [...series];
}

/**
 * Usage of each of these servers by day or hour: one request each, as a report has one grouping.
 */
function usePartsOfServers(
  servers: readonly string[],
  query: ReportQuery,
  span: Span,
  by: Part,
  seconds: number,
) {
  const scope = useScope();
  // Always the same number, since hooks are identified by their order.
  const slots = Array.from({ length: maxServers }, (_, at) => {
    const server = servers[at];
    return useReadIn(
      scope,
      'get_usage',
      { query: { ...query, by, server: server ?? '' } },
      { enabled: server !== undefined },
    );
  });
  const reads = slots.slice(0, servers.length);
  const ofServers = useMemo(() => {
    const colors = colorsOf(servers);
    return servers.map((name, at): Series => {
      const parts = everyPart(span, reads[at]?.data?.rows ?? [], by, seconds);
      const values = pastValues(parts, ({ total }) => total);
      return { name, values, color: colors.get(name) ?? colorOfOthers, mark: 'bar' };
    });
  }, [span.from, span.to, by, seconds, ...slots.map(({ data }) => data), servers.join(' ')]);
  return { ofServers, reads };
}
