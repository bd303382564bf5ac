// The points of a history: every bucket of the span is there, a gap stays a gap, and bytes are bits
// a second of the time that was measured.
import { expect, test } from 'vitest';
import { filled, rejectionsIn } from '../src/operator/history_points.ts';

const point = (at: number, more: object = {}) => ({
  ...{ at, measured_seconds: 300, up: 0, down: 0, rejected: {} },
  ...{ up_min: null, up_peak: null, down_min: null, down_peak: null },
  ...{ connections: null, connections_min: null, connections_peak: null },
  ...{ lag_peak: null, faults_peak: null },
  ...more,
});
const midnight = Date.parse('2026-11-21T00:00:00Z') / 1000;
const history = (...points: ReturnType<typeof point>[]) => ({
  ...{ from: midnight + 100, to: midnight + 1500, step: 300, points },
});

test('every bucket with a part in the span is there, whatever is known', () => {
  const starts = filled(history(point(midnight + 600))).map(({ at }) => at - midnight);
  expect(starts).toEqual([0, 300, 600, 900, 1200]);
});

test('a bucket without a look and without traffic is unknown; one with a look and none is 0', () => {
  const points = filled(
    history(
      point(midnight + 300),
      point(midnight + 600, { connections: 4 }),
      point(midnight + 900, { down: 300 }),
    ),
  );
  expect(points.map(({ down }) => down.mean)).toEqual([null, null, 0, 8, null]);
  expect(points.map(({ rejected }) => rejected)).toEqual([null, {}, {}, {}, null]);
});

test('a rate is that of the measured time; a bucket that has only begun has none', () => {
  const rates = (measured_seconds: number) =>
    filled(history(point(midnight + 1200, { measured_seconds, up: 600 }))).at(-1)?.up.mean;
  expect(rates(300)).toBe(16);
  expect(rates(100)).toBe(48);
  expect(rates(59)).toBeNull();
});

test('the mean is within its band, also when the part that is not over is outside of it', () => {
  const { up, down } = filled(
    history(point(midnight, { up: 30_000, up_min: 10, up_peak: 20, down: 300 })),
  )[0] ?? { up: undefined, down: undefined };
  expect(up).toEqual({ mean: 800, low: 80, high: 800 });
  expect(down).toEqual({ mean: 8, low: 8, high: 8 });
});

test('the most frequent reason comes first', () => {
  const points = [{ rejected: { a: 1, b: 2 } }, { rejected: null }, { rejected: { a: 4 } }];
  expect(rejectionsIn(points as never)).toEqual([
    { reason: 'a', count: 5 },
    { reason: 'b', count: 2 },
  ]);
});
