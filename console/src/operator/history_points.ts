// The points of a history for charts: every bucket of the span, null where nothing is known; pure.
import type { ResponseOf } from '../api/api.ts';
import { bucketsIn } from '../charts/days.ts';

type History = ResponseOf<'admin_get_history'>;
type Point = History['points'][number];

export interface Filled extends Omit<Point, 'up' | 'down' | 'rejected'> {
  /** Bits a second, from clients and to them: the mean of what was measured, lowest and highest. */
  up: Rates;
  down: Rates;
  /** Null: unknown. */
  rejected: Point['rejected'] | null;
}

interface Rates {
  mean: number | null;
  low: number | null;
  high: number | null;
}

/** A bucket that has only begun has no rate: a new batch would look like a flood. */
const minSeconds = 60;

const bits = (bytes: number | null) => (bytes === null ? null : bytes * 8);

/** Every bucket of the span. One without a look at the nodes and without traffic is unknown. */
export function filled({ from, to, step, points }: History): Filled[] {
  const pointsByTime = new Map(points.map((point) => [point.at, point]));
  return bucketsIn({ from, to }, step).map((at) => {
    const point = pointsByTime.get(at);
    if (!point || (point.connections === null && point.up + point.down === 0)) {
      return { ...unknown, at, rejected: point?.rejected ?? null };
    }
    const { measured_seconds: seconds } = point;
    const rates = (bytes: number, low: number | null, high: number | null): Rates => {
      if (seconds < minSeconds) return noRates;
      const mean = (bytes * 8) / seconds;
      // The lowest and the highest are those of the parts that are over.
      return {
        mean,
        low: Math.min(bits(low) ?? mean, mean),
        high: Math.max(bits(high) ?? mean, mean),
      };
    };
    return {
      ...point,
      up: rates(point.up, point.up_min, point.up_peak),
      down: rates(point.down, point.down_min, point.down_peak),
    };
  });
}

const noRates: Rates = { mean: null, low: null, high: null };
const unknown = {
  ...{ measured_seconds: 0, up: noRates, down: noRates },
  ...{ up_min: null, up_peak: null, down_min: null, down_peak: null },
  ...{ connections: null, connections_min: null, connections_peak: null },
  ...{ lag_peak: null, faults_peak: null },
};

/** The rejections of all points together, the most frequent reasons first. */
export function rejectionsIn(
  points: ReadonlyArray<{ rejected: Point['rejected'] | null }>,
): Array<{ reason: string; count: number }> {
  const sums = new Map<string, number>();
  for (const { rejected } of points) {
    for (const [reason, count] of Object.entries(rejected ?? {})) {
      sums.set(reason, (sums.get(reason) ?? 0) + count);
    }
  }
  return Array.from(sums, ([reason, count]) => ({ reason, count })).sort(
    (a, b) => b.count - a.count,
  );
}
