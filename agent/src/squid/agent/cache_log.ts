// Squid's own log, which Squid's user writes: kept small, and read for the last words of a Squid
// that died.
import { closeSync, constants, fstatSync, ftruncateSync, readSync } from 'node:fs';
import { openSquidFile } from './squid_file.ts';

const maxBytes = 16 * 1024 * 1024;
const endBytes = 64 * 1024;
const maxWordsLength = 500;

/** Squid logs something for every IPv6 destination of an IPv4 exit. It only ever appends. */
export function boundCacheLog(path: string): void {
  withLog(path, constants.O_RDWR, (file) => {
    if (fstatSync(file).size > maxBytes) ftruncateSync(file);
  });
}

/** Why the latest run in the log died; undefined if it did not say. Earlier runs do not count. */
export function lastWords(path: string): string | undefined {
  const log = withLog(path, constants.O_RDONLY, endOf) ?? '';
  const newest = log.slice(Math.max(0, log.lastIndexOf('Starting Squid Cache')));
  return [...newest.matchAll(/FATAL: (.*)/g)].at(-1)?.[1]?.slice(0, maxWordsLength);
}

/** Undefined if there is no log, or another kind of file: nothing depends on it. */
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
