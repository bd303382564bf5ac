// The file of SQLite's write-ahead log: a commit counts from when its log has been flushed to the
// disk.
import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { markStorageFault } from './faults.ts';

/** Flushes a file, in parallel with the event loop. */
export type Sync = (file: FileHandle) => Promise<void>;

const datasync: Sync = (file) => file.datasync();

const pieceBytes = 1_048_576;

/** Of the file's format (https://sqlite.org/fileformat2.html#walformat). */
const headerBytes = 32;
const frameHeaderBytes = 24;
const saltsBytes = 8;

export class Wal {
  readonly #file: string;
  readonly #sync: Sync;
  #handle: FileHandle | undefined;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isUnsure = true;
  #rewrites = 0;

  constructor(database: string, sync: Sync = datasync) {
    this.#file = `${database}-wal`;
    this.#sync = sync;
  }

  /**
   * True until `rewrite` has succeeded, and again after the disk has failed: the system then treats
   * pages as clean that are not on the disk, and no later flush would write them.
   */
  get isUnsure(): boolean {
    return this.#isUnsure;
  }

  /** How often the log has been rewritten. */
  get rewrites(): number {
    return this.#rewrites;
  }

  /** Call it when the disk has failed: the log may be only in the system's memory. */
  doubt(): void {
    this.#isUnsure = true;
  }

  /**
   * Whether at least so many pages were written since the log last began: their frames have the
   * salts of the file's header, and older frames have others. The system has both in memory:
   * asking a thread costs more than the calls. Errors: the system's.
   */
  has(pages: number): boolean {
    if (!this.#handle) return false;
    const { fd } = this.#handle;
    const header = Buffer.alloc(headerBytes);
    const salts = Buffer.alloc(saltsBytes);
    if (readSync(fd, header, 0, headerBytes, 0) < headerBytes) return false;
    const frameBytes = frameHeaderBytes + header.readUInt32BE(8);
    const last = headerBytes + (pages - 1) * frameBytes;
    if (readSync(fd, salts, 0, saltsBytes, last + 8) < saltsBytes) return false;
    return header.subarray(16, 16 + saltsBytes).equals(salts);
  }

  /**
   * Writes every byte of the log again and flushes it: what was read from it until now may be only
   * in the system's memory, left there by a process whose flush failed. Call it while the write
   * lock is held.
   */
  async rewrite(): Promise<void> {
    this.#isUnsure = true;
    await this.#running?.catch(() => {});
    await this.#handle?.close();
    this.#handle = undefined;
    const handle = await open(this.#file, 'r+');
    this.#handle = handle;
    const piece = Buffer.alloc(pieceBytes);
    for (let at = 0; ; ) {
      const { bytesRead } = await handle.read(piece, 0, pieceBytes, at);
      if (bytesRead === 0) break;
      for (let written = 0; written < bytesRead; ) {
        const { bytesWritten } = await handle.write(
          piece,
          written,
          bytesRead - written,
          at + written,
        );
        written += bytesWritten;
      }
      at += bytesRead;
    }
    await this.#sync(handle);
    // The names of the database and its log, in case they are new.
    const folder = await open(dirname(this.#file), 'r');
    await folder.sync().finally(() => folder.close());
    this.#rewrites += 1;
    this.#isUnsure = false;
  }

  /**
   * Resolves when all that was in the log before the call is on the disk. Concurrent calls share a
   * flush.
   */
  sync(): Promise<void> {
    // A flush that is running may have missed what was written since it began.
    this.#next ??= (this.#running ?? Promise.resolve())
      .catch(() => {})
      .then(() => {
        this.#running = this.#next;
        this.#next = undefined;
        return this.#flush();
      })
      .finally(() => {
        this.#running = undefined;
      });
    return this.#next;
  }

  async #flush(): Promise<void> {
    if (this.#isUnsure || !this.#handle) {
      throw markStorageFault(new Error('the write-ahead log could not be flushed to the disk'));
    }
    try {
      await this.#sync(this.#handle);
    } catch (error) {
      this.#isUnsure = true;
      throw markStorageFault(error);
    }
  }

  async close(): Promise<void> {
    await this.#running?.catch(() => {});
    await this.#handle?.close();
    this.#handle = undefined;
  }
}
