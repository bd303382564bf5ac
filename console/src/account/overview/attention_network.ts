// The things that need attention in the network and on the account's lists: servers, exit IPs, authlist, custom DNS.
import { exitFaults, type Item, mostNamed, named } from '../../attention/items.ts';
import { awaited } from '../../dns/entries.ts';
import { count, fromNow } from '../../format.ts';
import { addressOf, paths } from '../../paths.ts';
import { isMisplaced } from '../../servers/rows.ts';
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

const dnsBy = (state: { state: string; search?: string; server?: string }) => ({
  path: addressOf(paths.dns, state),
  text: 'Custom DNS',
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

const none = { found: 0, rows: [] };

export function ofAuthlist({ idle = none, ending = none, now }: Known): Item[] {
  const items: Item[] = [];
  const label = ({ ip, user }: AuthlistEntry) => `${ip} (${user})`;
  if (idle.found > 0) {
    items.push({
      key: 'idle',
      tone: 'warn',
      sentence: `${count(idle.found, 'authlist entry lets', 'authlist entries let')} nobody in, as the user is not an active proxy user: ${named(idle.rows.map(label), idle.found)}.`,
      link: authlistBy({ state: 'idle' }),
    });
  }
  const [next] = ending.rows;
  if (next) {
    const first = fromNow(next.expiry, now);
    const when =
      ending.found === 1
        ? `1 authlist entry ends ${first}`
        : `${ending.found.toLocaleString('en')} authlist entries end within 24 hours, the first ${first}`;
    items.push({
      key: 'entries-ending',
      tone: 'warn',
      sentence: `${when}: ${named(ending.rows.map(label), ending.found)}.`,
      link: authlistBy({ ends: '24h', state: 'acting' }),
    });
  }
  return items;
}

export function ofOverrides({ pending = none, pendingSince, now }: Known): Item[] {
  const late = pending.rows.filter(({ id, nodes }) => {
    // A node that is there may need a moment; one that is not will take longer.
    const isUnderWay = nodes.some(({ live, applied }) => live && !applied);
    return !isUnderWay || now - (pendingSince?.get(id) ?? now) >= pendingLong_seconds;
  });
  if (late.length > 0 && pending.found > mostNamed) {
    const names = pending.rows.map(({ hostname, server }) => `${hostname} on ${server}`);
    return [
      {
        key: 'pending',
        tone: 'warn',
        sentence: `${pending.found.toLocaleString('en')} custom DNS entries are still pending: ${named(names, pending.found)}.`,
        link: dnsBy({ state: 'pending' }),
      },
    ];
  }
  return late.map((entry) => {
    const { id, server, hostname, status } = entry;
    return {
      key: `pending-${id}`,
      tone: 'warn',
      sentence: `The custom DNS entry for ${hostname} on ${server} is still pending: ${awaited(entry) ?? 'its nodes were not heard of yet'}.`,
      link: dnsBy({ search: hostname, server, state: status }),
    };
  });
}
