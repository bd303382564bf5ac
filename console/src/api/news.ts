// News: what the server has told of changes, and which responses are older than it.
import type { Operations } from '../openapi.ts';

/** The parts that events tell of, each with a number that rises with its changes. */
type Topic =
  | 'authlist'
  | 'overrides'
  | 'users'
  | 'contract'
  | 'usage'
  /** Servers, exit IPs and health. */
  | 'network'
  /** Nodes that join, leave, are lost, or have applied a change: for operators. */
  | 'nodes';

/** The newest numbers; those that are not of a topic tell of anything. */
export type News = Readonly<Record<string, number>>;

/** How new a response is: the numbers of `exitward-as-of`, read ahead of all that it shows. */
export interface AsOf {
  revision: number;
  nodes: number;
}

let newest: News = {};

export const hear = (news: News) => {
  newest = news;
};

/** Of a response; undefined where something on the way took the header off. */
export function asOfHeaders(headers: Headers): AsOf | undefined {
  const text = headers.get('exitward-as-of');
  if (text === null) return undefined;
  const numberOf = (name: string) => Number(new RegExp(`${name}=(\\d+)`).exec(text)?.[1] ?? 0);
  return { revision: numberOf('revision'), nodes: numberOf('nodes') };
}

const records = ['authlist', 'overrides', 'users', 'contract'] as const;
const own = ['contract', 'usage', 'network'] as const;

/** The topics that show in what is read. An operation that is not here is read again at any change. */
const shownIn: Partial<Record<keyof Operations, readonly Topic[]>> = {
  console_get_address: ['authlist', 'users'],
  console_list_entries: ['authlist', 'overrides', 'users'],
  console_get_session: ['users', 'contract'],
  console_list_sessions: ['users'],
  console_list_authlist: ['authlist', 'users'],
  console_get_authlist_entry: ['authlist', 'users'],
  console_list_overrides: ['overrides', 'users', 'contract'],
  console_get_override: ['overrides', 'nodes'],
  console_list_removals: ['authlist', 'overrides'],
  console_list_users: ['users'],
  console_get_user: ['users'],
  console_list_tokens: ['contract'],
  console_list_network: [...own, 'nodes'],
  console_list_network_places: ['contract', 'network', 'nodes'],
  console_get_contract: own,
  console_list_servers: [...own, 'nodes'],
  console_get_server: [...own, 'nodes'],
  console_get_usage: [...own, 'users'],
  console_list_audit: [...records, 'network'],
  // It moves by itself, a step at a time: those who show it ask for the next one.
  admin_get_history: [],
  admin_get_account: [...own, 'users'],
  admin_list_accounts: [...own, 'users'],
  admin_list_usage: own,
  admin_list_servers: ['network', 'nodes', 'contract'],
  admin_list_server_places: ['network', 'nodes', 'contract'],
  admin_get_server: ['network', 'nodes', 'contract'],
  admin_list_nodes: ['network', 'nodes'],
  admin_list_invites: ['network', 'nodes'],
  admin_list_geo_statuses: ['network'],
  admin_list_port_schemes: ['network', 'contract'],
  admin_list_tokens: ['network'],
};

/** Whether the server has told of something that shows in the operation since its response was made. */
export function isOutdated(operation: keyof Operations, { revision, nodes }: AsOf): boolean {
  const names = shownIn[operation] ?? Object.keys(newest);
  return names.some((name) => (newest[name] ?? 0) > (name === 'nodes' ? nodes : revision));
}
