// The forecast to the end of a billing period: what it says, and when it says nothing.
import { describe, expect, test } from 'vitest';
import { forecast } from '../src/usage/forecast.ts';

const day = 86_400;
const start = 20_000 * day;
const GB = 1_000_000_000;

const serving = { on_limit: 'allow' as const, suspended: false, expiry: start + 90 * day };

/**
 * A period of 30 days, `elapsed` days after its start, with these daily totals from its first day
 * on.
 */
function at(elapsed: number, totals: number[], limit = 1000 * GB, terms: object = {}) {
  const days = totals.map((total, index) => ({ day: start + index * day, total }));
  const usage = totals.reduce((sum, total) => sum + total, 0);
  return forecast({
    contract: { ...serving, period: { start, end: start + 30 * day, usage, limit }, ...terms },
    days,
    now: start + elapsed * day,
  });
}

describe('forecast', () => {
  test('even usage goes on as it is', () => {
    const result = at(10, Array(10).fill(10 * GB));
    expect(result).toEqual({
      usage: 300 * GB,
      bytes_per_day: 10 * GB,
      days: 10,
      limit_reached_at: undefined,
    });
  });

  test('fewer than three full days are too little to go by', () => {
    expect(at(2.9, [GB, GB, GB])).toBeUndefined();
    expect(at(3, [GB, GB, GB])?.days).toBe(3);
  });

  test('a period that began within a day counts from its first full day', () => {
    const result = forecast({
      contract: {
        ...serving,
        period: { start: start + day / 2, end: start + 30.5 * day, usage: 4 * GB, limit: 100 * GB },
      },
      days: [0, 1, 2].map((index) => ({ day: start + index * day, total: GB })),
      now: start + 3.5 * day,
    });
    expect(result).toBeUndefined();
  });

  test('recent days count more than earlier ones', () => {
    const rising = at(14, [...Array(7).fill(GB), ...Array(7).fill(9 * GB)]);
    const falling = at(14, [...Array(7).fill(9 * GB), ...Array(7).fill(GB)]);
    expect(rising?.bytes_per_day).toBeGreaterThan(5.5 * GB);
    expect(falling?.bytes_per_day).toBeLessThan(4.5 * GB);
  });

  test('a day without traffic counts as nothing used', () => {
    const result = forecast({
      contract: { ...serving, period: { start, end: start + 30 * day, usage: 0, limit: GB } },
      days: [],
      now: start + 5 * day,
    });
    expect(result).toMatchObject({ usage: 0, bytes_per_day: 0, limit_reached_at: undefined });
  });

  test('the day that runs counts in what is used, not in the pace', () => {
    const result = at(10.5, [...Array(10).fill(10 * GB), 50 * GB]);
    expect(result?.bytes_per_day).toBe(10 * GB);
    expect(result?.usage).toBe(345 * GB);
  });

  test('says when the limit is reached, if that is before the end', () => {
    const result = at(10, Array(10).fill(10 * GB), 200 * GB);
    expect(result?.limit_reached_at).toBe(start + 20 * day);
    expect(at(10, Array(10).fill(10 * GB), 301 * GB)?.limit_reached_at).toBeUndefined();
  });

  test('a limit that is used up already is not still to come', () => {
    expect(at(10, Array(10).fill(10 * GB), 100 * GB)?.limit_reached_at).toBeUndefined();
  });

  test('it ends at the limit where nodes refuse what is over it', () => {
    const refuse = { on_limit: 'refuse' };
    expect(at(10, Array(10).fill(10 * GB), 200 * GB, refuse)).toMatchObject({
      usage: 200 * GB,
      limit_reached_at: start + 20 * day,
    });
  });

  test.each([
    ['the limit is used up', { on_limit: 'refuse' }],
    ['the contract is suspended', { suspended: true }],
    ['the contract has ended', { expiry: start + 10 * day }],
  ])('nothing is said while nodes refuse everything: %s', (_reason, terms) => {
    expect(at(10, Array(10).fill(10 * GB), 100 * GB)?.usage).toBe(300 * GB);
    expect(at(10, Array(10).fill(10 * GB), 100 * GB, terms)).toBeUndefined();
  });

  test('nothing is said of a period that is over', () => {
    expect(at(30, Array(30).fill(GB))).toBeUndefined();
  });
});
