// Disks as the doctors judge them: is there space, and how long does a flush take?
import { constants, existsSync, statfsSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fault, type Outcome, ok, warning } from './check.ts';

const mib = 1024 ** 2;
/** The types of statfs(2) whose files are in memory only: tmpfs and ramfs. */
const inMemory = new Set([0x01021994, 0x858458f6]);

/** The folder, or its nearest parent that exists. */
export function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(dirname(folder));
}

/** The space that a program needs; the texts end the sentence of a finding. */
export interface SpaceNeeds {
  least_bytes: number;
  below_least: string;
  expected_bytes: number;
  below_expected: string;
  /** For a folder in memory, which is lost when the machine restarts. */
  in_memory: string;
  /** For a folder in memory. */
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
  if (bytes < needs.least_bytes) return fault(`${free}: ${needs.below_least}.`, look);
  if (inMemory.has(type)) {
    return warning(`${folder} is in memory: ${needs.in_memory}.`, needs.remedy);
  }
  if (bytes < needs.expected_bytes) {
    return warning(
      `${free}; expected ${inWords(needs.expected_bytes)}${needs.below_expected}.`,
      look,
    );
  }
  return ok(`${free}.`);
}

function inWords(bytes: number): string {
  return bytes >= 1024 * mib
    ? `${(bytes / 1024 / mib).toFixed(1)} GiB`
    : `${Math.floor(bytes / mib)} MiB`;
}

/** How long a flush may take; the texts end the sentence of a finding. */
export interface FlushNeeds {
  slow_ms: number;
  when_slow: string;
  too_slow_ms: number;
  when_too_slow: string;
  remedy: string;
}

interface SteadyClock {
  /** Seconds. */
  steady(): number;
}

const flushBytes = 4096;
const maxFlushes = 40;
const maxSeconds = 2;

/** Judges how long flushes to the disk of a folder take, by their median. */
export async function judgeFlushes(
  folder: string,
  clock: SteadyClock,
  needs: FlushNeeds,
): Promise<Outcome> {
  const medianMs = await medianFlush(folder, clock);
  const takes = `A flush to the disk of ${folder} takes ${medianMs.toFixed(1)} ms, ${Math.floor(1000 / medianMs)} a second`;
  if (medianMs > needs.too_slow_ms) return fault(`${takes}: ${needs.when_too_slow}.`, needs.remedy);
  if (medianMs > needs.slow_ms) return warning(`${takes}: ${needs.when_slow}.`, needs.remedy);
  return ok(`${takes}.`);
}

/** Milliseconds to append and flush. The file has no name, so that none is left behind. */
async function medianFlush(folder: string, clock: SteadyClock): Promise<number> {
  const file = await openNameless(folder);
  try {
    const bytes = Buffer.alloc(flushBytes, 1);
    const timesMs: number[] = [];
    const end = clock.steady() + maxSeconds;
    while (timesMs.length < maxFlushes && clock.steady() < end) {
      const start = clock.steady();
      await file.write(bytes);
      await file.datasync();
      timesMs.push((clock.steady() - start) * 1000);
    }
    timesMs.sort((a, b) => a - b);
    return Math.max(timesMs[timesMs.length >> 1] as number, 0.001);
  } finally {
    await file.close();
  }
}

/** Linux's O_TMPFILE without its O_DIRECTORY; Node has no constant for it. */
const nameless = 0o20000000;

async function openNameless(folder: string): Promise<FileHandle> {
  try {
    return await open(folder, constants.O_RDWR | constants.O_DIRECTORY | nameless, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EOPNOTSUPP' && code !== 'EISDIR' && code !== 'EINVAL') throw error;
    // Not every file system can do this: there the file has a name for a moment.
    const path = join(folder, `.doctor-${process.pid}`);
    const file = await open(path, 'wx+', 0o600);
    await rm(path);
    return file;
  }
}
