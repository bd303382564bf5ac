// The list of servers with its filters: those on the contract, the others of the network, or all.
import { useMemo, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { flags, refusal } from '../api/session.ts';
import { bytes } from '../format.ts';
import { paths } from '../paths.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { Choice } from '../ui/choice.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { LongList } from '../ui/long_list.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { AddButton, RemoveDialog } from './change.tsx';
import {
  type Filters,
  isFiltering,
  isInView,
  noFilters,
  type OwnServer,
  type Row,
  type Standing,
  shownRows,
  standings,
  summaryOf,
} from './rows.ts';

export const toneOf: Record<Standing, Tone> = {
  ok: 'good',
  warn: 'warn',
  crit: 'bad',
  unknown: 'neutral',
  'not connected': 'bad',
  'no node yet': 'neutral',
};

interface ServerListProps {
  rows: readonly Row[];
  filters: Filters;
  onFilter: (changes: Partial<Filters>) => void;
}

export function ServerList({ rows, filters, onFilter }: ServerListProps) {
  const [removing, setRemoving] = useState<OwnServer>();
  const shown = useMemo(() => shownRows(rows, filters), [rows, filters]);
  const { view } = filters;
  const amount = (of: Filters['view']) => rows.filter((row) => isInView(row, of)).length;
  const inView = amount(view);
  return (
    <Card title="List of servers">
      <div class="row">
        <Choice
          label="Which servers"
          value={view}
          onChoose={(chosen) => onFilter({ view: chosen })}
          options={[
            { value: 'contract', text: `On the contract (${amount('contract')})` },
            { value: 'others', text: `Not on it (${amount('others')})` },
            { value: 'all', text: `All (${amount('all')})` },
          ]}
        />
        {isFiltering(filters) && (
          <Button kind="quiet" onClick={() => onFilter({ ...noFilters, view, sort: filters.sort })}>
            Clear the filters
          </Button>
        )}
      </div>
      <FilterFields rows={rows} filters={filters} onFilter={onFilter} />
      {shown.length > 0 ? (
        <LongList
          rows={shown}
          all={inView}
          one="server"
          many="servers"
          filter={JSON.stringify(filters)}
        >
          {(some) => (
            <Table<Row>
              caption="Servers"
              columns={columnsOf(view)}
              rows={some}
              keyOf={(row) => row.name}
              {...(flags.value.admin ? { actions: (row) => actionsOf(row, setRemoving) } : {})}
            />
          )}
        </LongList>
      ) : (
        <NoServers filters={filters} isNone={inView === 0} onFilter={onFilter} />
      )}
      {removing && <RemoveDialog server={removing} onClose={() => setRemoving(undefined)} />}
    </Card>
  );
}

function FilterFields({ rows, filters, onFilter }: ServerListProps) {
  const { view } = filters;
  // Of all of the network, so that what was chosen stays among them whatever is in view.
  const countries = [...new Map(rows.map((row) => [row.country, row.country_name]))];
  const services = [...new Set(rows.flatMap((row) => row.services))];
  const any = { value: '', text: 'Any' };
  return (
    <search class="filters servers-filters">
      <TextField
        label="Search"
        name="search"
        type="search"
        value={filters.text}
        placeholder="Name, place or exit IP"
        onInput={(event) => onFilter({ text: event.currentTarget.value })}
      />
      <SelectField
        label="Country"
        name="country"
        value={filters.country}
        onInput={(country) => onFilter({ country })}
        options={[
          any,
          ...countries
            .map(([value, text]) => ({ value, text }))
            .sort((a, b) => a.text.localeCompare(b.text, 'en')),
        ]}
      />
      <SelectField
        label="Service"
        name="service"
        value={filters.service}
        onInput={(service) => onFilter({ service })}
        options={[any, ...services.sort().map((value) => ({ value, text: value }))]}
      />
      {view !== 'others' && (
        <>
          <SelectField
            label="Status"
            name="status"
            value={filters.status}
            onInput={(status) => onFilter({ status })}
            options={[any, ...standings.map((value) => ({ value, text: value }))]}
          />
          <SelectField
            label="Sort by"
            name="sort"
            value={filters.sort}
            onInput={(sort) => onFilter({ sort: sort as Filters['sort'] })}
            options={[
              { value: 'name', text: 'Name' },
              { value: 'status', text: 'Status' },
              { value: 'period', text: 'Usage in this period' },
              { value: 'month', text: 'Usage in 30 days' },
            ]}
          />
        </>
      )}
    </search>
  );
}

function columnsOf(view: Filters['view']): Array<Column<Row>> {
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
  ];
}

/** The kinds of VPN are one word here; the server's own page tells them apart. */
function shortServices(services: readonly string[]): string {
  return [...new Set(services.map((one) => (one.startsWith('vpn') ? 'vpn' : one)))].join(', ');
}

export function ServerStatus({ of }: { of: OwnServer }) {
  const { status, text } = summaryOf(of);
  return <Badge tone={toneOf[status]}>{text}</Badge>;
}

function actionsOf({ own, name, can_add }: Row, onRemove: (server: OwnServer) => void) {
  if (own) {
    return (
      <IconButton
        icon="remove"
        label={`Remove ${name} from the contract`}
        refused={refusal.value}
        onClick={() => onRemove(own)}
      />
    );
  }
  return can_add && <AddButton server={name} />;
}

interface NoServersProps {
  filters: Filters;
  isNone: boolean;
  onFilter: (changes: Partial<Filters>) => void;
}

function NoServers({ filters: { view, sort }, isNone, onFilter }: NoServersProps) {
  if (!isNone) {
    return (
      <Empty
        title="No server fits."
        action={
          <Button onClick={() => onFilter({ ...noFilters, view, sort })}>Clear the filters</Button>
        }
      >
        The filters and what is chosen on the map count together.
      </Empty>
    );
  }
  if (view === 'others') {
    return <Empty title="Every server of the network is on your contract." />;
  }
  return (
    <Empty
      title="No server is on your contract yet."
      action={<Button onClick={() => onFilter({ view: 'others' })}>See the network</Button>}
    >
      {flags.value.admin
        ? 'Add servers from the network: their exit IPs can be used at once.'
        : 'An admin of your account can add servers from the network.'}
    </Empty>
  );
}
