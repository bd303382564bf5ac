// The open connections of a node, grouped for people: those of one user from one address to one
// exit by one service. The largest groups are shown.
import { setImmediate } from 'node:timers/promises';
import type {
  ConnectionFilter,
  ConnectionGroup,
  EndOrder,
  LargestGroups,
} from '../../kit/src/node_interface.ts';
import type { OpenConnection } from './engine.ts';

export const maxGroups = 1000;
/** A turn of the event loop looks at this many connections, since other work waits meanwhile. */
const maxOfTurn = 2000;

/** All groups of these connections, the largest first. They may open and close meanwhile. */
export async function groupConnections(open: Iterable<OpenConnection>): Promise<ConnectionGroup[]> {
  const groups = new Map<string, ConnectionGroup>();
  let count = 0;
  for (const connection of open) {
    count += 1;
    if (count % maxOfTurn === 0) await setImmediate();
    const { service, address, exit_ip, authority } = connection;
    const { account, user } = authority;
    const key = `${service} ${account} ${user} ${address} ${exit_ip}`;
    const group = groups.get(key);
    if (group) add(group, connection);
    else groups.set(key, groupOf(connection));
  }
  // Sorted once for all watches: that takes longer than filtering for each.
  return [...groups.values()].sort(
    (a, b) => b.connections - a.connections || b.up + b.down - a.up - a.down,
  );
}

/** Whether a filter lets a group, or one connection, through. */
export function isWanted(filter: EndOrder, of: Required<EndOrder>): boolean {
  const wanted = Object.entries(filter) as Array<[keyof EndOrder, number | string]>;
  return wanted.every(([name, value]) => of[name] === value);
}

/** The first of the sorted groups that a filter lets through, and the sum of the others. */
export function largestGroups(
  sorted: readonly ConnectionGroup[],
  filter: ConnectionFilter,
): LargestGroups {
  const groups: ConnectionGroup[] = [];
  const rest = { groups: 0, connections: 0, up: 0, down: 0 };
  for (const group of sorted) {
    if (!isWanted(filter, group)) continue;
    if (groups.length < maxGroups) {
      groups.push(group);
      continue;
    }
    rest.groups += 1;
    rest.connections += group.connections;
    rest.up += group.up;
    rest.down += group.down;
  }
  return { groups, rest };
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
