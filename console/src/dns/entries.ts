// Custom DNS entries in words: what one waits for, what became active, which of them are looked for.
import type { Answer } from '../api/api.ts';

export type DnsEntry = Answer<'console_list_overrides'>[number];
/** What the words rest on. */
export type DnsState = Pick<
  DnsEntry,
  'id' | 'server' | 'hostname' | 'status' | 'on_contract' | 'nodes'
>;

/** Whether it is no longer wanted; then a new expiry revives it. */
export function isOver({ status }: Pick<DnsEntry, 'status'>): boolean {
  return status === 'expiring' || status === 'expired';
}

/** What keeps an entry from being where it should be; undefined when nothing does. */
export function awaited({ server, status, on_contract, nodes }: DnsState): string | undefined {
  if (status === 'expired' || status === 'active') return undefined;
  if (!on_contract) return `${server} is not on your contract`;
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
  const more = nodes.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** What became active since the statuses were `before`, by id; empty when nothing did. */
export function newsOf(before: ReadonlyMap<number, string>, entries: readonly DnsState[]): string {
  const arrived = entries.filter(
    ({ id, status }) => status === 'active' && before.get(id) !== 'active',
  );
  const [first] = arrived;
  if (!first) return '';
  if (arrived.length > 1) return `${arrived.length} entries are active`;
  return `${first.hostname} on ${first.server} is active`;
}

export interface DnsFilter {
  /** Part of a hostname or an address. */
  text: string;
  /** Short name; empty for all. */
  server: string;
  /** A status, `current` for all but expired, or empty for all. */
  state: string;
}

/** The entries that a filter lets through, in the order of their hostnames. */
export function filtered(
  entries: readonly DnsEntry[],
  { text, server, state }: DnsFilter,
): DnsEntry[] {
  const wanted = text.trim().toLowerCase();
  return entries
    .filter(
      (entry) =>
        (entry.hostname.includes(wanted) || entry.ip.includes(wanted)) &&
        (server === '' || entry.server === server) &&
        (state === '' ||
          (state === 'current' ? entry.status !== 'expired' : entry.status === state)),
    )
    .sort((a, b) => order(a.hostname, b.hostname) || order(a.server, b.server) || a.id - b.id);
}

const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
