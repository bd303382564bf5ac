// Every server of the network: filtered by country, service and how its nodes stand.
import { useMemo, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import type { Answer } from '../api.ts';
import { country } from '../format.ts';
import { paths } from '../paths.ts';
import { useRead } from '../reading.ts';
import { explain } from '../sentences.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Card, Empty } from '../ui/card.tsx';
import { SelectField, TextField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { LongList } from '../ui/long_list.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { useDialog } from './ask.tsx';
import { ImportDialog } from './forms/import_dialog.tsx';
import { NewServerDialog, servicesOf } from './forms/server_form.tsx';
import { type State, serverState } from './states.ts';

interface Row {
  name: string;
  hostname: string;
  title: string;
  city: string;
  country: string;
  services: readonly string[];
  ip_count: number;
  nodes: number;
  state: State;
}

export function ServersPage() {
  const [, navigate] = useLocation();
  const servers = useRead('admin_list_servers', {});
  const nodes = useRead('admin_list_nodes', {});
  const { dialog, open } = useDialog();
  const rows = useMemo(() => rowsOf(servers.data, nodes.data), [servers.data, nodes.data]);
  const of = { data: rows, error: servers.error ?? nodes.error, refetch: servers.refetch };
  const actions = (
    <>
      <Button onClick={() => open((close) => <ImportDialog onClose={close} />)}>
        Import an inventory …
      </Button>
      <Button
        kind="primary"
        icon="plus"
        onClick={() =>
          open((close) => (
            <NewServerDialog
              onClose={close}
              onDone={(name) => navigate(paths.operator.server(name))}
            />
          ))
        }
      >
        Add a server
      </Button>
    </>
  );
  return (
    <Page title="Servers" note="The places of the network." actions={actions}>
      <Card>
        <Loaded of={of} what="the servers" explain={explain}>
          {(all) =>
            all.length === 0 ? (
              <Empty title="The network has no server yet.">
                Add one, or import them all from a file.
              </Empty>
            ) : (
              <Servers all={all} />
            )
          }
        </Loaded>
      </Card>
      {dialog}
    </Page>
  );
}

function rowsOf(
  servers: Answer<'admin_list_servers'> | undefined,
  nodes: Answer<'admin_list_nodes'> | undefined,
): Row[] | undefined {
  if (!servers || !nodes) return undefined;
  const byServer = Map.groupBy(nodes, ({ server }) => server);
  return servers.map((server) => {
    const own = byServer.get(server.name) ?? [];
    const services = servicesOf(server);
    return { ...server, services, nodes: own.length, state: serverState(own) };
  });
}

const states = [
  { value: '', text: 'Any state' },
  { value: 'good', text: 'live' },
  { value: 'warn', text: 'a node lags or is lost' },
  { value: 'bad', text: 'no live node' },
  { value: 'neutral', text: 'no node yet' },
];

function Servers({ all }: { all: readonly Row[] }) {
  const [words, setWords] = useState('');
  const [land, setLand] = useState('');
  const [service, setService] = useState('');
  const [tone, setTone] = useState('');
  const wanted = words.trim().toLowerCase();
  const lands = [...new Set(all.map((row) => row.country))].map((code) => ({
    value: code,
    text: country(code),
  }));
  const services = [...new Set(all.flatMap((row) => row.services))].sort();
  const rows = all.filter(
    (row) =>
      (land === '' || row.country === land) &&
      (service === '' || row.services.includes(service)) &&
      (tone === '' || row.state.tone === tone) &&
      `${row.name} ${row.hostname} ${row.title} ${row.city}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <div class="filters">
        <TextField
          label="Name, hostname or city"
          name="words"
          type="search"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <SelectField
          label="Country"
          name="country"
          value={land}
          onInput={setLand}
          options={[
            { value: '', text: 'All countries' },
            ...lands.sort((one, other) => one.text.localeCompare(other.text)),
          ]}
        />
        <SelectField
          label="Service"
          name="service"
          value={service}
          onInput={setService}
          options={[
            { value: '', text: 'All services' },
            ...services.map((one) => ({ value: one, text: one })),
          ]}
        />
        <SelectField label="State" name="state" value={tone} onInput={setTone} options={states} />
      </div>
      <LongList
        key={`${wanted} ${land} ${service} ${tone}`}
        rows={rows}
        all={all.length}
        many="servers"
      >
        {(shown) =>
          shown.length === 0 ? (
            <Empty title="No server matches." />
          ) : (
            <Table
              caption="Servers by name"
              columns={columns}
              rows={shown}
              keyOf={({ name }) => name}
            />
          )
        }
      </LongList>
    </>
  );
}

const columns: Column<Row>[] = [
  {
    heading: 'Server',
    names: true,
    cell: ({ name, hostname }) => (
      <span class="two-lines">
        <Link href={paths.operator.server(name)}>{name}</Link>
        <span class="note">{hostname}</span>
      </span>
    ),
  },
  {
    heading: 'Place',
    cell: (row) => (
      <span class="two-lines">
        {row.title}
        <span class="note">{country(row.country)}</span>
      </span>
    ),
  },
  { heading: 'Services', cell: ({ services }) => services.join(', ') },
  { heading: 'Exit IPs', numeric: true, cell: ({ ip_count }) => ip_count },
  { heading: 'Nodes', cell: ({ state }) => <Badge tone={state.tone}>{state.text}</Badge> },
];
