// Every server of the network: filtered by country, service, and how its nodes and its exit IPs stand.
import { useMemo } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { useAddressState } from '../address.ts';
import { useRead } from '../api/reading.ts';
import { country } from '../format.ts';
import { useDialog } from '../forms/form_dialog.tsx';
import { paths } from '../paths.ts';
import {
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  Loaded,
  LongTable,
  optionsIn,
  optionsOf,
  Page,
  SearchField,
  SelectField,
} from '../ui/ui.ts';
import { ImportDialog } from './forms/import_dialog.tsx';
import { NewServerDialog } from './forms/server_form.tsx';
import {
  exitStatuses,
  exitTones,
  type Node,
  type Server,
  type State,
  serverState,
} from './states.ts';

type Row = Server & { state: State };

export function ServersPage() {
  const [, navigate] = useLocation();
  const servers = useRead('admin_list_servers', {});
  const nodes = useRead('admin_list_nodes', {});
  const { dialog, ask } = useDialog({
    import: (close) => <ImportDialog onClose={close} />,
    add: (close) => (
      <NewServerDialog onClose={close} onDone={(name) => navigate(paths.operator.server(name))} />
    ),
  });
  const rows = useMemo(() => rowsOf(servers.data, nodes.data), [servers.data, nodes.data]);
  const of = { data: rows, error: servers.error ?? nodes.error, refetch: servers.refetch };
  const actions = (
    <>
      <Button onClick={() => ask('import')}>Import an inventory …</Button>
      <Button kind="primary" icon="plus" onClick={() => ask('add')}>
        Add a server
      </Button>
    </>
  );
  return (
    <Page title="Servers" note="The places of the network." actions={actions}>
      <Card>
        <Loaded of={of} what="the servers">
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
  servers: readonly Server[] | undefined,
  nodes: readonly Node[] | undefined,
): Row[] | undefined {
  if (!servers || !nodes) return undefined;
  const byServer = Map.groupBy(nodes, ({ server }) => server);
  return servers.map((server) => ({
    ...server,
    state: serverState(byServer.get(server.name) ?? []),
  }));
}

const states = optionsIn({
  '': 'Any state',
  good: 'live',
  warn: 'a node lags or is lost',
  bad: 'no live node',
  neutral: 'no node yet',
});
const healths = optionsIn({
  '': 'Any health',
  crit: 'some crit',
  warn: 'some warn',
  unknown: 'some unknown',
  ok: 'all ok',
});
type Health = keyof Row['exits'] | '';

function isHealth({ exits, ip_count }: Row, wanted: Health): boolean {
  if (wanted === '') return true;
  return wanted === 'ok' ? ip_count > 0 && exits.ok === ip_count : exits[wanted] > 0;
}

function Servers({ all }: { all: readonly Row[] }) {
  const [words, setWords] = useAddressState('search');
  const [land, setLand] = useAddressState('country');
  const [service, setService] = useAddressState('service');
  const [tone, setTone] = useAddressState('nodes');
  const [health, setHealth] = useAddressState('exits');
  const wanted = words.trim().toLowerCase();
  const lands = [...new Set(all.map((row) => row.country))]
    .map((code) => ({ value: code, text: country(code) }))
    .sort((one, other) => one.text.localeCompare(other.text));
  const services = [...new Set(all.flatMap((row) => row.services))].sort();
  const rows = all.filter(
    (row) =>
      (land === '' || row.country === land) &&
      (service === '' || row.services.some((one) => one === service)) &&
      (tone === '' || row.state.tone === tone) &&
      isHealth(row, health as Health) &&
      `${row.name} ${row.hostname} ${row.title} ${row.city}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <div class="filters many">
        <SearchField label="Name, hostname or city" name="words" value={words} onInput={setWords} />
        <SelectField
          label="Country"
          name="country"
          value={land}
          onInput={setLand}
          options={[{ value: '', text: 'All countries' }, ...lands]}
        />
        <SelectField
          label="Service"
          name="service"
          value={service}
          onInput={setService}
          options={optionsOf(services, 'All services')}
        />
        <SelectField label="Nodes" name="nodes" value={tone} onInput={setTone} options={states} />
        <SelectField
          label="Exit IPs"
          name="exits"
          value={health}
          onInput={setHealth}
          options={healths}
        />
      </div>
      <LongTable
        caption="Servers by name"
        columns={columns}
        rows={rows}
        keyOf={({ name }) => name}
        all={all.length}
        one="server"
        many="servers"
        filter={[wanted, land, service, tone, health].join(' ')}
      />
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
  { heading: 'Exit IPs', cell: ({ exits }) => <Exits of={exits} /> },
  { heading: 'Nodes', cell: ({ state }) => <Badge tone={state.tone}>{state.text}</Badge> },
];

/** How many there are of each status; the worst first. */
function Exits({ of }: { of: Row['exits'] }) {
  const some = exitStatuses.filter((status) => of[status] > 0);
  if (some.length === 0) return <span class="note">none yet</span>;
  return (
    <span class="badges">
      {some.map((status) => (
        <Badge key={status} tone={exitTones[status]}>{`${of[status]} ${status}`}</Badge>
      ))}
    </span>
  );
}
