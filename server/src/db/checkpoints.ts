// Checkpoints: a thread moves the log's pages into the database, since that flushes both to the
// disk. The log then begins again from the start, for which writers wait a moment: that needs the
// write lock, and no view of what is still to be moved.
//
// Linux reports a failed flush once to each descriptor that was open. So the log is flushed between
// the thread's opening and its first checkpoint: from there on neither side misses a failure that
// the other has seen. Once the log has been rewritten after one, the thread opens it again, for the
// old descriptor would still fail.
import { statSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { Connection, isInputOutput } from './sqlite_connection.ts';
import type { Wal } from './wal.ts';

/** The pages of a log that is moved into the database: 4 MiB. */
const duePages = 1000;
/** A file of the log that has grown beyond this is emptied. */
const maxBytes = 16_777_216;
/** How soon to retry when a long read kept the log from beginning again. */
const againSeconds = 5;
/** Pages that the last writes may have added, for which writers are delayed. */
const fewPages = 1000;
/** Marks the data of our thread, to tell it from threads of other programs. */
const task = 'exitward_checkpoints';

type Order = 'open' | 'move' | 'begin' | 'close';
type Outcome = 'opened' | 'moved' | 'begun' | 'later' | 'failed';

export class Checkpoints {
  readonly #file: string;
  readonly #wal: Wal;
  readonly #steady: () => number;
  #worker: Worker | undefined;
  /** How often the log had been rewritten when the thread was to open it. */
  #opened = -1;
  #isBusy = false;
  /** Nearly all pages are in the database; the log can begin again. */
  #isMoved = false;
  #hasFailed = false;
  #next = { pages: duePages, at: 0 };
  /** Called when the thread has done what it was to do. */
  #answered = () => {};

  constructor(file: string, wal: Wal, steady: () => number) {
    this.#file = file;
    this.#wal = wal;
    this.#steady = steady;
  }

  /** The disk failed meanwhile: the log grows until a restart, which moves all of it again. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Has the log begin again if its pages were moved. Call it before a transaction, while no view is
   * held for an earlier one: on a slow disk there would be no other moment. Never throws.
   */
  async beginLog(): Promise<void> {
    if (!this.#isMoved) return;
    this.#isMoved = false;
    if (this.#wal.isUnsure || this.#opened !== this.#wal.rewrites) {
      this.#isBusy = false;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#answered = resolve;
      this.#worker?.postMessage('begin' satisfies Order);
    });
  }

  /** Call it after a commit: has the pages of a long log moved. Never throws. */
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
      this.#thread().postMessage((isOpen ? 'move' : 'open') satisfies Order);
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
        void this.#move(worker);
        return;
      }
      if (outcome === 'moved') {
        this.#isMoved = true;
        return;
      }
      // Pages whose flush failed count as written, and folding again would not write them. Only a
      // restart does.
      this.#hasFailed = outcome === 'failed';
      this.#isBusy = this.#hasFailed;
      if (outcome === 'begun') this.#next.pages = duePages;
      this.#answered();
    });
    // Not started for lack of memory or files: the log grows until the next attempt.
    worker.on('error', () => {});
    worker.on('exit', () => {
      this.#isBusy = false;
      this.#isMoved = false;
      this.#worker = undefined;
      this.#answered();
    });
    this.#worker = worker;
    return worker;
  }

  async #move(worker: Worker): Promise<void> {
    const isOnDisk = await this.#wal.sync().then(
      () => true,
      () => false,
    );
    if (isOnDisk && this.#opened === this.#wal.rewrites) worker.postMessage('move' satisfies Order);
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

function checkpoint(connection: Connection, mode: 'passive' | 'restart' | 'truncate') {
  const [outcome] = connection.rows<{ busy: number; log: number; checkpointed: number }>(
    `pragma wal_checkpoint(${mode})`,
  );
  return outcome ?? { busy: 1, log: 0, checkpointed: 0 };
}

/** Moves the pages into the database. */
function move(connection: Connection): Outcome {
  const { log, checkpointed } = checkpoint(connection, 'passive');
  // A long read needs the rest; no writer is delayed for it.
  return log - checkpointed > fewPages ? 'later' : 'moved';
}

/**
 * Moves the last pages, and starts the log from the beginning. Its file keeps its size: a flush is
 * cheaper where only the content of a file has changed. Also makes the first commit of the new log,
 * because SQLite flushes the log's header before it writes anything else.
 */
function beginLog(file: string, connection: Connection): Outcome {
  const isLarge = statSync(`${file}-wal`).size > maxBytes;
  if (checkpoint(connection, isLarge ? 'truncate' : 'restart').busy !== 0) return 'later';
  const version = connection.row<{ user_version: number }>('pragma user_version');
  connection.exec(`pragma user_version = ${version?.user_version ?? 0}`);
  return 'begun';
}

function run(file: string): void {
  let connection: Connection | undefined;
  const outcomeOf = (order: Order): Outcome => {
    if (order === 'move' && connection) return move(connection);
    if (order === 'begin' && connection) return beginLog(file, connection);
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
