// Squid's own log, which Squid's user writes: it is kept small, and read for the reason when a
// Squid dies.
import { closeSync, constants, fstatSync, ftruncateSync, readSync } from 'node:fs';
import { openSquidFile } from './squid_file.ts';

const maxBytes = 16 * 1024 * 1024;
const endBytes = 64 * 1024;
const maxWordsLength = 500;

/** Keeps the log small: Squid only appends, even a line for each IPv6 destination of IPv4 exits. */
export function boundCacheLog(path: string): void {
  withLog(path, constants.O_RDWR, (file) => {
    if (fstatSync(file).size > maxBytes) ftruncateSync(file);
  });
}

/** Why the latest run died, by the log; undefined if the log has no reason. */
export function lastWords(path: string): string | undefined {
  const log = withLog(path, constants.O_RDONLY, endOf) ?? '';
  const newest = log.slice(Math.max(0, log.lastIndexOf('Starting Squid Cache')));
  return [...newest.matchAll(/FATAL: (.*)/g)].at(-1)?.[1]?.slice(0, maxWordsLength);
}

/** Undefined if there is no log, or it is not a regular file: nothing depends on it. */
function withLog<T>(path: string, flags: number, work: (file: number) => T): T | undefined {
  let file: number | undefined;
  try {
    file = openSquidFile(path, flags);
    return file === undefined ? undefined : work(file);
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function endOf(file: number): string {
  const { size } = fstatSync(file);
  const bytes = Buffer.alloc(Math.min(size, endBytes));
  return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, size - bytes.length));
}
