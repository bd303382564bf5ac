// The list of servers with its filters: those on the contract, the others, or all.
import { useScope } from '../api/scope.ts';
import { ExportMenu } from '../forms/export.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { useList } from '../forms/list.ts';
import { Views } from '../forms/views.tsx';
import { serviceFilters } from '../services.ts';
import {
  Button,
  Card,
  Choice,
  Empty,
  FilterBar,
  Loaded,
  optionsIn,
  SearchField,
  SelectField,
} from '../ui/ui.ts';
import { CountryField } from './country_field.tsx';
import { type ServerFilters, type View, views } from './filters.ts';
import { ManyServersBar } from './many.tsx';
import { countsOf, placesName, type ServerPlace } from './places.ts';
import { stateFilters } from './rows.ts';
import { csvColumns, ServersTable } from './table.tsx';

interface ServerListProps {
  /** Undefined until they are read. */
  places: readonly ServerPlace[] | undefined;
  filters: ServerFilters;
}

export function ServerList({ places, filters }: ServerListProps) {
  const { flags, account, base } = useScope();
  const { dialog, open } = useDialog();
  const { view, query, change } = filters;
  const { pages, rows, table, selection, selected } = useList(
    'console_list_network',
    'server',
    query,
    { base, canSelect: flags.admin },
  );
  const counts = places && countsOf(places);
  return (
    <Card>
      <div class="row">
        <Choice
          label="Which servers"
          value={view}
          onSelect={(view) => change({ view })}
          options={(Object.keys(views) as View[]).map((value) => ({
            value,
            text: counts ? `${views[value]} (${counts[value]})` : views[value],
          }))}
        />
        {filters.isFiltered && (
          <Button kind="quiet" onClick={filters.clear}>
            Clear the filters
          </Button>
        )}
      </div>
      <Views />
      <div class="list-head">
        <FilterFields places={places ?? []} filters={filters} />
        {flags.admin && <ManyServersBar {...{ selected, selection, open }} />}
      </div>
      <Loaded reading={pages.rows} name="the servers">
        {() =>
          rows.length === 0 ? (
            <NoServers filters={filters} isNone={pages.total === 0} />
          ) : (
            <ServersTable
              {...table}
              sorting={filters.sorting}
              view={view}
              open={open}
              buttons={<ExportMenu name={`${account}-servers`} pages={pages} {...csvColumns} />}
            />
          )
        }
      </Loaded>
      {dialog}
    </Card>
  );
}

interface FilterFieldsProps {
  places: readonly ServerPlace[];
  filters: ServerFilters;
}

function FilterFields({ places, filters }: FilterFieldsProps) {
  const { view, change } = filters;
  const codes = places.map(({ country }) => country);
  return (
    <FilterBar
      look="servers-filters"
      values={[filters.country, filters.service, filters.state, filters.places]}
      first={
        <SearchField
          label="Search"
          name="search"
          value={filters.text}
          placeholder="Name, place or exit IP"
          onInput={filters.setText}
        />
      }
    >
      <CountryField
        codes={filters.country ? [...codes, filters.country] : codes}
        all="Any"
        value={filters.country}
        onInput={(country) => change({ country })}
      />
      <SelectField
        label="Service"
        name="service"
        value={filters.service ?? ''}
        onInput={(service) => change({ service })}
        options={optionsIn({ '': 'Any', ...serviceFilters })}
      />
      {view !== 'others' && (
        <SelectField
          label="Status"
          name="state"
          value={filters.state ?? ''}
          onInput={(state) => change({ state })}
          options={optionsIn({ '': 'Any', ...stateFilters })}
        />
      )}
      {filters.places && (
        <Button
          kind="quiet"
          icon="close"
          aria-label="Show all places"
          onClick={() => change({ places: '' })}
        >
          {placesName(filters.places, places)}
        </Button>
      )}
    </FilterBar>
  );
}

interface NoServersProps {
  filters: ServerFilters;
  isNone: boolean;
}

function NoServers({ filters: { view, clear, change }, isNone }: NoServersProps) {
  const { account, flags, isOperator } = useScope();
  const contract = isOperator ? `the contract of ${account}` : 'your contract';
  if (!isNone) {
    return (
      <Empty title="No server matches" action={<Button onClick={clear}>Clear the filters</Button>}>
        The filters and the selection on the map apply together.
      </Empty>
    );
  }
  if (view === 'others') {
    return <Empty title={`Every server of the network is on ${contract}.`} />;
  }
  return (
    <Empty
      title={`No servers on ${contract} yet`}
      action={
        <Button onClick={() => change({ view: 'others' })}>
          {flags.admin ? 'Add servers' : 'See the network'}
        </Button>
      }
    >
      {flags.admin
        ? 'Add servers from the network. Their exit IPs work at once.'
        : 'An admin of your account can add servers from the network.'}
    </Empty>
  );
}
