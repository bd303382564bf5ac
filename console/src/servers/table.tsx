// The servers as a table, with the actions on each for those who may change the contract.
import { Link } from 'wouter-preact';
import { type Scope, useScope } from '../api/scope.ts';
import { bytes } from '../format.ts';
import type { OpenDialog } from '../forms/form_dialog.tsx';
import { Since } from '../relative_time.tsx';
import {
  Badge,
  Button,
  type Column,
  IconButton,
  type Listed,
  LongTable,
  type Tone,
} from '../ui/ui.ts';
import { AddButton, RemoveDialog } from './change.tsx';
import { LimitDialog } from './limit.tsx';
import { type Filters, type OwnServer, type Row, type Standing, summaryOf } from './rows.ts';

export const toneOf: Record<Standing, Tone> = {
  ok: 'good',
  warn: 'warn',
  crit: 'bad',
  unknown: 'neutral',
  'not connected': 'bad',
  'no node yet': 'neutral',
};

interface ServersTableProps extends Listed<Row> {
  view: Filters['view'];
  open: OpenDialog;
}

export function ServersTable({ view, open, ...list }: ServersTableProps) {
  const scope = useScope();
  return (
    <LongTable<Row>
      {...list}
      one="server"
      many="servers"
      caption="Servers"
      columns={columnsOf(scope, view)}
      keyOf={(row) => row.name}
      {...(scope.flags.admin ? { actions: (row) => <Actions row={row} open={open} /> } : {})}
    />
  );
}

function columnsOf({ isOperator, paths }: Scope, view: Filters['view']): Array<Column<Row>> {
  const columns: Array<Column<Row>> = [
    {
      heading: 'Server',
      names: true,
      cell: ({ name }) => <Link href={paths.server(name)}>{name}</Link>,
    },
    {
      heading: 'City',
      cell: ({ city, country_name }) => `${city}, ${country_name}`,
    },
    { heading: 'Services', cell: ({ services }) => shortServices(services) },
    { heading: 'Exit IPs', numeric: true, cell: ({ ip_count }) => ip_count },
  ];
  if (view === 'others') return columns;
  return [
    ...columns,
    { heading: 'Status', cell: ({ own }) => (own ? <ServerStatus of={own} /> : 'not on it') },
    {
      heading: 'This period',
      numeric: true,
      cell: ({ own }) => own?.usage && bytes(own.usage.current),
    },
    {
      heading: '30 days',
      numeric: true,
      cell: ({ own }) => own?.usage && bytes(own.usage.last_30_days),
    },
    ...(isOperator ? limitColumns : []),
  ];
}

/** Operators set own limits. */
const limitColumns: Array<Column<Row>> = [
  {
    heading: 'Own limit',
    cell: ({ own }) =>
      own && (
        <span class="badges">
          {own.limit_bytes === null ? <span class="note">none</span> : bytes(own.limit_bytes)}
          {own.over_limit && <Badge tone="bad">over the limit</Badge>}
        </span>
      ),
  },
  { heading: 'Added', cell: ({ own }) => own && <Since at={own.added_at} /> },
];

/** The kinds of VPN are one word here; the server's own page tells them apart. */
function shortServices(services: readonly string[]): string {
  return [...new Set(services.map((one) => (one.startsWith('vpn') ? 'vpn' : one)))].join(', ');
}

export function ServerStatus({ of }: { of: OwnServer }) {
  const { status, text } = summaryOf(of);
  return <Badge tone={toneOf[status]}>{text}</Badge>;
}

function Actions({
  row: { own, name, can_add, kept_limit },
  open,
}: {
  row: Row;
  open: OpenDialog;
}) {
  const { isOperator, readOnlyReason } = useScope();
  const limit = () =>
    open((close) => (
      <LimitDialog
        server={name}
        limit={own?.limit_bytes}
        {...(own ? {} : { kept: kept_limit })}
        onClose={close}
      />
    ));
  if (own) {
    return (
      <>
        {isOperator && <IconButton icon="edit" label={`Own limit of ${name}`} onClick={limit} />}
        <IconButton
          icon="remove"
          label={`Remove ${name} from the contract`}
          disabledReason={readOnlyReason}
          onClick={() => open((close) => <RemoveDialog server={own} onClose={close} />)}
        />
      </>
    );
  }
  if (!can_add) return null;
  if (!isOperator) return <AddButton server={name} />;
  return (
    <Button icon="plus" aria-label={`Add ${name} to the contract`} onClick={limit}>
      Add …
    </Button>
  );
}
