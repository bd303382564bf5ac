// The disks of the data folder and the database: is there space, do they keep what they are given, and how long does a flush take?
import { constants, existsSync, statfsSync, statSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { type Check, fault, type Outcome, ok, warning } from './check.ts';

const mib = 1024 ** 2;
/** The log of SQLite, and what a start writes, for sure fit into so much. */
const least_bytes = 256 * mib;
/** Half a year of a busy network's usage and audit (docs/operating.md, growth). */
const enough_bytes = 2048 * mib;
/** Writes wait for a flush, all that came meanwhile for the same one: a revocation shall take 200 ms at most, beside a flood. */
const slow_milliseconds = 20;
/** The slowest disk on which reads were measured to go on beside a writer (bench/slow_disk.ts). */
const too_slow_milliseconds = 500;

const flush_bytes = 4096;
const most_flushes = 40;
const most_seconds = 2;

/** In the numbers of statfs(2). */
const inMemory = new Set([0x01021994, 0x858458f6]);
const overNetwork = new Set([0x6969, 0xff534d42, 0xfe534d42, 0x517b]);

export function diskChecks(config: Config, clock: Clock): Check[] {
  const folders = [config.data_dir];
  const file = sqliteFile(config);
  if (file && dirname(file) !== config.data_dir) folders.push(dirname(file));
  const there = folders.map(nearest);
  const look = (one: (folder: string) => Outcome | Promise<Outcome>) => () =>
    Promise.all(there.map(one));
  return [
    { name: 'disk_space', run: look((folder) => space(folder, file)) },
    { name: 'disk_speed', run: look((folder) => speed(folder, clock)) },
  ];
}

/** The file of a SQLite database; undefined on PostgreSQL. */
export function sqliteFile({ database_url }: Config): string | undefined {
  return database_url.startsWith('sqlite:') ? database_url.slice('sqlite:'.length) : undefined;
}

/** The folder itself, or the nearest one above it while the first start has not made it. */
function nearest(folder: string): string {
  return existsSync(folder) ? folder : nearest(dirname(folder));
}

function space(folder: string, database: string | undefined): Outcome {
  const { bavail, bsize, files, ffree, type } = statfsSync(folder);
  const bytes = bavail * bsize;
  const told = `${folder} has ${inWords(bytes)} free`;
  const isHere = database !== undefined && dirname(database) === folder;
  const database_bytes = isHere ? sizeOf(database) : 0;
  if (files > 0 && ffree === 0) {
    return fault(`${folder} has no inode left: no file can be made.`, `df -i ${folder}`);
  }
  if (bytes < least_bytes) {
    return fault(`${told}: soon nothing can be written.`, `df -h ${folder}`);
  }
  if (inMemory.has(type)) {
    return warning(
      `${folder} is in memory: all of it is gone when the machine restarts.`,
      'set EXITWARD_DATA_DIR to a folder on a disk',
    );
  }
  if (isHere && overNetwork.has(type)) {
    return fault(
      `${folder} is on a network file system, on which SQLite's log does not work.`,
      'a local disk, or PostgreSQL: docs/postgresql.md',
    );
  }
  const expected = Math.max(enough_bytes, database_bytes);
  if (bytes < expected) {
    const why = database_bytes > enough_bytes ? ', for a copy of the database' : '';
    return warning(`${told}; expected ${inWords(expected)}${why}.`, `df -h ${folder}`);
  }
  return ok(`${told}.`);
}

async function speed(folder: string, clock: Clock): Promise<Outcome> {
  const milliseconds = await medianFlush(folder, clock);
  const told = `A flush to the disk of ${folder} takes ${milliseconds.toFixed(1)} ms, ${Math.floor(1000 / milliseconds)} a second`;
  const remedy = `iostat -x 1 5, then another disk for ${folder}`;
  if (milliseconds > too_slow_milliseconds) {
    return fault(`${told}: each change waits for one; expected ${slow_milliseconds} ms.`, remedy);
  }
  if (milliseconds > slow_milliseconds) {
    return warning(`${told}: each change waits for one; expected ${slow_milliseconds} ms.`, remedy);
  }
  return ok(`${told}.`);
}

/** Of appending and flushing, as a commit does, to a file that has no name: it is gone however this ends. */
async function medianFlush(folder: string, clock: Clock): Promise<number> {
  const file = await openNameless(folder);
  try {
    const bytes = Buffer.alloc(flush_bytes, 1);
    const taken: number[] = [];
    const end = clock.steady() + most_seconds;
    while (taken.length < most_flushes && clock.steady() < end) {
      const start = clock.steady();
      await file.write(bytes);
      await file.datasync();
      taken.push((clock.steady() - start) * 1000);
    }
    taken.sort((one, other) => one - other);
    return Math.max(taken[taken.length >> 1] as number, 0.001);
  } finally {
    await file.close();
  }
}

/** Linux's flag of it, without that of a folder; Node has no name for it. */
const nameless = 0o20000000;

async function openNameless(folder: string): Promise<FileHandle> {
  try {
    return await open(folder, constants.O_RDWR | constants.O_DIRECTORY | nameless, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EOPNOTSUPP' && code !== 'EISDIR' && code !== 'EINVAL') throw error;
    // Not every file system can: then the name is there for a moment.
    const path = join(folder, `.doctor-${process.pid}`);
    const file = await open(path, 'wx+', 0o600);
    await rm(path);
    return file;
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function inWords(bytes: number): string {
  return bytes >= 1024 * mib
    ? `${(bytes / 1024 / mib).toFixed(1)} GiB`
    : `${Math.floor(bytes / mib)} MiB`;
}
