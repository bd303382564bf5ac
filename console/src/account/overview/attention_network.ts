// The things that need attention in the network and on the account's lists: servers, exit IPs,
// authlist and custom DNS.
import { exitFaults, type Item, maxNamed, named } from '../../attention/items.ts';
import { whyPending } from '../../dns/entries.ts';
import { count, fromNow } from '../../format.ts';
import { addressOf, paths } from '../../paths.ts';
import { isMisplaced } from '../../servers/rows.ts';
import type { AuthlistEntry, Known, Need } from './known.ts';

/** Online nodes apply an entry within a second. */
const longPendingSeconds = 60;

/** Pages with exactly the rows that an item names. */
const serversBy = (state: Need) => ({
  path: addressOf(paths.servers, { state }),
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

const none = { found: 0, rows: [] };

const exitTones = { crit: 'bad', warn: 'warn', unknown: 'note' } as const;

type Servers = NonNullable<Known['servers']>;
type Found = NonNullable<Servers[Need]>;
type Exit = Found['rows'][number]['ips'][number];

const namesOf = ({ rows, found: matchCount }: Found) =>
  named(
    rows.map(({ server }) => server),
    matchCount,
  );

/**
 * The exit IPs that `isWanted` accepts. When not all servers were read, only servers are counted.
 */
function exitsThatAre({ rows, found: matchCount }: Found, isWanted: (exit: Exit) => boolean) {
  const exits = rows.flatMap(({ server, ips }) =>
    ips.filter(isWanted).map(({ ip }) => `${ip} (${server})`),
  );
  return matchCount > rows.length
    ? { many: undefined, names: namesOf({ rows, found: matchCount }) }
    : { many: exits.length, names: named(exits) };
}

/** The servers that have a node online, of those that were read. */
function withNode({ rows, found: matchCount }: Found): Found {
  const served = rows.filter(({ nodes }) => nodes.live > 0);
  return { rows: served, found: matchCount - (rows.length - served.length) };
}

export function ofServers({ servers = {} }: Known): Item[] {
  const items: Item[] = [];
  const { not_connected: dark = none, no_node: bare = none, misplaced = none } = servers;
  if (dark.found > 0) {
    items.push({
      key: 'dark',
      tone: 'bad',
      sentence: `No node is online for ${namesOf(dark)}: changes don’t reach ${dark.found === 1 ? 'this server' : `these ${dark.found.toLocaleString('en')} servers`} for now.`,
      link: serversBy('not_connected'),
    });
  }
  if (bare.found > 0) {
    items.push({
      key: 'bare',
      tone: 'note',
      sentence: `${namesOf(bare)} ${bare.found === 1 ? 'has' : 'have'} no node yet, and can’t be used until your provider adds one.`,
      link: serversBy('no_node'),
    });
  }
  for (const status of ['crit', 'warn', 'unknown'] as const) {
    const all = servers[status] ?? none;
    // Without a node nothing is checked: the items about servers say so.
    const exits = status === 'unknown' ? withNode(all) : all;
    if (exits.found === 0) continue;
    const { many, names } = exitsThatAre(exits, (exit) => exit.status === status);
    // A server is also unknown when it has no exit IP.
    if (many === 0) continue;
    const [, severalFail] = exitFaults[status];
    items.push({
      key: `exits-${status}`,
      tone: exitTones[status],
      sentence:
        many === undefined
          ? `On ${exits.found.toLocaleString('en')} servers ${severalFail}: ${names}.`
          : `${count(many, ...exitFaults[status])}: ${names}.`,
      link: serversBy(status),
    });
  }
  if (misplaced.found > 0) {
    const { many, names } = exitsThatAre(misplaced, isMisplaced);
    const where =
      many === undefined
        ? `exit IPs of ${misplaced.found.toLocaleString('en')} servers`
        : count(many, 'exit IP');
    items.push({
      key: 'geo',
      tone: 'warn',
      sentence: `A geo-IP provider sees ${where} in another country: ${names}.`,
      link: serversBy('misplaced'),
    });
  }
  return items;
}

export function ofAuthlist({ idle = none, ending = none, now }: Known): Item[] {
  const items: Item[] = [];
  const label = ({ ip, user }: AuthlistEntry) => `${ip} (${user})`;
  if (idle.found > 0) {
    items.push({
      key: 'idle',
      tone: 'warn',
      sentence: `${count(idle.found, 'authlist entry has', 'authlist entries have')} no effect, because the user isn’t an active proxy user: ${named(idle.rows.map(label), idle.found)}.`,
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
      link: authlistBy({ ends: '24h', state: 'in_use' }),
    });
  }
  return items;
}

export function ofOverrides({ pending = none, pendingSince, now }: Known): Item[] {
  const late = pending.rows.filter(({ id, nodes }) => {
    // An online node may need a moment; an offline one takes longer.
    const isUnderWay = nodes.some(({ live, applied }) => live && !applied);
    return !isUnderWay || now - (pendingSince?.get(id) ?? now) >= longPendingSeconds;
  });
  if (late.length > 0 && pending.found > maxNamed) {
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
      sentence: `The custom DNS entry for ${hostname} on ${server} is still pending: ${whyPending(entry) ?? 'its nodes haven’t reported yet'}.`,
      link: dnsBy({ search: hostname, server, state: status }),
    };
  });
}
