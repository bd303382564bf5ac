// Detects new keys that a side refused in an open tunnel, which only charon's log shows. The tunnel
// ends soon after, and its client may continue without it.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/**
 * The line of a refusal inside a tunnel, by either side. Outside of tunnels, scanners are refused
 * all the time. With IKEv1, only refusals inside a tunnel have a hash.
 */
const refusal =
  /(?:generating|parsed) (?:CREATE_CHILD_SA response \d+ \[ N\(NO_PROP\)|INFORMATIONAL_V1 request \d+ \[ HASH N\(NO_PROP\))/g;
const maxReadBytes = 4 * 1024 * 1024;
/** How long a refusal is reported: about the time after which tunnels get new keys. */
const reportedSeconds = 3600;

export class RefusedKeys {
  readonly #path: string;
  /** Where the next look begins. */
  #offset: number | undefined;
  #count = 0;
  #lastRefusalAt = Number.NEGATIVE_INFINITY;

  /** `path`: charon's log. */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * How many were refused, until there is none for an hour. Reads the part of the log since the
   * last look; the first look skips everything. `now`: steady seconds.
   */
  look(now: number): number {
    const added = this.#read().match(refusal)?.length ?? 0;
    if (now - this.#lastRefusalAt >= reportedSeconds) this.#count = 0;
    if (added > 0) this.#lastRefusalAt = now;
    this.#count += added;
    return this.#count;
  }

  #read(): string {
    let file: number;
    try {
      file = openSync(this.#path, 'r');
    } catch {
      this.#offset = 0;
      return '';
    }
    try {
      const { size } = fstatSync(file);
      // The agent empties a log that has become long.
      const offset = this.#offset === undefined ? size : this.#offset > size ? 0 : this.#offset;
      const bytes = Buffer.alloc(Math.min(size - offset, maxReadBytes));
      const length = readSync(file, bytes, 0, bytes.length, offset);
      // An incomplete line is read later.
      const end = bytes.lastIndexOf('\n', length - 1) + 1;
      this.#offset = offset + (end === 0 && length === maxReadBytes ? length : end);
      return bytes.toString('latin1', 0, end);
    } finally {
      closeSync(file);
    }
  }
}
