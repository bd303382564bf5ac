// The things that need attention in the network and on the account's lists: servers, exit IPs, authlist, custom DNS.
import { exitFaults, type Item, named } from '../../attention/items.ts';
import { awaited } from '../../dns/entries.ts';
import { count, fromNow } from '../../format.ts';
import { addressOf, paths } from '../../paths.ts';
import { isMisplaced } from '../../servers/rows.ts';
import { day_seconds } from '../../usage/days.ts';
import type { AuthlistEntry, Known } from './known.ts';

/** Nodes that are there apply an entry within a second. */
const pendingLong_seconds = 60;

/** Pages with the rows that an item names, and no others. */
const serversBy = (status: string) => ({
  path: addressOf(paths.servers, { status }),
  text: 'Servers',
});
const authlistBy = (state: { state: string; ends?: string }) => ({
  path: addressOf(paths.authlist, state),
  text: 'IP authlist',
});

const exitTones = { crit: 'bad', warn: 'warn', unknown: 'note' } as const;
export function ofServers({ servers: own = [] }: Known): Item[] {
  const exits = own.flatMap(({ server, nodes, ips }) =>
    ips.map((exit) => ({ ...exit, server, isServed: nodes.all > 0 })),
  );
  const items: Item[] = [];
  const namesOf = (some: typeof own) => some.map(({ server }) => server);
  const dark = namesOf(own.filter(({ nodes }) => nodes.all > 0 && nodes.live === 0));
  if (dark.length > 0) {
    items.push({
      key: 'dark',
      tone: 'bad',
      sentence: `No node is live on ${named(dark)}: changes do not reach ${dark.length === 1 ? 'this server' : `these ${dark.length} servers`} for now.`,
      link: serversBy('not connected'),
    });
  }
  const bare = namesOf(own.filter(({ nodes }) => nodes.all === 0));
  if (bare.length > 0) {
    items.push({
      key: 'bare',
      tone: 'note',
      sentence: `${named(bare)} ${bare.length === 1 ? 'has' : 'have'} no node yet: nothing serves there until your provider adds one.`,
      link: serversBy('no node yet'),
    });
  }
  for (const status of ['crit', 'warn', 'unknown'] as const) {
    // Servers without nodes are told of above.
    const found = exits.filter((exit) => exit.isServed && exit.status === status);
    if (found.length === 0) continue;
    const names = named(found.map(({ ip, server }) => `${ip} (${server})`));
    items.push({
      key: `exits-${status}`,
      tone: exitTones[status],
      sentence: `${count(found.length, ...exitFaults[status])} (${status}): ${names}.`,
      link: serversBy(status),
    });
  }
  const misplaced = exits.filter(isMisplaced);
  if (misplaced.length > 0) {
    const names = named(misplaced.map(({ ip, server }) => `${ip} (${server})`));
    items.push({
      key: 'geo',
      tone: 'warn',
      sentence: `A geo-IP provider sees ${count(misplaced.length, 'exit IP')} in another country (crit): ${names}.`,
      link: serversBy('misplaced'),
    });
  }
  return items;
}

export function ofAuthlist({ authlist: list = [], now }: Known): Item[] {
  const items: Item[] = [];
  const label = ({ ip, user }: AuthlistEntry) => `${ip} (${user})`;
  const idle = list.filter(({ user_active }) => !user_active);
  if (idle.length > 0) {
    items.push({
      key: 'idle',
      tone: 'warn',
      sentence: `${count(idle.length, 'authlist entry lets', 'authlist entries let')} nobody in, as the user is not an active proxy user: ${named(idle.map(label))}.`,
      link: authlistBy({ state: 'idle' }),
    });
  }
  const ending = list
    .filter(({ user_active, expiry }) => user_active && expiry - now <= day_seconds)
    .sort((a, b) => a.expiry - b.expiry);
  const [next] = ending;
  if (next) {
    const first = fromNow(next.expiry, now);
    const when =
      ending.length === 1
        ? `1 authlist entry ends ${first}`
        : `${ending.length} authlist entries end within 24 hours, the first ${first}`;
    items.push({
      key: 'entries-ending',
      tone: 'warn',
      sentence: `${when}: ${named(ending.map(label))}.`,
      link: authlistBy({ ends: '24h', state: 'acting' }),
    });
  }
  return items;
}

export function ofOverrides({ overrides = [], pendingSince, now }: Known): Item[] {
  return overrides.flatMap((entry): Item[] => {
    const { id, server, hostname, status, nodes } = entry;
    if (status !== 'pending') return [];
    // A node that is there may need a moment; one that is not will take longer.
    const isUnderWay = nodes.some(({ live, applied }) => live && !applied);
    if (isUnderWay && now - (pendingSince?.get(id) ?? now) < pendingLong_seconds) return [];
    return [
      {
        key: `pending-${id}`,
        tone: 'warn',
        sentence: `The custom DNS entry for ${hostname} on ${server} is still pending: ${awaited(entry) ?? 'its nodes were not heard of yet'}.`,
        link: {
          path: addressOf(paths.dns, { search: hostname, server, state: status }),
          text: 'Custom DNS',
        },
      },
    ];
  });
}
