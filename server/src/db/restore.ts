// Replaces a SQLite database with a backup: checked first, all or nothing, only while no server
// uses it.
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { renameDurably, syncPath } from '../../../kit/src/durable.ts';
import type { Clock } from '../clock.ts';
import type { Actor } from './database.ts';
import { beginHistory } from './history.ts';
import { migrate } from './migrate.ts';
import { openDatabase } from './open.ts';

export interface Restored {
  /** The new path of the old database; undefined when there was none. */
  set_aside: string | undefined;
  /** Migrations that brought the backup to the schema of this program. */
  migrations: string[];
  /** Names the keys that the backup belongs to. */
  key_id: string | null;
}

const restorer: Actor = { kind: 'system', name: 'restore', address: '', request_id: '' };

/**
 * Restores `backup` as the database `file`. The restored database starts a new history (epoch), in
 * which no node has applied anything yet and no user is signed in. Errors: a plain Error with one
 * sentence when the backup is not an Exitward database, is damaged or newer than this program, or
 * when a server uses `file`.
 */
export async function restoreSqlite(file: string, backup: string, clock: Clock): Promise<Restored> {
  const fresh = `${file}.restoring`;
  removeDatabase(fresh);
  try {
    checkBackup(backup);
    copyFileSync(backup, fresh, constants.COPYFILE_EXCL);
    const prepared = await prepare(fresh, clock);
    return { ...prepared, set_aside: swap(file, fresh, clock.now()) };
  } finally {
    removeDatabase(fresh);
  }
}

/** Rejects a file that is not a complete Exitward database, without changing it. */
function checkBackup(backup: string): void {
  const file = statSync(backup, { throwIfNoEntry: false });
  if (!file) throw new Error(`There is no file ${backup}.`);
  if (file.isDirectory()) throw new Error(`${backup} is a folder; name a backup in it.`);
  if (existsSync(`${backup}-wal`)) {
    throw new Error(
      `${backup} is a database in use, not a backup; make one with "exitward backup".`,
    );
  }
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(backup, { readOnly: true });
    const { integrity_check } = db.prepare('pragma integrity_check(1)').get() as {
      integrity_check: string;
    };
    if (integrity_check !== 'ok') throw new Error(integrity_check);
  } catch (error) {
    throw new Error(`${backup} is not a whole SQLite database: ${(error as Error).message}.`);
  } finally {
    db?.close();
  }
}

/** Brings the copy to this program's schema and gives it a new history. */
async function prepare(fresh: string, clock: Clock) {
  const db = await openDatabase(`sqlite:${fresh}`, { clock });
  try {
    const tables = await db.all(
      "select name from sqlite_master where type = 'table' and name in ('network', 'migrations', 'accounts')",
    );
    if (tables.length !== 3) throw new Error('The file is a SQLite database, but not of Exitward.');
    const migrations = await migrate(db);
    const key_id = await db.write(restorer, async (tx) => {
      await beginHistory(tx, 'database.restore');
      const row = await tx.one<{ key_id: string | null }>('select key_id from network');
      return row?.key_id ?? null;
    });
    return { migrations, key_id };
  } finally {
    await db.close();
  }
}

/**
 * Moves the old database aside and the new one into its place. At every moment one of them exists.
 */
function swap(file: string, fresh: string, now: number): string | undefined {
  if (!existsSync(file)) {
    renameDurably(fresh, file);
    return undefined;
  }
  const aside = `${file}.before-restore-${now}`;
  const release = lock(file);
  try {
    // Files that a damaged database may have left; they must not be used with the new one.
    for (const part of ['-wal', '-shm']) {
      if (existsSync(file + part)) renameSync(file + part, aside + part);
    }
    linkOrCopy(file, aside);
    // The old database has its new name before it loses the old one.
    syncPath(dirname(file));
    renameDurably(fresh, file);
  } finally {
    release();
  }
  return aside;
}

/**
 * Takes the database for this process alone, and returns the function that releases it. Every open
 * connection of a server holds a lock on it, so leaving WAL mode fails while there is one; the lock
 * of a process that died is gone. A damaged database cannot be in use: no server starts with it.
 */
function lock(file: string): () => void {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: 1000 });
    db.exec('pragma locking_mode = exclusive');
    const { journal_mode } = db.prepare('pragma journal_mode = delete').get() as {
      journal_mode: string;
    };
    if (journal_mode !== 'delete') throw Object.assign(new Error('in use'), { errcode: busy });
    db.exec('begin exclusive');
    return () => db?.close();
  } catch (error) {
    db?.close();
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === busy) {
      throw new Error(`The database ${file} is in use; stop the server first.`);
    }
    return () => {};
  }
}

const busy = 5;

function linkOrCopy(file: string, aside: string): void {
  try {
    linkSync(file, aside);
  } catch {
    // Not every file system has hard links.
    copyFileSync(file, aside);
    syncPath(aside);
  }
}

function removeDatabase(file: string): void {
  for (const part of ['', '-wal', '-shm']) rmSync(file + part, { force: true });
}

/** Identifies the keys that the database of a file belongs to; null where that can't be read. */
export function keyIdIn(file: string): string | null {
  try {
    const db = new DatabaseSync(file, { readOnly: true });
    try {
      return db.prepare('select key_id from network').get()?.key_id as string | null;
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}
