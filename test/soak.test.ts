// The soak's control: a bill that is falsified.
import { expect, test } from 'vitest';
import { billDifferences } from './soak/comparison.ts';
import { Tally } from './system/tally.ts';

test('a byte too many and one too few are differences, except those of which it cannot be known', () => {
  const tally = new Tally();
  tally.addWhole({ up: 10, down: 100 });
  const lines = (up: number, down: number) => billDifferences('acme', { up, down }, tally.bounds);
  expect(lines(10, 100)).toEqual([]);
  expect(lines(11, 99)).toHaveLength(2);
  tally.addBroken({ up: 5, down: 0 });
  expect(lines(15, 100)).toEqual([]);
  expect(lines(16, 100)).toHaveLength(1);
});
