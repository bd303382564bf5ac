// The head of an account's list in pages: search and filters, and the actions on selected rows.
import type { ComponentChildren } from 'preact';
import { optionsIn, SearchField, SelectField } from '../ui/ui.ts';
import { endingOptions, type ListFilters } from './list_state.ts';

interface ListHeadProps<S extends string> {
  filters: ListFilters<S>;
  /** The placeholder of the search field. */
  placeholder: string;
  /** The texts of the states, for `useListFilters`. */
  states: Record<S, string>;
  /** Filters that only this list has. */
  children?: ComponentChildren;
  /** The bar for selected rows. */
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
