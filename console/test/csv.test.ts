// CSV files that the console makes: RFC 4180, and no cell that a spreadsheet would run.
import { expect, test } from 'vitest';
import { csv } from '../src/csv.ts';

test('a header, and lines that end in CRLF', () => {
  expect(csv(['day', 'total_bytes'], [['2026-11-21', 5]])).toBe(
    'day,total_bytes\r\n2026-11-21,5\r\n',
  );
});

test('commas, quotes and line ends are quoted', () => {
  expect(csv(['a,b'], [['say "so"'], ['one\ntwo'], ['plain']])).toBe(
    '"a,b"\r\n"say ""so"""\r\n"one\ntwo"\r\nplain\r\n',
  );
});

test.each(['=1+1', '+1', '-1', '@sum', '\t=1', '\r=1'])('the cell %j is no formula', (cell) => {
  const [, line = ''] = csv(['name'], [[cell]]).split(/(?<=name)\r\n/);
  expect(line.replace(/^"/, '').startsWith("'")).toBe(true);
});

test('a header cell is no formula either, and a negative number stays a number', () => {
  expect(csv(['=x'], [[-1]])).toBe("'=x\r\n-1\r\n");
});
