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
    throw new Failure(`${name} can't be read: ${fileFault(error)}.`);
  }
  return textOf(bytes, name);
}

/** By code: a clause that follows the name of a file. */
const clauses: Readonly<Record<string, string>> = {
  EACCES: 'this user may not',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'its name is too long',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a folder',
  EPERM: 'this user may not',
  EROFS: 'the disk is read-only',
  ERR_INVALID_ARG_VALUE: 'its name holds a NUL',
};

/** Why a file can't be used, such as `it is a folder (EISDIR)`, of an error of the system. */
export function fileFault(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const clause = clauses[code];
  return clause ? `${clause} (${code})` : code || message;
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
