// Connected now: the open connections, or their sums by user, server or address; of an account, or
// of the whole network. They are updated while shown.
import type { FunctionComponent } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { useAddressState, useAddressStates, usePath } from '../address.ts';
import { type Scope, ScopeContext, useScope } from '../api/scope.ts';
import { count } from '../format.ts';
import { ExportMenu } from '../forms/export.tsx';
import { useDialog } from '../forms/form_dialog.tsx';
import { useTypedState } from '../forms/list_state.ts';
import { useServerChoices } from '../forms/server_choices.ts';
import { ServerField } from '../forms/server_field.tsx';
import type { Choices } from '../forms/suggest_field.tsx';
import { UserFilter } from '../forms/suggest_user.tsx';
import { Views } from '../forms/views.tsx';
import { addressOf } from '../paths.ts';
import { isAddress } from '../typed.ts';
import {
  Button,
  Card,
  Choice,
  Empty,
  FilterBar,
  isOneOf,
  Loaded,
  Page,
  SearchField,
} from '../ui/ui.ts';
import { EndButton } from './end.tsx';
import type { ConnectionQuery, OpenConnections } from './groups.ts';
import { readConnections, stateOf, useConnections } from './read.ts';
import { csvColumns, GroupsTable, SumsTable } from './table.tsx';
import { missingText, totalText } from './words.ts';

const headings = { account: 'Account', user: 'User', server: 'Server', address: 'Address' };
type By = keyof typeof headings;

const rowsAtFirst = 100;
/** As many as the server lists. */
const maxRows = 1000;
const noFilters = { account: '', user: '', server: '', node: '' };
type Filters = typeof noFilters;
/** An account has no filter by these. */
const ofOperators = { account: '', node: '' };

interface ConnectionsProps {
  /** The filters next to the address. */
  Fields: FunctionComponent<ConnectionFieldsProps>;
}

/** The page in an account. */
export const ConnectedPage = () => <Connections Fields={AccountFields} />;

export function Connections({ Fields }: ConnectionsProps) {
  const scope = useContext(ScopeContext);
  const [filters, change] = useAddressStates(noFilters);
  const [address, setAddress, settledAddress] = useTypedState('address');
  const [exit, setExit, settledExit] = useTypedState('exit_ip');
  const [byText, setBy] = useAddressState('by');
  const options = waysFor(scope);
  const by = isOneOf(headings, byText) && options.includes(byText) ? byText : undefined;
  const [isPaused, setPaused] = useState(false);
  const [isLong, setLong] = useState(false);
  const typed = { address: settledAddress.trim(), exit_ip: settledExit.trim() };
  const query: ConnectionQuery = {
    ...stateOf(scope ? { ...filters, ...ofOperators } : filters),
    ...(isAddress(typed.address) && { address: typed.address }),
    ...(isAddress(typed.exit_ip) && { exit_ip: typed.exit_ip }),
    ...(by && { by }),
    limit: isLong ? maxRows : rowsAtFirst,
  };
  const reading = useConnections(query, isPaused);
  const own = scope && !scope.flags.admin;
  return (
    <Page
      note={
        own
          ? 'Your open connections right now, as reported by the nodes.'
          : 'Open connections right now, as reported by the nodes. They are not stored.'
      }
      actions={
        <Button icon={isPaused ? 'resume' : 'pause'} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Resume updates' : 'Pause updates'}
        </Button>
      }
    >
      <Card>
        <Choice
          label="Show"
          value={by ?? ''}
          onSelect={setBy}
          options={[
            { value: '', text: 'Connections' },
            ...options.map((way) => ({ value: way, text: `By ${way}` })),
          ]}
        />
        <Views />
        <div class="list-head">
          <FilterBar
            values={[...Object.values(filters), exit]}
            first={
              <SearchField
                label="Address"
                name="address"
                placeholder="203.0.113.7"
                value={address}
                onInput={setAddress}
              />
            }
          >
            <Fields {...{ filters, change }} />
            <SearchField
              label="Exit IP"
              name="exit_ip"
              placeholder="198.51.100.7"
              value={exit}
              onInput={setExit}
            />
          </FilterBar>
        </div>
        {Object.values(typed).some((text) => text !== '' && !isAddress(text)) && (
          <p class="note" role="status">
            Enter a whole IP address to filter by it.
          </p>
        )}
        <Loaded reading={reading} name="who is connected">
          {(shown) => (
            // The totals and buttons are too long for the line of the filters.
            <div class="stack">
              <Shown
                answer={shown}
                isOld={reading.isPlaceholderData}
                {...{ query, by, scope }}
                onMore={isLong ? undefined : () => setLong(true)}
              />
            </div>
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

/** The fields to sum by: not by account within one, and not by user without the admin flag. */
const waysFor = (scope: Scope | undefined): By[] => [
  ...(scope ? [] : (['account'] as const)),
  ...(scope && !scope.flags.admin ? [] : (['user'] as const)),
  ...(['server', 'address'] as const),
];

export interface ConnectionFieldsProps {
  filters: Filters;
  change: (changes: Partial<Filters>) => void;
}

/** The filters in an account: users without the admin flag see only their own connections. */
function AccountFields({ filters, change }: ConnectionFieldsProps) {
  const { flags } = useScope();
  return (
    <>
      {flags.admin && <UserFilter value={filters.user} onInput={(user) => change({ user })} />}
      <ServerFilter {...{ filters, change }} useChoices={useServerChoices} />
    </>
  );
}

type ServerFilterProps = ConnectionFieldsProps & {
  useChoices: (search: string) => Choices;
};

export function ServerFilter({ filters, change, useChoices }: ServerFilterProps) {
  return (
    <ServerField
      value={filters.server}
      onInput={(server) => change({ server })}
      none="All servers"
      useChoices={useChoices}
    />
  );
}

interface ShownProps {
  answer: OpenConnections;
  /** Whether it is the answer to the previous query. */
  isOld: boolean;
  query: ConnectionQuery;
  by: By | undefined;
  scope: Scope | undefined;
  /** Lists more of them, if there are more. */
  onMore: (() => void) | undefined;
}

function Shown({ answer, isOld, query, by, scope, onMore }: ShownProps) {
  const [columns, setColumns] = useAddressState('columns');
  const [path] = usePath();
  const { dialog, open } = useDialog();
  const { connections, sums, rest, total, missing } = answer;
  const choice = { text: columns, set: setColumns };
  const { by: _by, limit: _limit, ...filters } = query;
  const isFiltered = Object.keys(filters).length > 0;
  const isOwn = scope !== undefined && !scope.flags.admin;
  return (
    <div class="paged-table" aria-busy={isOld}>
      <div class="row">
        <p class="note">{totalText(total)}</p>
        <span class="actions row-end">
          {total.connections > 0 && (scope || isFiltered) && (
            <EndButton target={filters} {...{ scope, open }} />
          )}
          <ExportMenu
            name="connections"
            pages={{ readToSave: (_, stop) => readToSave(scope, filters, stop) }}
            {...csvColumns}
          />
        </span>
      </div>
      {(sums ?? connections).length === 0 ? (
        <Empty
          title={
            isFiltered
              ? 'No connection matches.'
              : isOwn
                ? 'You have no open connections.'
                : 'No one is connected.'
          }
        >
          {!isFiltered && 'Connections appear here as soon as they are opened.'}
        </Empty>
      ) : sums && by ? (
        <SumsTable
          {...{ scope, choice, open, filters }}
          rows={sums}
          heading={headings[by]}
          linkTo={(named) =>
            addressOf(path, stateOf({ ...filters, ...named, ...(scope && ofOperators) }))
          }
        />
      ) : (
        <GroupsTable rows={connections} {...{ scope, choice, open }} />
      )}
      {rest.groups > 0 && (
        <p class="note">{count(rest.connections, 'more connection')} in smaller groups.</p>
      )}
      {rest.groups > 0 && onMore && (
        <p>
          <Button onClick={onMore}>Show more</Button>
        </p>
      )}
      {missing.length > 0 && <p class="note">{missingText(missing)}</p>}
      {dialog}
    </div>
  );
}

/** The connections one by one, whatever they are summed by on the page. */
async function readToSave(scope: Scope | undefined, filters: ConnectionQuery, stop: AbortSignal) {
  const query = { ...filters, limit: maxRows };
  const { connections: rows } = await readConnections(scope, query, stop);
  return { rows, as_of: undefined, next: undefined, total: rows.length, found: rows.length };
}
