// A list in pages that can be searched, filtered and sorted: its data, and the card around its
// table.
import type { ComponentChildren } from 'preact';
import type { Paged, Query } from '../api/paging.ts';
import { Card, FilterBar, Loaded, optionsIn, SearchField, SelectField } from '../ui/ui.ts';
import { useList } from './list.ts';
import { endingOptions, type ListFilters, useListFilters, useSorting } from './list_state.ts';
import { Views } from './views.tsx';

type SortOf<K extends Paged> = Query<K> extends { sort?: infer S } ? S & string : never;
type StateOf<K extends Paged> = Query<K> extends { state?: infer S } ? S & string : never;

interface ListGiven<K extends Paged> {
  key: Parameters<typeof useList<K>>[1];
  sorts: readonly SortOf<K>[];
  /** The initial order. */
  sort: SortOf<K> | `-${SortOf<K>}`;
  /** The texts of the states that it can be filtered by. */
  states: Partial<Record<StateOf<K>, string>>;
  /** Whether its rows have an end. */
  canEnd?: boolean;
  /** Filters that only this list has; an empty one filters nothing. */
  ownFilters?: Partial<Query<K>>;
  /** The base of a scope, for an operation of accounts. */
  base?: string;
  /** Whether rows can be selected. */
  canSelect?: boolean;
}

export function useFilteredList<K extends Paged>(operation: K, given: ListGiven<K>) {
  const { key, sorts, sort, states, canEnd, ownFilters = {}, ...options } = given;
  const filters = useListFilters(states as Record<string, string>, canEnd);
  const { sorting, query: order } = useSorting(sorts, sort);
  const query = { ...order, ...filters.query, ...ownFilters } as unknown as Query<K>;
  const isFiltered = filters.isFiltered || Object.values(ownFilters).some(Boolean);
  const list = useList(operation, key, query, options);
  return {
    ...list,
    ...{ filters, states: states as Record<string, string>, isFiltered },
    ownValues: Object.values(ownFilters) as Array<string | undefined>,
    table: { ...list.table, sorting },
  };
}

interface FilteredListProps {
  list: Pick<
    ReturnType<typeof useFilteredList<Paged>>,
    'pages' | 'filters' | 'states' | 'isFiltered' | 'ownValues'
  >;
  title?: string;
  /** Its name, for "Loading the authlist …". */
  name: string;
  /** Shown instead of a list without rows. */
  empty?: ComponentChildren;
  /** Above the search. */
  lead?: ComponentChildren;
  /** The placeholder of the search field. */
  placeholder: string;
  /** Fields of the filters that only this list has. */
  fields?: ComponentChildren;
  /** The bar for selected rows. */
  bar: ComponentChildren;
  /** False: without search, filters and bar. */
  hasHead?: boolean;
  /** The table. */
  children: ComponentChildren;
}

export function FilteredList({ list, hasHead = true, ...props }: FilteredListProps) {
  const { title, name, empty, lead, placeholder, fields, bar, children } = props;
  const { pages, filters, states, isFiltered, ownValues } = list;
  return (
    <Card title={title}>
      {lead}
      <Loaded reading={pages.rows} name={name}>
        {() =>
          empty && pages.total === 0 && !isFiltered ? (
            empty
          ) : (
            <>
              {hasHead && (
                <>
                  <Views />
                  <div class="list-head">
                    <Filters {...{ filters, placeholder, states, ownValues }}>{fields}</Filters>
                    {bar}
                  </div>
                </>
              )}
              {children}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

interface FiltersProps {
  filters: ListFilters<string>;
  placeholder: string;
  states: Record<string, string>;
  /** The values of the filters that only this list has. */
  ownValues: ReadonlyArray<string | undefined>;
  children: ComponentChildren;
}

function Filters({ filters, placeholder, states, ownValues, children }: FiltersProps) {
  return (
    <FilterBar
      values={[...ownValues, filters.state, filters.ends]}
      first={
        <SearchField
          label="Search"
          name="search"
          placeholder={placeholder}
          value={filters.text}
          onInput={filters.setText}
        />
      }
    >
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
    </FilterBar>
  );
}
