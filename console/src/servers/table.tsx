// The servers as a table, with actions for those who may change the contract.
import { Link } from 'wouter-preact';
import { type Scope, useScope } from '../api/scope.ts';
import { bytes, country } from '../format.ts';
import type { OpenDialog } from '../forms/form_dialog.tsx';
import { Since } from '../relative_time.tsx';
import '../style/lists.css';
import {
  Badge,
  Button,
  type Column,
  IconButton,
  PagedTable,
  type PagedTableProps,
} from '../ui/ui.ts';
import { AddButton, RemoveDialog } from './change.tsx';
import type { View } from './filters.ts';
import { LimitDialog } from './limit.tsx';
import { type Exits, type NetworkServer, type OwnServer, summaryOf, toneOf } from './rows.ts';

interface ServersTableProps
  extends Pick<
    PagedTableProps<NetworkServer>,
    'pages' | 'rows' | 'sorting' | 'selection' | 'buttons'
  > {
  view: View;
  open: OpenDialog;
}

export function ServersTable({ view, open, ...list }: ServersTableProps) {
  const scope = useScope();
  return (
    <PagedTable<NetworkServer>
      {...list}
      caption="Servers"
      columns={columnsOf(scope, view)}
      keyOf={({ server }) => server}
      {...(scope.flags.admin ? { actions: (row) => <Actions row={row} open={open} /> } : {})}
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
      cell: ({ location }) => `${location.city}, ${country(location.country)}`,
    },
    { heading: 'Services', cell: ({ services }) => shortServices(services) },
    { heading: 'Exit IPs', numeric: true, sort: 'ip_count', cell: ({ ip_count }) => ip_count },
  ];
  if (view === 'others') return columns;
  return [
    ...columns,
    {
      heading: 'Status',
      sort: 'state',
      cell: ({ own: entry }) => (entry ? <ServerStatus of={entry} /> : 'not on it'),
    },
    {
      heading: 'This period',
      numeric: true,
      sort: 'current',
      cell: ({ own: entry }) => entry && bytes(entry.current),
    },
    {
      heading: '30 days',
      numeric: true,
      sort: 'last_30_days',
      cell: ({ own: entry }) => entry && bytes(entry.last_30_days),
    },
    ...(isOperator ? limitColumns : []),
  ];
}

/** The limits of servers, which only operators set. */
const limitColumns: Array<Column<NetworkServer>> = [
  {
    heading: 'Own limit',
    sort: 'limit_bytes',
    cell: ({ own: entry }) =>
      entry && (
        <span class="badges">
          {entry.limit_bytes === null ? <span class="note">none</span> : bytes(entry.limit_bytes)}
          {entry.over_limit && <Badge tone="bad">over the limit</Badge>}
        </span>
      ),
  },
  {
    heading: 'Added',
    sort: 'added_at',
    cell: ({ own: entry }) => entry && <Since at={entry.added_at} />,
  },
];

/** All kinds of VPN are one word here; the server's own page lists them. */
function shortServices(services: readonly string[]): string {
  return [
    ...new Set(services.map((service) => (service.startsWith('vpn') ? 'vpn' : service))),
  ].join(', ');
}

export function ServerStatus({ of }: { of: { nodes: OwnServer['nodes']; exits: Exits } }) {
  const { state, text } = summaryOf(of);
  return <Badge tone={toneOf[state]}>{text}</Badge>;
}

function Actions({
  row: { own: entry, server, can_add, limit_bytes, ip_count },
  open,
}: {
  row: NetworkServer;
  open: OpenDialog;
}) {
  const { isOperator, readOnlyReason } = useScope();
  const limit = () =>
    open((close) => (
      <LimitDialog server={server} own={entry} formerLimit={limit_bytes} onClose={close} />
    ));
  if (entry) {
    const removed = { server, limit_bytes: entry.limit_bytes, ip_count };
    return (
      <>
        {isOperator && <IconButton icon="edit" label={`Own limit of ${server}`} onClick={limit} />}
        <IconButton
          icon="remove"
          label={`Remove ${server} from the contract`}
          disabledReason={readOnlyReason}
          onClick={() => open((close) => <RemoveDialog server={removed} onClose={close} />)}
        />
      </>
    );
  }
  if (!can_add) return null;
  if (!isOperator) return <AddButton server={server} />;
  return (
    <Button icon="plus" aria-label={`Add ${server} to the contract`} onClick={limit}>
      Add …
    </Button>
  );
}
