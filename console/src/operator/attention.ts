// The things that need the operator's attention: each as a sentence, with the page that fixes it.
import type { ResponseOf } from '../api/api.ts';
import { exitFaults, type Item, named, worstFirst } from '../attention/items.ts';
import { type Notices, ofNotices } from '../attention/notices.ts';
import { count, fromNow } from '../format.ts';
import { addressOf, paths } from '../paths.ts';
import {
  type Account,
  type accountFilters,
  lagText,
  type Node,
  nodeGroups,
  type Server,
} from './states.ts';

/** The first servers that match a filter, and the number of matches. */
interface FirstServers {
  first: ReadonlyArray<Pick<Server, 'name' | 'exits'>>;
  found: number;
}

export interface Network {
  now: number;
  status: ResponseOf<'admin_get_status'>;
  /** The accounts in each state: how many, and the first ones. */
  accounts: Record<AccountGroup, { found: number; rows: readonly Account[] }>;
  /** Servers, by their problem. */
  servers: Record<'dark' | 'bare' | 'crit' | 'warn', FirstServers>;
  nodes: readonly Node[];
  /** Exit IPs that a geo-IP provider places in another country. */
  misplaced: ReadonlyArray<{ server: string; ip: string }>;
  notices: Notices;
}

/** Pages with exactly the rows that an item names. */
const nodesBy = (state: keyof typeof nodeGroups) => ({
  path: addressOf(paths.operator.nodes, { state }),
  text: 'Nodes',
});
const serversBy = (state: { nodes: string } | { exits: string }) => ({
  path: addressOf(paths.operator.servers, state),
  text: 'Servers',
});

function ofNodes({ nodes, now }: Network): Item[] {
  const items: Item[] = [];
  const served = serversWithNode(nodes);
  // For a server without an online node, the item about the server says so.
  const lost = nodes.filter((node) => nodeGroups.lost.has(node) && served.has(node.server));
  if (lost.length > 0) {
    const names = named(
      lost.map(
        ({ name, server, seen_at }) => `${name} on ${server} (seen ${fromNow(seen_at, now)})`,
      ),
    );
    items.push({
      key: 'lost',
      tone: 'bad',
      sentence: `${count(lost.length, 'node is', 'nodes are')} offline: ${names}.`,
      link: nodesBy('lost'),
    });
  }
  const lagging = nodes.filter(nodeGroups.lagging.has);
  if (lagging.length > 0) {
    const names = named(
      lagging.map(({ name, server, lag }) => `${name} on ${server}, ${lagText(lag)}`),
    );
    items.push({
      key: 'lagging',
      tone: 'warn',
      sentence: `${count(lagging.length, 'node lags', 'nodes lag')}: ${names}.`,
      link: nodesBy('lagging'),
    });
  }
  const drained = nodes.flatMap(({ live, drained_at, ...node }) =>
    live && drained_at !== null ? [{ ...node, drained_at }] : [],
  );
  if (drained.length > 0) {
    const names = named(
      drained.map(
        ({ name, server, drained_at }) =>
          `${name} on ${server} (drained ${fromNow(Math.min(drained_at, now), now)})`,
      ),
    );
    items.push({
      key: 'drained',
      tone: 'warn',
      sentence: `${count(drained.length, 'node is drained and accepts', 'nodes are drained and accept')} no new connections: ${names}.`,
      link: nodesBy('drained'),
    });
  }
  const faulty = nodes.filter(nodeGroups.faulty.has);
  if (faulty.length > 0) {
    const names = named(
      faulty.map(({ name, server, faults }) => {
        const since = Math.min(...faults.map((fault) => fault.since));
        const kinds = [...new Set(faults.map(({ kind }) => kind.replaceAll('_', ' ')))];
        return `${name} on ${server} (${kinds.join(', ')}; first ${fromNow(Math.min(since, now), now)})`;
      }),
    );
    items.push({
      key: 'faulty',
      tone: 'warn',
      sentence: `${count(faulty.length, 'node reports', 'nodes report')} problems: ${names}.`,
      link: nodesBy('faulty'),
    });
  }
  return items;
}

/** The servers that have a node online. */
const serversWithNode = (nodes: Network['nodes']) =>
  new Set(nodes.filter(({ live }) => live).map(({ server }) => server));

function ofServers({ servers, misplaced, status, nodes, now }: Network): Item[] {
  const items: Item[] = [];
  const { dark, bare } = servers;
  if (dark.found > 0) {
    const names = dark.first.map(({ name }) => {
      const seen = nodes.filter(({ server }) => server === name).map(({ seen_at }) => seen_at);
      return seen.length > 0 ? `${name} (last seen ${fromNow(Math.max(...seen), now)})` : name;
    });
    items.push({
      key: 'dark',
      tone: 'bad',
      sentence: `${count(dark.found, 'server has', 'servers have')} no online node: ${named(names, dark.found)}. Changes don’t reach ${dark.found === 1 ? 'it' : 'them'}.`,
      link: serversBy({ nodes: 'bad' }),
    });
  }
  if (bare.found > 0) {
    items.push({
      key: 'bare',
      tone: 'warn',
      sentence: `${count(bare.found, 'server has', 'servers have')} no node yet: ${namesOf(bare)}. Invite one.`,
      link: serversBy({ nodes: 'neutral' }),
    });
  }
  items.push(...ofExits(servers, status.exits));
  // Without databases nothing is looked up, and older results may be wrong today.
  const seen = status.geoip.length > 0 ? misplaced : [];
  const exits = [...new Map(seen.map((exit) => [exit.ip, exit])).values()];
  if (exits.length > 0) {
    items.push({
      key: 'geo',
      tone: 'warn',
      sentence: `A geo-IP provider sees ${count(exits.length, 'exit IP')} in another country: ${named(exits.map(({ ip, server }) => `${ip} (${server})`))}.`,
      link: serversBy({ exits: 'misplaced' }),
    });
  }
  return items;
}

function ofExits(servers: Network['servers'], exits: Network['status']['exits']): Item[] {
  return (['crit', 'warn'] as const).flatMap((status): Item[] => {
    const { first, found: matchCount } = servers[status];
    if (matchCount === 0) return [];
    const names = named(
      first.map((server) => `${server.exits[status]} on ${server.name}`),
      matchCount,
    );
    const [only] = first;
    return [
      {
        key: `exits-${status}`,
        tone: status === 'crit' ? 'bad' : 'warn',
        sentence: `${count(exits[status], ...exitFaults[status])}: ${names}.`,
        link:
          matchCount === 1 && only
            ? { path: paths.operator.server(only.name), text: only.name }
            : serversBy({ exits: status }),
      },
    ];
  });
}

const namesOf = ({ first, found: matchCount }: FirstServers) =>
  named(
    first.map(({ name }) => name),
    matchCount,
  );

export type AccountGroup = Exclude<keyof typeof accountFilters, 'active'>;

function ofAccounts({ accounts, now }: Network): Item[] {
  const groups: Array<[AccountGroup, Item['tone'], string]> = [
    ['over', 'bad', 'over the limit'],
    ['ended', 'bad', 'past the end of the contract'],
    ['ending', 'warn', 'within 30 days of the end of the contract'],
    ['suspended', 'note', 'suspended'],
  ];
  return groups.flatMap(([key, tone, words]): Item[] => {
    const { found: matchCount, rows } = accounts[key];
    const [first] = rows;
    if (!first) return [];
    const link =
      matchCount === 1
        ? { path: paths.operator.account(first.name), text: first.name }
        : { path: addressOf(paths.operator.accounts, { state: key }), text: 'Accounts' };
    const names = rows.map((row) =>
      key === 'ending' ? `${row.name} (${fromNow(row.expiry, now)})` : row.name,
    );
    const are = count(matchCount, 'account is', 'accounts are');
    return [{ key, tone, sentence: `${are} ${words}: ${named(names, matchCount)}.`, link }];
  });
}

function ofCertificate({ status: { tls }, now }: Network): Item[] {
  if (!tls) return [];
  const { names, source, not_after, renewal_due, last_error, rejection } = tls;
  const key = 'certificate';
  const ends = `The certificate of ${names.join(', ')} ${not_after <= now ? 'expired' : 'expires'} ${fromNow(not_after, now)}.`;
  if (source !== 'self_signed' && now >= renewal_due) {
    const tone = not_after <= now ? 'bad' : 'warn';
    return [{ key, tone, sentence: last_error ? `${ends} ${last_error}` : ends }];
  }
  if (!last_error) return rejection ? [{ key, tone: 'bad', sentence: rejection }] : [];
  const first = source === 'self_signed' ? 'There is no certificate yet' : 'No new certificate';
  return [
    { key, tone: source === 'self_signed' ? 'bad' : 'warn', sentence: `${first}: ${last_error}` },
  ];
}

function ofBackups({ status: { backups }, now }: Network): Item[] {
  if (!backups || (!backups.late && backups.fault === null)) return [];
  const good = backups.verify ? backups.last_verified : backups.last;
  const newest = good
    ? `The last good backup was ${fromNow(good.at, now)}`
    : 'There is no good backup';
  const why = backups.fault === null ? '.' : `: ${backups.fault}`;
  return [{ key: 'backups', tone: backups.late ? 'bad' : 'warn', sentence: `${newest}${why}` }];
}

function ofStatus({ status }: Network): Item[] {
  const items: Item[] = status.geoip
    .filter(({ fault }) => fault !== null)
    .map(({ provider, file, fault }) => ({
      key: `geoip-${provider}`,
      tone: 'warn',
      sentence: `The geo-IP file of ${provider}, ${file}, can’t be used: ${fault}. The last good one is still in use.`,
    }));
  if (status.database.fault !== null) {
    items.unshift({ key: 'database', tone: 'bad', sentence: status.database.fault });
  }
  if (status.maintenance) {
    items.unshift({
      key: 'maintenance',
      tone: 'bad',
      sentence: 'Maintenance is on: the account API returns 503 for every request.',
      link: { path: paths.operator.control_plane, text: 'Control plane' },
    });
  }
  return items;
}

/** The worst first. */
export function attention(network: Network): Item[] {
  const ofHours = () => ofNotices(network.notices, paths.operator.refusals, false, network.now);
  const rules = [ofStatus, ofCertificate, ofBackups, ofNodes, ofServers, ofAccounts, ofHours];
  return worstFirst(rules.flatMap((rule) => rule(network)));
}
