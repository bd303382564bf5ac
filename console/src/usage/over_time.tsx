// Usage by day or hour: as a chart, a table and a file.
import { useMemo } from 'preact/hooks';
import { useAddressField, useAddressState } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { daySeconds, everyPart, type Part, type UsageOfPart, writtenPart } from '../charts/days.ts';
import { type Series, UsageChart } from '../charts/usage_chart.tsx';
import { csv, download } from '../csv.ts';
import { columnBytes } from '../format.ts';
import { now } from '../now.ts';
import {
  Button,
  Card,
  type Column,
  Loaded,
  optionsIn,
  SelectField,
  Table,
  together,
} from '../ui/ui.ts';
import { colorOfOthers, colorsOf } from './colors.ts';
import { fileName, type Report, type ReportQuery } from './report.ts';

/** The parts that can be distinguished in a bar; the rest is one part. */
const maxServers = 6;

interface OverTimeCardProps {
  /** By day. */
  report: Report;
  query: ReportQuery;
  /** Names of servers, the most traffic first. */
  servers: readonly string[];
}

export function OverTimeCard({ report: daily, query, servers }: OverTimeCardProps) {
  const { account } = useScope();
  const split = useAddressField('split', 'direction');
  const [numbers, setNumbers] = useAddressState('numbers');
  const bySplit = split.value === 'server' && servers.length > 1;
  const each = useAddressField('each', 'day');
  const hasHours = canTellHours(daily);
  const by: Part = hasHours && each.value === 'hour' ? 'hour' : 'day';
  const hourlyQuery = { query: { ...query, by: 'hour' as const } };
  const hourly = useReadIn(useScope(), 'get_usage', hourlyQuery, { enabled: by === 'hour' });
  const report = by === 'hour' ? hourly.data : daily;
  const parts = useMemo(() => (report ? everyPart(report, report.rows, by) : []), [report, by]);
  const starts = useMemo(() => parts.map(({ start }) => start), [parts]);
  const top = bySplit ? servers.slice(0, maxServers) : [];
  const { ofServers, reads } = usePartsOfServers(top, query, parts, by);
  const shown = together([...(by === 'hour' ? [hourly] : []), ...reads]);
  const series = useMemo(
    () => (bySplit ? withOthers(ofServers, parts) : byDirection(parts)),
    [bySplit, ofServers, parts],
  );
  const save = () => {
    const header = [by, ...series.map(({ name }) => `${name}_bytes`.toLowerCase()), 'total_bytes'];
    const rows = parts.map(({ start, total }, at) => [
      isoPart(start, by),
      ...series.map(({ values }) => values[at] ?? 0),
      total,
    ]);
    download(fileName(account, daily, by === 'hour' ? 'hour' : ''), csv(header, rows));
  };
  return (
    <Card
      title={by === 'day' ? 'By day' : 'By hour'}
      note={by === 'day' ? 'Days are UTC, from midnight to midnight.' : 'Hours are UTC.'}
      actions={
        <>
          {hasHours && (
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
                options={optionsIn({ direction: 'Up and down', server: 'Server' })}
              />
            </div>
          )}
          <Button icon="download" disabled={!shown.data} onClick={save}>
            Download CSV<span class="visually-hidden"> by {by}</span>
          </Button>
        </>
      }
    >
      <Loaded of={shown} what={`usage by ${by}`}>
        {() => (
          <>
            <UsageChart label={`Usage by ${by}`} by={by} starts={starts} series={series} />
            <details
              class="numbers"
              open={numbers !== ''}
              onToggle={({ currentTarget }) => setNumbers(currentTarget.open ? 'shown' : '')}
            >
              <summary>Show as table</summary>
              <Table
                caption={`Usage by ${by}, UTC`}
                rows={parts.toReversed()}
                keyOf={({ start }) => start}
                columns={columnsOf(series, parts, by)}
              />
            </details>
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** Hours are stored for a while only, and a bar for each hour of a month would be too small. */
const maxDaysInHours = 8;
const hoursKeptSeconds = 90 * daySeconds;

function canTellHours({ from, to }: Pick<Report, 'from' | 'to'>): boolean {
  const isShort = to - from <= maxDaysInHours * daySeconds;
  return isShort && from > now.value - hoursKeptSeconds;
}

/** "2026-11-21", and of an hour "2026-11-21T14:00Z". */
function isoPart(start: number, by: Part): string {
  const iso = new Date(start * 1000).toISOString();
  return by === 'day' ? iso.slice(0, 10) : `${iso.slice(0, 16)}Z`;
}

function columnsOf(
  series: readonly Series[],
  parts: readonly UsageOfPart[],
  by: Part,
): Array<Column<UsageOfPart>> {
  const positions = new Map(parts.map(({ start }, at) => [start, at]));
  return [
    {
      heading: by === 'day' ? 'Day' : 'Hour',
      cell: ({ start }) => writtenPart(start, by),
      names: true,
    },
    ...series.map(({ name, values }) => ({
      heading: name,
      numeric: true,
      cell: ({ start }: UsageOfPart) => columnBytes(values[positions.get(start) ?? 0] ?? 0),
    })),
    { heading: 'Total', numeric: true, cell: ({ total }) => columnBytes(total) },
  ];
}

export const byDirection = (parts: readonly UsageOfPart[]): Series[] => [
  { name: 'Down', values: parts.map(({ down }) => down) },
  { name: 'Up', values: parts.map(({ up }) => up) },
];

/** Adds a series for the rest, of other servers. */
function withOthers(series: readonly Series[], parts: readonly UsageOfPart[]): Series[] {
  const rest = parts.map(({ total }, at) =>
    Math.max(0, total - series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  );
  return rest.some((value) => value > 0)
    ? [...series, { name: 'Others', values: rest, color: colorOfOthers }]
    : [...series];
}

/**
 * Usage of each of these servers by day or hour: one request each, as a report has one grouping.
 */
function usePartsOfServers(
  servers: readonly string[],
  query: ReportQuery,
  parts: readonly UsageOfPart[],
  by: Part,
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
    return servers.map((name, at) => {
      const totals = new Map(reads[at]?.data?.rows.map((row) => [row[by], row.total]));
      const values = parts.map(({ start }) => totals.get(start) ?? 0);
      return { name, values, color: colors.get(name) ?? 0 };
    });
  }, [parts, by, ...slots.map(({ data }) => data), servers.join(' ')]);
  return { ofServers, reads };
}
