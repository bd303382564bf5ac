// The spans and addresses that exw reads, and what it shows; kit/test/cli.test.ts has what all
// command lines do alike.
import { describe, expect, test } from 'vitest';
import { textOf } from '../../kit/src/cli/output.ts';
import { span } from '../../kit/src/cli/values.ts';
import { endedText } from '../src/cli/connections.ts';
import { isSameAddress } from '../src/cli/values.ts';

const start = Date.UTC(2027, 0, 31, 12) / 1000;

const empty = { noun: 'rows' };

test('a span is of seconds, minutes or hours, and a day at most', () => {
  expect(['30', '30s', '5min', '24h'].map(span)).toEqual([30, 30, 300, 86_400]);
  for (const text of ['', '0', '25h', '1d', '-1', '1.5s']) {
    expect(() => span(text)).toThrow("isn't a span of time");
  }
});

test('an address is the same in any spelling', () => {
  expect(isSameAddress('2001:db8::7', '2001:DB8:0:0::7')).toBe(true);
  expect(isSameAddress('2001:db8::7', '2001:db8::8')).toBe(false);
  expect(isSameAddress('203.0.113.7', '203.0.113.7')).toBe(true);
  expect(isSameAddress('203.0.113.7', '::ffff:203.0.113.7')).toBe(true);
});

test('connections that were ended: until when a node without an answer may end some', () => {
  const ended = { ended: 1, until: start + 30 };
  const said = (...reasons: string[]) =>
    endedText({ ...ended, missing: reasons.map((reason) => ({ server: 'fra1', reason })) });
  expect(said()).toBe('1 connection was ended.');
  expect(said('offline')).toBe(
    '1 connection was ended. No answer from a node of fra1. They may still be ended there until 12:00:30Z.',
  );
  expect(said('unfinished')).toBe('1 connection was ended. No answer from a node of fra1.');
  expect(endedText({ ...ended, ended: 0, missing: [] })).toBe('No open connection matches.');
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
    expect(textOf({ rows, columns, empty }, true)).toBe(
      'NAME    AT                    SIZE\nZürich  2027-01-31 12:00Z  1.50 TB\na       -                      0 B\n',
    );
    expect(textOf({ rows: [], columns, empty }, true)).toBe('No rows.\n');
  });

  test('is plain numbers between tabs for pipes', () => {
    expect(textOf({ rows, columns, empty }, false)).toBe(
      `Zürich\t${start}\t1500000000000\na\t0\t0\n`,
    );
    expect(textOf({ rows: [], columns, empty }, false)).toBe('');
  });

  test('cannot steer the terminal, nor break a line', () => {
    const name = 'a\x1b[2J\tb\nc';
    expect(textOf({ rows: [{ name }], columns: [['name', 'name']], empty }, false)).toBe(
      'a\\x1b[2J\\x09b\\x0ac\n',
    );
    expect(
      textOf({ rows: [{ name: [name] }], columns: [['name', 'name', 'list']], empty }, true),
    ).toBe('NAME\na\\x1b[2J\\x09b\\x0ac\n');
  });
});
