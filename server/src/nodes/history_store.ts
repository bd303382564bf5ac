// The SQL of history: each node's numbers per step of time; node 0 is the whole network.
import type { Reader, Row, Transaction } from '../db/database.ts';

/** Added to an existing row of the same node and step; peaks keep the highest value. */
export interface PointRow {
  node_id: number;
  /** The width in seconds; `at`: the start of the step. */
  step: number;
  at: number;
  /** Bytes from and to clients. */
  up: number;
  down: number;
  /** The number of samples of open connections, and the sum of their values. */
  samples: number;
  connections: number;
  connections_peak: number;
  /** Of the samples; null: there is none. */
  connections_min: number | null;
  /** For how many seconds the oldest pending change was not applied. */
  lag_peak: number;
  faults_peak: number;
}

export interface RejectionRow {
  node_id: number;
  step: number;
  at: number;
  /** The agent's word for the reason. */
  reason: string;
  count: number;
}

const largest = Number.MAX_SAFE_INTEGER;
const summed = ['up', 'down', 'samples', 'connections'];
const peaks = ['connections_peak', 'lag_peak', 'faults_peak'];

const added = (table: string, column: string) =>
  `${column} = case when ${table}.${column} > ${largest} - excluded.${column}
     then ${largest} else ${table}.${column} + excluded.${column} end`;
const raised = (column: string) =>
  `${column} = case when node_points.${column} > excluded.${column}
     then node_points.${column} else excluded.${column} end`;
const lowered = (column: string) =>
  `${column} = case when node_points.${column} is null or excluded.${column} < node_points.${column}
     then excluded.${column} else node_points.${column} end`;
const pointsUpsert = `on conflict (node_id, step, at) do update set
  ${[...summed.map((column) => added('node_points', column)), ...peaks.map(raised), lowered('connections_min')]}`;
const rejectionsUpsert = `on conflict (node_id, step, at, reason) do update set ${added('node_rejections', 'count')}`;

export function addPoints(tx: Transaction, rows: readonly PointRow[]): Promise<void> {
  return tx.insertMany(
    'node_points',
    rows.map((row): Row => ({ ...row })),
    pointsUpsert,
  );
}

export function addRejections(tx: Transaction, rows: readonly RejectionRow[]): Promise<void> {
  return tx.insertMany(
    'node_rejections',
    rows.map((row): Row => ({ ...row })),
    rejectionsUpsert,
  );
}

/** The counts that a node reported last in this run of its agent; empty the first time. */
export async function reportedCounts(
  db: Reader,
  node_id: number,
  boot: string,
): Promise<Record<string, number>> {
  const row = await db.one<{ counts: string }>(
    'select counts from node_told_rejections where node_id = $1 and boot = $2',
    [node_id, boot],
  );
  return row ? JSON.parse(row.counts) : {};
}

export function setReportedCounts(
  tx: Transaction,
  node_id: number,
  boot: string,
  counts: Record<string, number>,
): Promise<number> {
  return tx.run(
    `insert into node_told_rejections (node_id, boot, counts) values ($1, $2, $3)
     on conflict (node_id) do update set boot = excluded.boot, counts = excluded.counts`,
    [node_id, boot, JSON.stringify(counts)],
  );
}

/** Takes what a node has reported off the sums of the network. */
export async function subtractFromNetwork(tx: Transaction, node_id: number): Promise<void> {
  await tx.run(
    `update node_rejections set count = node_rejections.count - own.count from node_rejections own
     where node_rejections.node_id = 0 and own.node_id = $1 and own.step = node_rejections.step
       and own.at = node_rejections.at and own.reason = node_rejections.reason`,
    [node_id],
  );
  await tx.run(
    `delete from node_rejections where node_id = 0 and count <= 0 and (step, at, reason) in
       (select step, at, reason from node_rejections where node_id = $1)`,
    [node_id],
  );
}

export async function removeRejections(tx: Transaction, node_id: number): Promise<void> {
  await tx.run('delete from node_rejections where node_id = $1', [node_id]);
  await tx.run('delete from node_told_rejections where node_id = $1', [node_id]);
}

/** True for only one process, once per interval. */
export async function claimSample(tx: Transaction, seconds: number): Promise<boolean> {
  const rows = await tx.put(
    'update network set sampled_at = $1 where sampled_at <= $2 or sampled_at > $1 returning sampled_at',
    [tx.now, tx.now - seconds],
  );
  return rows.length > 0;
}

/**
 * How many revisions before the newest one are searched for a change that a node has not applied.
 */
const searched = 10_000;

/**
 * Live nodes with their connections and faults, and the time since when a change waits for them;
 * null: no change does.
 */
export function liveNodes(
  db: Reader,
): Promise<
  Array<{ id: number; connections: number; faults: number; waiting_since: number | null }>
> {
  return db.all(
    `select n.id, coalesce(n.connections, 0) as connections,
       (select count(*) from node_faults f where f.node_id = n.id) as faults,
       (select c.at from changes c where c.revision > n.applied_revision and c.revision > w.revision - ${searched}
          and c.kind not in ('explain', 'connections', 'end_connections', 'exit_uses')
          and (c.server_id = n.server_id or (c.server_id is null and (c.account_id is null or exists (
            select 1 from contract_servers s where s.server_id = n.server_id and s.account_id = c.account_id))))
        order by c.revision limit 1) as waiting_since
     from nodes n, network w where n.revoked_at is null and n.live = 1`,
  );
}

/** A point as it is read: of its stored steps, each the sum of the nodes. */
export interface Point {
  at: number;
  /** How many seconds of it are stored. */
  measured_seconds: number;
  up: number;
  down: number;
  /** Bytes a second, in the slowest and the fastest stored step that is over. */
  up_min: number | null;
  up_peak: number | null;
  down_min: number | null;
  down_peak: number | null;
  /** Null: no sample. */
  connections: number | null;
  connections_min: number | null;
  connections_peak: number | null;
  lag_peak: number | null;
  faults_peak: number | null;
}
export type Rejections = Omit<RejectionRow, 'node_id' | 'step'>;

/** A node, all nodes of a server, or, if left out, the network. */
export interface Whose {
  node_id?: number | undefined;
  server_id?: number | undefined;
}

const nodesOf = ({ server_id }: Whose) =>
  server_id === undefined ? '= $1' : 'in (select id from nodes where server_id = $1)';
const placed = ({ node_id = 0, server_id }: Whose, ...rest: number[]) => [
  server_id ?? node_id,
  ...rest,
];

/** Stored steps in from <= at < to, and the width in seconds into which they are combined. */
export interface Span {
  step: number;
  from: number;
  to: number;
  width: number;
}

/** Where steps begin: on Mondays, at midnight UTC, so that steps of a week are calendar weeks. */
const monday = 345_600;
export const startOfStep = (at: number, width: number) => at - ((at - monday) % width);
const startIn = (width: number) => `at - (at - ${monday}) % ${width}`;

/** In order; empty steps are left out. The stored step of `now` is not over. */
export function pointsOf(db: Reader, scope: Whose, span: Span, now: number) {
  const { step, from, to, width } = span;
  const real = (column: string) => `cast(${column} as double precision)`;
  const sampled = (column: string) => `sum(case when samples > 0 then ${column} end)`;
  const mean = `${real('connections')} / samples`;
  const speed = (column: string, of: string) =>
    `${of}(case when at + ${step} <= ${now} then ${column} / ${step} end) as ${column}_${of === 'min' ? 'min' : 'peak'}`;
  return db.all<Point>(
    `select ${startIn(width)} as at, sum(up) as up, sum(down) as down,
       sum(cast(case when at + ${step} <= ${now} then ${step} when at < ${now} then ${now} - at else 1 end
         as double precision)) as measured_seconds,
       ${['up', 'down'].flatMap((column) => [speed(column, 'min'), speed(column, 'max')])},
       avg(connections) as connections, min(connections_min) as connections_min,
       max(connections_peak) as connections_peak, max(lag_peak) as lag_peak, max(faults_peak) as faults_peak
     from (
       select at, sum(${real('up')}) as up, sum(${real('down')}) as down, ${sampled(mean)} as connections,
         ${sampled(`coalesce(${real('connections_min')}, ${mean})`)} as connections_min,
         ${sampled(real('connections_peak'))} as connections_peak,
         max(case when samples > 0 then lag_peak end) as lag_peak,
         ${sampled(real('faults_peak'))} as faults_peak
       from node_points where node_id ${nodesOf(scope)} and step = $2 and at >= $3 and at < $4
       group by at
     ) stored
     group by ${startIn(width)} order by 1`,
    placed(scope, step, from, to),
  );
}

/** As `pointsOf`. */
export function rejectionsOf(db: Reader, scope: Whose, { step, from, to, width }: Span) {
  return db.all<Rejections>(
    `select ${startIn(width)} as at, reason, sum(cast(count as double precision)) as count
     from node_rejections where node_id ${nodesOf(scope)} and step = $2 and at >= $3 and at < $4
     group by ${startIn(width)}, reason order by 1, 2`,
    placed(scope, step, from, to),
  );
}

/** Removes the oldest steps, of nodes or of the whole network; returns how many. */
export async function removeOld(
  tx: Transaction,
  step: number,
  ofNetwork: boolean,
  before: number,
  maxRows: number,
): Promise<number> {
  const scopeCondition = ofNetwork ? 'node_id = 0' : 'node_id > 0';
  const remove = (table: string, key: string) =>
    tx.run(
      `delete from ${table} where (${key}) in (select ${key} from ${table}
         where step = $1 and at < $2 and ${scopeCondition} order by step, at limit $3)`,
      [step, before, maxRows],
    );
  const points = await remove('node_points', 'node_id, step, at');
  return points + (await remove('node_rejections', 'node_id, step, at, reason'));
}
