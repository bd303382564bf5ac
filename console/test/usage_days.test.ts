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
  writtenPart,
} from '../src/charts/days.ts';
import { colorsOf } from '../src/usage/colors.ts';
import { nameOfPeriod, spanOf } from '../src/usage/span.ts';

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
  expect(writtenPart(noon, 'hour')).toBe('Sat, 21 Nov 2026, 12:00');
});

test('an earlier billing period is its own hours: the hour in which it begins counts to the one before, but in the first', () => {
  const first = { start: noon - 60 * day + 60, end: noon - 30 * day + 60 };
  const second = { start: first.end, end: noon + 60 };
  const span = (of: typeof first) =>
    spanOf({ name: nameOfPeriod(of), first: '', last: '' }, noon + day, first.start, [
      second,
      first,
    ]);
  expect(span(first)).toEqual({ from: first.start, to: first.end });
  expect(span(second)).toEqual({ from: first.end - 60 + 3600, to: second.end });
  expect(spanOf({ name: 'period:2020-01-01', first: '', last: '' }, noon)).toHaveProperty('wrong');
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
    wrong: 'There is no usage before Thu, 12 Nov 2026, when the contract began.',
  });
});

test.each([
  ['', '2026-11-21'],
  ['2026-11-21', '2026-11-20'],
  ['2026-11-22', '2026-11-23'],
])('a custom range from %j to %j is refused', (first, last) => {
  expect(spanOf({ name: 'own', first, last }, noon)).toHaveProperty('wrong');
});
