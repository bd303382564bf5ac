// Limits as operators write them.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf, bytesOf } from '../src/contract/amount.ts';

test('an amount and its unit are whole bytes, without an error of floating point', () => {
  expect(bytesOf('1.1', 'TB')).toBe(1_100_000_000_000);
  expect(bytesOf('500', 'GB')).toBe(500_000_000_000);
  expect(bytesOf('0,5', 'GB')).toBe(500_000_000);
  expect(bytesOf('7', 'B')).toBe(7);
});

test('what does not come to whole bytes is no amount', () => {
  for (const amount of ['', '1.5.1', '-3', '1e9', 'many', '1.2345678']) {
    expect(bytesOf(amount, 'MB'), amount).toBeUndefined();
  }
  expect(bytesOf('9999999', 'TB')).toBeUndefined();
  expect(bytesOf('1', 'XB')).toBeUndefined();
});

test('a limit is shown in the largest unit in which it is short', () => {
  expect(amountOf(2_000_000_000_000)).toEqual({ amount: '2', unit: 'TB' });
  expect(amountOf(1_500_000_000)).toEqual({ amount: '1.5', unit: 'GB' });
  expect(amountOf(0)).toEqual({ amount: '0', unit: 'B' });
});

test('a limit that is shown and saved unchanged stays exactly as it was', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (bytes) => {
      const { amount, unit } = amountOf(bytes);
      expect(bytesOf(amount, unit)).toBe(bytes);
    }),
  );
});
