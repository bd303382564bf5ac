// Squid's access log, the source of billed traffic. Squid writes a line for each finished request
// or tunnel, and the agent one for each start of a Squid.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fdatasync as fdatasyncOf,
  fstatSync,
  lstatSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { canonicalAddress } from '../../../../kit/src/address.ts';
import { replaceDurably } from '../../../../kit/src/durable.ts';
import type { ExitUse } from '../../exit_use.ts';
import { syncFolder } from '../../store/generations.ts';
import { meterFormat } from '../conf/meter_format.ts';
import { connectionName } from '../sockets.ts';
import { NotSquidsFile, openSquidFile } from './squid_file.ts';
import type { UnixUser } from './unix_user.ts';

const fdatasync = promisify(fdatasyncOf);

/** A finished request or tunnel. */
export interface MeterLine {
  /** `SOURCE:PORT>LOCALPORT` of the client connection. */
  connection: string;
  /** The port of this machine that the client connected to. */
  port: number;
  /** Undefined if it is not billed: it was denied, reached no origin, or is a check of our own. */
  owner: { account: number; user: number } | undefined;
  /** Bytes from the client and to it, including headers. */
  up: number;
  down: number;
  /** Epoch seconds. */
  at: number;
  /** How it used an exit; undefined if it reached no origin, or there is no connection log. */
  use?: LoggedUse | undefined;
}

/** The part of a use of an exit that a line has. */
export type LoggedUse = Pick<
  ExitUse,
  'exit_ip' | 'exit_ports' | 'destination' | 'dialled' | 'since'
>;

/** A Squid was about to start. The previous one is dead: no line of it follows. */
export interface StartLine {
  start: string;
  at: number;
}

/**
 * How far a log was read. The bytes before it are on disk, and survive a power cut. If they differ,
 * the position belongs to another log.
 */
export interface LogPosition {
  inode: number;
  offset: number;
  /** A hash of the last bytes before the position. */
  before: string;
  /** The time of the newest line before the position, in epoch seconds with a fraction. */
  newest: number;
}

export interface LogPart {
  entries: Array<MeterLine | StartLine>;
  position: LogPosition | undefined;
}

const chunkBytes = 1 << 20;
/** How much of a log's end is read, to find its last lines. */
const endBytes = 1 << 16;
/** Longer than a line with the longest method that a client can send. */
const longestLineBytes = 1 << 17;
/**
 * The most that a Squid can write per second since the last read. More is not its own.
 */
const maxUnreadBytes = 16 * 1024 * 1024;
/** More than one line, which is unique by its time and ports. */
const hashedBytes = 256;
const fields = meterFormat.split(' ').length;
const unreached = ['origin:-', 'origin:0'];
const startWords = 'Squid starts';

/** Reads one line of the log; undefined if it is malformed or cut off. */
export function parseMeterLine(line: string): MeterLine | undefined {
  const words = line.split(' ');
  const [time, source, source_port, port, account, user, up, down, origin = ''] = words;
  if (words.length < fields || source === undefined) return undefined;
  const isBilled = Number(account) > 0 && !unreached.includes(origin);
  const entry: MeterLine = {
    connection: connectionName(source, source_port ?? '', port ?? ''),
    port: Number(port),
    owner: isBilled ? { account: Number(account), user: Number(user) } : undefined,
    up: Number(up),
    down: Number(down),
    at: Math.floor(Number(time)),
    ...(isBilled && words.length > fields ? { use: useOf(Number(time), origin, words) } : {}),
  };
  const isCount = (number: number) => Number.isSafeInteger(number) && number >= 0;
  return [entry.port, entry.up, entry.down, entry.at].every(isCount) ? entry : undefined;
}

/** The words of the connection log, after those of every line. */
function useOf(time: number, origin: string, words: readonly string[]): LoggedUse | undefined {
  const [milliseconds, exit = '', dialled = '', host, port] = words.slice(fields);
  const exit_ip = canonicalAddress(exit);
  if (exit_ip === undefined) return undefined;
  const exitPort = Number(origin.slice('origin:'.length));
  return {
    exit_ip,
    exit_ports: { first: exitPort, last: exitPort },
    // Squid encodes the brackets of IPv6.
    ...(host === undefined
      ? {}
      : { destination: `${host.replace(/^%5B(.*)%5D$/i, '[$1]')}:${port}` }),
    dialled: canonicalAddress(dialled),
    since: Math.floor(time - (Number(milliseconds) || 0) / 1000),
  };
}

/** The agents' key; created if there is none. Errors: those of the disk. */
export function readSealKey(path: string): string {
  if (existsSync(path)) return readFileSync(path, 'utf8');
  const key = randomBytes(24).toString('base64url');
  replaceDurably(path, key);
  return key;
}

/** The position of a start in a log, as its seal includes it. */
type Place = Pick<LogPosition, 'inode' | 'offset'>;

/** Only agents have the key, so Squid's user can neither invent a start nor move one. */
function sealOf(key: string, { start, at }: StartLine, { inode, offset }: Place): string {
  const text = [start, at, inode, offset].join(' ');
  return createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
}

/**
 * A start of a Squid; undefined: malformed or cut off; `forged`: no agent wrote it at this place.
 */
function parseStart(line: string, key: string, place: Place): StartLine | 'forged' | undefined {
  const [, start, at, seal] = /^Squid starts (\S+) (\d+) (\S{22})$/.exec(line) ?? [];
  if (start === undefined) return undefined;
  const entry = { start, at: Number(at) };
  return seal === sealOf(key, entry, place) ? entry : 'forged';
}

/** Notes in a log that a Squid is about to start. Creates the log for the user that writes it. */
export function noteStart(
  path: string,
  line: StartLine,
  { user, key = '' }: { user?: UnixUser | undefined; key?: string } = {},
): void {
  const file = openLog(path);
  try {
    if (user) fchownSync(file, user.uid, user.gid);
    const { ino, size } = fstatSync(file);
    const seal = sealOf(key, line, { inode: ino, offset: size + 1 });
    // The last line may be cut off, if Squid or the machine died while writing.
    writeSync(file, `\n${startWords} ${line.start} ${line.at} ${seal}\n`);
  } finally {
    closeSync(file);
  }
}

/** Opens the log for appending, and moves foreign files away. Errors: those of the disk. */
function openLog(path: string): number {
  const { O_WRONLY, O_APPEND, O_CREAT } = constants;
  const flags = O_WRONLY | O_APPEND | O_CREAT;
  try {
    return openSquidFile(path, flags) as number;
  } catch (error) {
    if (!(error instanceof NotSquidsFile)) throw error;
    rmSync(path, { force: true });
    return openSquidFile(path, flags | constants.O_EXCL) as number;
  }
}

function placeOf(position: LogPosition | undefined): string {
  return `${position?.inode} ${position?.offset}`;
}

/** The log of one Squid, read from where the last poll stopped, across rotations. */
export class MeterLog {
  readonly path: string;
  readonly #datasync: (file: number) => Promise<void>;
  readonly #key: string;
  #fault: string | undefined;
  #isForged = false;
  /**
   * The places where the last read ended and began, with the times at which they were reached.
   * After a failed poll, the next one begins where it began.
   */
  #readPlaces: Array<{ place: string; at: number }> = [];

  /** `key`: seals the agent's own lines. */
  constructor(
    path: string,
    { datasync = fdatasync as (file: number) => Promise<void>, key = '' } = {},
  ) {
    this.path = path;
    this.#datasync = datasync;
    this.#key = key;
  }

  get #rotated(): string {
    return `${this.path}.1`;
  }

  /**
   * A sentence if the log is not the one that was read before. It stays until the agent restarts.
   */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Whether it had lines of neither Squid nor the agent since the agent started. */
  get isForged(): boolean {
    return this.#isForged;
  }

  /**
   * The complete lines after a position, and the new position; everything before that is on disk.
   * Undefined: from the oldest line. From another log than the one read before, only lines newer
   * than all of that one, so that none is read twice. No line counts as newer than `now`. Errors:
   * those of the disk.
   */
  read(from: LogPosition | undefined, now = Number.POSITIVE_INFINITY): Promise<LogPart> {
    return this.#withFiles(async (files) => {
      const start = this.#readPlaces.find(({ place }) => place === placeOf(from));
      const seconds = now - (start?.at ?? Number.NEGATIVE_INFINITY);
      let budget = maxUnreadBytes * Math.max(1, seconds);
      const entries: LogPart['entries'] = [];
      let place = -1;
      for (const [index, file] of files.entries()) {
        if (from && file.isPlace(from)) place = index;
      }
      const isLost = from !== undefined && place < 0 && files.length > 0;
      if (isLost) this.#lose();
      const read = isLost ? from.newest : -1;
      let newest = from?.newest ?? 0;
      let position = from;
      for (const file of files.slice(Math.max(place, 0))) {
        const { inode } = file;
        const offset = place >= 0 && inode === from?.inode ? from.offset : 0;
        const next = file.read(
          offset,
          { newer_than: read, max_bytes: budget, key: this.#key },
          entries,
        );
        budget -= next.offset - offset;
        this.#isForged ||= next.isForged;
        // Times in the log have fractions.
        newest = Math.max(newest, Math.min(next.newest, now + 1));
        if (inode !== position?.inode) await syncFolder(dirname(this.path));
        const isSame = !isLost && inode === position?.inode && next.offset === offset;
        if (isSame) continue;
        await this.#datasync(file.fd);
        position = { inode, offset: next.offset, before: file.hash(next.offset), newest };
      }
      const end = { place: placeOf(position), at: now };
      this.#readPlaces = Number.isFinite(now) ? [end, ...(start ? [start] : [])] : [];
      return { entries, position };
    });
  }

  /** Where the log ends now; undefined if there is none. */
  end(now = Number.POSITIVE_INFINITY): Promise<LogPosition | undefined> {
    return this.#withFiles(async (files) => {
      const file = files.at(-1);
      if (!file) return undefined;
      const all = { newer_than: -1, max_bytes: Number.POSITIVE_INFINITY, key: this.#key };
      const { offset, newest } = file.read(Math.max(0, file.size - endBytes), all, []);
      await this.#datasync(file.fd);
      const before = file.hash(offset);
      return { inode: file.inode, offset, before, newest: Math.min(newest, now + 1) };
    });
  }

  /** Whether the log is large enough to rotate, and `stored` is in it: the older file is read. */
  mayRotate(maxBytes: number, stored: Pick<LogPosition, 'inode'> | undefined): boolean {
    const file = lstatSync(this.path, { throwIfNoEntry: false });
    return file !== undefined && file.size > maxBytes && stored?.inode === file.ino;
  }

  /** Renames the log; Squid must be asked to open a new one right after. */
  rotate(): void {
    rmSync(this.#rotated, { force: true });
    renameSync(this.path, this.#rotated);
  }

  #lose(): void {
    this.#fault = `${this.path} is not the log that was read until now: it was shortened or replaced. Only lines that are newer than all counted ones are counted.`;
  }

  /** Opens a file of the log. One that Squid did not create must not block other Squids' logs. */
  #open(path: string): LogFile | undefined {
    try {
      return LogFile.open(path);
    } catch (error) {
      if (!(error instanceof NotSquidsFile)) throw error;
      this.#fault = error.message;
      return undefined;
    }
  }

  /** The files of the log, the older one first. */
  async #withFiles<T>(work: (files: LogFile[]) => Promise<T>): Promise<T> {
    // The current file is opened first: once a new one exists, nothing is written to the older one.
    const current = this.#open(this.path);
    const files: LogFile[] = current ? [current] : [];
    try {
      const rotated = this.#open(this.#rotated);
      if (rotated) files.unshift(rotated);
      return await work(files);
    } finally {
      for (const { fd } of files) closeSync(fd);
    }
  }
}

/** One file of a log, read up to the size that it had when it was opened. */
class LogFile {
  readonly fd: number;
  readonly inode: number;
  readonly size: number;

  private constructor(fd: number) {
    const { ino, size } = fstatSync(fd);
    this.fd = fd;
    this.inode = ino;
    this.size = size;
  }

  /** Errors: NotSquidsFile. */
  static open(path: string): LogFile | undefined {
    const fd = openSquidFile(path);
    return fd === undefined ? undefined : new LogFile(fd);
  }

  /** Whether a position is in this file. */
  isPlace({ inode, offset, before }: LogPosition): boolean {
    if (inode !== this.inode || offset > this.size) return false;
    return before === this.hash(offset);
  }

  /** The hash of the bytes before an offset. */
  hash(offset: number): string {
    const length = Math.min(offset, hashedBytes);
    const buffer = Buffer.alloc(length);
    readSync(this.fd, buffer, 0, length, offset - length);
    return createHash('sha256').update(buffer).digest('base64url').slice(0, 16);
  }

  /**
   * Adds the complete lines after `from` that are newer than `newer_than`; returns where they end,
   * and the newest time.
   */
  read(
    from: number,
    { newer_than, max_bytes, key }: { newer_than: number; max_bytes: number; key: string },
    entries: LogPart['entries'],
  ): { offset: number; newest: number; isForged: boolean } {
    let offset = from;
    let newest = 0;
    let isForged = false;
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(this.size - offset, 1)));
    for (;;) {
      if (offset - from > max_bytes) {
        // The size may already include lines that came meanwhile.
        return { offset: Math.max(offset, this.size), newest, isForged: true };
      }
      const bytes = readSync(this.fd, chunk, 0, chunk.length, offset);
      const whole = chunk.subarray(0, bytes).lastIndexOf(10) + 1;
      if (whole === 0) {
        // A line without an end must not stop the reading for ever.
        if (bytes <= longestLineBytes) return { offset, newest, isForged };
        isForged = true;
        offset += bytes;
        continue;
      }
      let at = offset;
      for (const text of chunk.toString('latin1', 0, whole - 1).split('\n')) {
        const place = { inode: this.inode, offset: at };
        at += text.length + 1;
        const entry = parseMeterLine(text) ?? parseStart(text, key, place);
        if (!entry) continue;
        if (entry === 'forged') {
          // In another log than the one read before, the agent's own lines are at other positions,
          // too.
          isForged ||= newer_than < 0;
          continue;
        }
        const time = 'start' in entry ? entry.at : Number(text.slice(0, text.indexOf(' ')));
        newest = Math.max(newest, time);
        // The agent's clock has whole seconds.
        const isNewer = 'start' in entry ? time >= Math.floor(newer_than) : time > newer_than;
        if (isNewer) entries.push(entry);
      }
      offset += whole;
    }
  }
}
