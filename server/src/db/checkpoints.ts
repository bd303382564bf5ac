// Checkpoints: the log's pages go into the database in a thread of their own, since that flushes both to the disk.
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { Connection, isInputOutput } from './sqlite_connection.ts';
import type { Wal } from './wal.ts';

/** A log of this size is folded into the database: a thousand pages. */
const due_bytes = 4_194_304;
/** How soon a log that could not be folded, because of a long read, is looked at again. */
const again_seconds = 5;
/** Pages that a last group of writes may have added, for which writers are held up. */
const few_pages = 1000;
/** Marks the data of our own thread among those of other programs' threads. */
const task = 'exitward_checkpoints';

type Outcome = 'folded' | 'later' | 'failed';

export class Checkpoints {
  readonly #file: string;
  readonly #wal: Wal;
  readonly #steady: () => number;
  #worker: Worker | undefined;
  #isBusy = false;
  #next = { bytes: due_bytes, at: 0 };

  constructor(file: string, wal: Wal, steady: () => number) {
    this.#file = file;
    this.#wal = wal;
    this.#steady = steady;
  }

  /** There was a commit: folds the log when it is long. Never throws. */
  look(): void {
    // A page that may not be on the disk must not go into the database either.
    if (this.#isBusy || this.#wal.isUnsure) return;
    try {
      const bytes = this.#wal.bytes();
      const isLate = bytes >= due_bytes && this.#steady() >= this.#next.at;
      if (bytes < this.#next.bytes && !isLate) return;
      this.#isBusy = true;
      this.#next = { bytes: bytes + due_bytes, at: this.#steady() + again_seconds };
      this.#thread().postMessage('fold');
    } catch {
      // The system gives no size or no thread now: the log grows until the next attempt.
      this.#isBusy = false;
    }
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker;
    // This file, whatever it is called where it runs; it is the thread's program too.
    const worker = new Worker(new URL(import.meta.url), {
      name: 'checkpoints',
      workerData: { [task]: this.#file },
    });
    worker.unref();
    worker.on('message', (outcome: Outcome) => {
      // Pages whose flush failed count as written: what folds again would not write them. A start does.
      this.#isBusy = outcome === 'failed';
      if (outcome === 'folded') this.#next.bytes = due_bytes;
    });
    // Not started, for want of memory or files: the log grows until the next attempt.
    worker.on('error', () => {});
    worker.on('exit', () => {
      this.#isBusy = false;
      this.#worker = undefined;
    });
    this.#worker = worker;
    return worker;
  }

  async close(): Promise<void> {
    this.#isBusy = true;
    const worker = this.#worker;
    if (!worker) return;
    const gone = new Promise((resolve) => worker.once('exit', resolve));
    worker.ref();
    worker.postMessage('close');
    await gone;
  }
}

/**
 * Moves the pages into the database, and then begins the log anew; true when that was done. The first
 * commit of a log is made here too: SQLite flushes its head before anything else is written to it.
 */
function fold(connection: Connection): boolean {
  const of = (mode: string) =>
    connection.row<{ busy: number; log: number; checkpointed: number }>(
      `pragma wal_checkpoint(${mode})`,
    ) ?? { busy: 1, log: 0, checkpointed: 0 };
  const { log, checkpointed } = of('passive');
  // A long read needs the rest: no writer is held up for it.
  if (log - checkpointed > few_pages || of('truncate').busy !== 0) return false;
  const version = connection.row<{ user_version: number }>('pragma user_version');
  connection.exec(`pragma user_version = ${version?.user_version ?? 0}`);
  return true;
}

function run(file: string): void {
  const connection = new Connection(file, 'checkpoint');
  parentPort?.on('message', (message: 'fold' | 'close') => {
    if (message === 'close') {
      connection.close();
      parentPort?.close();
      return;
    }
    let outcome: Outcome = 'later';
    try {
      if (fold(connection)) outcome = 'folded';
    } catch (error) {
      // The disk has failed or is full, or another process folds: the log stays as it is and is whole.
      if (isInputOutput(error)) outcome = 'failed';
    }
    parentPort?.postMessage(outcome);
  });
}

const file = (workerData as Record<string, string> | null)?.[task];
if (file !== undefined) run(file);
