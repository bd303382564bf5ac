// The filters of the audit log: their state in the address, their fields, and their query.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { useAddressStates, usePath } from '../address.ts';
import { addressOf } from '../paths.ts';
import { useTyped } from '../typed.ts';
import { DateField, FilterBar, optionsOf, SearchField, SelectField, TextField } from '../ui/ui.ts';
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

const noFilters = { search: '', kind: '', actor: '', from: '', to: '', account: '' };

export function useAuditFilters() {
  const [values, change] = useAddressStates(noFilters);
  const { search, kind, actor, from, to, account } = values;
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
  const [path, navigate] = usePath();
  const clear = () => navigate(addressOf(path, {}), { replace: true });
  return { values, change, query, clear, isFiltering: Object.values(values).some(Boolean) };
}

interface AuditFiltersProps {
  filters: ReturnType<typeof useAuditFilters>;
  kinds: readonly string[];
  /** The names to select from; actors are those in the log. */
  actors: readonly string[];
  /** Filters that only this log has. */
  children?: ComponentChildren;
}

export function AuditFilters({ filters, kinds, actors, children }: AuditFiltersProps) {
  const { values, change } = filters;
  const field = (name: keyof typeof noFilters) => ({
    name,
    value: values[name],
    onInput: (value: string) => change({ [name]: value }),
  });
  const [search, setSearch] = useTyped(values.search, (search) => change({ search }));
  const { search: _, ...folded } = values;
  return (
    <FilterBar
      look="audit-filters"
      values={Object.values(folded)}
      first={
        <SearchField
          label="Search"
          name="search"
          placeholder="Name, address, server, …"
          maxLength={255}
          value={search}
          onInput={setSearch}
        />
      }
    >
      <SelectField label="Kind" {...field('kind')} options={optionsOf(kinds, 'Everything')} />
      <NameField
        label="Who"
        name="actor"
        placeholder="Anyone"
        value={values.actor}
        names={actors}
        onSelect={(actor) => change({ actor })}
      />
      {children}
      <DateField label="From" {...field('from')} max={values.to || undefined} />
      <DateField label="To" {...field('to')} min={values.from || undefined} />
    </FilterBar>
  );
}

interface NameFieldProps {
  label: string;
  name: string;
  placeholder: string;
  value: string;
  names: readonly string[];
  onSelect: (name: string) => void;
}

/** Applies when a name is selected or entered: a part of a name matches no actor. */
function NameField({ value, names, onSelect, ...rest }: NameFieldProps) {
  const list = useId();
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return (
    <>
      <TextField
        {...rest}
        type="search"
        list={list}
        maxLength={255}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => onSelect(event.currentTarget.value.trim())}
      />
      <datalist id={list}>
        {names.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </>
  );
}
