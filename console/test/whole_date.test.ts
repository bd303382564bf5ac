// Dates as they are typed.
import { expect, test } from 'vitest';
import { wholeDate } from '../src/ui/whole_date.ts';

test('a date is whole as soon as it names a day that there is', () => {
  expect(wholeDate(' 2026-11-25 ', false)).toBe('2026-11-25');
  expect(wholeDate('2028-02-29', false)).toBe('2028-02-29');
  for (const text of ['', '2026-11', '2026-02-30', '2026-13-01', '25.11.2026', '2026-11-25 10:00'])
    expect(wholeDate(text, false), text).toBe('');
});

test('a time is of the day’s 24 hours, behind a space or a T', () => {
  expect(wholeDate('2026-11-25 22:19', true)).toBe('2026-11-25T22:19');
  expect(wholeDate('2026-11-25T00:00', true)).toBe('2026-11-25T00:00');
  for (const text of ['2026-11-25', '2026-11-25 24:00', '2026-11-25 22:60', '2026-11-25 9:00'])
    expect(wholeDate(text, true), text).toBe('');
});
