// The servers of the contract in forms and filters: the first ones, or those that match a text.
import { usePages } from '../api/paging.ts';
import { useScope } from '../api/scope.ts';
import type { FoundServers } from './server_checks.tsx';
import { type Choices, maxChoices } from './suggest_field.tsx';

/** All servers, or those that offer a service. */
function useChoicesOf(search: string, service?: 'vpn'): Choices {
  const query = { sort: 'name', search: search.trim(), ...(service && { service }) } as const;
  const { base } = useScope();
  const { rows, hasMore } = usePages('console_list_servers', { query, limit: maxChoices, base });
  const options = rows.data?.map(({ server, title }) => ({
    value: server,
    text: title === server ? server : `${server} (${title})`,
  }));
  return { options, isWhole: rows.data !== undefined && !hasMore, error: rows.error };
}

/** Those that match a text, to select several. */
export function useFoundServers(search: string): FoundServers {
  const { base } = useScope();
  const query = { sort: 'name', search } as const;
  const { rows, total } = usePages('console_list_servers', { query, limit: maxChoices, base });
  const data = rows.data?.map(({ server, title }) => ({ name: server, title }));
  return { rows: { ...rows, data }, total };
}

export const useServerChoices = (search: string) => useChoicesOf(search);
export const useVpnServerChoices = (search: string) => useChoicesOf(search, 'vpn');
