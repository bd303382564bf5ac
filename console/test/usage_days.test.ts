// Days of usage, in UTC whatever the reader's own zone is.
import { expect, test } from 'vitest';
import {
  daysBack,
  everyDay,
  isoDay,
  parseIsoDay,
  startOfDay,
  writtenDay,
} from '../src/usage/days.ts';
import { spanOf } from '../src/usage/span.ts';

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

test('a span leaves to the server what it knows better, and own dates take in their last day', () => {
  const dates = { first: '2026-11-20', last: '2026-11-21' };
  expect(spanOf({ name: 'period', ...dates }, noon)).toEqual({});
  expect(spanOf({ name: '7', ...dates }, noon)).toEqual({ from: daysBack(noon, 7) });
  expect(spanOf({ name: 'own', ...dates }, noon)).toEqual({
    from: startOfDay(noon) - day,
    to: startOfDay(noon) + day,
  });
});

test('own dates begin where the contract did, at the earliest', () => {
  const own = (first: string) =>
    spanOf({ name: 'own', first, last: '2026-11-21' }, noon, noon - 9 * day);
  expect(own('2026-11-12')).toHaveProperty('from');
  expect(own('2026-11-11')).toEqual({
    wrong: 'Nothing was counted before Thu, 12 Nov 2026, when the contract began.',
  });
});

test.each([
  ['', '2026-11-21'],
  ['2026-11-21', '2026-11-20'],
  ['2026-11-22', '2026-11-23'],
])('own dates from %j to %j are told to be wrong', (first, last) => {
  expect(spanOf({ name: 'own', first, last }, noon)).toHaveProperty('wrong');
});
