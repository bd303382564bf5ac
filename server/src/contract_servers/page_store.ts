// The SQL of pages of servers as an account sees them, filtered and sorted; and of the places of
// servers.
import type { Reader, Value } from '../db/database.ts';
import { paddedTexts } from '../db/one_of.ts';
import { idSlices } from '../db/slices.ts';
import * as lists from '../lists/list_pages.ts';
import type { Server } from '../servers/servers.ts';

const nodes = (more = '') =>
  `from nodes n where n.server_id = s.id and n.revoked_at is null ${more}`;
/** A health report that is too old says nothing about now. */
const isFresh = 'e.status_time > t.fresh_after';
const exits = (condition = '') => `from exit_ips e where e.server_id = s.id ${condition}`;
const exitsThatAre = {
  ok: exits(`and ${isFresh} and e.status = 'ok'`),
  warn: exits(`and ${isFresh} and e.status = 'warn'`),
  crit: exits(`and ${isFresh} and e.status = 'crit'`),
  unknown: exits(`and not (${isFresh} and e.status in ('ok', 'warn', 'crit'))`),
};
const isThere = (rows: string) => `exists (select 1 ${rows})`;
const amount = (rows: string) => `(select count(*) ${rows})`;

/**
 * The status of a server: that its nodes are missing or offline, else that of its worst exit IP.
 */
const standing = `case when not ${isThere(nodes())} then 'no_node'
  when not ${isThere(nodes('and n.live = 1'))} then 'not_connected'
  when ${isThere(exitsThatAre.crit)} then 'crit' when ${isThere(exitsThatAre.warn)} then 'warn'
  when ${isThere(exitsThatAre.unknown)} or not ${isThere(exits())} then 'unknown' else 'ok' end`;
const standings = ['ok', 'warn', 'crit', 'unknown', 'not_connected', 'no_node'] as const;

/**
 * `misplaced`: a geo-IP provider sees an exit IP in another country; `over_limit`: its own limit is
 * used up.
 */
export const serverStates = [...standings, 'misplaced', 'over_limit'] as const;

const periodBytes = `coalesce((select u.bytes from usage_periods u where u.account_id = $3
  and u.period_start = t.period_start and u.server_id = s.id), 0)`;
/** Doubles, which cannot overflow, capped at what JSON holds exactly. */
const sum = 'sum(cast(u.bytes as double precision))';
const bytes = `case when ${sum} > ${Number.MAX_SAFE_INTEGER} then ${Number.MAX_SAFE_INTEGER} else ${sum} end`;
// The bounds and the sum make SQLite use the index by server: it would scan the hours of all
// servers for each one.
const monthBytes = `coalesce((select ${bytes} from usage_server_hours u where u.account_id = $3
  and u.server_id between s.id and s.id and u.hour + 0 >= t.first_hour), 0)`;
/** For sorting all servers with one scan of the hours. */
const months = `left join (select u.server_id, ${bytes} as bytes from usage_server_hours u
  where u.account_id = $3 and u.hour >= cast($6 as bigint) group by u.server_id) m on m.server_id = s.id`;

/** Servers that are not on the contract come first, or last in descending order. */
const ofContract = (sort: string) => `case when c.server_id is null then -1 else ${sort} end`;

/**
 * The sort orders of a page, and the tables that they need. Names compare by bytes, and so do texts
 * that end with one.
 */
const sorts = {
  id: lists.byNumber('s.id'),
  name: lists.byText('s.name'),
  place: lists.byText("s.city || ', ' || s.country || ', ' || s.name"),
  ip_count: lists.byNumber(amount(exits())),
  // Best first, in the order of the list of states, and then by name.
  state: lists.byText(
    `case when c.server_id is null then ' ' else case ${standing}
       ${standings.map((state, at) => `when '${state}' then '${at}'`).join(' ')} end end || s.name`,
  ),
  current: lists.byNumber(ofContract(periodBytes)),
  last_30_days: lists.byNumber(ofContract('coalesce(m.bytes, 0)'), months),
  limit_bytes: lists.byNumber(ofContract('coalesce(c.limit_bytes, 0)')),
  added_at: lists.byNumber(ofContract('c.added_at')),
};

export type ServerSort = keyof typeof sorts;
export const serverSorts = Object.keys(sorts) as ServerSort[];

const canAdd = `c.server_id is null and exists (select 1 from server_port_schemes p
  where p.server_id = s.id and p.port_scheme_id = t.port_scheme_id)`;

/** Which servers a list holds (of the contract, or of the network), and their condition. */
const views = {
  contract: 'c.server_id is not null',
  others: 'c.server_id is null',
  can_add: canAdd,
  all: '1 = 1',
};
export type ServerView = keyof typeof views;
export const serverViews = Object.keys(views) as ServerView[];

/** Filters of servers; a filter that is left out selects all. */
export interface ServerFilter {
  /**
   * A part of a name, hostname, title or city, the name of a country, or an exit IP of a server of
   * the contract.
   */
  search?: string | undefined;
  /** The codes of the countries whose names contain the search text. */
  searchedCountries?: readonly string[];
  server?: string | undefined;
  country?: string | undefined;
  /** `vpn`: any kind of VPN. */
  service?: string | undefined;
  /** Only servers of the contract: the health of others is not shown. */
  state?: (typeof serverStates)[number] | undefined;
  /** As `DE Frankfurt am Main`; a server matches one of them. */
  places?: readonly string[] | undefined;
}

/** An account, at the current time. */
export interface ServersAsSeen {
  account_id: number;
  /** The port scheme that servers need in order to be added; 0: none can be. */
  port_scheme_id: number;
  /**
   * Epoch seconds: health reports up to this time are too old; the start of the billing period, and
   * of the last thirty days.
   */
  fresh_after: number;
  period_start: number;
  first_hour: number;
}

/** Fields that only servers of the contract have are null for others. */
export interface PagedServer extends Server {
  ip_count: number;
  can_add: number;
  kept_limit_bytes: number | null;
  added_at: number | null;
  own_limit_bytes: number | null;
  server_over_limit: number | null;
  nodes: number;
  live_nodes: number;
  ok: number;
  warn: number;
  crit: number;
  unknown: number;
  current: number;
  last_30_days: number;
}

/** The account's current values in one row, so that each statement takes the same parameters. */
const asSeen = `(select cast($4 as bigint) as fresh_after, cast($5 as bigint) as period_start,
  cast($6 as bigint) as first_hour, cast($7 as bigint) as port_scheme_id) t`;
const contract = 'contract_servers c on c.account_id = $3 and c.server_id = s.id';
const valuesOf = (of: ServersAsSeen) => [
  ...[of.account_id, of.fresh_after, of.period_start, of.first_hour, of.port_scheme_id],
];

const columns = `s.*, ${amount(exits())} as ip_count, case when ${canAdd} then 1 else 0 end as can_add,
  (select k.limit_bytes from kept_limits k where k.account_id = $3 and k.server_id = s.id) as kept_limit_bytes,
  c.added_at, c.limit_bytes as own_limit_bytes, c.over_limit as server_over_limit,
  ${amount(nodes())} as nodes, ${amount(nodes('and n.live = 1'))} as live_nodes,
  ${Object.entries(exitsThatAre).map(([status, rows]) => `${amount(rows)} as ${status}`)},
  ${periodBytes} as current, ${monthBytes} as last_30_days`;

/** Servers in the sort order of a page. */
export function serverPageSlices(
  db: Reader,
  of: ServersAsSeen,
  view: ServerView,
  filter: ServerFilter,
  page: lists.PageRequest<ServerSort>,
): AsyncGenerator<lists.PageSlice<PagedServer>, void, void> {
  const sort = sorts[page.sort];
  const values = valuesOf(of);
  const list = {
    slices: (rows: number) => idSlices(db, 'servers', rows),
    row: 's',
    from: `servers s cross join ${asSeen} ${view === 'contract' ? '' : 'left'} join ${contract} ${sort.join}`,
    joins: `cross join ${asSeen} left join ${contract}`,
    columns,
    shown: { sql: views[view], values },
    filter: conditionsOf(filter, 3 + values.length),
    sort,
  };
  return lists.pageSlices(db, list, page);
}

/** The condition of a filter, whose values begin with `$first`. */
function conditionsOf(filter: ServerFilter, first: number) {
  const { search, searchedCountries = [], server, country, service, state, places } = filter;
  const values: Value[] = [];
  const place = (value: Value) => `$${first + values.push(value) - 1}`;
  const among = (texts: readonly string[]) => `(${paddedTexts(texts).map(place)})`;
  const conditions: string[] = [];
  if (search) {
    const pattern = `like ${place(lists.containing(search))} escape '\\'`;
    const ofCountry =
      searchedCountries.length > 0 ? [`s.country in ${among(searchedCountries)}`] : [];
    const texts = ['s.name', 's.title', 's.hostname', 's.city'].map(
      (text) => `${lists.foldOf(search)}(${text}) ${pattern}`,
    );
    const ofExit = `(c.server_id is not null and ${isThere(exits(`and e.ip ${pattern}`))})`;
    conditions.push(`(${[...texts, ...ofCountry, ofExit].join(' or ')})`);
  }
  if (server) conditions.push(`s.name = ${place(server)}`);
  if (country) conditions.push(`s.country = ${place(country)}`);
  if (service)
    conditions.push(`s.services like ${place(`%"${service === 'vpn' ? 'vpn-%' : service}"%`)}`);
  if (state) conditions.push(`c.server_id is not null and ${isIn(state)}`);
  if (places) conditions.push(`s.country || ' ' || s.city in ${among(places)}`);
  return conditions.length > 0 ? { sql: conditions.join(' and '), values } : undefined;
}

/** A server is crit, warn or unknown if any of its exit IPs is. */
function isIn(state: (typeof serverStates)[number]): string {
  if (state === 'misplaced') {
    return `exists (select 1 from exit_ips e join geo_statuses g on g.ip = e.ip
      where e.server_id = s.id and g.status = 'crit')`;
  }
  if (state === 'over_limit') return 'c.over_limit = 1';
  const isOfState = `${standing} = '${state}'`;
  if (state !== 'crit' && state !== 'warn' && state !== 'unknown') return isOfState;
  return `(${isOfState} or (${isThere(nodes())} and ${isThere(exitsThatAre[state])}))`;
}

/**
 * The servers of one city: their number, and the states of those on the contract; the other servers
 * of the network count as `others`.
 */
export type ServerPlace = {
  country: string;
  city: string;
  latitude: number;
  longitude: number;
  servers: number;
  /** The name of one of the servers. */
  name: string;
} & Record<(typeof standings)[number] | 'others', number>;

/** By country and city, for the whole network. */
export function serverPlaces(
  db: Reader,
  account_id: number,
  fresh_after: number,
): Promise<ServerPlace[]> {
  const states = [...standings, 'others'].map(
    (state) => `count(case when s.standing = '${state}' then 1 end) as ${state}`,
  );
  return db.all(
    `select s.country, s.city, avg(s.latitude) as latitude, avg(s.longitude) as longitude,
       count(*) as servers, min(s.name) as name, ${states}
     from (select s.*, case when c.server_id is null then 'others' else ${standing} end as standing
       from servers s cross join (select cast($2 as bigint) as fresh_after) t
       left join contract_servers c on c.account_id = $1 and c.server_id = s.id) s
     group by s.country, s.city order by s.country, s.city`,
    [account_id, fresh_after],
  );
}
