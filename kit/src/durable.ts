// Durable files: written whole or not at all, whenever the power fails.
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The end of a file's name until it is complete. */
const ending = '.unfinished';

/**
 * Creates a file that only its owner reads. False when another process was first: its file stays.
 * Errors: those of the disk.
 */
export function createDurably(path: string, text: string): boolean {
  makeFolderDurably(dirname(path));
  const unfinished = createUnfinished(path);
  try {
    writeFileSync(unfinished, text);
    return nameDurably(unfinished, path);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/**
 * Creates an empty file that only its owner can read, to be filled and then named `path`.
 * It follows no link that another user put there.
 */
export function createUnfinished(path: string): string {
  const unfinished = `${path}.${randomBytes(6).toString('hex')}${ending}`;
  closeSync(openSync(unfinished, 'wx', 0o600));
  return unfinished;
}

/**
 * Gives a written file its name once its content is on the disk.
 * False when another file has that name: it stays.
 */
export function nameDurably(unfinished: string, path: string): boolean {
  syncPath(unfinished);
  const isOurs = giveName(unfinished, path);
  syncPath(dirname(path));
  return isOurs;
}

/** Unlike a rename, a link does not replace the file of a process that was faster. */
function giveName(unfinished: string, path: string): boolean {
  try {
    linkSync(unfinished, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || existsSync(path)) return false;
    if (code === 'ENOSPC') throw error;
    // Not every file system has hard links.
    renameSync(unfinished, path);
  }
  return true;
}

/** Removes the unfinished files that a power cut left; the file itself is there. */
export function removeUnfinished(path: string): void {
  removeUnfinishedIn(dirname(path), basename(path));
}

/**
 * Removes the unfinished files of a folder, which nothing else writes meanwhile; only those that
 * were to be named `of`, if given.
 */
export function removeUnfinishedIn(dir: string, of?: string): void {
  for (const name of readdirSync(dir)) {
    const [, complete] = /^(.+)\.[0-9a-f]{12}\.unfinished$/.exec(name) ?? [];
    if (complete !== undefined && complete === (of ?? complete)) {
      rmSync(join(dir, name), { force: true });
    }
  }
}

/**
 * Replaces a file. Its owner can read it, and so can the group, if one is given.
 * Errors: those of the disk.
 */
export function replaceDurably(path: string, text: string | Buffer, group?: number): void {
  const unfinished = createUnfinished(path);
  try {
    writeFileSync(unfinished, text);
    if (group !== undefined) {
      chownSync(unfinished, -1, group);
      chmodSync(unfinished, 0o640);
    }
    renameDurably(unfinished, path);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  removeUnfinished(path);
}

/** Renames a written file within its folder; its content is on the disk before it has the name. */
export function renameDurably(from: string, to: string): void {
  syncPath(from);
  renameSync(from, to);
  syncPath(dirname(to));
}

/** Makes a folder and its parents, for their owner alone. It stays after a power cut. */
export function makeFolderDurably(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const last = dirname(resolve(first));
  for (let above = dirname(resolve(path)); above.length >= last.length; above = dirname(above)) {
    syncPath(above);
    if (above === last) return;
  }
}

/** Flushes a file's content, or a folder's names, to the disk. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
