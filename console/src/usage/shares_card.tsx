// Usage by server or user, the largest first, as bars in a table.
import { useScope } from '../api/scope.ts';
import { Share } from '../charts/share.tsx';
import { csv, download } from '../csv.ts';
import { columnBytes, percent } from '../format.ts';
import { Card, Empty, ExportCsvButton, Table } from '../ui/ui.ts';
import { fileName, type Report } from './report.ts';

interface SharesCardProps {
  by: 'server' | 'user';
  report: Report;
  /** Shows only this one. */
  onSelect: (name: string) => void;
}

export function SharesCard({ by, report, onSelect }: SharesCardProps) {
  const { account } = useScope();
  const rows = report.rows
    .map(({ up, down, total, ...row }) => ({ name: row[by] ?? '', up, down, total }))
    .sort((a, b) => b.total - a.total);
  const maxTotal = rows[0]?.total ?? 0;
  const title = by === 'server' ? 'By server' : 'By user';
  const save = () =>
    download(
      fileName(account, report, by),
      csv(
        [by, 'up_bytes', 'down_bytes', 'total_bytes'],
        rows.map(({ name, up, down, total }) => [name, up, down, total]),
      ),
    );
  return (
    <Card
      title={title}
      actions={rows.length > 0 && <ExportCsvButton records={title.toLowerCase()} onClick={save} />}
    >
      {rows.length === 0 ? (
        <Empty title="No traffic in this period" />
      ) : (
        <div class="shares">
          <Table
            caption={`Usage ${title.toLowerCase()}, the largest first`}
            rows={rows}
            keyOf={({ name }) => name}
            columns={[
              {
                heading: by === 'server' ? 'Server' : 'User',
                names: true,
                cell: ({ name }) =>
                  rows.length === 1 ? (
                    name
                  ) : (
                    <button type="button" class="text-button" onClick={() => onSelect(name)}>
                      <span class="visually-hidden">Show only </span>
                      {name}
                    </button>
                  ),
              },
              {
                heading: 'Total',
                numeric: true,
                cell: ({ total }) => <Share value={total} max={maxTotal} />,
              },
              {
                heading: 'Share',
                numeric: true,
                cell: ({ total }) => percent(report.total > 0 ? total / report.total : 0),
              },
              {
                heading: 'Down',
                word: 'down',
                numeric: true,
                cell: ({ down }) => columnBytes(down),
              },
              { heading: 'Up', word: 'up', numeric: true, cell: ({ up }) => columnBytes(up) },
            ]}
          />
        </div>
      )}
    </Card>
  );
}
