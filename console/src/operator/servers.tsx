// Every server of the network: filtered by country, service, and how its nodes and its exit IPs stand.
import { useMemo } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { useAddressStates } from '../address.ts';
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
  serverGroup,
  serverGroups,
  serverState,
} from './states.ts';

type Row = Server & { state: State; group: keyof typeof serverGroups };

export function ServersPage() {
  const [, navigate] = useLocation();
  const servers = useRead('admin_list_servers', {});
  const nodes = useRead('admin_list_nodes', {});
  const { dialog, openLinked } = useDialog({
    import: (close) => <ImportDialog onClose={close} />,
    add: (close) => (
      <NewServerDialog
        onClose={close}
        onDone={(name) => {
          close();
          navigate(paths.operator.server(name));
        }}
      />
    ),
  });
  const rows = useMemo(() => rowsOf(servers.data, nodes.data), [servers.data, nodes.data]);
  const of = { data: rows, error: servers.error ?? nodes.error, refetch: servers.refetch };
  const actions = (
    <>
      <Button onClick={() => openLinked('import')}>Import an inventory …</Button>
      <Button kind="primary" icon="plus" onClick={() => openLinked('add')}>
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
  return servers.map((server) => {
    const own = byServer.get(server.name) ?? [];
    return { ...server, state: serverState(own), group: serverGroup(own) };
  });
}

const groups = optionsIn({ '': 'Any state', ...serverGroups });
const healths = optionsIn({
  '': 'Any health',
  crit: 'some crit',
  warn: 'some warn',
  unknown: 'some unknown',
  ok: 'all ok',
  misplaced: 'some in another country',
});

/** Whether the exit IPs of a server are as wanted; `misplaced`: the servers where some are seen in another country. */
function isHealth(
  { name, exits, ip_count }: Row,
  wanted: string,
  misplaced: ReadonlySet<string>,
): boolean {
  if (wanted === 'misplaced') return misplaced.has(name);
  if (wanted === 'ok') return ip_count > 0 && exits.ok === ip_count;
  const status = exitStatuses.find((one) => one === wanted);
  return status === undefined || exits[status] > 0;
}

const noFilters = { search: '', country: '', service: '', nodes: '', exits: '', rows: '' };

function Servers({ all }: { all: readonly Row[] }) {
  const [filters, change] = useAddressStates(noFilters);
  const set = (name: keyof typeof noFilters) => (value: string) =>
    change({ rows: '', [name]: value });
  const { search, country: land, service, nodes, exits } = filters;
  const geo = useRead(
    'admin_list_geo_statuses',
    { query: { status: 'crit', limit: 1000 } },
    { enabled: exits === 'misplaced' },
  );
  const misplaced = new Set(geo.data?.map(({ server }) => server));
  const wanted = search.trim().toLowerCase();
  const lands = [...new Set(all.map((row) => row.country))]
    .map((code) => ({ value: code, text: country(code) }))
    .sort((one, other) => one.text.localeCompare(other.text));
  const services = [...new Set(all.flatMap((row) => row.services))].sort();
  const rows = all.filter(
    (row) =>
      (land === '' || row.country === land) &&
      (service === '' || row.services.some((one) => one === service)) &&
      (nodes === '' || row.group === nodes) &&
      isHealth(row, exits, misplaced) &&
      `${row.name} ${row.hostname} ${row.title} ${row.city}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <div class="filters many">
        <SearchField
          label="Name, hostname or city"
          name="words"
          value={search}
          onInput={set('search')}
        />
        <SelectField
          label="Country"
          name="country"
          value={land}
          onInput={set('country')}
          options={[{ value: '', text: 'All countries' }, ...lands]}
        />
        <SelectField
          label="Service"
          name="service"
          value={service}
          onInput={set('service')}
          options={optionsOf(services, 'All services')}
        />
        <SelectField
          label="Nodes"
          name="nodes"
          value={nodes}
          onInput={set('nodes')}
          options={groups}
        />
        <SelectField
          label="Exit IPs"
          name="exits"
          value={exits}
          onInput={set('exits')}
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
        most={Number(filters.rows)}
        onMore={(most) => change({ rows: String(most) })}
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
