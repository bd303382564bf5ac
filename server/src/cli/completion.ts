// The names that a shell completes for exitward, fetched from a running server.
import type { Ask } from '../../../kit/src/cli/command.ts';
import type { Environment } from '../../../kit/src/settings.ts';
import { AdminApi } from './api.ts';

const patienceMs = 1000;
const maxRows = 200;

/**
 * Asks a running server, within a second. A server that is offline or slow (`onAway`), or a missing
 * token, completes nothing.
 */
export function namesFromServer(env: Environment, onAway: () => void): Ask {
  return async (listName, given, prefix) => {
    const list = lists[listName];
    if (!list) return [];
    try {
      return await list(new AdminApi(env, patienceMs), given, prefix);
    } catch {
      onAway();
      return [];
    }
  };
}

/**
 * The list of records that an argument or option with this name refers to; an id refers to its
 * noun.
 */
export function recordsOf(name: string, noun?: string): string | undefined {
  const listName = name === 'id' ? `${noun} id` : name;
  return listName in lists ? listName : undefined;
}

type List = (api: AdminApi, given: readonly string[], prefix: string) => Promise<string[]>;

const named =
  (path: (given: readonly string[], prefix: string) => string, field: string): List =>
  async (api, given, prefix) => {
    const rows = await api.list(path(given, prefix), maxRows);
    return rows.map((row) => String(row[field]));
  };

const ofAccount = (list: string) => (given: readonly string[]) =>
  `/accounts/${encodeURIComponent(given[0] ?? '')}/${list}`;

// Accounts are fetched by name, from the typed prefix on: there may be many.
const accounts: List = named(
  (_given, prefix) =>
    `/accounts?limit=${maxRows}${prefix ? `&after=${encodeURIComponent(prefix)}` : ''}`,
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
  users: named(ofAccount('users'), 'name'),
  ip: async (api, [server = '']) => {
    const path = `/servers/${encodeURIComponent(server)}`;
    const { exit_ips } = await api.get<{ exit_ips: Array<{ ip: string }> }>(path);
    return exit_ips.map(({ ip }) => ip);
  },
  'port-scheme': portSchemes,
  'port-schemes': portSchemes,
  scheme: portSchemes,
  node: named(() => '/nodes', 'id'),
  'node id': named(() => '/nodes', 'id'),
  'held-usage id': named(() => '/held_usage', 'id'),
  'operator-token id': named(() => '/tokens', 'id'),
  'token id': named(ofAccount('tokens'), 'id'),
  'authlist id': named(ofAccount('authlist'), 'id'),
  'override id': named(ofAccount('overrides'), 'id'),
  removal: named(ofAccount('removals'), 'removal_id'),
};
