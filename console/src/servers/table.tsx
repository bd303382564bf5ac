// The servers as a table, with actions for those who may change the contract.
import { Link } from 'wouter-preact';
import { type Scope, useScope } from '../api/scope.ts';
import { explain } from '../api/sentences.ts';
import { cityName, columnBytes } from '../format.ts';
import { CutText } from '../forms/columns.tsx';
import { type CsvColumns, timeText } from '../forms/export.tsx';
import type { OpenDialog } from '../forms/form_dialog.tsx';
import { Since } from '../relative_time.tsx';
import '../style/lists.css';
import { shortServices } from '../services.ts';
import {
  Badge,
  type Column,
  type ListProps,
  notifyError,
  type RowAction,
  Table,
} from '../ui/ui.ts';
import { addServer, RemoveDialog } from './change.tsx';
import type { View } from './filters.ts';
import { LimitDialog } from './limit.tsx';
import { type Exits, type NetworkServer, type OwnServer, summaryOf, toneOf } from './rows.ts';

interface ServersTableProps extends ListProps<NetworkServer> {
  view: View;
  open: OpenDialog;
}

export function ServersTable({ view, open, ...list }: ServersTableProps) {
  const scope = useScope();
  return (
    <Table<NetworkServer>
      {...list}
      caption="Servers"
      one="server"
      many="servers"
      columns={columnsOf(scope, view)}
      keyOf={({ server }) => server}
      {...(scope.flags.admin ? { actions: (row) => actionsOn(row, scope, open) } : {})}
    />
  );
}

function columnsOf({ isOperator, paths }: Scope, view: View): Array<Column<NetworkServer>> {
  const columns: Array<Column<NetworkServer>> = [
    {
      heading: 'Server',
      names: true,
      sort: 'name',
      cell: ({ server }) => <Link href={paths.server(server)}>{server}</Link>,
    },
    {
      heading: 'City',
      sort: 'place',
      cut: true,
      cell: ({ location }) => <CutText text={cityName(location)} />,
    },
    {
      heading: 'Services',
      cut: true,
      rank: 3,
      cell: ({ services }) => <CutText text={shortServices(services)} />,
    },
    {
      heading: 'Exit IPs',
      numeric: true,
      sort: 'ip_count',
      rank: 2,
      word: 'exit IPs',
      cell: ({ ip_count }) => ip_count,
    },
  ];
  if (view === 'others') return columns;
  return [
    ...columns,
    {
      heading: 'Status',
      sort: 'state',
      cell: ({ own: entry }) => (entry ? <ServerStatus server={entry} /> : 'not on the contract'),
    },
    {
      heading: 'This period',
      numeric: true,
      sort: 'current',
      word: 'this period',
      cell: ({ own: entry }) => entry && columnBytes(entry.current),
    },
    {
      heading: '30 days',
      numeric: true,
      sort: 'last_30_days',
      rank: 1,
      word: 'in 30 days',
      cell: ({ own: entry }) => entry && columnBytes(entry.last_30_days),
    },
    ...(isOperator ? limitColumns : []),
  ];
}

/** The limits of servers, which only operators set. */
const limitColumns: Array<Column<NetworkServer>> = [
  {
    heading: 'Own limit',
    numeric: true,
    sort: 'limit_bytes',
    rank: 2,
    word: 'limit',
    cell: ({ own: entry }) =>
      entry && (
        <span class="badges">
          {entry.limit_bytes === null ? (
            <span class="note">none</span>
          ) : (
            columnBytes(entry.limit_bytes)
          )}
          {entry.over_limit && <Badge tone="bad">over the limit</Badge>}
        </span>
      ),
  },
  {
    heading: 'Added',
    sort: 'added_at',
    rank: 4,
    word: 'added',
    cell: ({ own: entry }) => entry && <Since at={entry.added_at} />,
  },
];

export function ServerStatus({ server }: { server: { nodes: OwnServer['nodes']; exits: Exits } }) {
  const { state, text } = summaryOf(server);
  return <Badge tone={toneOf[state]}>{text}</Badge>;
}

function actionsOn(row: NetworkServer, scope: Scope, open: OpenDialog): RowAction[] {
  const { own: entry, server, can_add, limit_bytes, ip_count } = row;
  const { isOperator, readOnlyReason: disabledReason } = scope;
  const limit = () =>
    open((close) => (
      <LimitDialog server={server} own={entry} formerLimit={limit_bytes} onClose={close} />
    ));
  if (entry) {
    const removed = { server, limit_bytes: entry.limit_bytes, ip_count };
    const remove = () => open((close) => <RemoveDialog server={removed} onClose={close} />);
    return [
      ...(isOperator
        ? [
            {
              ...{ text: 'Own limit', label: `Own limit of ${server}` },
              ...{ icon: 'edit' as const, onSelect: limit },
            },
          ]
        : []),
      {
        ...{ text: 'Remove', label: `Remove ${server} from the contract`, icon: 'remove' },
        ...{ disabledReason, onSelect: remove },
      },
    ];
  }
  if (!can_add) return [];
  const add = () =>
    void addServer(scope, server).catch((error: unknown) => notifyError(explain(error).sentence));
  return [
    {
      ...{ text: isOperator ? 'Add …' : 'Add', label: `Add ${server} to the contract` },
      ...{ isWritten: true, disabledReason, onSelect: isOperator ? limit : add },
    },
  ];
}

/** The columns of the list as a file. */
export const csvColumns: CsvColumns<NetworkServer> = {
  header: [
    ...['server', 'hostname', 'title', 'city', 'country', 'services', 'exit_ips', 'state'],
    ...['bytes_in_period', 'bytes_in_30_days', 'own_limit_bytes', 'added_at'],
  ],
  cells: ({ server, hostname, title, location, own: entry, ...row }) => [
    ...[server, hostname, title, location.city, location.country, row.services.join(' ')],
    ...[row.ip_count, entry ? summaryOf(entry).state : 'not on the contract'],
    ...[entry?.current ?? '', entry?.last_30_days ?? '', entry?.limit_bytes ?? ''],
    timeText(entry?.added_at ?? null),
  ],
};
