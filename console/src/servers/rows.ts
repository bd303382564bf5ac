// The servers as the page lists them: own and others in one list, summed up, filtered and sorted; pure.
import type { AccountResponse } from '../api/reading.ts';
import { country } from '../format.ts';

export type OwnServer = AccountResponse<'list_servers'>[number];
export type NetworkServer = AccountResponse<'list_network'>[number];
export type ExitIp = OwnServer['ips'][number];
export type Status = ExitIp['status'];

interface Served {
  nodes: OwnServer['nodes'];
  ips: ReadonlyArray<{ status: Status }>;
}

export interface Row {
  name: string;
  hostname: string;
  title: string;
  city: string;
  /** As a code, and as a name. */
  country: string;
  country_name: string;
  latitude: number;
  longitude: number;
  services: string[];
  ip_count: number;
  can_add: boolean;
  /** The own limit that it had when it was taken off the contract; null: none. */
  kept_limit: number | null;
  /** Only of servers on the contract. */
  own: OwnServer | undefined;
}

/** How a server stands: the state of its exit IPs is moot where no machine serves it. */
export const standings = ['ok', 'warn', 'crit', 'unknown', 'not connected', 'no node yet'] as const;
export type Standing = (typeof standings)[number];

export interface Summary {
  status: Standing;
  /** "ok", or "crit, 1 of 6". */
  text: string;
}

/** Every server of the network. `own` decides what is on the contract: it is the one that changes are seen in. */
export function rowsOf(network: readonly NetworkServer[], own: readonly OwnServer[]): Row[] {
  const ownByName = new Map(own.map((server) => [server.server, server]));
  return network.map((server) => ({
    name: server.server,
    hostname: server.hostname,
    title: server.title ?? server.location?.city ?? server.server,
    city: server.location?.city ?? '',
    country: server.location?.country ?? '',
    country_name: country(server.location?.country ?? ''),
    latitude: server.location?.latitude ?? 0,
    longitude: server.location?.longitude ?? 0,
    services: server.services,
    ip_count: server.ip_count,
    can_add: server.can_add,
    kept_limit: server.limit_bytes,
    own: ownByName.get(server.server),
  }));
}

/** The port scheme may have ports for services that this server does not offer. */
export function portsOf({ services }: OwnServer, { ports }: ExitIp): ExitIp['ports'] {
  return ports.filter(({ service }) => services.includes(service));
}

const worstFirst: readonly Status[] = ['crit', 'warn', 'unknown', 'ok'];

/** The reason why nothing is let through, or undefined where a node is there. */
export function unserved({ all, live }: OwnServer['nodes']): Standing | undefined {
  if (all === 0) return 'no node yet';
  return live === 0 ? 'not connected' : undefined;
}

/** The worst status of a server's exit IPs, and of how many it is where they differ; or that no node is there. */
export function summaryOf({ nodes, ips }: Served): Summary {
  const missing = unserved(nodes);
  if (missing) return { status: missing, text: missing };
  const status = worstFirst.find((one) => ips.some((exit) => exit.status === one)) ?? 'unknown';
  const many = ips.filter((exit) => exit.status === status).length;
  if (ips.length === 0) return { status, text: 'no exit IPs' };
  return { status, text: many === ips.length ? status : `${status}, ${many} of ${ips.length}` };
}

/**
 * Whether a server is among those of a standing: crit, warn and unknown are all that have such an exit IP, however many
 * others it has; `misplaced`: a geo-IP provider sees one in another country.
 */
export function stands(own: OwnServer, standing: string): boolean {
  if (standing === 'misplaced') return own.ips.some(isMisplaced);
  if (summaryOf(own).status === standing) return true;
  return (
    standing !== 'ok' && own.nodes.all > 0 && own.ips.some(({ status }) => status === standing)
  );
}

export const isMisplaced = ({ geostatus }: { geostatus: Record<string, { status: string }> }) =>
  Object.values(geostatus).some(({ status }) => status === 'crit');

export const views = ['contract', 'others', 'all'] as const;
export const sortings = ['name', 'status', 'period', 'month'] as const;

export interface Filters {
  view: (typeof views)[number];
  sort: (typeof sortings)[number];
  search: string;
  country: string;
  service: string;
  status: string;
  /** Chosen on the map; none: all. */
  chosen: readonly string[];
}

export const noFilters: Filters = {
  view: 'contract',
  sort: 'name',
  search: '',
  country: '',
  service: '',
  status: '',
  chosen: [],
};

/** Whether anything but view and order keeps servers out of sight. */
export function isFiltering(filters: Filters): boolean {
  const { search, country, service, chosen } = filters;
  return Boolean(search.trim() || country || service || statusOf(filters) || chosen.length > 0);
}

/** Only of servers on the contract the health is told. */
const statusOf = ({ view, status }: Filters) => (view === 'others' ? '' : status);

export const isInView = (row: Row, view: Filters['view']): boolean =>
  view === 'all' || (row.own !== undefined) === (view === 'contract');

/** The rows that all filters let through, in the order that was asked for. */
export function shownRows(rows: readonly Row[], filters: Filters): Row[] {
  const { view, sort, chosen } = filters;
  const status = statusOf(filters);
  const words = filters.search.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = rows.filter(
    (row) =>
      isInView(row, view) &&
      (chosen.length === 0 || chosen.includes(row.name)) &&
      (!filters.country || row.country === filters.country) &&
      (!filters.service || row.services.includes(filters.service)) &&
      (!status || (row.own && stands(row.own, status))) &&
      words.every((word) => textOf(row).includes(word)),
  );
  return shown.sort(
    (a, b) =>
      weightOf(b, sort) - weightOf(a, sort) ||
      a.name.localeCompare(b.name, 'en', { numeric: true }),
  );
}

/** The heaviest comes first: most usage, or the best status; servers that are not on the contract last. */
function weightOf({ own }: Row, sort: Filters['sort']): number {
  if (!own) return sort === 'name' ? 0 : Number.NEGATIVE_INFINITY;
  if (sort === 'status') return -standings.indexOf(summaryOf(own).status);
  const { current = -1, last_30_days = -1 } = own.usage ?? {};
  return { name: 0, period: current, month: last_30_days }[sort];
}

function textOf({ name, hostname, title, city, country_name, own }: Row): string {
  const ips = own?.ips.map(({ ip }) => ip) ?? [];
  return [name, hostname, title, city, country_name, ...ips].join(' ').toLowerCase();
}
