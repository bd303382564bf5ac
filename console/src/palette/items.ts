// The items in the palettes of both consoles: pages, actions, and the records of an account.
import { usePath } from '../address.ts';
import { useReadIn } from '../api/reading.ts';
import type { Scope } from '../api/scope.ts';
import type { Place } from '../menu.tsx';
import { addressOf, paths } from '../paths.ts';
import { theme } from '../theme.ts';
import { isAddress } from '../typed.ts';
import type { Reading } from '../ui/ui.ts';
import type { FinderProps } from './finder.tsx';
import type { Item } from './palette.tsx';

export type Go = (path: string, state?: Record<string, string>) => () => void;

/** Makes an action that opens a view. */
export function useGo(): Go {
  const [, navigate] = usePath();
  return (path, state = {}) =>
    () =>
      navigate(addressOf(path, state));
}

/**
 * The current page (`here`) can be found, but isn't suggested. `extra`: a note and further words.
 */
export const pageItems = (
  places: readonly Place[],
  here: string,
  go: Go,
  extra: Pick<Item, 'note' | 'words'> = {},
): Item[] =>
  places.map(({ path, name, icon, section, words }) => ({
    ...{ key: `page ${path}`, kind: 'Page', name, icon, note: section, ...extra },
    words: [section, words, extra.words].join(' '),
    isCommon: path !== here,
    onSelect: go(path),
  }));

export const action = (
  name: string,
  icon: Item['icon'],
  onSelect: () => void,
  extra: Partial<Item> = {},
): Item => ({
  key: `action ${name}`,
  kind: 'Action',
  name,
  icon,
  onSelect,
  isCommon: true,
  ...extra,
});

const themes = {
  light: 'Use the light theme',
  dark: 'Use the dark theme',
  system: 'Use the system’s theme',
};

/** The actions that every user has, after all others. */
export const ownActions = ({ onLeave, onShortcuts }: FinderProps): Item[] => [
  ...(['light', 'dark', 'system'] as const)
    .filter((mode) => mode !== theme.value)
    .map((mode) =>
      action(themes[mode], 'theme', () => (theme.value = mode), { words: 'colours mode change' }),
    ),
  action('Show the keyboard shortcuts', 'keyboard', onShortcuts, { words: 'keys help' }),
  action('Sign out', 'leave', onLeave, { words: 'log out leave' }),
];

/** The paths of an account's parts, in its own console or the operator's. */
export interface Parts {
  servers: string;
  authlist: string;
  dns: string;
  users: string;
  tokens: string;
}

/** The actions on an account that the scope allows; for operators they name the account. */
function accountActions(scope: Scope, parts: Parts, go: Go, mayAddServers: boolean): Item[] {
  const { flags, isOperator, account, readOnlyReason } = scope;
  const note = isOperator ? `account ${account}` : undefined;
  const add = { dialog: 'add' };
  const all: Array<[may: boolean, name: string, words: string, onSelect: () => void]> = [
    [
      (flags.admin || flags.proxy) && !readOnlyReason,
      'Add an address to the authlist',
      'ip new',
      go(parts.authlist, add),
    ],
    [
      flags.admin && !readOnlyReason,
      'Add a custom DNS entry',
      'hostname override new',
      go(parts.dns, add),
    ],
    [flags.admin, 'Add a user', 'new person invite', go(parts.users, add)],
    [flags.admin, 'New API token', 'create add key', go(parts.tokens, { dialog: 'create' })],
    [
      mayAddServers && !readOnlyReason,
      'Add servers to the contract',
      'new network',
      go(parts.servers, { view: 'others' }),
    ],
  ];
  return all
    .filter(([may]) => may)
    .map(([, name, words, onSelect]) => action(name, 'plus', onSelect, { note, words }));
}

const minLetters = 2;
const maxUsers = 20;
const maxServers = 20;

/**
 * The actions of an account, and its servers, users and entries. The server searches users and
 * entries by `searched`; servers are read once. Empty while the palette is closed.
 */
export function useAccountItems(
  scope: Scope,
  parts: Parts,
  searched: string,
  go: Go,
  isOpen = true,
): { actions: Item[]; records: Item[]; isReading: boolean; reads: Reading<unknown>[] } {
  const { flags, account, isOperator, readOnlyReason } = scope;
  const mayRead = isOpen && (flags.admin || flags.proxy);
  const text = searched.trim();
  const isSearched = text.length >= minLetters;
  const servers = useReadIn(
    scope,
    'list_network',
    { query: { search: text, sort: 'name', limit: maxServers } },
    { enabled: mayRead && isSearched && !isOperator },
  );
  const addable = useReadIn(
    scope,
    'list_network',
    { query: { view: 'can_add', limit: 1 } },
    { enabled: mayRead && flags.admin },
  );
  const users = useReadIn(
    scope,
    'list_users',
    { query: { search: text, sort: 'name', limit: maxUsers } },
    { enabled: mayRead },
  );
  const entries = useReadIn(
    scope,
    'list_entries',
    { query: { search: text } },
    { enabled: mayRead && isSearched },
  );
  const reads = [servers, addable, users, entries];
  if (!isOpen) return { actions: [], records: [], isReading: false, reads };
  const records = [
    ...(isOperator || !isSearched ? [] : (servers.data ?? [])).map(
      ({ server, title, hostname, location }): Item => ({
        key: `server ${server}`,
        kind: 'Server',
        name: server,
        note: title,
        icon: 'servers',
        // The server also matches exit IPs and country names.
        words: [text, title, hostname, location.city].join(' '),
        onSelect: go(scope.paths.server(server)),
      }),
    ),
    ...(users.data ?? []).map(
      ({ name, display_name }): Item => ({
        key: `user ${account}/${name}`,
        kind: 'User',
        name,
        note: display_name === name ? undefined : display_name,
        icon: 'users',
        words: display_name,
        onSelect: go(scope.paths.user(name)),
      }),
    ),
    ...(isSearched ? (entries.data ?? []) : []).map((entry): Item => {
      const isListed = entry.list === 'authlist';
      return {
        key: `${entry.list} ${account}/${entry.id}`,
        kind: isListed ? 'IP authlist' : 'Custom DNS',
        name: entry.name,
        note: isListed ? `for ${entry.user}` : `${entry.ip} on ${entry.server}`,
        icon: isListed ? 'authlist' : 'dns',
        // An address may be typed in another spelling than it is listed.
        words: `${text} ${entry.user ?? ''} ${entry.ip ?? ''} ${entry.server ?? ''}`,
        onSelect: go(isListed ? parts.authlist : parts.dns, { search: entry.name }),
      };
    }),
  ];
  const verbs = [
    ...(isOperator ? [] : (servers.data ?? []))
      .filter(({ on_contract }) => on_contract)
      .map(({ server, title }) =>
        action(`Test ${server}`, 'test', go(paths.test, { server }), {
          ...{ note: title, isCommon: false },
        }),
      ),
    ...(isAddress(text) && !readOnlyReason
      ? [
          action(
            `Add ${text} to the authlist`,
            'plus',
            go(parts.authlist, { dialog: `add:${text}` }),
            { note: isOperator ? `account ${account}` : undefined, isCommon: false },
          ),
        ]
      : []),
  ];
  const mayAddServers = flags.admin && (addable.data ?? []).length > 0;
  const actions = accountActions(scope, parts, go, mayAddServers);
  return {
    actions,
    records: [...records, ...verbs],
    reads,
    isReading: servers.isFetching || users.isFetching || entries.isFetching,
  };
}
