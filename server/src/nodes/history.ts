// History: traffic, rejections and problems of nodes and of the whole network over time, in steps
// of five minutes and hours.
import type { Reader, Transaction } from '../db/database.ts';
import * as store from './history_store.ts';
import { countsByReason } from './rejection_reasons.ts';

export type { Whose } from './history_store.ts';

const hourSeconds = 3600;
const daySeconds = 86_400;
const shortSeconds = 300;
/**
 * Both steps are written at once, for the node and for the network, so nothing is rolled up later.
 */
const steps = [shortSeconds, hourSeconds];
/** How long the steps of nodes are kept; the hours of the network are kept longer. */
const shortKeptSeconds = 2 * daySeconds;
const hoursKeptSeconds = 35 * daySeconds;
const networkHoursKeptSeconds = 400 * daySeconds;
export const longestHistorySeconds = networkHoursKeptSeconds;

const sampleSeconds = 60;
/** Tolerance, since the timers of processes drift. */
const earlySeconds = 5;

type Amounts = Omit<store.PointRow, 'node_id' | 'step' | 'at'>;
const nothing: Amounts = {
  ...{ up: 0, down: 0, samples: 0, connections: 0 },
  ...{ connections_peak: 0, connections_min: null, lag_peak: 0, faults_peak: 0 },
};

/** A row for each step length and each of these nodes. */
const inSteps = <T extends object>(node_ids: readonly number[], at: number, amounts: T) =>
  node_ids.flatMap((node_id) =>
    steps.map((step) => ({ node_id, step, at: at - (at % step), ...amounts })),
  );

/** Adds up rows of the same node and step: one statement must not touch a row twice. */
function merged(rows: readonly store.PointRow[]): store.PointRow[] {
  const byPlace = new Map<string, store.PointRow>();
  for (const row of rows) {
    const place = `${row.node_id} ${row.step} ${row.at}`;
    const sum = byPlace.get(place);
    if (sum) {
      sum.up = Math.min(sum.up + row.up, Number.MAX_SAFE_INTEGER);
      sum.down = Math.min(sum.down + row.down, Number.MAX_SAFE_INTEGER);
    } else byPlace.set(place, { ...row });
  }
  return Array.from(byPlace.values());
}

/** Adds traffic that a node reported, in the transaction that counts it. `at`: epoch seconds. */
export async function addTraffic(
  tx: Transaction,
  node_id: number,
  rows: ReadonlyArray<{ at: number; up: number; down: number }>,
): Promise<void> {
  const points = rows.flatMap(({ at, up, down }) =>
    inSteps([node_id, 0], at, { ...nothing, up, down }),
  );
  if (points.length > 0) await store.addPoints(tx, merged(points));
}

/**
 * Adds the connections that a node has rejected, by reason. `counts` are totals since its agent
 * started, so a repeated or late report adds nothing twice. `boot` identifies the run of the agent.
 */
export async function addRejected(
  tx: Transaction,
  node_id: number,
  boot: string,
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  const reported = await store.reportedCounts(tx, node_id, boot);
  const byReason = countsByReason(counts);
  const more = Object.entries(byReason).flatMap(([reason, all]) => {
    const count = all - (reported[reason] ?? 0);
    return count > 0 ? inSteps([node_id, 0], tx.now, { reason, count }) : [];
  });
  if (more.length === 0) return;
  await store.addRejections(tx, more);
  await store.setReportedCounts(tx, node_id, boot, { ...reported, ...byReason });
}

/**
 * Removes all rejections that a node reported: they rest on its word alone. In the sums of the
 * network, those of the last 35 days.
 */
export async function forgetRejections(tx: Transaction, node_id: number): Promise<void> {
  await store.subtractFromNetwork(tx, node_id);
  await store.removeRejections(tx, node_id);
}

/**
 * Samples the live nodes, once a minute in the whole network. Returns 0, so that no further batch
 * follows.
 */
export async function sampleNodes(tx: Transaction): Promise<number> {
  if (!(await store.claimSample(tx, sampleSeconds - earlySeconds))) return 0;
  const nodes = await store.liveNodes(tx);
  const amounts = nodes.map(({ id, connections, faults, waiting_since }) => ({
    id,
    connections,
    faults_peak: faults,
    lag_peak: waiting_since === null ? 0 : Math.max(0, tx.now - waiting_since),
  }));
  const sum = (of: (amount: (typeof amounts)[number]) => number) =>
    amounts.reduce((all, amount) => all + of(amount), 0);
  const network = {
    id: 0,
    connections: sum(({ connections }) => connections),
    faults_peak: sum(({ faults_peak }) => faults_peak),
    lag_peak: amounts.reduce((peak, { lag_peak }) => Math.max(peak, lag_peak), 0),
  };
  const points = [...amounts, network].flatMap(({ id, connections, ...rest }) =>
    inSteps([id], tx.now, {
      ...nothing,
      ...rest,
      samples: 1,
      connections,
      connections_peak: connections,
      connections_min: connections,
    }),
  );
  await store.addPoints(tx, points);
  return 0;
}

/** Removes steps that are too old, a batch at a time. */
export async function purgeHistory(tx: Transaction, maxRows: number): Promise<number> {
  const removed = [
    await store.removeOld(tx, shortSeconds, false, tx.now - shortKeptSeconds, maxRows),
    await store.removeOld(tx, shortSeconds, true, tx.now - shortKeptSeconds, maxRows),
    await store.removeOld(tx, hourSeconds, false, tx.now - hoursKeptSeconds, maxRows),
    await store.removeOld(tx, hourSeconds, true, tx.now - networkHoursKeptSeconds, maxRows),
  ];
  return Math.max(...removed);
}

/** `at`: start of the step; bytes, and connections by the reason of their rejection. */
export type HistoryPoint = store.Point & { rejected: Record<string, number> };

/**
 * The width of a step, so that a chart has at most a few hundred: five minutes, an hour or a day
 * (UTC), or as many of them as are at least `wanted` seconds.
 */
export function stepSeconds(from: number, to: number, now: number, wanted = 0): number {
  const narrowest = narrowestSeconds(from, to, now);
  return Math.max(1, Math.ceil(wanted / narrowest)) * narrowest;
}

function narrowestSeconds(from: number, to: number, now: number): number {
  if (to - from <= shortKeptSeconds && from >= now - shortKeptSeconds) return shortSeconds;
  return to - from <= hoursKeptSeconds ? hourSeconds : daySeconds;
}

/** A part of a history; `points` come after those of the slice before it. */
interface HistorySlice {
  points: HistoryPoint[];
  isLast: boolean;
}

/** How many stored steps are read in one turn of the event loop, unless one step has more. */
const storedStepsOfSlice = 96;

interface HistorySpan {
  from: number;
  to: number;
  /** See `stepSeconds`. */
  step: number;
  now: number;
}

/**
 * The steps of from <= at < to, in order, without empty ones. The first may have begun before
 * `from`, and has only the part that is stored from there on.
 */
export async function* historySlices(
  db: Reader,
  scope: store.Whose,
  { from, to, step, now }: HistorySpan,
): AsyncGenerator<HistorySlice, void, void> {
  const stored = Math.min(narrowestSeconds(from, to, now), hourSeconds);
  const sliceSeconds = Math.max(1, Math.floor((storedStepsOfSlice * stored) / step)) * step;
  let start = from - (from % stored);
  let end = store.startOfStep(from, step) + sliceSeconds;
  for (let isLast = false; !isLast; start = end, end += sliceSeconds) {
    isLast = end >= to;
    const span = { step: stored, from: start, to: Math.min(end, to), width: step };
    yield { isLast, points: await pointsIn(db, scope, span, now) };
  }
}

async function pointsIn(
  db: Reader,
  scope: store.Whose,
  span: store.Span,
  now: number,
): Promise<HistoryPoint[]> {
  const [points, rejections] = await Promise.all([
    store.pointsOf(db, scope, span, now),
    store.rejectionsOf(db, scope, span),
  ]);
  const byTime = new Map<number, HistoryPoint>();
  for (const { at, ...amounts } of points) {
    const whole = Object.entries(amounts).map(([name, amount]) => [name, safe(amount)]);
    byTime.set(at, { ...(Object.fromEntries(whole) as typeof amounts), at, rejected: {} });
  }
  for (const { at, reason, count } of rejections) {
    const point = byTime.get(at) ?? { at, ...unseen, rejected: {} };
    point.rejected[reason] = safe(count);
    byTime.set(at, point);
  }
  return Array.from(byTime.values()).sort((a, b) => a.at - b.at);
}

/** Whole, and no larger than JSON can carry exactly: sums of several nodes may be. */
const safe = <T extends number | null>(sum: T) =>
  (sum === null ? sum : Math.min(Math.round(sum), Number.MAX_SAFE_INTEGER)) as T;

const unseen = {
  ...{ measured_seconds: 0, up: 0, down: 0 },
  ...{ up_min: null, up_peak: null, down_min: null, down_peak: null },
  ...{ connections: null, connections_min: null, connections_peak: null },
  ...{ lag_peak: null, faults_peak: null },
};
