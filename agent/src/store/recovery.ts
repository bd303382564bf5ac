// Finds the intact files when the store opens, and moves away files that a crash or the disk
// damaged.
import { closeSync } from 'node:fs';
import { copyFile, open, rename, truncate } from 'node:fs/promises';
import type { Position } from '../../../kit/src/node_interface.ts';
import type { NodeRecord } from '../policy/records.ts';
import { Unreadable } from '../policy/unreadable.ts';
import { ChangesReader } from './changes_file.ts';
import {
  changesPath,
  createFile,
  listGenerations,
  partialPath,
  removeGenerations,
  removePartials,
  snapshotPath,
  syncFolder,
} from './generations.ts';
import { type About, readSnapshot } from './snapshot_file.ts';

export interface Recovered {
  position: Position;
  unreadable: Unreadable;
  snapshot_bytes: number;
  /** Of all files of changes since the snapshot. */
  changes_bytes: number;
  /** Where changes continue: in the file of this generation, after this many bytes. */
  generation: number;
  offset: number;
}

/** Undefined: there is no policy. Errors: BadSnapshot; only half-written files are changed then. */
export async function recover(
  dir: string,
  group: number | undefined,
): Promise<Recovered | undefined> {
  removePartials(dir);
  const newest = listGenerations(dir).snapshots.at(-1);
  if (newest === undefined) {
    await removeGenerations(dir, () => false);
    return undefined;
  }
  const unreadable = new Unreadable();
  const { about, bytes } = await checkSnapshot(snapshotPath(dir, newest), unreadable);
  const recovered: Recovered = {
    position: { epoch: about.epoch, revision: about.revision },
    unreadable,
    snapshot_bytes: bytes,
    changes_bytes: 0,
    generation: newest,
    offset: 0,
  };
  const used = new Set<number>();
  for (let next: number | undefined = newest; next !== undefined; ) {
    used.add(next);
    recovered.generation = next;
    next = await recoverChanges(dir, group, recovered);
  }
  await removeGenerations(dir, (generation) => used.has(generation));
  return recovered;
}

/** Lines with an unreadable record contain this, and hardly any others. */
const ofUnreadable = '"kind":"unreadable"';

async function checkSnapshot(
  path: string,
  unreadable: Unreadable,
): Promise<{ about: About; bytes: number }> {
  const file = await open(path);
  const take = (line: string) => {
    if (line.includes(ofUnreadable)) unreadable.note(JSON.parse(line) as NodeRecord);
  };
  try {
    const about = await readSnapshot(file, take, ofUnreadable);
    return { about, bytes: (await file.stat()).size };
  } finally {
    await file.close();
  }
}

/** Reads one file of changes up to the first damaged line; returns the generation that follows. */
async function recoverChanges(
  dir: string,
  group: number | undefined,
  recovered: Recovered,
): Promise<number | undefined> {
  const path = changesPath(dir, recovered.generation);
  // After a power cut, an empty file may be missing.
  if (!listGenerations(dir).changes.includes(recovered.generation)) {
    closeSync(createFile(path, group));
  }
  const changes = new ChangesReader(path);
  try {
    for (let line = changes.next(); line; line = changes.next()) {
      if ('next' in line) return line.next;
      noteUnreadable(recovered.unreadable, line.json);
      recovered.position = { epoch: recovered.position.epoch, revision: line.revision };
    }
    if (!changes.isAtEnd()) await shorten(dir, group, path, changes.offset);
    return undefined;
  } finally {
    recovered.offset = changes.offset;
    recovered.changes_bytes += changes.offset;
    changes.close();
  }
}

/** Other records matter only if they may end a fault. */
function noteUnreadable(unreadable: Unreadable, json: string): void {
  if (unreadable.size === 0 && !json.includes(ofUnreadable)) return;
  for (const record of JSON.parse(json) as NodeRecord[]) unreadable.note(record);
}

/** Replaces the file by a shorter one. Replicas that read further notice it, and reload. */
async function shorten(
  dir: string,
  group: number | undefined,
  path: string,
  length: number,
): Promise<void> {
  const partial = partialPath(dir, 0);
  closeSync(createFile(partial, group));
  await copyFile(path, partial);
  await truncate(partial, length);
  const file = await open(partial, 'r+');
  await file.sync();
  await file.close();
  await rename(partial, path);
  await syncFolder(dir);
}
