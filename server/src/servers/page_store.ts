// The SQL of pages of the network's servers, filtered and sorted by their state, and of their
// places.
import type { Reader, Value } from '../db/database.ts';
import { paddedPairs } from '../db/one_of.ts';
import { idSlices } from '../db/slices.ts';
import * as lists from '../lists/list_pages.ts';
import type { ServerRow } from './store.ts';

/**
 * The nodes of a server, by their worst state, worst first: none live; all drained; one of them
 * lags, is drained or offline; no node yet (`neutral`); all well.
 */
export const nodeStates = ['bad', 'drained', 'warn', 'neutral', 'good'] as const;

/**
 * How many revisions before the newest one are searched for a change that a node lacks; a node
 * further behind lags anyway.
 */
const searched = 10_000;

/** The nodes of each server, `n`; `applied`: the revision that all live ones have applied. */
const nodes = `left join (select server_id, count(*) as nodes, sum(live) as live,
    sum(case when live = 1 and drained_at is not null then 1 else 0 end) as drained,
    min(case when live = 1 then applied_revision end) as applied
  from nodes where revoked_at is null group by server_id) n on n.server_id = s.id`;
const newest = '(select revision from network)';
/** The changes that some live node lacks. */
const lacked = `kind not in ('explain', 'connections', 'end_connections', 'exit_uses') and revision > ${newest} - ${searched}
  and revision > (select min(applied_revision) from nodes where live = 1 and revoked_at is null)`;
/** The last change of each server and of its accounts, `w`, for all servers at once. */
const changed = `left join (select server_id, max(revision) as revision from (
    select server_id, revision from changes where server_id is not null and ${lacked}
    union all
    select k.server_id, c.revision from (select account_id, max(revision) as revision from changes
        where server_id is null and account_id is not null and ${lacked} group by account_id) c
      join contract_servers k on k.account_id = c.account_id) l
  group by server_id) w on w.server_id = s.id`;
const lags = `(n.applied < ${newest} and (n.applied < ${newest} - ${searched} or n.applied < w.revision
  or n.applied < (select max(revision) from changes where server_id is null and account_id is null and ${lacked})))`;
/** The states in SQL. `lags` is null when no change is missing. */
const isInState = {
  bad: 'n.nodes > 0 and n.live = 0',
  drained: 'n.live > 0 and n.live = n.nodes and n.drained = n.live',
  warn: `n.live > 0 and (n.live < n.nodes or n.drained > 0 and n.drained < n.live or n.drained = 0 and ${lags})`,
  neutral: 'n.nodes is null',
  good: `n.live > 0 and n.live = n.nodes and n.drained = 0 and not coalesce(${lags}, false)`,
} satisfies Record<(typeof nodeStates)[number], string>;
/** The index of its state in `nodeStates`. */
const nodeState = `case when ${isInState.neutral} then 3 when ${isInState.bad} then 0
  when ${isInState.drained} then 1 when ${isInState.warn} then 2 else 4 end`;

/**
 * The sort orders of a page, and the tables that they need. Titles compare without regard to the
 * case of a to z.
 */
const sorts = {
  id: lists.byNumber('s.id'),
  name: lists.byText('s.name'),
  title: lists.byText('lower(s.title)'),
  place: lists.byText("s.city || ', ' || s.country || ', ' || s.name"),
  ip_count: lists.byNumber('(select count(*) from exit_ips e where e.server_id = s.id)'),
  nodes: lists.byNumber(nodeState, `${nodes} ${changed}`),
};

export type ServerSort = keyof typeof sorts;
export const serverSorts = Object.keys(sorts) as ServerSort[];

/**
 * `ok`: all exit IPs; `misplaced`: a geo-IP provider sees one in another country; the others: at
 * least one.
 */
export const exitFilters = ['ok', 'warn', 'crit', 'unknown', 'misplaced'] as const;

/** Filters of servers; a filter that is left out selects all. */
export interface ServerFilter {
  /** A part of a name, hostname, title, city, country code or exit IP. */
  search?: string | undefined;
  country?: string | undefined;
  service?: string | undefined;
  port_scheme?: string | undefined;
  nodes?: (typeof nodeStates)[number] | undefined;
  exits?: (typeof exitFilters)[number] | undefined;
  /** Latitude and longitude of each; empty: any place. */
  places?: ReadonlyArray<readonly [number, number]> | undefined;
}

const exitStatus = `case when e.status_time > cast($8 as bigint) then e.status else 'unknown' end`;
const hasExit = (condition: string) =>
  `exists (select 1 from exit_ips e where e.server_id = s.id and ${condition})`;
const conditions = (more: string, fold: string) => `($3 = '' or lower(s.name) like $3 escape '\\'
    or lower(s.hostname) like $3 escape '\\' or ${fold}(s.title) like $3 escape '\\'
    or ${fold}(s.city) like $3 escape '\\' or lower(s.country) like $3 escape '\\'
    or ${hasExit("e.ip like $3 escape '\\'")})
  and ($4 = '' or s.country = $4) and ($5 = '' or s.services like $5)
  and ($6 = '' or exists (select 1 from server_port_schemes t join port_schemes p on p.id = t.port_scheme_id
    where t.server_id = s.id and p.name = $6))
  and ($7 = '' or ($7 = 'ok' and ${hasExit('1 = 1')} and not ${hasExit(`${exitStatus} <> 'ok'`)})
    or ($7 = 'misplaced' and exists (select 1 from exit_ips e join geo_statuses g on g.ip = e.ip
      where e.server_id = s.id and g.status = 'crit'))
    or ($7 <> 'ok' and ${hasExit(`${exitStatus} = $7`)}))
  ${more}`;

/** A health report from `fresh_after` or earlier says nothing about now. */
export function serverPageSlices(
  db: Reader,
  filter: ServerFilter,
  page: lists.PageRequest<ServerSort>,
  fresh_after: number,
): AsyncGenerator<lists.PageSlice<ServerRow>, void, void> {
  const { search = '', country = '', service = '', port_scheme = '', exits = '' } = filter;
  const sort = sorts[page.sort];
  const texts = [
    lists.containing(search),
    country,
    service && `%"${service}"%`,
    port_scheme,
    exits,
  ];
  const values: Value[] = [...texts, fresh_after];
  let more = filter.nodes ? `and ${isInState[filter.nodes]}` : '';
  if (filter.places?.length) {
    const { list, values: pairs } = paddedPairs(
      filter.places,
      'double precision',
      3 + values.length,
    );
    more += ` and (s.latitude, s.longitude) in ${list}`;
    values.push(...pairs);
  }
  const isFiltered = more !== '' || texts.some((text) => text !== '');
  const sql = {
    slices: (rows: number) => idSlices(db, 'servers', rows),
    row: 's',
    from: `servers s ${filter.nodes ? `${nodes} ${changed}` : sort.join}`,
    joins: '',
    columns: 's.*',
    shown: { sql: '1 = 1', values: [] },
    filter: isFiltered ? { sql: conditions(more, lists.foldOf(search)), values } : undefined,
    sort,
  };
  return lists.pageSlices(db, sql, page);
}

/**
 * A place with servers: how many are in each state, by the worse of their nodes and their exit IPs.
 */
export interface Place extends Pick<ServerRow, 'city' | 'country' | 'latitude' | 'longitude'> {
  servers: number;
  states: Record<'good' | 'warn' | 'bad' | 'neutral', number>;
  /** The name of the server, if there is only one. */
  server: string | null;
}

/** Numbered like the states of nodes. */
const exitState = `(select coalesce(min(case when e.status_time <= $1 then 3 when e.status = 'crit' then 0
    when e.status = 'warn' then 2 when e.status = 'ok' then 4 else 3 end), 3)
  from exit_ips e where e.server_id = s.id)`;

/** The places of the network, by country and city. */
export async function serverPlaces(db: Reader, fresh_after: number): Promise<Place[]> {
  const rows = await db.all<
    Omit<Place, 'states' | 'server'> & { nodes_state: number; exits_state: number; name: string }
  >(
    `select s.country, s.city, s.latitude, s.longitude, ${nodeState} as nodes_state,
       ${exitState} as exits_state, count(*) as servers, min(s.name) as name
     from servers s ${nodes} ${changed} group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4`,
    [fresh_after],
  );
  const places: Place[] = [];
  for (const { nodes_state, exits_state, name, servers, ...at } of rows) {
    const last = places.at(-1);
    const isSame =
      last && (Object.keys(at) as Array<keyof typeof at>).every((key) => last[key] === at[key]);
    const states = { good: 0, warn: 0, bad: 0, neutral: 0 };
    const place = isSame ? last : { ...at, servers: 0, states, server: name };
    if (!isSame) places.push(place);
    const state = nodeStates[Math.min(nodes_state, exits_state)] ?? 'neutral';
    place.states[state === 'drained' ? 'bad' : state] += servers;
    place.servers += servers;
    if (place.servers > 1) place.server = null;
  }
  return places;
}
