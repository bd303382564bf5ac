// History of the network, a server or a node: traffic, connections, rejections, lag and problems
// over time, as figures and charts.
import { useMemo } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { ResponseOf } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { bucketFor } from '../charts/axis.ts';
import { Chart } from '../charts/chart.tsx';
import type { Series } from '../charts/marks.ts';
import { csvOf } from '../charts/numbers.ts';
import { changeInWords, type Span, type SpanName } from '../charts/span.ts';
import { SpanFilters, useSpan } from '../charts/span_fields.tsx';
import { inBitsPerSecond, inCounts, inSeconds, type Unit } from '../charts/units.ts';
import { csv, download } from '../csv.ts';
import { bitRate, bytes } from '../format.ts';
import { now } from '../now.ts';
import { paths } from '../paths.ts';
import { Card, Empty, ExportCsvButton, Loaded, Stat, together, Unread } from '../ui/ui.ts';
import { usePixels } from '../ui/width.ts';
import { type Filled, filled, rejectionsIn } from './history_points.ts';

type History = ResponseOf<'admin_get_history'>;

/** Hours of one node or server are not stored for a year. */
const namesOfOne: SpanName[] = ['day', 'week', 'month', 'own'];
const namesOfAll: SpanName[] = ['day', 'week', 'month', 'quarter', 'year', 'own'];

/** The shortest step: the card reads again when one begins. */
const stepSeconds = 300;
/** "Now" is the mean of this time. */
const lateSeconds = 600;
/** From this width on there are two charts in a row, under one that has the row. */
const twoInRowPixels = 800;

interface HistoryCardProps {
  /** Only for this server or node. */
  server?: string;
  node?: number;
  /** Whether any node reports now. */
  isOnline: boolean;
}

export function HistoryCard({ server, node, isOnline }: HistoryCardProps) {
  const isOfAll = server === undefined && node === undefined;
  const [box, pixels] = usePixels<HTMLDivElement>();
  const selected = useSpan({
    names: isOfAll ? namesOfAll : namesOfOne,
    standard: 'day',
    grain: stepSeconds,
  });
  const { span, before } = selected;
  const selectors = {
    ...(server !== undefined && { server }),
    ...(node !== undefined && { node }),
  };
  const to = (Math.floor(now.value / stepSeconds) + 1) * stepSeconds;
  const chartPixels = pixels >= twoInRowPixels ? pixels / 2 : pixels;
  const step = span ? bucketFor(span, chartPixels) : stepSeconds;
  const read = (part: Span | undefined) =>
    useRead(
      'admin_get_history',
      { query: { ...(part ?? { from: to - stepSeconds, to }), ...selectors, step } },
      { enabled: part !== undefined && pixels > 0 },
    );
  const history = read(span);
  const earlier = read(before);
  const late = useRead(
    'admin_get_history',
    { query: { from: to - lateSeconds, to, ...selectors } },
    { enabled: isOnline },
  );
  const subject = server ?? (node === undefined ? 'network' : `node-${node}`);
  const charts = useMemo(
    () => history.data && chartsOf(history.data, before && earlier.data),
    [history.data, before?.from, earlier.data],
  );
  const save = () => {
    const { header, rows } = csvOf(...(charts ?? []));
    download(`history-${subject}.csv`, csv(header, rows));
  };
  return (
    <Card
      title="Over time"
      note="Times are UTC."
      actions={
        <ExportCsvButton records={`${subject} over time`} disabled={!charts} onClick={save} />
      }
    >
      <SpanFilters selected={selected} />
      <div ref={box} class="stack">
        <Loaded reading={history} name="the history">
          {(data) =>
            data.points.length === 0 ? (
              <Empty title="No measurements in this time range.">
                Online nodes are measured each minute, and report traffic every few seconds.
              </Empty>
            ) : (
              <>
                <Unread
                  reading={together([...(isOnline ? [late] : []), ...(before ? [earlier] : [])])}
                  name="figures to compare with"
                />
                <Figures
                  isOfAll={isOfAll}
                  history={data}
                  before={before && earlier.data}
                  late={isOnline ? late.data : undefined}
                />
                <div class="charts">
                  {(charts ?? []).map((chart) => (
                    <section key={chart.title} class="stack-tight">
                      <h3>{chart.title}</h3>
                      <Chart span={span ?? data} {...chart} />
                    </section>
                  ))}
                </div>
              </>
            )
          }
        </Loaded>
      </div>
    </Card>
  );
}

interface FiguresProps {
  isOfAll: boolean;
  history: History;
  before: History | undefined;
  /** The last minutes; undefined: no node is online. */
  late: History | undefined;
}

const inWords = (reason: string) => reason.replaceAll('_', ' ');
const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);
const trafficOf = ({ points }: History) => sum(points.map(({ up, down }) => up + down));
const rejectedOf = ({ points }: History) => sum(rejectionsIn(points).map(({ count }) => count));

function Figures({ isOfAll, history, before, late }: FiguresProps) {
  const rejected = rejectionsIn(history.points);
  const peakOf = (field: 'up_peak' | 'down_peak') =>
    bitRate(8 * Math.max(0, ...history.points.map((point) => point[field] ?? 0)));
  const measured = sum((late?.points ?? []).map(({ measured_seconds }) => measured_seconds));
  return (
    <dl class="stats">
      <Stat
        name="Throughput now"
        note={
          late
            ? `at most ${peakOf('down_peak')} down, ${peakOf('up_peak')} up`
            : 'No node is online.'
        }
      >
        {late && measured > 0 ? bitRate((trafficOf(late) * 8) / measured) : 'unknown'}
      </Stat>
      <Stat name="Traffic" note={before && changeInWords(trafficOf(history), trafficOf(before))}>
        {isOfAll ? (
          <Link href={paths.operator.usage}>{bytes(trafficOf(history))}</Link>
        ) : (
          bytes(trafficOf(history))
        )}
      </Stat>
      <Stat
        name="Rejected connections"
        note={
          before
            ? changeInWords(rejectedOf(history), rejectedOf(before))
            : rejected
                .slice(0, 2)
                .map(({ reason, count }) => `${inCounts.text(count)} ${inWords(reason)}`)
                .join(', ')
        }
      >
        {inCounts.text(rejectedOf(history))}
      </Stat>
    </dl>
  );
}

/** The number of reasons with a colour of their own; the others share one. */
const maxReasons = 6;

function chartsOf(history: History, before: History | undefined) {
  const points = filled(history);
  const previous = before ? filled(before) : [];
  const starts = points.map(({ at }) => at);
  type Value = (point: Filled) => number | null;
  const line = (name: string, color: string, read: Value, low?: Value, high?: Value): Series[] => [
    {
      ...{ name, color, mark: 'line', values: points.map(read) },
      ...(low && high && { low: points.map(low), high: points.map(high) }),
    },
    ...previousLine(name, color, read),
  ];
  const previousLine = (name: string, color: string, read: Value): Series[] =>
    before
      ? [
          {
            ...{ name: `${name}, previous period`, color, mark: 'line', isDashed: true },
            values: points.map((_, at) => {
              const point = previous[at];
              return point ? read(point) : null;
            }),
          },
        ]
      : [];
  const reasons = rejectionsIn(points).map(({ reason }) => reason);
  const named = reasons.slice(0, maxReasons);
  const others = reasons.slice(maxReasons);
  const countOf =
    (reasons: readonly string[]): Value =>
    ({ rejected }) =>
      rejected && sum(reasons.map((reason) => rejected[reason] ?? 0));
  const bar = (name: string, color: number, reasons: readonly string[]): Series => ({
    ...{ name, color: `--series-${color}`, mark: 'bar', values: points.map(countOf(reasons)) },
  });
  const chart = (title: string, unit: Unit, empty: string, ...series: Series[][]) => ({
    ...{ title, starts, unit, empty, seconds: history.step },
    series: series.flat(),
  });
  const all: Value = ({ rejected }) => rejected && sum(Object.values(rejected));
  return [
    chart(
      'Throughput',
      inBitsPerSecond,
      'No traffic in this time range.',
      line(
        'Down',
        '--series-0',
        ({ down }) => down.mean,
        ({ down }) => down.low,
        ({ down }) => down.high,
      ),
      line(
        'Up',
        '--series-1',
        ({ up }) => up.mean,
        ({ up }) => up.low,
        ({ up }) => up.high,
      ),
    ),
    chart(
      'Open connections',
      inCounts,
      'No connection was open.',
      line(
        'Average',
        '--series-0',
        ({ connections }) => connections,
        ({ connections_min }) => connections_min,
        ({ connections_peak }) => connections_peak,
      ),
    ),
    chart(
      'Rejected connections by reason',
      inCounts,
      'No connection was rejected.',
      [
        ...named.map((reason, at) => bar(inWords(reason), at, [reason])),
        ...(others.length > 0 ? [bar('others', maxReasons, others)] : []),
        ...(named.length === 0 ? [bar('none', 0, [])] : []),
      ],
      previousLine('All', '--text-soft', all),
    ),
    chart(
      'Longest lag',
      inSeconds,
      'No lag in this time range.',
      line('Lag', '--series-0', ({ lag_peak }) => lag_peak),
    ),
    chart(
      'Problems',
      inCounts,
      'No node reported a problem.',
      line('Problems', '--series-0', ({ faults_peak }) => faults_peak),
    ),
  ];
}
