// The thread that makes and verifies the server's backups: both read the whole database.
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { fullDiskFault } from '../bounds/full_disk.ts';
import { systemClock } from '../clock.ts';
import { openDatabase } from '../db/open.ts';
import { loadSecrets } from '../keys/keys_file.ts';
import { manifestOf, readManifest, writeManifest } from './folder.ts';
import { verifyBackup } from './verify.ts';

export interface Task {
  database_url: string;
  keys_file: string;
  mounted_secrets: string | undefined;
  folder: string;
  file: string;
  /** Epoch seconds. */
  now: number;
  /** True: make `file` first. False: it exists. */
  isNew: boolean;
  verify: boolean;
}

/** Marks the data of our thread, to tell it from threads of other programs. */
const mark = 'exitward_backup';

/** A task that runs in its thread. `done` resolves to the reason of its failure, or null. */
export interface RunningTask {
  done: Promise<string | null>;
  /** Cancels it; the next task removes what it left. */
  stop(): Promise<void>;
}

export function startTask(task: Task): RunningTask {
  // This file, whatever its name is at run time: it is also the thread's program.
  const worker = new Worker(new URL(import.meta.url), {
    name: 'backup',
    workerData: { [mark]: task },
  });
  const done = new Promise<string | null>((resolve) => {
    worker.on('message', resolve);
    worker.on('error', (error) => resolve(error.message));
    worker.on('exit', () => resolve('The backup was ended before it was whole.'));
  });
  return {
    done,
    stop: async () => {
      await worker.terminate();
    },
  };
}

async function run(task: Task): Promise<void> {
  const { database_url, file, now, isNew, verify } = task;
  if (isNew) {
    const db = await openDatabase(database_url, { clock: systemClock });
    try {
      await db.backup(file);
    } finally {
      await db.close();
    }
  }
  // A process that was killed may have left a backup without a manifest. A new backup may have the
  // manifest of a removed file of the same name.
  if (isNew || !readManifest(file)) writeManifest(file, await manifestOf(file, now));
  if (verify) await verifyAndNote(task);
}

async function verifyAndNote({ file, keys_file, mounted_secrets, now }: Task): Promise<void> {
  const note = (fault: string | null) => {
    const manifest = readManifest(file);
    if (manifest) writeManifest(file, { ...manifest, verified_at: now, fault });
  };
  try {
    await verifyBackup(file, loadSecrets(keys_file, true, mounted_secrets));
    note(null);
  } catch (error) {
    // A full disk says nothing about the backup.
    if (!fullDiskFault(error, [])) note((error as Error).message);
    throw error;
  }
}

async function main(task: Task): Promise<void> {
  let fault: string | null = null;
  try {
    await run(task);
  } catch (error) {
    const full = fullDiskFault(error, [task.folder], 'for a backup');
    fault = (full ?? (error as Error)).message;
  }
  parentPort?.postMessage(fault);
}

const task = (workerData as Record<string, Task> | null)?.[mark];
if (!isMainThread && task) await main(task);
