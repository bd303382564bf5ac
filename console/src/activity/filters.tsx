// The filters of the audit log: what the address says of them, the fields that set them, and the query that they make.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { useAddressState, usePath } from '../address.ts';
import { addressOf } from '../paths.ts';
import { useTyped } from '../typed.ts';
import { DateField, optionsOf, SearchField, SelectField, TextField } from '../ui/ui.ts';
import { localDay } from './days.ts';
import { actionsOf } from './sentences.ts';

interface AuditQuery {
  search?: string;
  actor?: string;
  action?: string;
  since?: string;
  until?: string;
  account?: string;
}

export function useAuditFilters() {
  const [search, setSearch] = useAddressState('search');
  const [kind, setKind] = useAddressState('kind');
  const [actor, setActor] = useAddressState('actor');
  const [from, setFrom] = useAddressState('from');
  const [to, setTo] = useAddressState('to');
  const [account] = useAddressState('account');
  const since = localDay(from);
  const until = localDay(to, 1);
  const action = actionsOf(kind).join(',');
  const query: AuditQuery = {
    ...(search.trim() && { search: search.trim() }),
    ...(actor && { actor }),
    ...(action && { action }),
    ...(since !== undefined && { since: String(since) }),
    ...(until !== undefined && { until: String(until) }),
    ...(account && { account }),
  };
  const values = { search, kind, actor, from, to, account };
  const set = {
    search: setSearch,
    kind: setKind,
    actor: setActor,
    from: setFrom,
    to: setTo,
  };
  const [path, navigate] = usePath();
  const clear = () => navigate(addressOf(path, {}), { replace: true });
  return { values, set, query, clear, isFiltering: Object.values(values).some(Boolean) };
}

interface AuditFiltersProps {
  filters: ReturnType<typeof useAuditFilters>;
  kinds: readonly string[];
  /** Names to choose from; of actors those that were seen. */
  actors: readonly string[];
  /** Filters of this log alone. */
  children?: ComponentChildren;
}

export function AuditFilters({ filters, kinds, actors, children }: AuditFiltersProps) {
  const { values, set } = filters;
  const [search, setSearch] = useTyped(values.search, set.search);
  return (
    <div class="filters audit-filters">
      <SearchField
        label="Search"
        name="search"
        placeholder="Name, address, server, …"
        maxLength={255}
        value={search}
        onInput={setSearch}
      />
      <SelectField
        label="Kind"
        name="kind"
        value={values.kind}
        options={optionsOf(kinds, 'Everything')}
        onInput={set.kind}
      />
      <NameField
        label="Who"
        name="actor"
        placeholder="Anybody"
        value={values.actor}
        names={actors}
        onChoose={set.actor}
      />
      {children}
      <DateField
        label="From"
        name="from"
        max={values.to || undefined}
        value={values.from}
        onInput={set.from}
      />
      <DateField
        label="To"
        name="to"
        min={values.from || undefined}
        value={values.to}
        onInput={set.to}
      />
    </div>
  );
}

interface NameFieldProps {
  label: string;
  name: string;
  placeholder: string;
  value: string;
  names: readonly string[];
  onChoose: (name: string) => void;
}

/** Takes effect when a name is chosen or entered: a part of a name is nobody. */
function NameField({ names, onChoose, ...rest }: NameFieldProps) {
  const list = useId();
  return (
    <>
      <TextField
        {...rest}
        type="search"
        list={list}
        maxLength={255}
        onChange={(event) => onChoose(event.currentTarget.value.trim())}
      />
      <datalist id={list}>
        {names.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </>
  );
}
