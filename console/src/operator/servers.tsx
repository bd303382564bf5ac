// Every server of the network; the server searches, filters and sorts them, and selected ones can
// be changed or removed at once.
import { Link, useLocation } from 'wouter-preact';
import { useAddressState, useAddressStates } from '../address.ts';
import type { Given } from '../api/api.ts';
import { useRead } from '../api/reading.ts';
import { cityName } from '../format.ts';
import { CutText } from '../forms/columns.tsx';
import { ExportMenu, timeText } from '../forms/export.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { useList } from '../forms/list.ts';
import { useSorting, useTypedState } from '../forms/list_state.ts';
import { Views } from '../forms/views.tsx';
import { paths } from '../paths.ts';
import { CountryField } from '../servers/country_field.tsx';
import { serviceNames, shortServices } from '../services.ts';
import { health } from '../ui/health.ts';
import {
  AddButton,
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  FilterBar,
  isOneOf,
  Loaded,
  optionsIn,
  optionsOf,
  Page,
  SearchField,
  SelectField,
  Table,
  together,
  Unread,
} from '../ui/ui.ts';
import { ImportDialog } from './forms/import_dialog.tsx';
import { ManyServersBar } from './forms/many_servers.tsx';
import { NewServerDialog, services } from './forms/server_form.tsx';
import { NetworkMap } from './network_map.tsx';
import { placesName } from './places.ts';
import { exitStatuses, exitTones, type Server, serverGroups, serverState } from './states.ts';

const sorts = ['name', 'place', 'ip_count', 'nodes'] as const;
const healths = {
  crit: 'some down',
  warn: 'some degraded',
  unknown: 'some not checked',
  ok: 'all healthy',
  misplaced: 'some in another country',
};
const noFilters = { country: '', service: '', port_scheme: '', nodes: '', exits: '', places: '' };

export function ServersPage() {
  const [, navigate] = useLocation();
  const [map, setMap] = useAddressState('map');
  const [places, setPlaces] = useAddressState('places');
  const { dialog, open, openLinked } = useDialog({
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
  const actions = (
    <>
      <Button aria-expanded={map !== ''} onClick={() => setMap(map === '' ? 'shown' : '')}>
        {map === '' ? 'Show map' : 'Hide map'}
      </Button>
      <Button onClick={() => openLinked('import')}>Import an inventory …</Button>
      <AddButton onClick={() => openLinked('add')}>Add a server</AddButton>
    </>
  );
  return (
    <Page note="Locations of the network, with their nodes and exit IPs." actions={actions}>
      {map !== '' && (
        <div class="small-map">
          <NetworkMap selected={places} onSelect={setPlaces} />
        </div>
      )}
      <Card>
        <Servers open={open} />
      </Card>
      {dialog}
    </Page>
  );
}

/** The filters in the address: their fields, and their part of the query. */
function useServerFilters() {
  const [text, setText, search] = useTypedState('search');
  const [filters, change] = useAddressStates(noFilters);
  const { nodes, exits, service } = filters;
  const query: NonNullable<Given<'admin_list_servers'>['query']> = {
    search: search.trim(),
    country: filters.country,
    port_scheme: filters.port_scheme,
    places: filters.places,
    ...(isOneOf(serverGroups, nodes) ? { nodes } : {}),
    ...(isOneOf(healths, exits) ? { exits } : {}),
    ...(services.some((offered) => offered === service)
      ? { service: service as Server['services'][number] }
      : {}),
  };
  const isFiltered = Object.values(query).some((value) => value !== '');
  return { ...{ text, setText, filters, change, query, isFiltered } };
}

function Servers({ open }: Pick<ReturnType<typeof useDialog>, 'open'>) {
  const state = useServerFilters();
  const { sorting, query: order } = useSorting(sorts, 'name');
  const query = { ...order, ...state.query };
  const { pages, table, selection, selected } = useList('admin_list_servers', 'name', query);
  return (
    <Loaded reading={pages.rows} name="the servers">
      {() =>
        pages.total === 0 && !state.isFiltered ? (
          <Empty title="No servers yet">Add one, or import them from a file.</Empty>
        ) : (
          <>
            <Views />
            <div class="list-head">
              <Filters state={state} />
              <ManyServersBar {...{ selected, selection, open }} />
            </div>
            <Table
              {...table}
              {...{ columns, sorting }}
              caption="Servers of the network"
              one="server"
              many="servers"
              keyOf={({ name }) => name}
              buttons={<ExportMenu name="servers" pages={pages} {...{ header, cells }} />}
            />
          </>
        )
      }
    </Loaded>
  );
}

function Filters({ state }: { state: ReturnType<typeof useServerFilters> }) {
  const { text, setText, filters, change } = state;
  const places = useRead('admin_list_server_places', {});
  const schemes = useRead('admin_list_port_schemes', {});
  const field = (name: keyof typeof noFilters) => ({
    name,
    value: filters[name],
    onInput: (value: string) => change({ [name]: value }),
  });
  return (
    <FilterBar
      look="many"
      values={Object.values(filters)}
      first={
        <SearchField
          label="Search"
          name="search"
          placeholder="Name, city or exit IP"
          value={text}
          onInput={setText}
        />
      }
    >
      <CountryField
        codes={(places.data ?? []).map((place) => place.country)}
        all="All countries"
        {...field('country')}
      />
      <SelectField
        label="Service"
        {...field('service')}
        options={optionsIn({ '': 'All services', ...serviceNames })}
      />
      <SelectField
        label="Port scheme"
        {...field('port_scheme')}
        options={optionsOf(
          (schemes.data ?? []).map(({ name }) => name),
          'All schemes',
        )}
      />
      <SelectField
        label="Nodes"
        {...field('nodes')}
        options={optionsIn({ '': 'Any state', ...serverGroups })}
      />
      <SelectField
        label="Exit IPs"
        {...field('exits')}
        options={optionsIn({ '': 'Any health', ...healths })}
      />
      {filters.places !== '' && (
        <Button icon="close" onClick={() => change({ places: '' })}>
          Only {placesName(filters.places, places.data ?? [])}
        </Button>
      )}
      <Unread reading={together<unknown>([places, schemes])} name="all filters" />
    </FilterBar>
  );
}

const header = [
  ...['name', 'hostname', 'title', 'city', 'country', 'latitude', 'longitude', 'services'],
  ...['port_schemes', 'exit_ips', 'ok', 'warn', 'crit', 'unknown', 'nodes', 'live', 'added'],
];
const cells = (server: Server) => {
  const { name, hostname, title, city, latitude, longitude, exits, nodes } = server;
  return [
    ...[name, hostname, title, city, server.country, latitude, longitude],
    ...[server.services.join(';'), server.port_schemes.join(';'), server.ip_count],
    ...[exits.ok, exits.warn, exits.crit, exits.unknown, nodes.all, nodes.live],
    timeText(server.created_at),
  ];
};

const columns: Column<Server>[] = [
  {
    heading: 'Server',
    names: true,
    sort: 'name',
    cell: ({ name }) => <Link href={paths.operator.server(name)}>{name}</Link>,
  },
  {
    heading: 'Hostname',
    grows: true,
    needs: 14,
    rank: 3,
    cell: ({ hostname }) => <CutText text={hostname} />,
  },
  {
    heading: 'City',
    sort: 'place',
    cut: true,
    cell: (server) => <CutText text={cityName(server)} />,
  },
  {
    heading: 'Services',
    cut: true,
    rank: 1,
    cell: ({ services: offered }) => <CutText text={shortServices(offered)} />,
  },
  {
    heading: 'Port schemes',
    cut: true,
    rank: 4,
    cell: ({ port_schemes }) => <CutText text={port_schemes.join(', ')} />,
  },
  { heading: 'Exit IPs', sort: 'ip_count', needs: 9, cell: ({ exits }) => <Exits exits={exits} /> },
  {
    heading: 'Nodes',
    sort: 'nodes',
    cell: ({ nodes }) => {
      const { tone, text } = serverState(nodes);
      return <Badge tone={tone}>{text}</Badge>;
    },
  },
];

/** The number of exit IPs by status; the worst first. */
function Exits({ exits }: { exits: Server['exits'] }) {
  const presentStatuses = exitStatuses.filter((status) => exits[status] > 0);
  if (presentStatuses.length === 0) return <span class="note">none yet</span>;
  return (
    <span class="badges">
      {presentStatuses.map((status) => (
        <Badge key={status} tone={exitTones[status]}>{`${exits[status]} ${health[status]}`}</Badge>
      ))}
    </span>
  );
}
