// The filters and the order of the list of servers, all in the address of the page.
import { useAddressStates } from '../address.ts';
import { useSorting, useTypedState } from '../forms/list_state.ts';
import { serviceFilters } from '../services.ts';
import { isOneOf } from '../ui/ui.ts';
import { stateFilters } from './rows.ts';

/** The servers in the list. */
export const views = { contract: 'On the contract', others: 'Others', all: 'All' } as const;
export type View = keyof typeof views;

const sorts = [
  ...(['name', 'place', 'ip_count', 'state', 'current', 'last_30_days'] as const),
  ...(['limit_bytes', 'added_at'] as const),
];
const noFilters = { view: 'contract', country: '', service: '', state: '', places: '' };

export type ServerFilters = ReturnType<typeof useServerFilters>;

export function useServerFilters() {
  const [texts, change] = useAddressStates(noFilters);
  const [text, setText, search] = useTypedState('search');
  const { sorting, query: order } = useSorting(sorts, 'name');
  const view: View = isOneOf(views, texts.view) ? texts.view : 'contract';
  const { country, places } = texts;
  const service = isOneOf(serviceFilters, texts.service) ? texts.service : undefined;
  // Health is known only for servers on the contract.
  const state = view !== 'others' && isOneOf(stateFilters, texts.state) ? texts.state : undefined;
  return {
    ...{ view, text, setText, country, service, state, places, change, sorting },
    isFiltered: Boolean(search.trim() || country || service || state || places),
    clear: () => {
      setText('');
      change({ ...noFilters, view });
    },
    query: {
      ...{ ...order, view, search: search.trim(), country, places },
      ...(service && { service }),
      ...(state && { state }),
    },
  };
}
