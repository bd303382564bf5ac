// The list of servers with its filters: those on the contract, the others of the network, or all.
import { useMemo } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { useScope } from '../api/scope.ts';
import { useDialog } from '../forms/form_dialog.tsx';
import {
  Button,
  Card,
  Choice,
  Empty,
  optionsIn,
  optionsOf,
  SearchField,
  SelectField,
} from '../ui/ui.ts';
import {
  type Filters,
  isFiltering,
  isInView,
  noFilters,
  type Row,
  shownRows,
  standings,
} from './rows.ts';
import { ServersTable } from './table.tsx';

interface ServerListProps {
  rows: readonly Row[];
  filters: Filters;
  onFilter: (changes: Partial<Filters>) => void;
}

export function ServerList({ rows, filters, onFilter }: ServerListProps) {
  const { dialog, open } = useDialog();
  const [most, setMost] = useAddressState('rows');
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
        <ServersTable
          rows={shown}
          all={inView}
          most={Number(most)}
          onMore={(most) => setMost(String(most))}
          view={view}
          open={open}
        />
      ) : (
        <NoServers filters={filters} isNone={inView === 0} onFilter={onFilter} />
      )}
      {dialog}
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
      <SearchField
        label="Search"
        name="search"
        value={filters.search}
        placeholder="Name, place or exit IP"
        onInput={(search) => onFilter({ search })}
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
        options={optionsOf(services.sort(), 'Any')}
      />
      {view !== 'others' && (
        <>
          <SelectField
            label="Status"
            name="status"
            value={filters.status}
            onInput={(status) => onFilter({ status })}
            options={[
              ...optionsOf(standings, 'Any'),
              { value: 'misplaced', text: 'in another country' },
            ]}
          />
          <SelectField
            label="Sort by"
            name="sort"
            value={filters.sort}
            onInput={(sort) => onFilter({ sort: sort as Filters['sort'] })}
            options={optionsIn({
              name: 'Name',
              status: 'Status',
              period: 'Usage in this period',
              month: 'Usage in 30 days',
            })}
          />
        </>
      )}
    </search>
  );
}

interface NoServersProps {
  filters: Filters;
  isNone: boolean;
  onFilter: (changes: Partial<Filters>) => void;
}

function NoServers({ filters: { view, sort }, isNone, onFilter }: NoServersProps) {
  const { account, flags, isOperator } = useScope();
  const contract = isOperator ? `the contract of ${account}` : 'your contract';
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
    return <Empty title={`Every server of the network is on ${contract}.`} />;
  }
  return (
    <Empty
      title={`No server is on ${contract} yet.`}
      action={<Button onClick={() => onFilter({ view: 'others' })}>See the network</Button>}
    >
      {flags.admin
        ? 'Add servers from the network: their exit IPs can be used at once.'
        : 'An admin of your account can add servers from the network.'}
    </Empty>
  );
}
