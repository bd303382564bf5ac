// Open connections as a table: groups of one user, address and exit IP, or sums of these.
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import { operatorScope, type Scope } from '../api/scope.ts';
import { columnBytes, isoTime } from '../format.ts';
import { CutText } from '../forms/columns.tsx';
import type { CsvColumns } from '../forms/export.tsx';
import type { OpenDialog } from '../forms/form_dialog.tsx';
import { paths } from '../paths.ts';
import { Since } from '../relative_time.tsx';
import { serviceName } from '../services.ts';
import { type Column, Table, type TableProps } from '../ui/ui.ts';
import { endAction } from './end.tsx';
import type { ConnectionGroup, ConnectionSum, EndTarget } from './groups.ts';
import { stateOf } from './read.ts';

const ways: Record<ConnectionGroup['credentials'][number], string> = {
  authlist: 'IP authlist',
  token: 'Proxy access token',
  vpn: 'VPN password',
};
export const credentialsText = ({ credentials }: ConnectionGroup) =>
  credentials.map((way) => ways[way] ?? way).join(', ');

/** The fields that name a sum. */
export type Named = Partial<Pick<ConnectionSum, 'account' | 'user' | 'server' | 'address'>>;

type Figures = Pick<ConnectionSum, 'connections' | 'up' | 'down' | 'since' | 'last_byte_at'>;
const figures: Column<Figures>[] = [
  {
    heading: 'Connections',
    numeric: true,
    cell: ({ connections }) => connections.toLocaleString('en'),
  },
  { heading: 'Down', numeric: true, cell: ({ down }) => columnBytes(down) },
  { heading: 'Up', numeric: true, rank: 2, cell: ({ up }) => columnBytes(up) },
  { heading: 'Since', word: 'since', rank: 1, cell: ({ since }) => <Since at={since} /> },
  {
    heading: 'Last data',
    word: 'last data',
    rank: 3,
    cell: ({ last_byte_at }) => <Since at={last_byte_at} />,
  },
];

const accountColumn: Column<Named> = {
  heading: 'Account',
  cut: true,
  cell: ({ account = '' }) => (
    <Link title={account} href={paths.operator.account(account, 'connections')}>
      {account}
    </Link>
  ),
};
const userColumn = (scope: Scope | undefined): Column<Named> => ({
  heading: 'User',
  names: true,
  cut: true,
  cell: ({ account = '', user = '' }) => (
    <Link title={user} href={(scope ?? operatorScope(account)).paths.user(user)}>
      {user}
    </Link>
  ),
});
const addressColumn: Column<Named> = {
  heading: 'Address',
  cell: ({ address = '' }) => <span class="mono">{address}</span>,
};
const serverColumn = (scope: Scope | undefined): Column<Named> => ({
  heading: 'Server',
  cell: ({ server = '' }) => (
    <Link href={(scope?.paths ?? paths.operator).server(server)}>{server}</Link>
  ),
});

const groupColumns = (scope: Scope | undefined): Column<ConnectionGroup>[] => [
  userColumn(scope),
  ...(scope ? [] : [accountColumn]),
  addressColumn,
  serverColumn(scope),
  { heading: 'Exit IP', rank: 4, cell: ({ exit_ip }) => <span class="mono">{exit_ip}</span> },
  ...figures,
  {
    heading: 'Service',
    cut: true,
    rank: 5,
    cell: ({ service }) => <CutText text={serviceName(service)} />,
  },
  {
    heading: 'Identified by',
    cut: true,
    rank: 6,
    cell: (group) => <CutText text={credentialsText(group)} />,
  },
  ...(scope?.isOperator === false
    ? []
    : [
        {
          heading: 'Nodes',
          cut: true,
          rank: 7,
          cell: ({ nodes = [] }: ConnectionGroup) => <CutText text={nodes.join(', ')} />,
        },
      ]),
];

interface GroupsProps {
  rows: readonly ConnectionGroup[];
  scope: Scope | undefined;
  choice?: TableProps<never>['choice'];
  /** The column that all rows have in common. */
  without?: 'User' | 'Server' | 'Address';
  /** Where a row ends its connections. */
  open: OpenDialog;
}

export function GroupsTable({ rows, scope, choice, without, open }: GroupsProps) {
  const columns = groupColumns(scope)
    .filter(({ heading }) => heading !== without)
    .map((column, at) => (at === 0 ? { ...column, names: true } : column));
  return (
    <Table
      compact
      caption="Open connections"
      {...{ columns, rows, choice }}
      keyOf={({ server, service, account, user, address, exit_ip }) =>
        [server, service, account, user, address, exit_ip].join(' ')
      }
      actions={({ account, user, address, exit_ip, server, service, authlist_entry }) => {
        const group = { user, address, exit_ip, server, service };
        const target = {
          ...group,
          ...(scope ? {} : { account }),
          ...(authlist_entry && { authlist_entry }),
        };
        return [endAction({ target, scope }, open)];
      }}
    />
  );
}

interface SumsProps {
  rows: readonly ConnectionSum[];
  /** The heading of what names a sum. */
  heading: string;
  scope: Scope | undefined;
  choice?: TableProps<never>['choice'];
  /** Shows the connections of one. */
  linkTo: (named: Named) => string;
  /** Where a row ends its connections: those of the filters. */
  open: OpenDialog;
  filters: EndTarget;
}

export function SumsTable({ rows, heading, scope, choice, linkTo, open, filters }: SumsProps) {
  const named = ({ account, user, server, address }: Named) => ({ account, user, server, address });
  const nameOf = (row: Named): string => row.user ?? row.server ?? row.address ?? row.account ?? '';
  const link = (row: Named): ComponentChildren => (
    <Link title={nameOf(row)} href={linkTo(named(row))}>
      {nameOf(row)}
    </Link>
  );
  const columns: Column<ConnectionSum>[] = [
    { heading, names: true, cut: true, cell: link },
    ...(heading === 'User' && !scope ? [accountColumn] : []),
    ...figures,
  ];
  return (
    <Table
      compact
      caption={`Open connections by ${heading.toLowerCase()}`}
      {...{ columns, rows, choice }}
      keyOf={(row) => Object.values(named(row)).join(' ')}
      actions={(row) => {
        const { account, ...others } = named(row);
        const target = { ...filters, ...stateOf({ ...others, ...(scope ? {} : { account }) }) };
        return [endAction({ target, scope }, open)];
      }}
    />
  );
}

/** The columns of the list as a file. */
export const csvColumns: CsvColumns<ConnectionGroup> = {
  header: [
    ...['account', 'user', 'address', 'server', 'exit_ip', 'service', 'connections'],
    ...['bytes_down', 'bytes_up', 'since', 'last_byte', 'identified_by'],
  ],
  cells: (group) => [
    ...[group.account, group.user, group.address, group.server, group.exit_ip, group.service],
    ...[group.connections, group.down, group.up, isoTime(group.since)],
    ...[isoTime(group.last_byte_at), credentialsText(group)],
  ],
};
