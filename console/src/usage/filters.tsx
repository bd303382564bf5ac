// The filters of the page of usage: the time range, the user, and the server.
import { type SelectedSpan, SpanFields } from '../charts/span_fields.tsx';
import { FilterBar, optionsOf, SelectField } from '../ui/ui.ts';

/** A name, or empty for all. */
export interface Filters {
  server: string;
  user: string;
}

interface FilterFieldsProps {
  span: SelectedSpan;
  filters: Filters;
  onChange: (changes: Partial<Filters>) => void;
  servers: readonly string[];
  users: readonly string[];
}

export function FilterFields({ span, filters, onChange, servers, users }: FilterFieldsProps) {
  const field = (name: 'server' | 'user') => ({
    name,
    value: filters[name],
    onInput: (value: string) => onChange({ [name]: value }),
  });
  const { choice, offered, isCompared } = span;
  const range = choice.name === offered.standard ? '' : choice.name;
  return (
    <FilterBar values={[filters.server, filters.user, range, isCompared ? 'yes' : '']}>
      <SelectField
        label="Server"
        {...field('server')}
        options={withAll('All servers', servers, filters.server)}
      />
      <SelectField
        label="User"
        {...field('user')}
        options={withAll('All users', users, filters.user)}
      />
      <SpanFields selected={span} />
    </FilterBar>
  );
}

/** The selected name stays an option when it has no traffic on other days. */
function withAll(all: string, names: readonly string[], selected: string) {
  const listedNames = selected === '' || names.includes(selected) ? names : [...names, selected];
  return optionsOf(listedNames.toSorted(), all);
}
