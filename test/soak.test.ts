// The soak in small, so that it stays fit to be run by hand: one history, and one whose bill is falsified.
import { expect, test } from 'vitest';
import { Random } from '../server/test/random.ts';
import { billDifferences } from './soak/comparison.ts';
import { soak } from './soak/soak.ts';
import { Tally } from './system/tally.ts';

test('after a history of faults bytes, decisions and records are as clients, oracle and control plane have them', async () => {
  const random = Random.printed('soak');
  const report = await soak({ engine: 'embedded', seconds: 0, random, most_events: 2 });
  expect(report.differences).toEqual([]);
  expect(report.histories).toBe(1);
  expect(report.exchanges).toBeGreaterThan(10);
}, 240_000);

test('a byte too many and one too few are differences, but for those of which it cannot be known', () => {
  const tally = new Tally();
  tally.addWhole({ up: 10, down: 100 });
  const lines = (up: number, down: number) => billDifferences('acme', { up, down }, tally.bounds);
  expect(lines(10, 100)).toEqual([]);
  expect(lines(11, 99)).toHaveLength(2);
  tally.addBroken({ up: 5, down: 0 });
  expect(lines(15, 100)).toEqual([]);
  expect(lines(16, 100)).toHaveLength(1);
});
