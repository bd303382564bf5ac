// Disks as the doctors judge them: is there space, and how long does a flush take?
import { constants, existsSync, statfsSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fault, type Outcome, ok, warning } from './check.ts';

const mib = 1024 ** 2;
/** In the numbers of statfs(2): what is written there is in memory alone. */
const inMemory = new Set([0x01021994, 0x858458f6]);

/** The folder itself, or the nearest one above it while it has not been made. */
export function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(dirname(folder));
}

/** The space that a program needs, in bytes; the texts end the sentence of a finding. */
export interface SpaceNeeds {
  least: number;
  below_least: string;
  expected: number;
  below_expected: string;
  /** Said of a folder that is lost when the machine restarts. */
  in_memory: string;
  /** Of that. */
  remedy: string;
}

/** Judges the space on the disk of a folder. */
export function judgeSpace(folder: string, needs: SpaceNeeds): Outcome {
  const { bavail, bsize, files, ffree, type } = statfsSync(folder);
  const bytes = bavail * bsize;
  const free = `${folder} has ${inWords(bytes)} free`;
  const look = `df -h ${folder}`;
  if (files > 0 && ffree === 0) {
    return fault(`${folder} has no inode left: no file can be made.`, `df -i ${folder}`);
  }
  if (bytes < needs.least) return fault(`${free}: ${needs.below_least}.`, look);
  if (inMemory.has(type)) {
    return warning(`${folder} is in memory: ${needs.in_memory}.`, needs.remedy);
  }
  if (bytes < needs.expected) {
    return warning(`${free}; expected ${inWords(needs.expected)}${needs.below_expected}.`, look);
  }
  return ok(`${free}.`);
}

function inWords(bytes: number): string {
  return bytes >= 1024 * mib
    ? `${(bytes / 1024 / mib).toFixed(1)} GiB`
    : `${Math.floor(bytes / mib)} MiB`;
}

/** How long a flush may take, in milliseconds; the texts end the sentence of a finding. */
export interface FlushNeeds {
  slow: number;
  when_slow: string;
  too_slow: number;
  when_too_slow: string;
  remedy: string;
}

interface SteadyClock {
  /** Seconds. */
  steady(): number;
}

const flush_bytes = 4096;
const most_flushes = 40;
const most_seconds = 2;

/** Judges how long flushes to the disk of a folder take, by their median. */
export async function judgeFlushes(
  folder: string,
  clock: SteadyClock,
  needs: FlushNeeds,
): Promise<Outcome> {
  const taken = await medianFlush(folder, clock);
  const takes = `A flush to the disk of ${folder} takes ${taken.toFixed(1)} ms, ${Math.floor(1000 / taken)} a second`;
  if (taken > needs.too_slow) return fault(`${takes}: ${needs.when_too_slow}.`, needs.remedy);
  if (taken > needs.slow) return warning(`${takes}: ${needs.when_slow}.`, needs.remedy);
  return ok(`${takes}.`);
}

/** Of appending and flushing to a file that has no name: it is gone however this ends. */
async function medianFlush(folder: string, clock: SteadyClock): Promise<number> {
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
