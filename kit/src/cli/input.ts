// Texts that people give to a command: files, and standard input.
import { readFileSync } from 'node:fs';
import { Failure } from './failures.ts';

/** A file's text, or that of standard input (`-`). Errors: a failure that names it. */
export function readInput(file: string): string {
  const name = file === '-' ? 'Standard input' : file;
  let bytes: Buffer;
  try {
    bytes = readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw new Failure(`${name} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
  return textOf(bytes, name);
}

/** The same for a secret on one line: without the line's end. */
export const readInputLine = (file: string) => readInput(file).replace(/\r?\n$/, '');

/**
 * Text in UTF-8, or in UTF-16 with its byte order mark, as PowerShell and Notepad write it; without
 * the mark. Errors: a failure that begins with `name`, for other bytes.
 */
export function textOf(bytes: Buffer, name: string): string {
  const mark = bytes.toString('hex', 0, 2);
  const encoding = { fffe: 'utf-16le', feff: 'utf-16be' }[mark] ?? 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new Failure(`${name} is not text in UTF-8.`);
  }
}
