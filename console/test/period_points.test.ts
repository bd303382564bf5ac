// A billing period as it fills: its points are the start, each midnight, now and the end.
import { expect, test } from 'vitest';
import { periodPoints } from '../src/usage/period_points.ts';

const day = 86_400;
const midnight = Date.parse('2026-11-10T00:00:00Z') / 1000;
const period = { start: midnight - 6 * 3600, end: midnight + 4 * day, usage: 70, limit: 100 };
const days = [
  { day: midnight + day, total: 30 },
  { day: midnight - day, total: 10 },
  { day: midnight, total: 20 },
  { day: midnight + 2 * day, total: 10 },
];

test('what is used rises from the start to now, and the forecast goes on from there to the end', () => {
  const now = midnight + 2 * day + 3600;
  expect(
    periodPoints({ period, days, now, ahead: { usage: 140, limit_reached_at: undefined } }),
  ).toEqual({
    times: [period.start, midnight, midnight + day, midnight + 2 * day, now, period.end],
    used: [0, 10, 30, 60, 70, null],
    projected: [null, null, null, null, 70, 140],
    limit: 100,
  });
});

test('without a forecast, and of a period that is over, there is no line ahead', () => {
  const now = midnight + 3600;
  const early = periodPoints({ period, days: [], now, ahead: undefined });
  expect(early.projected.every((value) => value === null)).toBe(true);
  const over = periodPoints({
    period,
    days,
    now: period.end + day,
    ahead: { usage: 140, limit_reached_at: undefined },
  });
  expect(over.times.at(-1)).toBe(period.end);
  expect(over.used.at(-1)).toBe(70);
  expect(over.projected.every((value) => value === null)).toBe(true);
});

test('a forecast that stops at the limit is level from the time at which it is reached', () => {
  const now = midnight + 2 * day + 3600;
  const ahead = { usage: 100, limit_reached_at: midnight + 3 * day };
  const points = periodPoints({ period, days, now, ahead });
  expect(points.times.slice(-3)).toEqual([now, midnight + 3 * day, period.end]);
  expect(points.projected.slice(-3)).toEqual([70, 100, 100]);
});
