// Custom DNS entries in words: why one is pending, which became active, which has a hostname.
import type { AccountResponse } from '../api/reading.ts';

export type DnsEntry = AccountResponse<'list_overrides'>[number];
/** The facts that these sentences need. */
export type DnsState = Pick<
  DnsEntry,
  'id' | 'server' | 'hostname' | 'status' | 'on_contract' | 'nodes'
>;

/** Whether it has ended; a new expiry then revives it. */
export function isOver({ status }: Pick<DnsEntry, 'status'>): boolean {
  return status === 'expiring' || status === 'expired';
}

/** The reason why an entry is still pending or expiring; undefined when it is not. */
export function whyPending({ server, status, on_contract, nodes }: DnsState): string | undefined {
  if (status === 'expired' || status === 'active') return undefined;
  if (!on_contract) return `${server} isn’t on your contract`;
  if (nodes.length === 0) return `no node serves ${server}`;
  const live = nodes.filter((node) => node.live);
  if (live.length === 0) return 'no node is connected';
  const slow = live.filter(({ applied }) => !applied);
  if (slow.length === 0) return undefined;
  if (status === 'expiring') return `still on ${these(slow)}`;
  const done = live.length - slow.length;
  return live.length === 1
    ? `waiting for ${these(slow)}`
    : `${done} of ${live.length} nodes; waiting for ${these(slow)}`;
}

function these(nodes: ReadonlyArray<{ name: string }>): string {
  const names = nodes.slice(0, 3).map(({ name }) => name);
  const others = nodes.length - names.length;
  return others > 0 ? `${names.join(', ')} and ${others} more` : names.join(', ');
}

/**
 * A sentence on the entries that became active since the statuses `before`, by id; empty if none.
 */
export function newsOf(before: ReadonlyMap<number, string>, entries: readonly DnsState[]): string {
  const arrived = entries.filter(
    ({ id, status }) => status === 'active' && before.get(id) !== 'active',
  );
  const [first] = arrived;
  if (!first) return '';
  if (arrived.length > 1) return `${arrived.length} entries are now active`;
  return `${first.hostname} on ${first.server} is now active`;
}

/** The entry that has this hostname on this server already; both as typed. */
export function holderOf(
  entries: readonly DnsEntry[],
  { server, hostname }: { server: string; hostname: string },
): DnsEntry | undefined {
  return entries.find((entry) => entry.server === server && entry.hostname === nameOf(hostname));
}

/** A hostname as the server spells it: lower case, punycode, no dot at the end. */
export const nameOf = (hostname: string) =>
  URL.parse(`http://${hostname.replace(/\.$/, '')}`)?.hostname ?? hostname;
