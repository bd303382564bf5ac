// Checkpoints: a thread moves the log's pages into the database, since that flushes both to the
// disk. Linux reports a failed flush once to each descriptor that was open. So the log is flushed
// between the thread's opening and its first fold: from there on neither side misses a failure that
// the other has seen. Once the log has been rewritten after one, the thread opens it again, for the
// old descriptor would still fail.
import { statSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { Connection, isInputOutput } from './sqlite_connection.ts';
import type { Wal } from './wal.ts';

/** A log of so many pages, 4 MiB, is folded into the database. */
const duePages = 1000;
/** A file of the log that has grown beyond this is emptied. */
const maxBytes = 16_777_216;
/** How soon to retry when a long read kept the log from being folded. */
const againSeconds = 5;
/** Pages that the last writes may have added, for which writers are delayed. */
const fewPages = 1000;
/** Marks the data of our thread, to tell it from threads of other programs. */
const task = 'exitward_checkpoints';

type Order = 'open' | 'fold' | 'close';
type Outcome = 'opened' | 'folded' | 'later' | 'failed';

export class Checkpoints {
  readonly #file: string;
  readonly #wal: Wal;
  readonly #steady: () => number;
  #worker: Worker | undefined;
  /** How often the log had been rewritten when the thread was to open it. */
  #opened = -1;
  #isBusy = false;
  #hasFailed = false;
  #next = { pages: duePages, at: 0 };
  /** Called when the thread has done what it was to do. */
  #answered = () => {};

  constructor(file: string, wal: Wal, steady: () => number) {
    this.#file = file;
    this.#wal = wal;
    this.#steady = steady;
  }

  /** The disk failed meanwhile: the log grows until a restart, which folds all of it again. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Resolves when the thread is done: until then it may hold the write lock. */
  answered(): Promise<void> {
    return new Promise((resolve) => {
      this.#answered = resolve;
    });
  }

  /** Call it after a commit: folds the log when it is long. Never throws. */
  look(): void {
    // A page that may not be on the disk must not go into the database either.
    if (this.#isBusy || this.#wal.isUnsure) return;
    try {
      const { pages, at } = this.#next;
      const isLate = () => this.#steady() >= at && this.#wal.has(duePages);
      if (!this.#wal.has(pages) && !isLate()) return;
      this.#isBusy = true;
      this.#next = { pages: pages + duePages, at: this.#steady() + againSeconds };
      const isOpen = this.#worker && this.#opened === this.#wal.rewrites;
      this.#opened = this.#wal.rewrites;
      this.#thread().postMessage((isOpen ? 'fold' : 'open') satisfies Order);
    } catch {
      // The system gives no size or no thread now: the log grows until the next attempt.
      this.#isBusy = false;
    }
  }

  #thread(): Worker {
    if (this.#worker) return this.#worker;
    // This file, whatever its name is at run time: it is also the thread's program.
    const worker = new Worker(new URL(import.meta.url), {
      name: 'checkpoints',
      workerData: { [task]: this.#file },
    });
    worker.unref();
    worker.on('message', (outcome: Outcome) => {
      if (outcome === 'opened') {
        void this.#begin(worker);
        return;
      }
      // Pages whose flush failed count as written, and folding again would not write them. Only a
      // restart does.
      this.#hasFailed = outcome === 'failed';
      this.#isBusy = this.#hasFailed;
      if (outcome === 'folded') this.#next.pages = duePages;
      this.#answered();
    });
    // Not started for lack of memory or files: the log grows until the next attempt.
    worker.on('error', () => {});
    worker.on('exit', () => {
      this.#isBusy = false;
      this.#worker = undefined;
    });
    this.#worker = worker;
    return worker;
  }

  async #begin(worker: Worker): Promise<void> {
    const isOnDisk = await this.#wal.sync().then(
      () => true,
      () => false,
    );
    if (isOnDisk && this.#opened === this.#wal.rewrites) worker.postMessage('fold' satisfies Order);
    else this.#isBusy = false;
  }

  async close(): Promise<void> {
    this.#isBusy = true;
    const worker = this.#worker;
    if (!worker) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    worker.ref();
    worker.postMessage('close' satisfies Order);
    await exited;
  }
}

/**
 * Moves the pages into the database and starts the log from the beginning; true when that was done.
 * The log's file keeps its size: a flush is cheaper where only the content of a file has changed.
 * Also makes the first commit of the new log, because SQLite flushes the log's header before it
 * writes anything else.
 */
function fold(file: string, connection: Connection): boolean {
  const of = (mode: string) =>
    connection.row<{ busy: number; log: number; checkpointed: number }>(
      `pragma wal_checkpoint(${mode})`,
    ) ?? { busy: 1, log: 0, checkpointed: 0 };
  const { log, checkpointed } = of('passive');
  // A long read needs the rest; no writer is delayed for it.
  if (log - checkpointed > fewPages) return false;
  const isLarge = statSync(`${file}-wal`).size > maxBytes;
  if (of(isLarge ? 'truncate' : 'restart').busy !== 0) return false;
  const version = connection.row<{ user_version: number }>('pragma user_version');
  connection.exec(`pragma user_version = ${version?.user_version ?? 0}`);
  return true;
}

function run(file: string): void {
  let connection: Connection | undefined;
  const outcomeOf = (order: Order): Outcome => {
    if (order === 'fold' && connection) return fold(file, connection) ? 'folded' : 'later';
    connection?.close();
    connection = undefined;
    connection = new Connection(file, 'checkpoint');
    return 'opened';
  };
  parentPort?.on('message', (order: Order) => {
    if (order === 'close') {
      connection?.close();
      parentPort?.close();
      return;
    }
    let outcome: Outcome = 'later';
    try {
      outcome = outcomeOf(order);
    } catch (error) {
      // The disk has failed or is full, or another process folds: the log stays as it is, complete.
      if (isInputOutput(error)) outcome = 'failed';
    }
    parentPort?.postMessage(outcome);
  });
}

const file = (workerData as Record<string, string> | null)?.[task];
if (file !== undefined) run(file);
