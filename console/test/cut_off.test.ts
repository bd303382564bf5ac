// When a change of terms cuts an account off.
import { expect, test } from 'vitest';
import { cutOffBy, type Terms } from '../src/contract/cut_off.ts';

const used = { usage: 7e9, now: 1000 };
const before: Terms = { on_limit: 'refuse', limit_bytes: 9e9, expiry: 2000 };

test.each<[string, Partial<Terms>, string]>([
  ['a limit that is used up', { limit_bytes: 7e9 }, '7 GB of this limit is already used.'],
  ['an end that has passed', { expiry: 1000 }, 'This date has passed.'],
])('%s is a warning', (_name, change, reason) => {
  expect(cutOffBy(before, { ...before, ...change }, used)).toBe(
    `${reason} Once you save, nodes refuse every connection.`,
  );
});

test.each<[string, Partial<Terms>]>([
  ['a limit above what is used', { limit_bytes: 7e9 + 1 }],
  ['no limit', { limit_bytes: null }],
  ['a limit over which connections go on', { limit_bytes: 1, on_limit: 'allow' }],
  ['an end to come', { expiry: 1001 }],
])('%s is none', (_name, change) => {
  expect(cutOffBy(before, { ...before, ...change }, used)).toBeUndefined();
});

test('terms under which nodes refuse already cut nobody off', () => {
  const over = { ...before, limit_bytes: 6e9 };
  expect(cutOffBy(over, { ...over, limit_bytes: 5e9 }, used)).toBeUndefined();
});

test('refusing over the limit cuts an account off that was allowed to go on', () => {
  const allowed: Terms = { ...before, limit_bytes: 6e9, on_limit: 'allow' };
  expect(cutOffBy(allowed, { ...allowed, on_limit: 'refuse' }, used)).toBe(
    '7 GB of this limit is already used. Once you save, nodes refuse every connection.',
  );
});
