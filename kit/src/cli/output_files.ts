// Files that a command makes: one to standard output, or all of them into a folder.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, UsageFault } from './failures.ts';
import { fileFault } from './input.ts';
import { done, type Shown } from './output.ts';

export interface OutputFile {
  name: string;
  encoding: 'utf-8' | 'base64';
  content: string;
}

const bytesOf = ({ content, encoding }: OutputFile) => Buffer.from(content, encoding);

/** The one file. Errors: a usage fault for several, or one that a terminal cannot show. */
export function shownFile(file: OutputFile, ...others: readonly OutputFile[]): Shown {
  if (others.length > 0) {
    throw new UsageFault('--output: expected a folder, as there is a file for each server');
  }
  if (file.encoding === 'base64' && process.stdout.isTTY) {
    throw new UsageFault('--output: expected a file, because a signed profile is not text');
  }
  return { value: file, parts: [], bytes: bytesOf(file) };
}

/**
 * Writes one file to the path `output`, or several into a folder there; `isFolder`: one as well.
 * `write` makes each its owner's alone. Errors: a failure that says which one cannot be written.
 */
export function writeFiles(
  files: readonly OutputFile[],
  output: string,
  isFolder: boolean,
  write: (path: string, bytes: Buffer) => void,
): Shown {
  let isIntoFolder = isFolder || files.length > 1;
  const pathOf = ({ name }: OutputFile) => (isIntoFolder ? join(output, name) : output);
  try {
    isIntoFolder ||= statSync(output, { throwIfNoEntry: false })?.isDirectory() ?? false;
    if (isIntoFolder) mkdirSync(output, { recursive: true, mode: 0o700 });
    for (const file of files) write(pathOf(file), bytesOf(file));
  } catch (error) {
    const { path } = error as NodeJS.ErrnoException;
    throw new Failure(`${path ?? output} can't be written: ${fileFault(error)}.`);
  }
  const paths = files.map(pathOf);
  return done(`Written for you alone to read:\n- ${paths.join('\n- ')}`, { files: paths });
}
