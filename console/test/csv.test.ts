// CSV files that the console makes: RFC 4180, and no cell that a spreadsheet would run.
import { expect, test, vi } from 'vitest';
import { csv, download } from '../src/csv.ts';

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

test('a downloaded table begins with a byte order mark, by which spreadsheets see UTF-8', async () => {
  const blobs: Blob[] = [];
  vi.spyOn(URL, 'createObjectURL').mockImplementation((blob) => {
    blobs.push(blob as Blob);
    return 'blob:';
  });
  vi.stubGlobal('document', { createElement: () => ({ click: () => {} }) });
  download('a.csv', ['city\r\n', 'Östersund\r\n']);
  download('a.txt', 'Östersund', 'text/plain');
  const bytes = await Promise.all(blobs.map(async (blob) => Buffer.from(await blob.arrayBuffer())));
  expect(bytes.map(String)).toEqual(['\ufeffcity\r\nÖstersund\r\n', 'Östersund']);
});
