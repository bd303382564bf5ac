// The open connections of a node as people look at them: those of one user from one address to one
// exit by one service are a group, and the largest groups are shown.
import { setImmediate } from 'node:timers/promises';
import type { OpenConnection } from './engine.ts';
import type { ConnectionFilter } from './policy/records.ts';

export interface ConnectionGroup {
  service: string;
  account: number;
  user: number;
  /** The client's address. */
  address: string;
  exit_ip: string;
  /** How the user was identified, each way once. */
  by: Array<OpenConnection['authority']['by']>;
  /** The authlist entry that lets some of them in. */
  entry?: number;
  connections: number;
  /** When the oldest of them began, and when any last carried a byte; epoch seconds. */
  since: number;
  last_byte_at: number;
  /** Bytes of these connections from the client and to it, as it counts them. */
  up: number;
  down: number;
}

/** The largest groups, and the sum of the others. */
export interface LargestGroups {
  groups: ConnectionGroup[];
  rest: Pick<ConnectionGroup, 'connections' | 'up' | 'down'> & { groups: number };
}

export const maxGroups = 1000;
/** A turn of the event loop looks at this many: others wait for it meanwhile. */
const lookedAtTogether = 2000;

/** All groups of these connections. They may open and close meanwhile. */
export async function groupConnections(open: Iterable<OpenConnection>): Promise<ConnectionGroup[]> {
  const groups = new Map<string, ConnectionGroup>();
  let looked = 0;
  for (const connection of open) {
    looked += 1;
    if (looked % lookedAtTogether === 0) await setImmediate();
    const { service, address, exit_ip, authority } = connection;
    const { account, user } = authority;
    const key = `${service} ${account} ${user} ${address} ${exit_ip}`;
    const group = groups.get(key);
    if (group) add(group, connection);
    else groups.set(key, groupOf(connection));
  }
  return [...groups.values()];
}

/** The largest of the groups that a filter lets through: those with the most connections. */
export function largestGroups(
  groups: readonly ConnectionGroup[],
  filter: ConnectionFilter,
): LargestGroups {
  const wanted = Object.entries(filter) as Array<[keyof ConnectionFilter, number | string]>;
  const matching = groups.filter((group) => wanted.every(([name, value]) => group[name] === value));
  matching.sort((a, b) => b.connections - a.connections || b.up + b.down - a.up - a.down);
  const rest = { groups: Math.max(0, matching.length - maxGroups), connections: 0, up: 0, down: 0 };
  for (const { connections, up, down } of matching.slice(maxGroups)) {
    rest.connections += connections;
    rest.up += up;
    rest.down += down;
  }
  return { groups: matching.slice(0, maxGroups), rest };
}

function groupOf(connection: OpenConnection): ConnectionGroup {
  const { service, address, exit_ip, authority, since, last_byte_at, up, down } = connection;
  const { account, user, by } = authority;
  const entry = by === 'authlist' ? { entry: authority.entry } : {};
  const names = { service, account, user, address, exit_ip, by: [by], ...entry };
  return { ...names, connections: 1, since, last_byte_at, up, down };
}

function add(group: ConnectionGroup, connection: OpenConnection): void {
  const { authority, since, last_byte_at, up, down } = connection;
  group.connections += 1;
  group.since = Math.min(group.since, since);
  group.last_byte_at = Math.max(group.last_byte_at, last_byte_at);
  group.up += up;
  group.down += down;
  if (!group.by.includes(authority.by)) group.by.push(authority.by);
  if (authority.by === 'authlist') group.entry = authority.entry;
}
