// The SQL of pages of the network's nodes, filtered and sorted by their state and their traffic.
import type { Reader, Value } from '../db/database.ts';
import { idSlices } from '../db/slices.ts';
import * as lists from '../lists/list_pages.ts';
import type { NodeRow } from './store.ts';

/** How many revisions before the newest one are searched for a change that a node lacks. */
const searched = 10_000;

const server = 'join servers s on s.id = n.server_id';
const newest = '(select revision from network)';
/** Whether a change that concerns the node's server comes after its last. */
const lags = `(n.applied_revision < ${newest} and (n.applied_revision < ${newest} - ${searched}
  or exists (select 1 from changes c where c.revision > n.applied_revision and c.kind not in ('explain', 'connections', 'end_connections', 'exit_uses')
    and (c.server_id = n.server_id or (c.server_id is null and (c.account_id is null or c.account_id in
      (select k.account_id from contract_servers k where k.server_id = n.server_id)))))))`;
const hasFault = 'exists (select 1 from node_faults f where f.node_id = n.id)';
/** The states in SQL. A node that is not live has no other state. */
const isInState = {
  lost: 'n.live = 0',
  faulty: `n.live = 1 and ${hasFault}`,
  lagging: `n.live = 1 and ${lags}`,
  drained: 'n.live = 1 and n.drained_at is not null',
  good: `n.live = 1 and n.drained_at is null and not ${hasFault} and not ${lags}`,
};

export const nodeFilters = Object.keys(isInState) as Array<keyof typeof isInState>;
/** From the worst. */
const state = `case ${(['lost', 'faulty', 'lagging', 'drained'] as const)
  .map((name, at) => `when ${isInState[name]} then ${at}`)
  .join(' ')} else 4 end`;
/** The traffic of the last whole step of five minutes, by its start. */
const traffic = (step: string) =>
  `coalesce((select p.up + p.down from node_points p where p.node_id = n.id and p.step = 300 and p.at = ${step}), 0)`;

const sorts = {
  id: lists.byNumber('n.id'),
  name: lists.byText('n.name'),
  server: lists.byText('s.name'),
  state: lists.byNumber(state),
  version: lists.byText('n.version'),
  seen_at: lists.byNumber('n.seen_at'),
  connections: lists.byNumber('coalesce(n.connections, 0)'),
  bytes_per_second: lists.byNumber(traffic('cast($3 as bigint)')),
};

export type NodeSort = keyof typeof sorts;
export const nodeSorts = Object.keys(sorts) as NodeSort[];

/** Filters of nodes; a filter that is left out selects all. */
export interface NodeFilter {
  /** A part of the name of a node or of its server. */
  search?: string | undefined;
  state?: (typeof nodeFilters)[number] | undefined;
}

export type ListedNode = NodeRow & { server: string };

/** The nodes that are not revoked. `step`: start of the last whole five minutes. */
export function nodePageSlices(
  db: Reader,
  { search = '', state: wanted }: NodeFilter,
  page: lists.PageRequest<NodeSort>,
  step: number,
): AsyncGenerator<lists.PageSlice<ListedNode>, void, void> {
  const text = lists.containing(search);
  const inState = wanted ? `and ${isInState[wanted]}` : '';
  const values: Value[] = [text];
  const sql = {
    slices: (rows: number) => idSlices(db, 'nodes', rows),
    row: 'n',
    from: `nodes n ${server}`,
    joins: server,
    columns: 'n.*, s.name as server',
    // The step is a value of each statement, also of those that sort by something else.
    shown: { sql: 'n.revoked_at is null and cast($3 as bigint) > 0', values: [step] },
    filter:
      text !== '' || wanted
        ? {
            sql: `($4 = '' or lower(n.name) like $4 escape '\\' or lower(s.name) like $4 escape '\\') ${inState}`,
            values,
          }
        : undefined,
    sort: sorts[page.sort],
  };
  return lists.pageSlices(db, sql, page);
}

/** The traffic of each node in that step, by id, in bytes a second. */
export async function ratesOf(db: Reader, step: number): Promise<Map<number, number>> {
  const rows = await db.all<{ node_id: number; bytes: number }>(
    'select node_id, up + down as bytes from node_points where step = 300 and at = $1 and node_id > 0',
    [step],
  );
  return new Map(rows.map(({ node_id, bytes }) => [node_id, Math.round(Number(bytes) / 300)]));
}
