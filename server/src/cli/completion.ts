// The names that a shell completes for exitward: a running server is asked for them.
import type { Ask } from '../../../kit/src/cli/command.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { AdminApi } from './api.ts';

const patience_milliseconds = 1000;
const maxRows = 200;

/** Asks a running server, within a second. One that is away or slow (`onAway`), and a missing token, have no words. */
export function asking(env: Environment, onAway: () => void): Ask {
  return async (listName, given, begun) => {
    const list = lists[listName];
    if (!list) return [];
    try {
      return await list(new AdminApi(env, patience_milliseconds), given, begun);
    } catch {
      onAway();
      return [];
    }
  };
}

/** The records that an argument or option of this name is one of; an id is one of its noun. */
export function recordsOf(name: string, noun?: string): string | undefined {
  const listName = name === 'id' ? `${noun} id` : name;
  return listName in lists ? listName : undefined;
}

type List = (api: AdminApi, given: readonly string[], begun: string) => Promise<string[]>;

const named =
  (path: (given: readonly string[], begun: string) => string, field: string): List =>
  async (api, given, begun) => {
    const rows = await api.list(path(given, begun), maxRows);
    return rows.map((row) => String(row[field]));
  };

const ofAccount = (list: string) => (given: readonly string[]) =>
  `/accounts/${encodeURIComponent(given[0] ?? '')}/${list}`;

// Accounts come by name, from the one that is begun on: there may be many.
const accounts: List = named(
  (_given, begun) =>
    `/accounts?limit=${maxRows}${begun ? `&after=${encodeURIComponent(begun)}` : ''}`,
  'name',
);
const servers: List = async (api) =>
  (await api.list<{ name: string }>('/servers')).map(({ name }) => name);
const portSchemes = named(() => '/port_schemes', 'name');

/** By the name of an argument or option; an id by its noun. */
const lists: Readonly<Record<string, List>> = {
  account: accounts,
  server: servers,
  servers,
  user: named(ofAccount('users'), 'name'),
  ip: async (api, [server = '']) => {
    const path = `/servers/${encodeURIComponent(server)}`;
    const { exit_ips } = await api.get<{ exit_ips: Array<{ ip: string }> }>(path);
    return exit_ips.map(({ ip }) => ip);
  },
  'port-scheme': portSchemes,
  'port-schemes': portSchemes,
  scheme: portSchemes,
  'node id': named(() => '/nodes', 'id'),
  'held-usage id': named(() => '/held_usage', 'id'),
  'operator-token id': named(() => '/tokens', 'id'),
  'token id': named(ofAccount('tokens'), 'id'),
  'authlist id': named(ofAccount('authlist'), 'id'),
  'override id': named(ofAccount('overrides'), 'id'),
  removal: named(ofAccount('removals'), 'removal_id'),
};
