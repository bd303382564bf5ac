// Files in the folder that Squid's user may write to. Root opens only regular files there, never
// through a link.
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { isMissing } from '../../store/generations.ts';

/** Raised for files that Squid never creates: a link, a pipe, a folder, a second name of a file. */
export class NotSquidsFile extends Error {}

/**
 * Opens a file of Squid's user with these flags, without waiting for a pipe; undefined if there is
 * none. Errors: NotSquidsFile; those of the disk.
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
  `${path} is not a file that Squid created: it is a link, or not a regular file.`;
