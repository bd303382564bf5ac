// Where the policy is on disk: a snapshot and the changes after it share a number, the generation.
//   7.snapshot   the policy as it was when 7.changes began
//   7.changes    what changed since; its last line may say that changes continue in 8.changes
//   9.partial    being written; useless until it is renamed
// A reader begins at the newest snapshot and follows the changes from there.
import {
  chmodSync,
  chownSync,
  fchmodSync,
  fchownSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { geteuid } from 'node:process';

export const snapshotPath = (dir: string, generation: number) =>
  join(dir, `${generation}.snapshot`);
export const changesPath = (dir: string, generation: number) => join(dir, `${generation}.changes`);
export const partialPath = (dir: string, number: number) => join(dir, `${number}.partial`);

/** Creates the folder, and sets the group of its files: an earlier agent may have had none. */
export function createFolder(dir: string, group: number | undefined): void {
  createSharedFolder(dir, group);
  if (group === undefined) return;
  for (const name of readdirSync(dir)) lchownSync(join(dir, name), -1, group);
}

/**
 * Its owner writes, its group reads, other users have no access, whatever the umask. The agent has
 * no right to change the mode of another user's folder, so it becomes the owner first.
 */
export function createSharedFolder(dir: string, group: number | undefined, owner = -1): void {
  mkdirSync(dir, { recursive: true, mode: 0o750 });
  if ((statSync(dir).mode & 0o7777) !== 0o750) {
    if (owner >= 0) chownSync(dir, geteuid?.() ?? -1, -1);
    chmodSync(dir, 0o750);
  }
  if (group !== undefined) chownSync(dir, owner, group);
}

/**
 * Creates an empty file that the group may read, whatever the umask. It replaces an existing one.
 */
export function createFile(path: string, group: number | undefined): number {
  rmSync(path, { force: true });
  const fd = openSync(path, 'wx', 0o640);
  fchmodSync(fd, 0o640);
  if (group !== undefined) fchownSync(fd, -1, group);
  return fd;
}

export interface Generations {
  /** Ascending. */
  snapshots: number[];
  changes: number[];
}

/** The generations on disk; none if there is no such folder. */
export function listGenerations(dir: string): Generations {
  const generations: Generations = { snapshots: [], changes: [] };
  for (const name of listFolder(dir)) {
    const [, number, kind] = /^(\d{1,15})\.(snapshot|changes)$/.exec(name) ?? [];
    if (kind === 'snapshot') generations.snapshots.push(Number(number));
    if (kind === 'changes') generations.changes.push(Number(number));
  }
  generations.snapshots.sort((a, b) => a - b);
  generations.changes.sort((a, b) => a - b);
  return generations;
}

/** The newest one that can be loaded, if any. */
export function newestGeneration(dir: string): number | undefined {
  const { snapshots, changes } = listGenerations(dir);
  return snapshots.findLast((generation) => changes.includes(generation));
}

function listFolder(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/** Removes files that a crash left half-written. */
export function removePartials(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (name.endsWith('.partial')) rmSync(join(dir, name));
  }
}

/**
 * Removes the generations that `keep` rejects, oldest first. So if a generation is gone, all
 * earlier ones are, too.
 */
export async function removeGenerations(
  dir: string,
  keep: (generation: number) => boolean,
): Promise<void> {
  const { snapshots, changes } = listGenerations(dir);
  for (const generation of snapshots) {
    if (!keep(generation)) await rm(snapshotPath(dir, generation), { force: true });
  }
  for (const generation of changes) {
    if (!keep(generation)) await rm(changesPath(dir, generation), { force: true });
  }
}

/** Makes the creation, renaming and removal of files durable. */
export async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
