// The changes since a snapshot, one per line, with a checksum that reveals a torn or damaged line.
//   9d1c44aa 14 1795229237 [{"kind":"override",…}]     revision, time received, records
//   51d2c0de next 8                                    the last line: changes continue in 8.changes
import { close, closeSync, fstatSync, fsync, openSync, readSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import type { NodeRecord } from '../policy/records.ts';
import { decodeLine, encodeLine } from './checked_line.ts';

/** One revision and its records, if any, which are applied together. */
export interface Change {
  revision: number;
  /** Epoch seconds when the control plane sent it. */
  heard_at: number;
  /** The records as JSON. */
  json: string;
}

/** The number of the file in which changes continue. */
export interface Next {
  next: number;
}

const newline = 0x0a;
const pieceBytes = 65_536;

/** Errors: RangeError for a number that is not whole, which would later be read as damage. */
export function newChange(revision: number, heard_at: number, records: NodeRecord[]): Change {
  for (const [name, value] of Object.entries({ revision, heard_at })) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new RangeError(`${name}: ${value} is not valid; expected a whole number.`);
    }
  }
  return { revision, heard_at, json: JSON.stringify(records) };
}

/** A line as bytes. */
export function encodeChange({ revision, heard_at, json }: Change): Buffer {
  return encodeLine(`${revision} ${heard_at} ${json}`);
}

export function encodeNext(generation: number): Buffer {
  return encodeLine(`next ${generation}`);
}

function readLine(bytes: Buffer): Change | Next | undefined {
  const text = decodeLine(bytes);
  if (text === undefined) return undefined;
  if (text.startsWith('next ')) return { next: Number(text.slice('next '.length)) };
  const first = text.indexOf(' ');
  const second = text.indexOf(' ', first + 1);
  return {
    revision: Number(text.slice(0, first)),
    heard_at: Number(text.slice(first + 1, second)),
    json: text.slice(second + 1),
  };
}

/** Reads line by line, and continues when more has been written. */
export class ChangesReader {
  readonly #fd: number;
  /** Bytes that were read and not returned yet: from `#at` to `#end` of the buffer. */
  #buffer = Buffer.allocUnsafe(pieceBytes);
  #at = 0;
  #end = 0;
  /** Where the last returned line ends, in bytes. */
  offset = 0;

  constructor(path: string) {
    this.#fd = openSync(path, 'r');
  }

  /** The next line. Undefined if there is none yet, or it is damaged; it will be read again. */
  next(): Change | Next | undefined {
    for (let from = this.#at; ; ) {
      const end = this.#buffer.subarray(0, this.#end).indexOf(newline, from);
      if (end >= 0) {
        const line = readLine(this.#buffer.subarray(this.#at, end));
        if (line) {
          this.offset += end + 1 - this.#at;
          this.#at = end + 1;
          return line;
        }
        break;
      }
      const held = this.#end - this.#at;
      if (!this.#fill()) break;
      from = held;
    }
    this.seek(this.offset);
    return undefined;
  }

  /** Continues from there with the file's current content. */
  seek(offset: number): void {
    this.offset = offset;
    this.#at = this.#end = 0;
    if (this.#buffer.length > pieceBytes) this.#buffer = Buffer.allocUnsafe(pieceBytes);
  }

  /** Reads more into the buffer; false if there is no more. */
  #fill(): boolean {
    const held = this.#end - this.#at;
    const full = held === this.#buffer.length;
    const buffer = full ? Buffer.allocUnsafe(2 * held) : this.#buffer;
    this.#buffer.copy(buffer, 0, this.#at, this.#end);
    const length = readSync(this.#fd, buffer, held, buffer.length - held, this.offset + held);
    this.#buffer = buffer;
    this.#at = 0;
    this.#end = held + length;
    return length > 0;
  }

  /** Whether the file was removed, after which nothing is added to it. */
  isRemoved(): boolean {
    return fstatSync(this.#fd).nlink === 0;
  }

  /** Whether nothing follows the last returned line. */
  isAtEnd(): boolean {
    return fstatSync(this.#fd).size === this.offset;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

const closeFile = promisify(close);

/** Appends lines. They survive the process at once, and a power cut within a second. */
export class ChangesWriter {
  readonly #fd: number;
  readonly #onUnsynced: (error: Error) => void;
  #timer: NodeJS.Timeout | undefined;
  readonly #syncs = new SerialQueue();
  /** The length of all complete lines, in bytes. */
  size: number;
  /** Why lines may be lost in a power cut, even if a later sync succeeds. */
  unsynced: Error | undefined;

  /** `onUnsynced` is called with the error of a failed sync. */
  constructor(fd: number, size: number, onUnsynced: (error: Error) => void) {
    this.#fd = fd;
    this.size = size;
    this.#onUnsynced = onUnsynced;
  }

  /** Writes a line. A partly written one is overwritten by the next. Errors: those of the disk. */
  write(line: Buffer): void {
    for (let done = 0; done < line.length; ) {
      done += writeSync(this.#fd, line, done, line.length - done, this.size + done);
    }
    this.size += line.length;
    this.#timer ??= setTimeout(this.#settle, 1000).unref();
  }

  /** A failed sync is reported to `onUnsynced`. */
  readonly #settle = () => {
    this.#timer = undefined;
    void this.#sync();
  };

  /** Resolves when all is on the disk. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#sync();
    await closeFile(this.#fd);
  }

  #sync(): Promise<void> {
    return this.#syncs
      .run(() => promisify(fsync)(this.#fd))
      .catch((error: Error) => {
        this.unsynced = error;
        this.#onUnsynced(error);
      });
  }
}
