// The days that Activity is filtered by: those of the reader, as the times beside the records.
import { expect, test } from 'vitest';
import { localDay } from '../src/activity/days.ts';

test('a day begins at midnight where the reader is, and ends where the next one begins', () => {
  const start = localDay('2026-03-29') as number;
  expect(new Date(start * 1000).toString()).toContain('Mar 29 2026 00:00:00');
  expect(localDay('2026-03-29', 1)).toBe(localDay('2026-03-30'));
  expect(localDay('2026-12-31', 1)).toBe(localDay('2027-01-01'));
});

test.each(['', '2026', '2026-3-29', 'yesterday', '0001-01-01'])('%j is no day', (text) => {
  expect(localDay(text)).toBeUndefined();
});
