// Squid's access log as the truth about traffic: one line for each request or tunnel that is over.
import { closeSync, fstatSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs';
import { connectionName } from '../sockets.ts';

/** The format to give Squid. Each field is one word; `-` where there is nothing. */
export const meterFormat =
  '%ts.%03tu %>a %>p %>lp %note{account_} %note{user_} %>st %<st %>Hs %Ss %rm';

/** A request or tunnel that is over. */
export interface MeterLine {
  /** `SOURCE:PORT>LOCALPORT` of the client connection. */
  connection: string;
  /** Port of this machine that the client connected to. */
  port: number;
  /** Undefined: it was denied, or a check of our own, and is not billed. */
  owner: { account: number; user: number } | undefined;
  /** Bytes from the client and to it, headers included. */
  up: number;
  down: number;
  /** Epoch seconds. */
  at: number;
}

/** How far a log was read. */
export interface LogPosition {
  inode: number;
  offset: number;
}

const chunk_bytes = 1 << 20;

/** Reads one line of the log; undefined for what is none. */
export function parseMeterLine(line: string): MeterLine | undefined {
  const [time, source, source_port, port, account, user, up, down] = line.split(' ');
  if (down === undefined || source === undefined) return undefined;
  const isOwned = account !== undefined && user !== undefined && Number(account) > 0;
  const one: MeterLine = {
    connection: connectionName(source, source_port ?? '', port ?? ''),
    port: Number(port),
    owner: isOwned ? { account: Number(account), user: Number(user) } : undefined,
    up: Number(up),
    down: Number(down),
    at: Math.floor(Number(time)),
  };
  const whole = [one.port, one.up, one.down, one.at].every(Number.isSafeInteger);
  return whole ? one : undefined;
}

/** The log of one Squid, read from where the last poll stopped, across rotations. */
export class MeterLog {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get #rotated(): string {
    return `${this.path}.1`;
  }

  /** The whole lines after a position, and the new position. Undefined: from the oldest that is there. */
  read(from: LogPosition | undefined): { lines: MeterLine[]; position: LogPosition | undefined } {
    const lines: MeterLine[] = [];
    // Looked at first: once the new log is there, nothing is written to the old one any more.
    const current = findInode(this.path);
    const rotated = findInode(this.#rotated);
    let position = from;
    if (rotated !== undefined && (position === undefined || position.inode === rotated)) {
      position = this.#readFile(this.#rotated, position?.offset ?? 0, lines);
      if (current === undefined) return { lines, position };
    }
    if (current === undefined) return { lines, position };
    const offset = position?.inode === current ? position.offset : 0;
    return { lines, position: this.#readFile(this.path, offset, lines) };
  }

  /** Whether the log is large enough to be begun anew, and all before it is read: `stored` is where. */
  mayRotate(most_bytes: number, stored: LogPosition | undefined): boolean {
    const file = statSync(this.path, { throwIfNoEntry: false });
    return file !== undefined && file.size > most_bytes && stored?.inode === file.ino;
  }

  /** Sets the log aside; Squid must be told to open a new one right after. */
  rotate(): void {
    rmSync(this.#rotated, { force: true });
    renameSync(this.path, this.#rotated);
  }

  #readFile(path: string, from: number, lines: MeterLine[]): LogPosition {
    const file = openSync(path, 'r');
    try {
      const { ino: inode, size } = fstatSync(file);
      // Shorter than what was read: somebody emptied it.
      let offset = from > size ? 0 : from;
      const chunk = Buffer.allocUnsafe(Math.min(chunk_bytes, Math.max(size - offset, 1)));
      for (;;) {
        const bytes = readSync(file, chunk, 0, chunk.length, offset);
        const whole = chunk.subarray(0, bytes).lastIndexOf(10) + 1;
        if (whole === 0) return { inode, offset };
        for (const text of chunk.toString('latin1', 0, whole - 1).split('\n')) {
          const line = parseMeterLine(text);
          if (line) lines.push(line);
        }
        offset += whole;
      }
    } finally {
      closeSync(file);
    }
  }
}

function findInode(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}
