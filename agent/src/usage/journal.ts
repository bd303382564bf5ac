// The usage journal: every counted byte is on disk before anything depends on it, and stays there
// until the control plane has it.
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { type FileHandle, link, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Logger } from 'pino';
import type { UsageBatch, UsageRow } from '../../../kit/src/node_interface.ts';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import type { Traffic } from '../engine.ts';
import { decodeLine, encodeLine } from '../store/checked_line.ts';
import { isMissing, syncFolder } from '../store/generations.ts';
import { type Carry, type Entry, JournalState, type Tick } from './journal_state.ts';

/** The most that the control plane accepts at once. */
const maxRowsOfBatch = 20_000;
/** Files smaller than this are never rewritten. */
const smallBytes = 2 ** 20;
/** The file is rewritten when it is this many times as long as after the last rewrite. */
const worthwhile = 4;
const newline = 0x0a;

/**
 * One file of lines, each a checksum and an entry, written and fsynced one at a time. So a crash
 * can tear only the last line, which no caller relies on yet; opening cuts it off. Other damage
 * is detected by the checksum (docs/decisions/0028).
 */
export class Journal {
  readonly #path: string;
  readonly #log: Logger;
  #state = new JournalState();
  readonly #events = new EventEmitter();
  #file: FileHandle | undefined;
  #bytes = 0;
  #rewrittenBytes = 0;
  /** After a failed write: the disk may have lines that count as not written. */
  #isDoubtful = false;
  #fault: string | undefined;
  /** Writes run one at a time. */
  readonly #queue = new SerialQueue();

  private constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  /**
   * Opens the journal, or creates one in an existing folder. Errors: the file is damaged before its
   * end. Continuing without it could count bytes twice, so the operator has to decide.
   */
  static async open(path: string, { log }: { log: Logger }): Promise<Journal> {
    const journal = new Journal(path, log);
    const bytes = await readFile(path).catch((error) => {
      if (isMissing(error)) return undefined;
      throw error;
    });
    if (bytes) {
      await journal.#replay(bytes);
    } else {
      journal.#state.apply({ kind: 'journal', boot: randomUUID(), seq: 0 });
      await journal.#rewrite();
    }
    return journal;
  }

  get boot(): string {
    return this.#state.boot;
  }

  /** Where the engine's next poll continues; undefined at first. */
  get cursor(): unknown {
    return this.#state.cursor;
  }

  /** By connection: the bytes counted so far of the request that is under way on it. */
  get counted(): ReadonlyMap<string, Traffic> {
    return this.#state.counted;
  }

  /** By user (`identityOf`): bytes that were counted in excess. */
  get carry(): ReadonlyMap<string, Carry> {
    return this.#state.carry;
  }

  /** The latest `at` that a row ever had. */
  get newest_at(): number {
    return this.#state.newest_at;
  }

  /** All rows that the control plane has not acknowledged yet. */
  pending(): UsageRow[] {
    return [...(this.#state.batch?.rows ?? []), ...this.#state.rows];
  }

  /** The faults now, a sentence each. */
  faults(): string[] {
    return this.#fault === undefined ? [] : [this.#fault];
  }

  /**
   * Stores a tick. If that fails, nothing of it applies, and the same traffic may be counted again.
   */
  append(tick: Tick): Promise<void> {
    return this.#queue.run(async () => {
      await this.#write({ kind: 'tick', ...tick });
      if (tick.rows.length > 0) this.#events.emit('rows');
    });
  }

  /** After a failed write: makes the journal writable again. Errors: it is not. */
  repair(): Promise<void> {
    return this.#queue.run(async () => {
      if (!this.#isDoubtful) return;
      await this.#writing(() => this.#rewrite());
    });
  }

  /**
   * Renames the journal, and begins a new one. Nothing of the old one will be sent, and the
   * engine's counts continue.
   */
  leave(path: string): Promise<void> {
    return this.#queue.run(async () => {
      const { cursor, counted, newest_at } = this.#state;
      await link(this.#path, path);
      this.#state = new JournalState();
      this.#state.apply({ kind: 'journal', boot: randomUUID(), seq: 0, newest_at });
      const tick = { rows: [], cursor, counted: [...counted.values()], settled: [], carry: [] };
      this.#state.apply({ kind: 'tick', ...tick });
      await this.#rewrite();
    });
  }

  /** The batch to send: the same one until it is acknowledged. Undefined if there is none. */
  next(): Promise<UsageBatch | undefined> {
    return this.#queue.run(async () => {
      const { batch, rows, seq } = this.#state;
      if (batch && this.#isDoubtful) await this.#writing(() => this.#rewrite());
      if (batch || rows.length === 0) return batch;
      const length = Math.min(rows.length, maxRowsOfBatch);
      await this.#write({ kind: 'batch', seq: seq + 1, rows: length });
      return this.#state.batch;
    });
  }

  /** Drops a batch, which the control plane has acknowledged. */
  acknowledged(seq: number): Promise<void> {
    return this.#queue.run(() => this.#write({ kind: 'acknowledged', seq }));
  }

  /** Resolves when there is something to send, or as soon as the signal is aborted. */
  async whenPending(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#state.batch && this.#state.rows.length === 0) {
      // Only the signal can make it reject.
      await once(this.#events, 'rows', { signal }).catch(() => {});
    }
  }

  close(): Promise<void> {
    return this.#queue.run(async () => {
      await this.#file?.close();
    });
  }

  async #write(entry: Entry): Promise<void> {
    const line = lineOf(entry);
    await this.#writing(async () => {
      const isLong = this.#bytes > Math.max(smallBytes, worthwhile * this.#rewrittenBytes);
      if (this.#isDoubtful || isLong || !this.#file) await this.#rewrite();
      this.#isDoubtful = true;
      await this.#file?.writeFile(line);
      await this.#file?.datasync();
      this.#isDoubtful = false;
    });
    this.#bytes += line.length;
    this.#state.apply(entry);
  }

  /** Writes, and sets the fault while that fails. */
  async #writing(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.#fault = `${this.#path} cannot be written: ${(error as Error).message}.`;
      throw error;
    }
    this.#fault = undefined;
  }

  /**
   * Replaces the file by a new one, in one step. It leaves out everything that is obsolete, and the
   * line whose write failed. After a failed fsync this is the only way: the system may have dropped
   * the bytes that it could not write, and report success the next time.
   */
  async #rewrite(): Promise<void> {
    this.#isDoubtful = true;
    const path = `${this.#path}.new`;
    const file = await open(path, 'w', 0o600);
    let bytes = 0;
    try {
      for (const entry of this.#state.entries()) {
        const line = lineOf(entry);
        await file.writeFile(line);
        bytes += line.length;
      }
      await file.sync();
      await rename(path, this.#path);
      await syncFolder(dirname(this.#path));
    } catch (error) {
      await file.close();
      await rm(path, { force: true });
      throw error;
    }
    await this.#file?.close();
    this.#file = file;
    this.#bytes = bytes;
    this.#rewrittenBytes = bytes;
    this.#isDoubtful = false;
  }

  async #replay(bytes: Buffer): Promise<void> {
    let good = 0;
    for (const { line, end } of linesOf(bytes)) {
      const entry = readLine(line);
      if (!entry && good === 0) break;
      // Only the last line can be torn: nothing was written after it.
      if (entry && good < end - line.length - 1) throw this.#damaged(good);
      if (!entry) continue;
      try {
        this.#state.apply(entry);
      } catch (error) {
        throw new Error(
          `${this.#path}: ${(error as Error).message} is not known; was it written by a newer agent?`,
        );
      }
      good = end;
    }
    if (this.#state.boot === '') throw this.#damaged(0);
    const torn = bytes.length - good;
    if (torn > 0) this.#log.warn({ path: this.#path, bytes: torn }, 'a torn line was cut off');
    // If an fsync of an earlier agent failed, lines may be only in the system's memory. They are
    // written again before any is sent; if that fails, it is a fault.
    await this.#writing(() => this.#rewrite()).catch(() => {});
  }

  #damaged(at: number): Error {
    return new Error(
      `${this.#path} is damaged at byte ${at}; a crash cannot cause this. Restore it, or move it away to begin a new one. Usage in it that was not sent is then not billed, and neither is what Squid has logged until now.`,
    );
  }
}

function lineOf(entry: Entry): Buffer {
  return encodeLine(JSON.stringify(entry));
}

/** The entry on a line; undefined if the line is damaged. */
function readLine(line: Buffer): Entry | undefined {
  const json = decodeLine(line);
  return json === undefined ? undefined : (JSON.parse(json) as Entry);
}

/** The complete lines, each with the position after it. */
function* linesOf(bytes: Buffer): Generator<{ line: Buffer; end: number }> {
  let start = 0;
  for (;;) {
    const at = bytes.indexOf(newline, start);
    if (at < 0) return;
    yield { line: bytes.subarray(start, at), end: at + 1 };
    start = at + 1;
  }
}
