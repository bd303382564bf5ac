// The state of a list that the server sorts and filters, all of it in the address of the page.
import { useMemo } from 'preact/hooks';
import { useAddressState } from '../address.ts';
import { daySeconds } from '../charts/days.ts';
import { now } from '../now.ts';
import { useTyped } from '../typed.ts';
import { isOneOf, optionsIn, type Sorting } from '../ui/ui.ts';

/**
 * The text of a field that goes into the address after a pause in typing, so that not each letter
 * is a request.
 */
export function useTypedState(
  name: string,
): [text: string, set: (text: string) => void, settled: string] {
  const [settled, settle] = useAddressState(name);
  const [text, setText] = useTyped(settled, settle);
  return [text, setText, settled];
}

/** The order of a list: a name in the address, with a leading "-" if it is descending. */
export function useSorting<S extends string>(sorts: readonly S[], standard: S | `-${S}`) {
  const [text, set] = useAddressState('sort', standard);
  const requestedSort = text.replace(/^-/, '') as S;
  const isKnown = sorts.includes(requestedSort);
  const by = isKnown ? requestedSort : (standard.replace(/^-/, '') as S);
  const isDescending = (isKnown ? text : standard).startsWith('-');
  const onSort = (name: string) => set(name === by && !isDescending ? `-${name}` : name);
  const order = isDescending ? ('desc' as const) : ('asc' as const);
  return { sorting: { by, isDescending, onSort } satisfies Sorting, query: { sort: by, order } };
}

/** Seconds from now, by their names in the address. */
const endings: Record<string, number> = {
  '1h': 3600,
  '24h': daySeconds,
  '7d': 7 * daySeconds,
  '30d': 30 * daySeconds,
};
/** Options of a filter by entries that end soon. */
export const endingOptions = optionsIn({
  '': 'At any time',
  '1h': 'Within an hour',
  '24h': 'Within 24 hours',
  '7d': 'Within 7 days',
  '30d': 'Within 30 days',
});

/** The time before which these entries end, fixed when they are requested; empty: any time. */
function useEndsBefore(name: string): string {
  return useMemo(() => {
    const seconds = endings[name];
    return seconds === undefined ? '' : String(now.peek() + seconds);
  }, [name]);
}

export type ListFilters<S extends string> = ReturnType<typeof useListFilters<S>>;

/**
 * The filters that lists share: their fields, and their part of the query. `states`: by name;
 * `canEnd`: whether entries have an end.
 */
export function useListFilters<S extends string>(states: Record<S, string>, canEnd = true) {
  const [text, setText, search] = useTypedState('search');
  const [stateText, setState] = useAddressState('state');
  const [endsText, setEnds] = useAddressState('ends');
  const ends = canEnd ? endsText : '';
  const state = isOneOf(states, stateText) ? stateText : undefined;
  const ends_before = useEndsBefore(ends);
  return {
    ...{ text, setText, state, setState, canEnd, ends, setEnds },
    isFiltered: Boolean(search || state || ends),
    query: { search: search.trim(), ends_before, ...(state ? { state } : {}) },
  };
}
