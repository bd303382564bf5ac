// News: the changes that the server reported, and which responses are older.
import type { Operations } from '../openapi.ts';

/** The topics of events, each with a number that grows with its changes. */
type Topic =
  | 'authlist'
  | 'overrides'
  | 'users'
  | 'contract'
  | 'usage'
  /** Servers, exit IPs and health. */
  | 'network'
  /** Nodes that join, leave, go offline, or have applied a change: for operators. */
  | 'nodes';

/** The newest numbers; a number that is of no topic may concern anything. */
export type News = Readonly<Record<string, number>>;

/** How new a response is: the numbers of `exitward-as-of`, which are read before its content. */
export interface AsOf {
  revision: number;
  nodes: number;
}

let newest: News = {};

export const hear = (news: News) => {
  newest = news;
};

/** Undefined when a proxy removed the header. */
export function asOfHeaders(headers: Headers): AsOf | undefined {
  const text = headers.get('exitward-as-of');
  if (text === null) return undefined;
  const numberOf = (name: string) => Number(new RegExp(`${name}=(\\d+)`).exec(text)?.[1] ?? 0);
  return { revision: numberOf('revision'), nodes: numberOf('nodes') };
}

const records = ['authlist', 'overrides', 'users', 'contract'] as const;
const accountTopics = ['contract', 'usage', 'network'] as const;

/** The topics that affect each operation. One that is missing here is read again at any change. */
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
  console_list_network: [...accountTopics, 'nodes'],
  console_list_network_places: ['contract', 'network', 'nodes'],
  console_get_contract: accountTopics,
  console_list_servers: [...accountTopics, 'nodes'],
  console_get_server: [...accountTopics, 'nodes'],
  console_get_usage: [...accountTopics, 'users'],
  console_list_audit: [...records, 'network'],
  // It grows with time, one step after another: the pages that show it ask for the next one.
  admin_get_history: [],
  admin_get_account: [...accountTopics, 'users'],
  admin_list_accounts: [...accountTopics, 'users'],
  admin_list_usage: accountTopics,
  admin_list_servers: ['network', 'nodes', 'contract'],
  admin_list_server_places: ['network', 'nodes', 'contract'],
  admin_get_server: ['network', 'nodes', 'contract'],
  admin_list_nodes: ['network', 'nodes'],
  admin_list_invites: ['network', 'nodes'],
  admin_list_geo_statuses: ['network'],
  admin_list_port_schemes: ['network', 'contract'],
  admin_list_tokens: ['network'],
};

/**
 * Whether the server has reported a change that affects the operation since its response was made.
 */
export function isOutdated(operation: keyof Operations, { revision, nodes }: AsOf): boolean {
  const names = shownIn[operation] ?? Object.keys(newest);
  return names.some((name) => (newest[name] ?? 0) > (name === 'nodes' ? nodes : revision));
}
