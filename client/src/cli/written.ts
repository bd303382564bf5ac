// Files that hold a secret: written whole or not at all, for their owner alone to read.
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Replaces the file, whole even if the power fails. Errors: those of the disk. */
export function writePrivate(file: string, content: string | Buffer): void {
  const fresh = `${file}.${process.pid}`;
  try {
    writeFileSync(fresh, content, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(fresh, file);
    syncFolder(dirname(file));
  } finally {
    rmSync(fresh, { force: true });
  }
}

function syncFolder(folder: string): void {
  // Windows cannot open a folder.
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
