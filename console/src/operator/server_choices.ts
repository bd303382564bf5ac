// Servers of the network as choices in forms: the server matches the typed text.
import { usePages } from '../api/paging.ts';
import { type Choices, maxChoices } from '../forms/suggest_field.tsx';

/** The servers of the network that match a text. */
export const useFoundServers = (search: string) =>
  usePages('admin_list_servers', {
    query: { search: search.trim(), sort: 'name' },
    limit: maxChoices,
  });

export function useServerChoices(search: string): Choices {
  const { rows, found: matchCount } = useFoundServers(search);
  return {
    options: rows.data?.map(({ name, title }) => ({ value: name, text: `${name}: ${title}` })),
    isWhole: rows.data !== undefined && matchCount <= maxChoices && search === '',
    error: rows.error,
  };
}
