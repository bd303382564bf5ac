// Usage by day: the chart, the same numbers as a table, and as a file.
import { useMemo } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import { useScope } from '../api/scope.ts';
import { DaysChart, type Series } from '../charts/days_chart.tsx';
import { csv, download } from '../csv.ts';
import { bytes } from '../format.ts';
import { Button, Card, type Column, optionsIn, SelectField, Table } from '../ui/ui.ts';
import { everyDay, isoDay, type UsageOfDay, writtenDay } from './days.ts';
import { fileName, type Report, type ReportQuery } from './report.ts';

/** Parts that one can still tell apart in a bar; the rest is one part. */
const most_servers = 6;

interface DaysCardProps {
  report: Report;
  query: ReportQuery;
  /** Names of servers, those with the most traffic first. */
  servers: readonly string[];
}

export function DaysCard({ report, query, servers }: DaysCardProps) {
  const { account } = useScope();
  const [split, setSplit] = useAddressState('split', 'direction');
  const [numbers, setNumbers] = useAddressState('numbers');
  const bySplit = split === 'server' && servers.length > 1;
  const days = useMemo(() => everyDay(report, report.rows), [report]);
  const starts = useMemo(() => days.map(({ day }) => day), [days]);
  const top = bySplit ? servers.slice(0, most_servers) : [];
  const ofServers = useDaysOfServers(top, query, days);
  const series = useMemo(
    () => (bySplit ? withOthers(ofServers, days) : byDirection(days)),
    [bySplit, ofServers, days],
  );
  const save = () => {
    const header = [
      'day',
      ...series.map(({ name }) => `${name}_bytes`.toLowerCase()),
      'total_bytes',
    ];
    const rows = days.map(({ day, total }, at) => [
      isoDay(day),
      ...series.map(({ values }) => values[at] ?? 0),
      total,
    ]);
    download(fileName(account, report), csv(header, rows));
  };
  return (
    <Card
      title="By day"
      note="Days are UTC, from midnight to midnight."
      actions={
        <>
          {servers.length > 1 && (
            <div class="split">
              <SelectField
                label="Split by"
                name="split"
                value={split}
                options={optionsIn({ direction: 'Up and down', server: 'Server' })}
                onInput={setSplit}
              />
            </div>
          )}
          <Button icon="download" onClick={save}>
            Download CSV<span class="visually-hidden"> by day</span>
          </Button>
        </>
      }
    >
      <DaysChart label="Usage by day" days={starts} series={series} />
      <details
        class="numbers"
        open={numbers !== ''}
        onToggle={({ currentTarget }) => setNumbers(currentTarget.open ? 'shown' : '')}
      >
        <summary>The same numbers as a table</summary>
        <Table
          caption="Usage by day, UTC"
          rows={days.toReversed()}
          keyOf={({ day }) => day}
          columns={columnsOf(series, days)}
        />
      </details>
    </Card>
  );
}

function columnsOf(
  series: readonly Series[],
  days: readonly UsageOfDay[],
): Array<Column<UsageOfDay>> {
  const positions = new Map(days.map(({ day }, at) => [day, at]));
  return [
    { heading: 'Day', cell: ({ day }) => writtenDay(day), names: true },
    ...series.map(({ name, values }) => ({
      heading: name,
      numeric: true,
      cell: ({ day }: UsageOfDay) => bytes(values[positions.get(day) ?? 0] ?? 0),
    })),
    { heading: 'Total', numeric: true, cell: ({ total }) => bytes(total) },
  ];
}

const byDirection = (days: readonly UsageOfDay[]): Series[] => [
  { name: 'Down', values: days.map(({ down }) => down) },
  { name: 'Up', values: days.map(({ up }) => up) },
];

/** The rest, of other servers, is one part more. */
function withOthers(series: readonly Series[], days: readonly UsageOfDay[]): Series[] {
  const rest = days.map(({ total }, at) =>
    Math.max(0, total - series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  );
  return rest.some((value) => value > 0)
    ? [...series, { name: 'Others', values: rest }]
    : [...series];
}

/** Usage by day of each of these servers: one request each, as a report is grouped in one way only. */
function useDaysOfServers(
  servers: readonly string[],
  query: ReportQuery,
  days: readonly UsageOfDay[],
): Series[] {
  const scope = useScope();
  // Always as many: hooks are told apart by their order.
  const reads = Array.from({ length: most_servers }, (_, at) => {
    const server = servers[at];
    return useReadIn(
      scope,
      'get_usage',
      { query: { ...query, by: 'day', server: server ?? '' } },
      { enabled: server !== undefined },
    ).data;
  });
  const key = reads.slice(0, servers.length);
  return useMemo(
    () =>
      servers.map((name, at) => {
        const totals = new Map(key[at]?.rows.map(({ day, total }) => [day, total]));
        return { name, values: days.map(({ day }) => totals.get(day) ?? 0) };
      }),
    [days, ...reads, servers.join(' ')],
  );
}
