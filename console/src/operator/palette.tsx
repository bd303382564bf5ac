// The palette of the operator's console: accounts, servers, nodes, the accounts that list an
// address, and the parts of the open account.
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useRead } from '../api/reading.ts';
import { operatorScope } from '../api/scope.ts';
import type { FinderProps } from '../palette/finder.tsx';
import {
  action,
  type Go,
  ownActions,
  pageItems,
  useAccountItems,
  useGo,
} from '../palette/items.ts';
import { type Item, Palette } from '../palette/palette.tsx';
import { objectOf } from '../palette/verbs.ts';
import { nameIn, paths } from '../paths.ts';
import { isAddress, useTyped } from '../typed.ts';
import { accountParts } from './parts.ts';

const { operator } = paths;

export function OperatorPalette(props: FinderProps) {
  const go = useGo();
  const [here] = useLocation();
  const [searched, search] = useState('');
  const [typed, setTyped] = useTyped('', search);
  const object = objectOf(searched);
  const ofAccount = useOpenAccount(object, go);
  const network = useNetwork(object, go);
  const claims = useClaims(object, go);
  const isPending = typed !== searched;
  return (
    <Palette
      items={[
        ...ofAccount.common,
        ...pageItems(props.places, here, go),
        ...networkActions(go),
        ...ownActions(props),
        ...claims.items,
        ...ofAccount.records,
        ...network.items,
      ]}
      typed={typed}
      onType={setTyped}
      reads={[...ofAccount.reads, ...network.reads, claims.found]}
      isReading={isPending || network.isReading || claims.isReading || ofAccount.isReading}
      who="operator"
      placeholder="Pages, accounts, servers, nodes; an address: who lists it …"
      onClose={props.onClose}
    />
  );
}

const networkActions = (go: Go): Item[] => [
  action('Create an account', 'plus', go(operator.accounts, { dialog: 'create' }), {
    words: 'new customer contract add',
  }),
  action('Add a server', 'plus', go(operator.servers, { dialog: 'add' }), { words: 'new' }),
  action('Import an inventory', 'plus', go(operator.servers, { dialog: 'import' }), {
    words: 'servers add csv',
  }),
  action('Invite a node', 'plus', go(operator.nodes, { dialog: 'invite' }), {
    words: 'new add join machine',
  }),
  action('Start or end maintenance', 'pause', go(operator.control_plane), {
    words: 'control plane down stop',
  }),
  action('Create an operator token', 'plus', go(operator.tokens, { dialog: 'create' }), {
    words: 'new add',
  }),
];

/** The parts, actions and records of the open account. */
function useOpenAccount(searched: string, go: Go) {
  const [location] = useLocation();
  const name = nameIn(/^\/operator\/accounts\/([^/]+)/.exec(location)?.[1] ?? '');
  const scope = operatorScope(name);
  const at = (part: string) => operator.account(name, part);
  const parts = {
    servers: at('servers'),
    authlist: at('authlist'),
    dns: at('dns'),
    users: at('users'),
    tokens: at('tokens'),
  };
  const isOpen = name !== '';
  const { actions, records, isReading, reads } = useAccountItems(
    scope,
    parts,
    searched,
    go,
    isOpen,
  );
  if (!isOpen) return { common: [], records: [], isReading: false, reads };
  const places = accountParts.map(({ part, ...rest }) => ({ ...rest, path: at(part) }));
  const ofParts = pageItems(places, location, go, { note: `account ${name}`, words: name });
  return { common: [...ofParts, ...actions], records, isReading, reads };
}

function useNetwork(searched: string, go: Go) {
  const text = searched.trim();
  const query = { search: text, sort: 'name' as const, limit: 20 };
  const accounts = useRead('admin_list_accounts', { query });
  const servers = useRead('admin_list_servers', { query }, { enabled: text !== '' });
  const nodes = useRead('admin_list_nodes', {});
  const items = [
    ...(accounts.data ?? []).map(
      ({ name, plan }): Item => ({
        key: `account ${name}`,
        kind: 'Account',
        name,
        note: plan,
        words: plan,
        icon: 'accounts',
        onSelect: go(operator.account(name)),
      }),
    ),
    ...((text !== '' && servers.data) || []).map(
      ({ name, hostname, city, country }): Item => ({
        key: `server ${name}`,
        kind: 'Server',
        name,
        note: city,
        icon: 'servers',
        // The server may have matched its title or an exit IP.
        words: `${hostname} ${city} ${country} ${text}`,
        onSelect: go(operator.server(name)),
      }),
    ),
    ...(nodes.data ?? []).map(
      ({ id, name, server }): Item => ({
        key: `node ${id}`,
        kind: 'Node',
        name,
        note: `of ${server}`,
        icon: 'nodes',
        words: server,
        onSelect: go(operator.server(server)),
      }),
    ),
  ];
  const verbs = [
    ...(accounts.data ?? []).map(({ name, suspended }) => {
      const [verb, icon] = suspended
        ? ['Resume', 'resume' as const]
        : ['Suspend', 'pause' as const];
      const onSelect = go(operator.account(name), { dialog: verb.toLowerCase() });
      return action(`${verb} ${name}`, icon, onSelect, { isCommon: false });
    }),
    ...((text !== '' && servers.data) || []).map(({ name, city }) =>
      action(`Test ${name}`, 'test', go(operator.test, { server: name }), {
        ...{ note: city, isCommon: false },
      }),
    ),
  ];
  const isReading = accounts.isFetching || servers.isFetching || nodes.isLoading;
  return { items: [...items, ...verbs], isReading, reads: [accounts, servers, nodes] };
}

/** The accounts that list the typed address. */
function useClaims(searched: string, go: Go) {
  const ip = searched.trim();
  const hasAddress = isAddress(ip);
  const lookup = useRead('admin_find_address', { query: { ip } }, { enabled: hasAddress });
  const claims = hasAddress && !lookup.isPlaceholderData ? (lookup.data?.authlist ?? []) : [];
  const items = claims.map(
    ({ account, user, port_scheme, ip: listed }): Item => ({
      key: `claim ${port_scheme} ${listed}`,
      kind: 'Who lists it',
      name: `${account} lists ${listed}`,
      note: `for ${user}, port scheme ${port_scheme}`,
      icon: 'authlist',
      // An address may be typed in another spelling than it is listed.
      words: ip,
      onSelect: go(operator.account(account, 'authlist'), { search: listed }),
    }),
  );
  if (hasAddress) {
    const note = lookup.data?.authlist.length === 0 ? `No account lists ${ip}` : undefined;
    const onSelect = go(operator.addresses, { ip });
    items.push(action(`Look up ${ip}`, 'authlist', onSelect, { note }));
  }
  return { items, found: lookup, isReading: hasAddress && lookup.isFetching };
}
