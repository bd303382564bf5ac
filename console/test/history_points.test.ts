// The points of a history: gaps are filled, bytes are bits a second, and the step that has only
// begun is left out.
import { expect, test } from 'vitest';
import { filled, rejectionsIn } from '../src/operator/history_points.ts';

const point = (at: number, more: object = {}) => ({
  ...{ at, measured_seconds: 300, up: 0, down: 0, rejected: {} },
  ...{ up_min: null, up_peak: null, down_min: null, down_peak: null, connections_min: null },
  ...{ connections: null, connections_peak: null, lag_peak: null, faults_peak: null },
  ...more,
});
const history = {
  from: 0,
  to: 1800,
  step: 300,
  points: [point(300, { up: 3000, down: 30_000, connections: 4 }), point(900, { down: 1500 })],
};

test('every step of the span is there, to the running one; nothing is known before the first', () => {
  const points = filled(history, 1260);
  expect(points.map(({ at }) => at)).toEqual([0, 300, 600, 900, 1200]);
  expect(points.map(({ up_rate, down_rate }) => [up_rate, down_rate])).toEqual([
    [null, null],
    [80, 800],
    [0, 0],
    [0, 40],
    [0, 0],
  ]);
  expect(points.map(({ connections }) => connections)).toEqual([null, 4, null, null, null]);
});

test('the running step is as long as it has gone on, and is left out in its first minute', () => {
  expect(filled(history, 1000).at(-1)).toMatchObject({ at: 900, down_rate: 120 });
  expect(filled(history, 950).at(-1)).toMatchObject({ at: 600 });
  expect(filled({ ...history, points: [] }, 1000)).toEqual([]);
});

test('the most frequent reason comes first', () => {
  const points = [{ rejected: { a: 1, b: 2 } }, { rejected: { a: 4 } }] as never;
  expect(rejectionsIn(points)).toEqual([
    { reason: 'a', count: 5 },
    { reason: 'b', count: 2 },
  ]);
});
