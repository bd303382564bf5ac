// News: the changes that the server reported, and which responses are older.
import type { Operations } from '../openapi.ts';

/** The topics of events, each with the version of its last change. */
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

/** The newest versions, which have no order; one that is of no topic may concern anything. */
export type News = Readonly<Record<string, string | number>>;

/** How new a response is: the versions of `exitward-as-of`, which are read before its content. */
export interface AsOf {
  versions: Readonly<Record<string, string>>;
  /** How many events had come when it was requested: it is at least as new as they are. */
  events: number;
}

let newest: News = {};
let events = 0;

export const hear = (news: News) => {
  newest = news;
  events += 1;
};

export const eventCount = () => events;

/** `events`: their count at the request. Undefined when a proxy removed the header. */
export function asOfHeaders(headers: Headers, events: number): AsOf | undefined {
  const text = headers.get('exitward-as-of');
  if (text === null) return undefined;
  const versions = text.split(', ').map((part) => part.split('='));
  return { versions: Object.fromEntries(versions) as AsOf['versions'], events };
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
  console_list_users: ['users', 'usage'],
  console_get_user: ['users'],
  console_list_tokens: ['contract'],
  console_list_network: [...accountTopics, 'nodes'],
  console_list_network_places: ['contract', 'network', 'nodes'],
  console_get_contract: accountTopics,
  console_list_servers: [...accountTopics, 'nodes'],
  console_get_server: [...accountTopics, 'nodes'],
  console_get_usage: [...accountTopics, 'users'],
  console_list_audit: [...records, 'network'],
  // No event reports them: they are the viewer's own.
  console_list_views: [],
  admin_list_views: [],
  // They are read every few seconds while the page is visible.
  console_list_connections: [],
  admin_open_connections: [],
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
export function isOutdated(operation: keyof Operations, asOf: AsOf): boolean {
  // Another version than that of the newest event may be newer, too: then it was requested later.
  if (asOf.events === events) return false;
  const names = shownIn[operation] ?? Object.keys(newest);
  return names.some((name) => name in newest && String(newest[name]) !== asOf.versions[name]);
}
