// The content of a file: what its writes and truncations left.
import type { Call } from './trace.ts';

export class Content {
  /** Its content, and zeros behind it. */
  #bytes = Buffer.alloc(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  /** Does what is called to it, or the part of a write between `from` and `to`. */
  apply({ call, offset, bytes }: Call, from = 0, to = bytes.length): void {
    if (call === 'truncate') {
      // A file that grows again has nothing there from before.
      if (offset < this.#size) this.#bytes.fill(0, offset, this.#size);
      this.#grow(offset);
      this.#size = offset;
    } else if (to > from) {
      this.#grow(offset + to);
      bytes.copy(this.#bytes, offset + from, from, to);
    }
  }

  /** Whether a write would change nothing. */
  has({ offset, bytes }: Call): boolean {
    return this.bytes.subarray(offset, offset + bytes.length).equals(bytes);
  }

  #grow(size: number): void {
    if (size > this.#bytes.length) {
      const more = Buffer.alloc(2 * size - this.#bytes.length);
      this.#bytes = Buffer.concat([this.#bytes, more]);
    }
    this.#size = Math.max(this.#size, size);
  }
}
