// History of the network, a server or a node: traffic, connections, rejections and lag over time,
// as figures and charts.
import { useMemo } from 'preact/hooks';
import { useAddressField } from '../address.ts';
import type { ResponseOf } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { daySeconds } from '../charts/days.ts';
import { type Line, LineChart, type Lines } from '../charts/line_chart.tsx';
import { csv, download } from '../csv.ts';
import { bitRate, bytes, isoTime } from '../format.ts';
import { now } from '../now.ts';
import { Button, Card, Empty, Loaded, optionsIn, SelectField, Stat } from '../ui/ui.ts';
import '../style/usage.css';
import { type Filled, filled, rejectionsIn } from './history_points.ts';

type History = ResponseOf<'admin_get_history'>;

const spans = { day: 1, week: 7, month: 30, year: 365 };
type Span = keyof typeof spans;
const spanNames = { day: '24 hours', week: '7 days', month: '30 days', year: '12 months' };
/** Hours of one node or server are not stored for a year. */
const { year: _, ...ofOne } = spanNames;

/** The shortest step: the card reads again when one begins. */
const stepSeconds = 300;

interface HistoryCardProps {
  /** Of this server or node alone. */
  server?: string;
  node?: number;
  /** Whether any node reports now. */
  isOnline: boolean;
}

export function HistoryCard({ server, node, isOnline }: HistoryCardProps) {
  const isOfAll = server === undefined && node === undefined;
  const names = isOfAll ? spanNames : ofOne;
  const spanField = useAddressField('span', 'day');
  const span = (spanField.value in names ? spanField.value : 'day') as Span;
  const to = Math.floor(now.value / stepSeconds + 1) * stepSeconds;
  const of = server === undefined ? {} : { server };
  const history = useRead('admin_get_history', {
    query: {
      from: to - spans[span] * daySeconds,
      to,
      ...(node === undefined ? of : { node: String(node) }),
    },
  });
  const subject = server ?? (node === undefined ? 'network' : `node-${node}`);
  return (
    <Card
      title="Over time"
      note="Times are UTC."
      actions={
        <>
          <div class="split">
            <SelectField label="Span" {...spanField} value={span} options={optionsIn(names)} />
          </div>
          <Button
            icon="download"
            disabled={!history.data}
            onClick={() => history.data && save(subject, history.data)}
          >
            Download CSV<span class="visually-hidden"> of {subject} over time</span>
          </Button>
        </>
      }
    >
      <Loaded of={history} what="the history">
        {(historyData) =>
          filled(historyData, now.peek()).length === 0 ? (
            <Empty title="No measurements in this period.">
              Online nodes are measured each minute, and report traffic every few seconds.
            </Empty>
          ) : (
            <Charts history={historyData} isOnline={isOnline} />
          )
        }
      </Loaded>
    </Card>
  );
}

const inUtc = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
  timeZone: 'UTC',
});
const time = (seconds: number) => inUtc.format(seconds * 1000);
const whole = (value: number) => Math.round(value).toLocaleString('en');

function Charts({ history, isOnline }: { history: History; isOnline: boolean }) {
  const points = useMemo(() => filled(history, now.peek()), [history]);
  const charts = useMemo(() => chartsOf(points), [points]);
  const { last, peak } = throughputOf(points);
  const rejected = rejectionsIn(history.points);
  const all = rejected.reduce((sum, { count }) => sum + count, 0);
  const traffic = history.points.reduce((sum, { up, down }) => sum + up + down, 0);
  return (
    <>
      <dl class="stats">
        <Stat
          name="Throughput now"
          note={isOnline ? `at most ${bitRate(peak)}` : 'No node is online.'}
        >
          {isOnline ? bitRate(last) : 'unknown'}
        </Stat>
        <Stat name="Traffic">{bytes(traffic)}</Stat>
        <Stat
          name="Rejected connections"
          note={rejected
            .slice(0, 2)
            .map(({ reason, count }) => `${whole(count)} ${inWords(reason)}`)
            .join(', ')}
        >
          {whole(all)}
        </Stat>
      </dl>
      <div class="charts">
        {charts.map(({ title, value, ...lines }) => (
          <section key={title} class="stack-tight">
            <h3>{title}</h3>
            <LineChart
              label={inSentence(title, lines, value)}
              of={lines}
              value={value}
              time={time}
            />
          </section>
        ))}
      </div>
    </>
  );
}

const inWords = (reason: string) => reason.replaceAll('_', ' ');

/** For screen readers; the file has every number. */
function inSentence(title: string, { lines }: Lines, value: (value: number) => string): string {
  const parts = lines.map(({ name, values }) => {
    const knownValues = values.filter((value) => value !== null);
    const last = knownValues.at(-1);
    if (last === undefined) return `${name}: unknown`;
    return `${name}: ${value(last)} now, at most ${value(Math.max(...knownValues))}`;
  });
  return `${title}. ${parts.join('; ')}.`;
}

function throughputOf(points: readonly Filled[]) {
  const rates = points.map(({ up_rate, down_rate }) => (up_rate ?? 0) + (down_rate ?? 0));
  return { last: rates.at(-1) ?? 0, peak: Math.max(0, ...rates) };
}

/** The number of reasons with lines of their own; the others share one. */
const maxReasons = 4;

function chartsOf(points: readonly Filled[]) {
  const times = points.map(({ at }) => at);
  const line = (name: string, color: number, of: (point: Filled) => number | null): Line => ({
    name,
    variable: `--series-${color}`,
    values: points.map(of),
  });
  const reasons = rejectionsIn(points).map(({ reason }) => reason);
  const named = reasons.slice(0, maxReasons);
  const others = reasons.slice(maxReasons);
  const rejected = [
    ...named.map((reason, at) => line(inWords(reason), at, (point) => point.rejected[reason] ?? 0)),
    ...(others.length > 0
      ? [
          line('others', maxReasons, ({ rejected }) =>
            others.reduce((sum, reason) => sum + (rejected[reason] ?? 0), 0),
          ),
        ]
      : []),
  ];
  const ofCounts = { times, value: whole };
  return [
    {
      title: 'Throughput',
      times,
      value: bitRate,
      lines: [
        line('Down', 0, ({ down_rate }) => down_rate),
        line('Up', 1, ({ up_rate }) => up_rate),
      ],
    },
    {
      title: 'Open connections',
      ...ofCounts,
      lines: [
        line('Maximum', 2, ({ connections_peak }) => connections_peak),
        line('Average', 0, ({ connections }) => connections),
      ],
    },
    {
      title: 'Rejected connections, by reason',
      ...ofCounts,
      lines: rejected.length > 0 ? rejected : [line('none', 0, () => 0)],
    },
    {
      title: 'Lag and problems',
      ...ofCounts,
      lines: [
        line('Longest lag (seconds)', 3, ({ lag_peak }) => lag_peak),
        line('Problems', 5, ({ faults_peak }) => faults_peak),
      ],
    },
  ];
}

function save(subject: string, { points }: History): void {
  const reasons = rejectionsIn(points).map(({ reason }) => reason);
  const columns = [
    'up',
    'down',
    'connections',
    'connections_peak',
    'lag_peak',
    'faults_peak',
  ] as const;
  const header = ['at', ...columns, ...reasons.map((reason) => `rejected_${reason}`)];
  const rows = points.map((point) => [
    isoTime(point.at),
    ...columns.map((column) => point[column] ?? ''),
    ...reasons.map((reason) => point.rejected[reason] ?? 0),
  ]);
  download(`history-${subject}.csv`, csv(header, rows));
}
