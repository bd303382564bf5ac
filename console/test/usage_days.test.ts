// Days of usage, in UTC whatever the reader's own zone is.
import { expect, test } from 'vitest';
import {
  daysBack,
  everyDay,
  isoDay,
  parseIsoDay,
  startOfDay,
  writtenDay,
} from '../src/usage_days.ts';

const noon = Date.parse('2026-11-21T12:00:00Z') / 1000;
const day = 86_400;

test('a day is written and read in UTC', () => {
  expect(isoDay(noon)).toBe('2026-11-21');
  expect(writtenDay(Date.parse('2026-11-21T23:59:59Z') / 1000)).toBe('Sat, 21 Nov 2026');
  expect(parseIsoDay('2026-11-21')).toBe(startOfDay(noon));
});

test.each(['', '2026-02-30', '2026-13-01', '21.11.2026', '2026-1-1'])('%j is no day', (text) => {
  expect(parseIsoDay(text)).toBeUndefined();
});

test('the last seven days are today and the six before it', () => {
  expect(isoDay(daysBack(noon, 7))).toBe('2026-11-15');
});

test('every day with a part in the span has a row, with or without traffic', () => {
  const from = startOfDay(noon) - day + 3600;
  const to = startOfDay(noon) + day;
  const busy = { day: startOfDay(noon), up: 1, down: 2, total: 3 };
  expect(everyDay({ from, to }, [busy])).toEqual([
    { day: startOfDay(from), up: 0, down: 0, total: 0 },
    busy,
  ]);
});
