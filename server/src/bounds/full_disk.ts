// A full disk, reported as the reason why the server cannot start.
import { statfsSync } from 'node:fs';

/** The system's error codes for a full disk, and SQLite's (SQLITE_FULL). */
const codes = new Set(['ENOSPC', 'EDQUOT']);
const sqliteFull = 13;
/**
 * Codes that SQLite uses when the disk fills up during its own work: SQLITE_IOERR, SQLITE_CANTOPEN.
 */
const sqliteVague = new Set([10, 14]);

/**
 * An error in one sentence that names the folder, when `error` was caused by a full disk; else
 * undefined.
 */
export function fullDiskFault(
  error: unknown,
  folders: readonly string[],
  purpose = 'for the server to start',
): Error | undefined {
  const full = folders.find(hasNoSpace);
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, errcode } = cause as { code?: string; errcode?: number };
    const primary = errcode === undefined ? undefined : errcode & 0xff;
    const isFull = codes.has(code ?? '') || primary === sqliteFull;
    if (isFull || (full !== undefined && sqliteVague.has(primary ?? -1))) {
      const folder = full ?? folders[0];
      return new Error(`The disk is full: ${folder} has no space left ${purpose}.`, {
        cause: error,
      });
    }
  }
  return undefined;
}

/** A disk with less than this counts as full. */
const minFreeBytes = 16_384;

function hasNoSpace(folder: string): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(folder);
    return bavail * bsize < minFreeBytes || (files > 0 && ffree === 0);
  } catch {
    return false;
  }
}
