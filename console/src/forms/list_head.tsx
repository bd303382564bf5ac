// The head of an account's list in pages: search and filters, and what can be done with the rows that are chosen.
import type { ComponentChildren } from 'preact';
import { optionsIn, optionsOf, SearchField, SelectField } from '../ui/ui.ts';
import { endingOptions, type ListFilters } from './list_state.ts';

interface ListHeadProps<S extends string> {
  filters: ListFilters<S>;
  /** Of the search. */
  placeholder: string;
  /** The texts of the states, as `useListFilters` takes them. */
  states: Record<S, string>;
  /** Filters of this list alone. */
  children?: ComponentChildren;
  /** The bar of chosen rows. */
  bar: ComponentChildren;
}

export function ListHead<S extends string>(props: ListHeadProps<S>) {
  const { filters, placeholder, states, children, bar } = props;
  return (
    <div class="list-head">
      <div class="filters">
        <SearchField
          label="Search"
          name="search"
          placeholder={placeholder}
          value={filters.text}
          onInput={filters.setText}
        />
        {children}
        <SelectField
          label="State"
          name="state"
          value={filters.state ?? ''}
          onInput={filters.setState}
          options={optionsIn({ '': 'All states', ...states })}
        />
        {filters.canEnd && (
          <SelectField
            label="Ends"
            name="ends"
            value={filters.ends}
            onInput={filters.setEnds}
            options={endingOptions}
          />
        )}
      </div>
      {bar}
    </div>
  );
}

interface NameFilterProps {
  label: string;
  /** The text that chooses none of them. */
  all: string;
  names: readonly string[];
  value: string;
  onInput: (value: string) => void;
}

/** Chooses one of these names; one that the address has and that is not there any more stays among them. */
export function NameFilter({ label, all, names, value, onInput }: NameFilterProps) {
  const known = new Set([...names, ...(value ? [value] : [])]);
  return (
    <SelectField
      label={label}
      name="of"
      value={value}
      onInput={onInput}
      options={optionsOf([...known].sort(), all)}
    />
  );
}
