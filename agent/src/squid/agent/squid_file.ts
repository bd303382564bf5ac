// Files in the folder that Squid's user may write to: opened by root as what they are, never through a link to others.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { isMissing } from '../../store/generations.ts';

/** Raised for what Squid does not make: a link, a pipe, a folder, a second name of another file. */
export class NotSquidsFile extends Error {}

/**
 * Opens a file of Squid's user with these flags; undefined when there is none. Errors: NotSquidsFile; those of
 * the disk. A pipe is not waited for.
 */
export function openSquidFile(path: string, flags = constants.O_RDONLY): number | undefined {
  let file: number;
  try {
    file = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o640);
  } catch (error) {
    if (isMissing(error)) return undefined;
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ELOOP', 'ENXIO', 'EISDIR'].includes(code)) throw new NotSquidsFile(sentence(path));
    throw error;
  }
  const stat = fstatSync(file);
  if (stat.isFile() && stat.nlink === 1) return file;
  closeSync(file);
  throw new NotSquidsFile(sentence(path));
}

const sentence = (path: string) =>
  `${path} is not a file that Squid made: it is a link, or no file at all.`;
