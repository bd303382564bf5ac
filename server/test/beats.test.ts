// Beats: the work for many streams is spread over its period.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { isInPart, startBeats } from '../src/bounds/beats.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('each stream has one beat in a period, and no moment has more than its share of them', () => {
  const streams = Array.from({ length: 2000 }, (_, number) => number);
  const moments: number[][] = [];
  const stop = startBeats(
    (work) => work,
    15,
    (part) => void moments.push(streams.filter((number) => isInPart(number, part))),
  );
  vi.advanceTimersByTime(15_000);
  stop();
  vi.advanceTimersByTime(15_000);
  expect(moments.flat().sort((a, b) => a - b)).toEqual(streams);
  expect(Math.max(...moments.map(({ length }) => length))).toBe(Math.ceil(2000 / moments.length));
  expect(moments.length).toBeGreaterThan(10);
});
