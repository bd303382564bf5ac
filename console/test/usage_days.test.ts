// Days of usage, in UTC whatever the reader's own zone is.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  daysBack,
  everyPart,
  isoDay,
  parseIsoDay,
  startOfDay,
  writtenDay,
} from '../src/charts/days.ts';
import { nameOfPeriod, spanOf } from '../src/charts/span.ts';
import { colorsOf } from '../src/usage/colors.ts';

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
  const busy = { up: 1, down: 2, total: 3 };
  expect(everyPart({ from, to }, [{ day: startOfDay(noon), ...busy }], 'day')).toEqual([
    { start: startOfDay(from), up: 0, down: 0, total: 0 },
    { start: startOfDay(noon), ...busy },
  ]);
});

test('every hour with a part in the span has a row', () => {
  const busy = { up: 1, down: 2, total: 3 };
  const hours = everyPart(
    { from: noon - 7200, to: noon + 1 },
    [{ hour: noon - 3600, ...busy }],
    'hour',
  );
  expect(hours).toEqual([
    { start: noon - 7200, up: 0, down: 0, total: 0 },
    { start: noon - 3600, ...busy },
    { start: noon, up: 0, down: 0, total: 0 },
  ]);
});

test('an earlier billing period is its own hours: the hour in which it begins counts to the one before, but in the first', () => {
  const first = { start: noon - 60 * day + 60, end: noon - 30 * day + 60 };
  const second = { start: first.end, end: noon + 60 };
  const calendar = { now: noon + day, grain: day, start: first.start, earlier: [second, first] };
  const span = (name: string) => spanOf({ name, first: '', last: '' }, calendar);
  expect(span(nameOfPeriod(first))).toEqual({ from: first.start, to: first.end });
  expect(span(nameOfPeriod(second))).toEqual({ from: first.end - 60 + 3600, to: second.end });
  expect(span('period:2020-01-01')).toHaveProperty('wrong');
});

test('a server has one colour in every chart, and servers of a chart have different ones', () => {
  const names = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(names, (servers) => {
      const colors = colorsOf(servers);
      expect(new Set(colors.values()).size).toBe(servers.length);
      expect(colorsOf(servers.toReversed())).toEqual(colors);
      const [first = ''] = servers.toSorted();
      expect(colorsOf([first]).get(first)).toBe(colors.get(first));
    }),
  );
});

test('days are whole days with today, 24 hours end with this hour, and own dates include their last day', () => {
  const dates = { first: '2026-11-20', last: '2026-11-21' };
  const span = (name: string, grain = day) => spanOf({ name, ...dates }, { now: noon, grain });
  expect(span('week')).toEqual({ from: daysBack(noon, 7), to: startOfDay(noon) + day });
  expect(span('day')).toEqual({ from: noon + 3600 - day, to: noon + 3600 });
  expect(span('day', 300)).toEqual({ from: noon + 300 - day, to: noon + 300 });
  expect(span('own')).toEqual({ from: startOfDay(noon) - day, to: startOfDay(noon) + day });
  const period = { start: noon - 9 * day, end: noon + 21 * day };
  expect(spanOf({ name: 'period', ...dates }, { now: noon, grain: day, period })).toEqual({
    from: period.start,
    to: period.end,
  });
});

test('several days are one bucket with their sum', () => {
  const monday = Date.parse('2026-11-16T00:00:00Z') / 1000;
  const rows = [0, 1, 6, 7].map((at) => ({ day: monday + at * day, up: 1, down: 2, total: 3 }));
  expect(everyPart({ from: monday, to: monday + 8 * day }, rows, 'day', 7 * day)).toEqual([
    { start: monday, up: 3, down: 6, total: 9 },
    { start: monday + 7 * day, up: 1, down: 2, total: 3 },
  ]);
});

test('own dates begin where the contract did, at the earliest', () => {
  const own = (first: string) =>
    spanOf(
      { name: 'own', first, last: '2026-11-21' },
      { now: noon, grain: day, start: noon - 9 * day },
    );
  expect(own('2026-11-12')).toHaveProperty('from');
  expect(own('2026-11-11')).toEqual({
    wrong: 'There is no usage before Thu, 12 Nov 2026, when the contract began.',
  });
});

test.each([
  ['', '2026-11-21'],
  ['2026-11-21', '2026-11-20'],
  ['2026-11-22', '2026-11-23'],
])('a custom range from %j to %j is refused', (first, last) => {
  expect(spanOf({ name: 'own', first, last }, { now: noon, grain: day })).toHaveProperty('wrong');
});
