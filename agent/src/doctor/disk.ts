// The disk of the state folder: is there space, and how long does it take to flush?
import { constants, existsSync, statfsSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Check, fault, type Outcome, ok, type Subject, warning } from './check.ts';

const mib = 1024 ** 2;
/** A snapshot of the policy is written beside the old one; below this not even a small one fits for sure. */
const least_bytes = 64 * mib;
/** Squid's log of usage is begun anew at 1 GiB, and the next one is written while the old one is read. */
const enough_bytes = { squid: 2048 * mib, embedded: 512 * mib };
/** A change is in force when it is flushed: of the 50 ms that it may take at most, this is the disk's part. */
const slow_milliseconds = 20;
/** Usage is flushed once a second. */
const too_slow_milliseconds = 1000;

const flush_bytes = 4096;
const most_flushes = 40;
const most_seconds = 2;
/** In the words of statfs(2): what is written there is in memory alone. */
const inMemory = new Set([0x01021994, 0x858458f6]);

export const diskChecks: Check[] = [
  { name: 'disk_space', run: async (subject) => space(subject) },
  { name: 'disk_speed', run: speed },
];

/** The state folder, or the nearest one above it while joining has not made it. */
function folderOf({ config }: Subject): string {
  let folder = config.state_dir;
  while (!existsSync(folder)) folder = dirname(folder);
  return folder;
}

function space(subject: Subject): Outcome {
  const folder = folderOf(subject);
  const { bavail, bsize, files, ffree, type } = statfsSync(folder);
  const bytes = bavail * bsize;
  const enough = enough_bytes[subject.config.engine];
  const told = `${folder} has ${inWords(bytes)} free`;
  if (files > 0 && ffree === 0) {
    return fault(`${folder} has no inode left: no file can be made.`, `df -i ${folder}`);
  }
  if (bytes < least_bytes) {
    return fault(
      `${told}: no snapshot of the policy fits; expected ${inWords(enough)}.`,
      `df -h ${folder}`,
    );
  }
  if (inMemory.has(type)) {
    return warning(
      `${folder} is in memory: the node's token, and usage that was not reported, are gone when the machine restarts.`,
      'set EXITWARD_AGENT_STATE_DIR to a folder on a disk',
    );
  }
  if (bytes < enough) {
    return warning(
      `${told}; expected ${inWords(enough)}, for the policy and the log of usage.`,
      `df -h ${folder}`,
    );
  }
  return ok(`${told}.`);
}

async function speed(subject: Subject): Promise<Outcome> {
  const folder = folderOf(subject);
  const milliseconds = await medianFlush(folder, subject);
  const told = `A flush to the disk of ${folder} takes ${milliseconds.toFixed(1)} ms, ${Math.floor(1000 / milliseconds)} a second`;
  if (milliseconds > too_slow_milliseconds) {
    return fault(
      `${told}: usage is flushed each second, and does not keep up.`,
      'iostat -x 1 5, then another disk for EXITWARD_AGENT_STATE_DIR',
    );
  }
  if (milliseconds > slow_milliseconds) {
    return warning(
      `${told}: changes, revocations too, take effect that much later; expected ${slow_milliseconds} ms at most.`,
      'iostat -x 1 5, then another disk for EXITWARD_AGENT_STATE_DIR',
    );
  }
  return ok(`${told}.`);
}

/** Of appending and flushing, as the journal does, to a file that has no name: it is gone however this ends. */
async function medianFlush(folder: string, { clock }: Subject): Promise<number> {
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

function inWords(bytes: number): string {
  return bytes >= 1024 * mib
    ? `${(bytes / 1024 / mib).toFixed(1)} GiB`
    : `${Math.floor(bytes / mib)} MiB`;
}
