// Servers of the network as choices in forms: the server matches the typed text.
import { usePages } from '../api/paging.ts';
import { type Choices, mostChoices } from '../forms/suggest_field.tsx';

export function useServerChoices(search: string): Choices {
  const query = { search: search.trim(), sort: 'name' } as const;
  const { rows, found: matchCount } = usePages('admin_list_servers', { query, limit: mostChoices });
  return {
    options: rows.data?.map(({ name, title }) => ({ value: name, text: `${name}: ${title}` })),
    isWhole: rows.data !== undefined && matchCount <= mostChoices && search === '',
    error: rows.error,
  };
}
