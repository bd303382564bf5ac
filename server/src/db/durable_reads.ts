// Reads that show only what is on the disk. SQLite shows a commit as soon as it is in the system's
// memory, which is lost in a power cut.
import type { Connection } from './sqlite_connection.ts';
import type { Wal } from './wal.ts';

/** A view that is being flushed. */
interface Settling {
  /** The probe's value: the view shows at least the commits that it counts. */
  seen: number | undefined;
  /** The reads of this view, called when it is on the disk or has an error. */
  waiting: Array<(error: unknown) => void>;
  /** The reads that came after a further commit, which the view may not show. */
  later: Array<(error: unknown) => void>;
  isLate: boolean;
}

/**
 * The view that reads use. It is pinned (a read transaction is open) in each turn of the event loop
 * that reads, and from just before a commit of this process until its flush is done:
 *
 *     free --a read--> pinned --the turn ends--> free
 *     free, pinned --hold()--> held --release()--> free
 *     any of them --a commit of another process is seen--> settling: pinned again, then flushed;
 *                   reads wait for that, and then all read this view
 *
 * Another process may be between its commit and its flush, so its commits are flushed here before
 * they are shown. The probe counts only commits of others: on a connection that writes,
 * `data_version` ignores its own.
 */
export class DurableReads {
  readonly #reader: Connection;
  readonly #writer: Connection;
  readonly #wal: Wal;
  /** The last value of the probe whose commits are all known to be on the disk. */
  #durableVersion: number | undefined;
  #version = 0;
  #isPinned = false;
  #isHeld = false;
  #hasLooked = false;
  #settling: Settling | undefined;
  #isClosed = false;

  constructor(reader: Connection, writer: Connection, wal: Wal) {
    this.#reader = reader;
    this.#writer = writer;
    this.#wal = wal;
  }

  /** A number that changes whenever reads show another state. Errors: the engine's. */
  version(): number {
    this.#look();
    return this.#version;
  }

  /**
   * Reads from the durable view: at once if it is known to be durable, else as soon as it is.
   * Errors: the engine's.
   */
  read<T>(work: (reader: Connection) => T): T | Promise<T> {
    // Pinning a view looks for commits as well.
    if (this.#isPinned || this.#settling) this.#look();
    else this.#pin();
    const settling = this.#settling;
    if (!settling) return work(this.#reader);
    return new Promise<T>((resolve, reject) => {
      const list = settling.isLate ? settling.later : settling.waiting;
      list.push((error) => {
        if (error !== undefined) return reject(error);
        try {
          resolve(work(this.#reader));
        } catch (failure) {
          reject(failure);
        }
      });
    });
  }

  /**
   * Keeps the view unchanged: a commit of this process follows. Call it with the write lock held.
   */
  hold(): void {
    if (!this.#settling) this.#pin();
    this.#isHeld = true;
    // Commits run after the event loop has read: the requests that it reads next look for commits
    // that were acknowledged until then.
    this.#hasLooked = false;
  }

  /** Call it when the commit is on the disk, or was not made. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#version += 1;
    this.#free();
  }

  /** True when other processes have commits that are not known to be on the disk. */
  get isBehind(): boolean {
    return this.#probe() !== this.#durableVersion;
  }

  /** Call it when the whole log is on the disk, with the write lock held. */
  isWhole(): void {
    this.#durableVersion = this.#probe();
    // From here on, commits of others may be shown.
    this.#version += 1;
    this.release();
  }

  /**
   * Opens the writer again; its probe then counts from another number. Errors: the engine's; then
   * nothing changed.
   */
  reopenWriter(): void {
    const successor = this.#writer.another();
    let durableVersion: number | undefined;
    try {
      const first = probe(successor);
      // Only now: commits made before the successor looked are counted here.
      if (!this.isBehind) durableVersion = first;
    } catch {
      // The old connection cannot even read; then everything counts as new.
    }
    this.#writer.become(successor);
    this.#durableVersion = durableVersion;
    if (this.#settling) this.#settling.seen = undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#reader.close();
  }

  #probe(): number {
    return probe(this.#writer);
  }

  /**
   * Once per turn of the event loop: what is committed after a request was read may wait for the
   * next turn.
   */
  #look(): void {
    if (this.#hasLooked) return;
    const seen = this.#probe();
    this.#looked();
    if (!this.#settling) {
      if (seen !== this.#durableVersion) this.#settle(seen, []);
    } else if (seen !== this.#settling.seen && !this.#settling.isLate) {
      this.#settling.isLate = true;
      this.#version += 1;
    }
  }

  #looked(): void {
    if (this.#hasLooked) return;
    this.#hasLooked = true;
    setImmediate(() => {
      this.#hasLooked = false;
      this.#free();
    });
  }

  /**
   * Pins a view if none is pinned; a view that may show what is not yet on the disk is settled
   * first.
   */
  #pin(): void {
    if (this.#isPinned) return;
    const seen = this.#openView();
    this.#looked();
    if (seen !== this.#durableVersion) this.#settle(seen, []);
  }

  /**
   * Returns the probe's value, read after the view was opened, so that it counts every commit that
   * the view shows.
   */
  #openView(): number {
    this.#unpin();
    this.#reader.change('begin');
    this.#isPinned = true;
    try {
      this.#reader.row('select 1 from sqlite_schema limit 1');
      return this.#probe();
    } catch (error) {
      this.#unpin();
      throw error;
    }
  }

  #free(): void {
    if (this.#isHeld || this.#settling || this.#isClosed) return;
    this.#unpin();
  }

  #unpin(): void {
    if (!this.#isPinned) return;
    this.#isPinned = false;
    // The engine may have ended it after an error of the disk.
    if (this.#reader.inTransaction) this.#reader.change('rollback');
  }

  /**
   * Takes a new view, with at least the commits that `seen` counts, and flushes it for the reads
   * that wait.
   */
  #settle(seen: number, waiting: Settling['waiting']): void {
    this.#version += 1;
    const settling: Settling = { seen, waiting, later: [], isLate: false };
    this.#settling = settling;
    const flushed = new Promise<void>((resolve) => {
      this.#openView();
      resolve(this.#wal.sync());
    });
    flushed.then(
      () => {
        this.#durableVersion = settling.seen;
        this.#settled(settling);
      },
      (error: unknown) => this.#settled(settling, error),
    );
  }

  #settled(settling: Settling, error?: unknown): void {
    for (const read of settling.waiting) read(error);
    this.#settling = undefined;
    // The view must not be shown: the next read looks again, and finds that it is behind.
    if (error !== undefined) this.#hasLooked = false;
    try {
      if (settling.later.length > 0) this.#settle(this.#probe(), settling.later);
      else this.#free();
    } catch (failure) {
      for (const read of settling.later) read(failure);
    }
  }
}

function probe(connection: Connection): number {
  return connection.row<{ data_version: number }>('pragma data_version')?.data_version ?? 0;
}
