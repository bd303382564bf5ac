// A snapshot of the policy on disk: one record per line, and a last line with its position, time
// and checksum.
import { closeSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { Position } from '../../../kit/src/node_interface.ts';
import { BadRecord, isStored, type NodeRecord, readRecord, unreadable } from '../policy/records.ts';
import { decodeLine, encodeLine } from './checked_line.ts';
import { createFile } from './generations.ts';

/** The position and time of a snapshot. */
export interface About extends Position {
  /** Epoch seconds when the control plane was last heard from. */
  heard_at: number;
}

/** A snapshot that is incomplete or malformed. */
export class BadSnapshot extends Error {}

interface LastLine extends About {
  /** The file's format; a file with an unknown format is not read. */
  format: number;
  /** Of all bytes before the last line. */
  crc32: number;
}

const format = 1;
const newline = 0x0a;
const pieceBytes = 65_536;

// ---- Writing ------------------------------------------------------------------------------

/**
 * Writes a snapshot to a partial file, which the store renames when it is complete.
 */
export class SnapshotWriter {
  readonly path: string;
  readonly #file: FileHandle;
  #crc32 = 0;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  static async create(path: string, group: number | undefined): Promise<SnapshotWriter> {
    closeSync(createFile(path, group));
    return new SnapshotWriter(path, await open(path, 'a'));
  }

  /** Appends whole lines. */
  async write(lines: string): Promise<void> {
    const bytes = Buffer.from(lines);
    this.#crc32 = crc32(bytes, this.#crc32);
    await this.#file.appendFile(bytes);
  }

  /** Writes the last line; resolves when everything is on disk. */
  async finish({ epoch, revision, heard_at }: About): Promise<void> {
    const last: LastLine = {
      format,
      epoch,
      revision,
      heard_at,
      crc32: this.#crc32,
    };
    await this.#file.appendFile(encodeLine(JSON.stringify(last)));
    await this.#file.sync();
    await this.#file.close();
  }

  async discard(): Promise<void> {
    await this.#file.close();
    await unlink(this.path);
  }
}

/**
 * Writes the response of GET /node/snapshot (docs/node.md) as it arrives; of unreadable records,
 * the readable part. `note` receives the reasons why parts are left out. Returns the position.
 * Errors: BadSnapshot if it is incomplete.
 */
export async function writeReceived(
  received: AsyncIterable<Uint8Array | string>,
  snapshot: SnapshotWriter,
  note: (record: NodeRecord) => void,
): Promise<Position> {
  let position: Position | undefined;
  let records = 0;
  let end: Record<string, unknown> | undefined;
  for await (const piece of wholeLines(received)) {
    const lines: string[] = [];
    for (const line of linesOf(piece)) {
      if (end) throw new BadSnapshot('the snapshot continues after its last line');
      const record = readLine(line, position ? records + 2 : 1);
      if (!position) position = readPosition(record);
      else if (record.kind === 'end') end = record;
      else {
        records += 1;
        for (const readable of readLeniently(record)) {
          note(readable);
          // Questions are not part of the policy, and may contain tokens.
          if (isStored(readable))
            lines.push((readable as unknown) === record ? line : JSON.stringify(readable));
        }
      }
    }
    if (lines.length > 0) await snapshot.write(`${lines.join('\n')}\n`);
  }
  if (!position || !end) throw new BadSnapshot('the snapshot breaks off before its last line');
  if (end.records !== records) {
    throw new BadSnapshot(`the snapshot has ${records} records; its last line says ${end.records}`);
  }
  return position;
}

function readLine(line: string, number: number): Record<string, unknown> {
  try {
    const value = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Reported below.
  }
  throw new BadSnapshot(`line ${number} of the snapshot is not a JSON object`);
}

/**
 * Reads a record of a snapshot. One that does not identify itself cannot withdraw a right there, so
 * it is left out like other unreadable ones.
 */
function readLeniently(record: unknown): NodeRecord[] {
  try {
    return readRecord(record);
  } catch (error) {
    if (error instanceof BadRecord) return [unreadable('unnamed', error.message)];
    throw error;
  }
}

/** The last line contains the epoch, and has a limit. */
const maxEpochLength = 200;

function readPosition({ kind, epoch, revision }: Record<string, unknown>): Position {
  const isEpoch = typeof epoch === 'string' && epoch !== '' && epoch.length <= maxEpochLength;
  if (kind !== 'snapshot' || !isEpoch || !Number.isSafeInteger(revision)) {
    throw new BadSnapshot('the snapshot does not begin with kind, epoch and revision');
  }
  return { epoch, revision: revision as number };
}

// ---- Reading ------------------------------------------------------------------------------

/** Longer than any last line. */
const tailBytes = 2048;

/** Reads only the last line, and where it begins. Errors: BadSnapshot. */
async function readLast(file: FileHandle): Promise<{ last: LastLine; at: number }> {
  const { size } = await file.stat();
  const from = Math.max(0, size - tailBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(tailBytes), 0, tailBytes, from);
  const tail = buffer.subarray(0, bytesRead);
  const at = tail.lastIndexOf(newline, -2) + 1;
  const text = tail.at(-1) === newline ? decodeLine(tail.subarray(at, -1)) : undefined;
  const last = text === undefined ? undefined : (JSON.parse(text) as LastLine);
  if (last?.format === format) return { last, at: from + at };
  if (last && last.format > format) {
    throw new BadSnapshot(
      `the snapshot on disk has format ${last.format}, of a newer agent; this one takes it from the control plane again`,
    );
  }
  throw new BadSnapshot('the snapshot on disk has no valid last line');
}

/**
 * Reads a snapshot from disk in pieces, so that other work gets its turn in between. `take` gets
 * each line; with `within`, at least those that contain that text. Errors: BadSnapshot if it is
 * damaged, which shows only at the end.
 */
export async function readSnapshot(
  file: FileHandle,
  take: (line: string) => void,
  within = '',
): Promise<About> {
  const { last, at } = await readLast(file);
  let checksum = 0;
  let fault: unknown;
  if (at > 0) {
    const bytes = file.createReadStream({
      start: 0,
      end: at - 1,
      highWaterMark: pieceBytes,
      autoClose: false,
    });
    for await (const piece of wholeLines(bytes)) {
      checksum = crc32(piece, checksum);
      if (fault || !piece.includes(within)) continue;
      try {
        for (const line of linesOf(piece)) take(line);
      } catch (error) {
        // The cause may be damage, which the checksum will reveal.
        fault = error;
      }
    }
  }
  if (checksum !== last.crc32) throw new BadSnapshot('the snapshot on disk is damaged');
  if (fault) throw fault;
  const { epoch, revision, heard_at } = last;
  return { epoch, revision, heard_at };
}

// ---- Lines --------------------------------------------------------------------------------

/** A longer record would be a mistake, and would have to be held in memory. */
const maxLineBytes = 16 * 1024 * 1024;

/** The same bytes in pieces of complete lines; only the last one may end within a line. */
async function* wholeLines(
  pieces: AsyncIterable<Uint8Array | string>,
): AsyncGenerator<Buffer, void, undefined> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    const end = bytes.lastIndexOf(newline) + 1;
    if (end > 0) {
      yield Buffer.concat([...rest, bytes.subarray(0, end)]);
      rest = [];
      restBytes = 0;
    }
    rest.push(bytes.subarray(end));
    restBytes += bytes.length - end;
    if (restBytes > maxLineBytes) {
      throw new BadSnapshot('the snapshot has a line without an end');
    }
  }
  if (restBytes > 0) yield Buffer.concat(rest);
}

function linesOf(piece: Buffer): string[] {
  const lines = piece.toString().split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
