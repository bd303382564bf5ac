// The servers of the contract as forms and filters offer them: the first ones, or those that the server finds for a text.
import { usePages } from '../api/paging.ts';
import { useScope } from '../api/scope.ts';
import { type Choices, mostChoices } from '../forms/suggest_field.tsx';

/** Of all services, or those that offer one. */
function useChoicesOf(search: string, service?: 'vpn'): Choices {
  const query = { sort: 'name', search: search.trim(), ...(service && { service }) } as const;
  const { base } = useScope();
  const { rows, hasMore } = usePages('console_list_servers', { query, limit: mostChoices, base });
  const options = rows.data?.map(({ server, title }) => ({
    value: server,
    text: title === server ? server : `${server} (${title})`,
  }));
  return { options, isWhole: rows.data !== undefined && !hasMore, error: rows.error };
}

export const useServerChoices = (search: string) => useChoicesOf(search);
export const useVpnServerChoices = (search: string) => useChoicesOf(search, 'vpn');
