// What an account used, by day, server or user: a chart, the numbers, and the file of them.
import { useMemo, useState } from 'preact/hooks';
import type { Answer } from '../../api/api.ts';
import { useRead } from '../../api/reading.ts';
import { explain } from '../../api/sentences.ts';
import { DaysChart } from '../../charts/days_chart.tsx';
import { csv, download } from '../../csv.ts';
import { bytes, percent } from '../../format.ts';
import { now } from '../../now.ts';
import '../../style/usage.css';
import { Button } from '../../ui/button.tsx';
import { Card, Empty } from '../../ui/card.tsx';
import { Choice } from '../../ui/choice.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Table } from '../../ui/table.tsx';
import { daysBack, everyDay, isoDay, writtenDay } from '../../usage/days.ts';
import { fileName } from '../../usage/report.ts';
import type { Account } from '../states.ts';

type Report = Answer<'admin_get_account_usage'>;
type By = 'day' | 'server' | 'user';

const kinds = [
  { value: 'day', text: 'By day' },
  { value: 'server', text: 'By server' },
  { value: 'user', text: 'By user' },
] as const;

const spans = [
  { value: 'period', text: 'This billing period' },
  { value: '7', text: 'Last 7 days' },
  { value: '30', text: 'Last 30 days' },
  { value: '90', text: 'Last 90 days' },
];

export function UsagePart({ account: { name: account } }: { account: Account }) {
  const [by, setBy] = useState<By>('day');
  const [span, setSpan] = useState('period');
  const from = span === 'period' ? {} : { from: daysBack(now.value, Number(span)) };
  const report = useRead('admin_get_account_usage', {
    path: { account },
    query: { by, ...from },
  });
  const rows = useMemo(() => rowsOf(report.data), [report.data]);
  const save = () => {
    if (!report.data) return;
    download(
      fileName(account, report.data, by),
      csv(
        [by, 'up_bytes', 'down_bytes', 'total_bytes'],
        rows.map(({ file, up, down, total }) => [file, up, down, total]),
      ),
    );
  };
  return (
    <Card
      title="Usage"
      note="Counted by the hour; days are UTC."
      actions={
        <Button icon="download" onClick={save}>
          Download CSV
        </Button>
      }
    >
      <div class="filters">
        <SelectField label="Days" name="days" value={span} onInput={setSpan} options={spans} />
        <Choice label="Usage by" shown options={kinds} value={by} onChoose={setBy} />
      </div>
      <Loaded of={report} what="usage" explain={explain}>
        {(known) =>
          known.total === 0 ? (
            <Empty title="No traffic in these days." />
          ) : (
            <>
              <p>
                {bytes(known.total)}: {bytes(known.down)} down, {bytes(known.up)} up.
              </p>
              {known.by === 'day' && <Days rows={rows} />}
              <Numbers rows={rows} by={known.by} total={known.total} />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

interface Row {
  name: string;
  /** As files call it. */
  file: string;
  day: number;
  up: number;
  down: number;
  total: number;
}

/** Days in order, the rest by size. */
function rowsOf(report: Report | undefined): Row[] {
  if (!report) return [];
  if (report.by === 'day') {
    return everyDay(report, report.rows).map((row) => ({
      ...row,
      name: writtenDay(row.day),
      file: isoDay(row.day),
    }));
  }
  return report.rows
    .map(({ server, user, up, down, total }) => {
      const name = server ?? user ?? '';
      return { name, file: name, day: 0, up, down, total };
    })
    .toSorted((one, other) => other.total - one.total);
}

function Days({ rows }: { rows: readonly Row[] }) {
  const days = useMemo(() => rows.map(({ day }) => day), [rows]);
  const series = useMemo(
    () => [
      { name: 'Down', values: rows.map(({ down }) => down) },
      { name: 'Up', values: rows.map(({ up }) => up) },
    ],
    [rows],
  );
  return <DaysChart label="Usage by day" days={days} series={series} />;
}

function Numbers({ rows, by, total }: { rows: readonly Row[]; by: string; total: number }) {
  return (
    <Table
      caption={`Usage by ${by}`}
      rows={by === 'day' ? rows.toReversed() : rows}
      keyOf={({ file }) => file}
      columns={[
        {
          heading: by.charAt(0).toUpperCase() + by.slice(1),
          names: true,
          cell: ({ name }) => name,
        },
        { heading: 'Total', numeric: true, cell: (row) => bytes(row.total) },
        { heading: 'Share', numeric: true, cell: (row) => percent(row.total / total) },
        { heading: 'Up', numeric: true, cell: ({ up }) => bytes(up) },
        { heading: 'Down', numeric: true, cell: ({ down }) => bytes(down) },
      ]}
    />
  );
}
