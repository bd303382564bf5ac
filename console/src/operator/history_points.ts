// The points of a history for charts: gaps are filled in, bytes become bits a second; pure.
import type { ResponseOf } from '../api/api.ts';

type History = ResponseOf<'admin_get_history'>;
type Point = History['points'][number];

export interface Filled extends Point {
  /** Bits a second, from clients and to them; null before anything was measured. */
  up_rate: number | null;
  down_rate: number | null;
}

/** A step that has only begun is left out: a new batch would look like a flood. */
const minSeconds = 60;

/** Each step of the span, to the one of `now`; none if nothing was measured in it. */
export function filled({ from, step, to, points }: History, now: number): Filled[] {
  const pointsByTime = new Map(points.map((point) => [point.at, point]));
  const first = points[0]?.at;
  if (first === undefined) return [];
  const all: Filled[] = [];
  const start = first - Math.floor((first - from) / step) * step;
  for (let at = start; at < to && at + minSeconds <= now; at += step) {
    const point = pointsByTime.get(at) ?? nothing;
    const seconds = Math.min(step, now - at);
    const rate = (bytes: number) => (at < first ? null : (bytes * 8) / seconds);
    all.push({ ...point, at, up_rate: rate(point.up), down_rate: rate(point.down) });
  }
  return all;
}

const nothing = {
  ...{ measured_seconds: 0, up: 0, down: 0, rejected: {} },
  ...{ up_min: null, up_peak: null, down_min: null, down_peak: null, connections_min: null },
  ...{ connections: null, connections_peak: null, lag_peak: null, faults_peak: null },
};

/** The rejections of all points together, the most frequent reasons first. */
export function rejectionsIn(
  points: ReadonlyArray<Pick<Point, 'rejected'>>,
): Array<{ reason: string; count: number }> {
  const sums = new Map<string, number>();
  for (const { rejected } of points) {
    for (const [reason, count] of Object.entries(rejected)) {
      sums.set(reason, (sums.get(reason) ?? 0) + count);
    }
  }
  return Array.from(sums, ([reason, count]) => ({ reason, count })).sort(
    (a, b) => b.count - a.count,
  );
}
