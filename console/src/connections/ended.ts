// Connections that were ended a moment ago: for a few seconds, answers of nodes still have them.
import { signal } from '@preact/signals';
import type { ConnectionGroup, ConnectionQuery, EndTarget, OpenConnections } from './groups.ts';

/** Nodes repeat their answers every three seconds; they may be on their way for as long. */
const staleMs = 6_000;

/** The orders that nodes may not have answered since. */
export const ended = signal<readonly EndTarget[]>([]);
/** How many there were: it changes with each order, and not when one is forgotten. */
export const endedCount = signal(0);

/** Notes that nodes acknowledged the end of these. */
export function noteEnded(target: EndTarget): void {
  ended.value = [...ended.value, target];
  endedCount.value += 1;
  setTimeout(() => {
    ended.value = ended.value.filter((order) => order !== target);
  }, staleMs);
}

type Row = Partial<Pick<ConnectionGroup, 'account' | 'user' | 'address' | 'server' | 'exit_ip'>>;
const isPartOf = (row: object, { authlist_entry: _, ...target }: EndTarget) =>
  Object.entries(target).every(
    ([name, value]) => value === undefined || (row as Record<string, unknown>)[name] === value,
  );

/** The answer to a query without the connections that these orders ended. */
export function withoutEnded(
  open: OpenConnections,
  query: ConnectionQuery,
  orders: readonly EndTarget[],
): OpenConnections {
  if (orders.length === 0) return open;
  const isEnded = (row: Row) => orders.some((target) => isPartOf({ ...query, ...row }, target));
  const connections = open.connections.filter((row) => !isEnded(row));
  const sums = open.sums?.filter((row) => !isEnded(row));
  const gone = [
    ...open.connections.filter(isEnded).map((group) => ({ ...group, groups: 1 })),
    ...(open.sums?.filter(isEnded) ?? []),
    ...(isEnded({}) ? [open.rest] : []),
  ];
  const total = { ...open.total };
  for (const { groups, connections, up, down } of gone) {
    total.groups -= groups;
    total.connections -= connections;
    total.up -= up;
    total.down -= down;
  }
  const rest = isEnded({}) ? { groups: 0, connections: 0, up: 0, down: 0 } : open.rest;
  return { ...open, connections, ...(sums && { sums }), rest, total };
}
