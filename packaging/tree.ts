// A tree of files that is the same each time: modes and times are set, owners are root, and
// dpkg-deb packs it in one way.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * The time that all files bear, in epoch seconds: what is said, else that of the last commit.
 * Errors: neither is there.
 */
export function epochOf(said: string | undefined): number {
  if (said !== undefined && /^\d+$/.test(said)) return Number(said);
  try {
    const log = ['-C', root, 'log', '-1', '--format=%ct'];
    return Number(execFileSync('git', log, { encoding: 'utf8', stdio: 'pipe' }));
  } catch {
    throw new Error('there is no git history to take the time from; set SOURCE_DATE_EPOCH.');
  }
}

export class Tree {
  readonly folder: string;
  readonly #executable = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  write(path: string, content: string | Uint8Array, { executable = false } = {}): void {
    const file = this.#place(path, executable);
    writeFileSync(file, content);
  }

  copy(path: string, from: string, { executable = false } = {}): void {
    copyFileSync(from, this.#place(path, executable));
  }

  /** Copies a folder, less the paths in it that are left out. */
  copyFolder(path: string, from: string, leaveOut = /^$/, within = ''): void {
    for (const entry of readdirSync(join(from, within), { withFileTypes: true })) {
      const at = join(within, entry.name);
      if (leaveOut.test(at)) continue;
      if (entry.isDirectory()) this.copyFolder(path, from, leaveOut, at);
      else if (entry.isFile()) this.copy(join(path, at), join(from, at));
    }
  }

  /** Sets the modes and the time of all that is in it, and returns the files. */
  finish(epoch: number): string[] {
    const files: string[] = [];
    const visit = (path: string) => {
      const full = join(this.folder, path);
      const isFolder = lstatSync(full).isDirectory();
      if (isFolder) for (const name of readdirSync(full).sort()) visit(join(path, name));
      else files.push(path);
      chmodSync(full, isFolder || this.#executable.has(path) ? 0o755 : 0o644);
      lutimesSync(full, epoch, epoch);
    };
    visit('.');
    return files;
  }

  #place(path: string, executable: boolean): string {
    if (executable) this.#executable.add(path);
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    return file;
  }
}

/** Packs a finished tree. */
export function packDeb(tree: Tree, file: string, epoch: number): void {
  mkdirSync(dirname(file), { recursive: true });
  // One thread and a level that is said: neither the machine's cores nor dpkg's defaults show in
  // the bytes.
  const how = ['--root-owner-group', '--uniform-compression', '-Zzstd', '-z6', '--threads-max=1'];
  execFileSync('dpkg-deb', [...how, '--build', tree.folder, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
  });
}
