// The columns of a table: which are shown in the room that there is, and by choice.
import { describe, expect, test } from 'vitest';
import { cityName, columnBytes } from '../src/format.ts';
import { columnsIn, isWanted, withColumn, wordOf } from '../src/ui/columns.ts';

const columns = [
  { heading: 'Address', names: true, needs: 10 },
  { heading: 'Note', needs: 10, rank: 1 },
  { heading: 'Added', needs: 10, rank: 2 },
  { heading: 'Added by', needs: 10, rank: 2 },
  { heading: 'Expires', needs: 10 },
  { heading: 'Id', needs: 10, isExtra: true },
];
const shown = (room: number, choice = '') =>
  columnsIn(columns, choice, room).map(({ heading }) => heading);

describe('the columns of a table', () => {
  test('leave by their rank, the last of one rank first, as the room shrinks', () => {
    expect(shown(50)).toEqual(['Address', 'Note', 'Added', 'Added by', 'Expires']);
    expect(shown(49)).toEqual(['Address', 'Note', 'Added', 'Expires']);
    expect(shown(39)).toEqual(['Address', 'Note', 'Expires']);
    expect(shown(29)).toEqual(['Address', 'Expires']);
  });

  test('without a rank stay: the table is then scrolled', () => {
    expect(shown(0)).toEqual(['Address', 'Expires']);
  });

  test('that are removed make room for others', () => {
    expect(shown(30, '-Expires')).toEqual(['Address', 'Note', 'Added']);
  });

  test('leave first when no row fills them', () => {
    const isFilled = ({ heading }: { heading: string }) => heading !== 'Expires';
    const inRoom = columnsIn(columns, '', 40, isFilled).map(({ heading }) => heading);
    expect(inRoom).toEqual(['Address', 'Note', 'Added', 'Added by']);
  });

  test('that are added stay, and let others leave', () => {
    expect(shown(40, 'Id')).toEqual(['Address', 'Note', 'Expires', 'Id']);
  });

  test('are added and removed by turns, except the one that names the row', () => {
    const column = (heading: string) =>
      columns.find((candidate) => candidate.heading === heading) as (typeof columns)[number];
    const choice = withColumn(column('Id'), withColumn(column('Note'), ''));
    expect(choice).toBe('-Note,Id');
    expect(columns.map((column) => isWanted(column, choice))).toEqual([
      ...[true, false, true, true, true, true],
    ]);
    expect(withColumn(column('Note'), withColumn(column('Id'), choice))).toBe('');
    expect(isWanted(column('Address'), '-Address')).toBe(true);
  });
});

test('amounts in a column have their digits in the same places', () => {
  expect([0, 600, 2_900_000_000, 3_580_000_000, 12e9, 999_999].map(columnBytes)).toEqual([
    ...['0 B', '600 B', '2.90 GB', '3.58 GB', '12.0 GB', '1.00 MB'],
  ]);
});

test('on a phone a figure has a word before it: its own, or its heading, where names keep capitals', () => {
  expect(wordOf({ heading: 'This period', numeric: true, word: 'used' })).toBe('used');
  expect(wordOf({ heading: 'Port base', numeric: true })).toBe('port base');
  expect(wordOf({ heading: 'HTTP', numeric: true })).toBe('HTTP');
  expect(wordOf({ heading: 'Usage', numeric: true, word: '' })).toBeUndefined();
  expect(wordOf({ heading: 'Note' })).toBeUndefined();
});

test.each([
  ['Riga', 'LV', 'Riga, Latvia'],
  ['Singapore', 'SG', 'Singapore'],
  ['Hong Kong', 'HK', 'Hong Kong'],
  ['Mexico City', 'MX', 'Mexico City, Mexico'],
])('%s in %s is shown as %s', (city, country, shown) => {
  expect(cityName({ city, country })).toBe(shown);
});
