// The folder of scheduled backups: names, manifests, and which backups are kept.
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { replaceDurably } from '../../../kit/src/durable.ts';
import { isThere } from '../../../kit/src/private_files.ts';
import { keyIdIn } from '../db/restore.ts';

/**
 * Stored next to a backup as `FILE.manifest`: the size and checksum when it was written, and the
 * result of its last verification.
 */
export interface Manifest {
  /** Epoch seconds. */
  made_at: number;
  bytes: number;
  /** Of the whole file, in hexadecimal digits. */
  sha256: string;
  /** Epoch seconds of the last verification; null before the first. */
  verified_at: number | null;
  /** Why the last verification failed; null when it did not. */
  fault: string | null;
  /** Identifies the network: its keys. Null: unknown. Manifests before 0.3 lack it. */
  network?: string | null;
}

export interface Backup {
  file: string;
  /** Epoch seconds, taken from its name. */
  at: number;
  bytes: number;
  /** Null when there is no manifest, or it cannot be read. */
  manifest: Manifest | null;
  /** Why its last verification failed, or its manifest cannot be read. */
  fault: string | null;
}

const format = /^exitward-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;

/** The name of a backup made at `now`: its time in UTC. */
export function nameOfBackup(now: number): string {
  const [iso] = new Date(now * 1000).toISOString().replace(/[-:]/g, '').split('.');
  return `exitward-${iso}Z.db`;
}

/**
 * The backups of a network in a folder, newest first; those of other networks are left alone.
 * Errors: those of the disk.
 */
export function listBackups(folder: string, network: string): Backup[] {
  return allBackups(folder).filter(({ file, manifest }) => {
    const owner = manifest?.network ?? keyIdIn(file);
    return owner === null || owner === network;
  });
}

function allBackups(folder: string): Backup[] {
  if (!isThere(folder)) return [];
  return readdirSync(folder)
    .flatMap((name): Backup[] => {
      const [, year, month, day, hour, minute, second] = format.exec(name) ?? [];
      if (year === undefined) return [];
      const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) / 1000;
      const file = join(folder, name);
      const { size: bytes } = statSync(file, { throwIfNoEntry: false }) ?? { size: 0 };
      return [{ file, at, bytes, ...manifestOrFault(file) }];
    })
    .sort((a, b) => b.at - a.at);
}

/** Null: there is none. Errors: a plain Error with one sentence when it cannot be read. */
export function readManifest(file: string): Manifest | null {
  const path = `${file}.manifest`;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  } catch (error) {
    const { code = 'it is damaged' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new Error(
      `${path} cannot be read (${code}), so that nothing shows whether the backup is what was written; remove it to verify the backup without it.`,
    );
  }
}

/** A manifest that cannot be read is a fault of its backup, and no reason to overlook it. */
function manifestOrFault(file: string): Pick<Backup, 'manifest' | 'fault'> {
  try {
    const manifest = readManifest(file);
    return { manifest, fault: manifest?.fault ?? null };
  } catch (error) {
    return { manifest: null, fault: (error as Error).message };
  }
}

/** Writes the manifest, replacing an older one. Errors: those of the disk. */
export function writeManifest(file: string, manifest: Manifest): void {
  replaceDurably(`${file}.manifest`, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** The manifest of a file that was just written. Errors: those of the disk. */
export async function manifestOf(file: string, now: number): Promise<Manifest> {
  const sha256 = await sha256Of(file);
  const [bytes, network] = [statSync(file).size, keyIdIn(file)];
  return { made_at: now, bytes, sha256, verified_at: null, fault: null, network };
}

export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/**
 * Keeps the `keep` newest backups of a network, and its newest that was verified. Errors: those of
 * the disk.
 */
export function removeOldBackups(folder: string, network: string, keep: number): void {
  const all = listBackups(folder, network);
  const good = all.find(({ manifest }) => isGood(manifest));
  for (const { file } of all.slice(keep)) {
    if (file === good?.file) continue;
    rmSync(file, { force: true });
    rmSync(`${file}.manifest`, { force: true });
  }
}

export function isGood(manifest: Manifest | null): boolean {
  return manifest !== null && manifest.verified_at !== null && manifest.fault === null;
}

/** Prefix of the folders into which backups are restored for comparison. */
export const scratchStart = '.verifying-';

/**
 * Removes what a process that was killed left. Call it only while no other process makes backups
 * here.
 */
export function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const isUnfinished = /^exitward-\w+\.db\..*unfinished$/.test(name);
    if (isUnfinished || /^exitward-\w+\.db-journal$/.test(name) || name.startsWith(scratchStart)) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
}
