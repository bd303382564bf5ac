// Texts that people give to a command, in the encodings that their machines write.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readInput, readInputLine, textOf } from '../src/cli/input.ts';

const text = '203.0.113.7 # Östersund, 東京\r\n203.0.113.8\r\n';
const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le');

it.each([
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${text}`)],
  ['UTF-16, as PowerShell writes it', utf16],
  ['UTF-16 the other way round', Buffer.from(utf16).swap16()],
])('%s is read, without a mark', (_, bytes) => {
  expect(textOf(bytes, 'list.txt')).toBe(text);
});

it.each([
  ['Latin-1', Buffer.from(text, 'latin1')],
  ['half a character', utf16.subarray(0, 3)],
])('%s is refused by name, not read as other letters', (_, bytes) => {
  expect(() => textOf(bytes, 'list.txt')).toThrow('list.txt is not text in UTF-8.');
});

it('a file is read whole, a secret without the end of its line; one that is not there is named', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'exitward-test-')), 'list.txt');
  writeFileSync(file, utf16);
  expect(readInput(file)).toBe(text);
  expect(readInputLine(file)).toBe(text.slice(0, -2));
  expect(() => readInput(`${file}.gone`)).toThrow(
    `${file}.gone can't be read: there is no such file or folder (ENOENT).`,
  );
});
