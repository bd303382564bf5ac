// How exw reads what people write, and how it shows what a server says.
import { describe, expect, test } from 'vitest';
import { textOf } from '../src/cli/output.ts';
import { isSameAddress, span, timeFrom } from '../src/cli/values.ts';

const start = Date.UTC(2027, 0, 31, 12) / 1000;

describe('a time', () => {
  test.each([
    ['1800000000', 1_800_000_000],
    ['+8h', start + 8 * 3600],
    ['+30s', start + 30],
    ['+5min', start + 300],
    ['+2w', start + 14 * 86_400],
    ['+1mo', Date.UTC(2027, 1, 28, 12) / 1000],
    ['+1y', Date.UTC(2028, 0, 31, 12) / 1000],
    ['2027-01-31', Date.UTC(2027, 0, 31) / 1000],
    ['2027-01-31T12:00', start],
    ['2027-01-31 12:00:00Z', start],
    ['2027-01-31T13:00+01:00', start],
  ])('%s', (text, seconds) => {
    expect(timeFrom(text, start)).toBe(seconds);
  });

  test.each(['', '8h', '+8', '+8m', '-8h', '2027-02-30x', '2027-13-01', '1e9', 'tomorrow'])(
    '%j is none',
    (text) => {
      expect(() => timeFrom(text, start)).toThrow('is no time; expected +8h');
    },
  );
});

test('a span is of seconds, minutes or hours, and a day at most', () => {
  expect(['30', '30s', '5min', '24h'].map(span)).toEqual([30, 30, 300, 86_400]);
  for (const text of ['', '0', '25h', '1d', '-1', '1.5s']) {
    expect(() => span(text)).toThrow('is no span');
  }
});

test('an address is the same in any spelling', () => {
  expect(isSameAddress('2001:db8::7', '2001:DB8:0:0::7')).toBe(true);
  expect(isSameAddress('2001:db8::7', '2001:db8::8')).toBe(false);
  expect(isSameAddress('203.0.113.7', '203.0.113.7')).toBe(true);
});

describe('what a server says', () => {
  const columns = [
    ['name', 'name'],
    ['at', 'at', 'time'],
    ['size', 'size', 'bytes'],
  ] as const;
  const rows = [
    { name: 'Zürich', at: start, size: 1_500_000_000_000 },
    { name: 'a', at: 0, size: 0 },
  ];

  test('is aligned, with units, for people', () => {
    expect(textOf({ rows, columns }, true)).toBe(
      'NAME    AT                 SIZE\nZürich  2027-01-31 12:00Z  1.5 TB\na       -                  0 B\n',
    );
    expect(textOf({ rows: [], columns }, true)).toBe('none\n');
  });

  test('is plain numbers between tabs for pipes', () => {
    expect(textOf({ rows, columns }, false)).toBe(`Zürich\t${start}\t1500000000000\na\t0\t0\n`);
    expect(textOf({ rows: [], columns }, false)).toBe('');
  });

  test('cannot steer the terminal, nor break a line', () => {
    const name = 'a\x1b[2J\tb\nc';
    expect(textOf({ rows: [{ name }], columns: [['name', 'name']] }, false)).toBe(
      'a\\x1b[2J\\x09b\\x0ac\n',
    );
    expect(textOf({ rows: [{ name: [name] }], columns: [['name', 'name', 'list']] }, true)).toBe(
      'NAME\na\\x1b[2J\\x09b\\x0ac\n',
    );
  });
});
