// Durable files: written whole or not at all, at whatever moment the power fails.
import {
  chownSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Replaces a file that only its owner reads. Errors: those of the disk. */
export function replaceDurably(path: string, text: string): void {
  renameDurably(writePartial(path, text, 0o600), path);
}

/** Replaces a file, which its owner writes and the group (the owner's, by default) reads. Errors: those of the disk. */
export function writeDurably(path: string, text: string, group?: number): void {
  const partial = writePartial(path, text, 0o640);
  if (group !== undefined) chownSync(partial, -1, group);
  renameDurably(partial, path);
}

function writePartial(path: string, text: string, mode: number): string {
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  writeFileSync(partial, text, { mode, flag: 'wx' });
  return partial;
}

/** Gives a file that is written another name in its folder; it has its content before it has the name. */
export function renameDurably(from: string, to: string): void {
  syncPath(from);
  renameSync(from, to);
  syncPath(dirname(to));
}

/** Makes a folder for its owner alone, and those above it; a power cut does not take away what is written into it. */
export function makeFolderDurably(path: string): void {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const last = dirname(resolve(first));
  for (let above = dirname(resolve(path)); above.length >= last.length; above = dirname(above)) {
    syncPath(above);
    if (above === last) return;
  }
}

function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
