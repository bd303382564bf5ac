// Squid's own log, which Squid's user writes: kept small, and read for the last words of a Squid
// that died.
import { closeSync, constants, fstatSync, ftruncateSync, readSync } from 'node:fs';
import { openSquidFile } from './squid_file.ts';

const most_bytes = 16 * 1024 * 1024;
const end_bytes = 64 * 1024;
const most_words_length = 500;

/** Squid logs something for every IPv6 destination of an IPv4 exit. It only ever appends. */
export function boundCacheLog(path: string): void {
  withLog(path, constants.O_RDWR, (file) => {
    if (fstatSync(file).size > most_bytes) ftruncateSync(file);
  });
}

/** Why the latest run in the log died; undefined if it did not say. Earlier runs do not count. */
export function lastWords(path: string): string | undefined {
  const log = withLog(path, constants.O_RDONLY, endOf) ?? '';
  const newest = log.slice(Math.max(0, log.lastIndexOf('Starting Squid Cache')));
  return [...newest.matchAll(/FATAL: (.*)/g)].at(-1)?.[1]?.slice(0, most_words_length);
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
  const bytes = Buffer.alloc(Math.min(size, end_bytes));
  return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, size - bytes.length));
}
