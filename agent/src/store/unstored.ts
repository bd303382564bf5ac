// Changes that could not be written to disk. They are applied from memory, and written later.
import type { Position } from '../../../kit/src/node_interface.ts';
import type { Change } from './changes_file.ts';

/** A change that is only in memory. */
export interface UnstoredChange extends Change {
  epoch: string;
  /** The revision before it; without that one, the change cannot be applied. */
  after: number;
}

/** Most bytes of records as JSON. With more, the node stops following the control plane. */
const maxBytes = 64 * 1024 * 1024;

export class Unstored {
  /** In order. */
  #changes: UnstoredChange[] = [];
  #bytes = 0;

  get size(): number {
    return this.#changes.length;
  }

  /** Whether there is no room for another change. */
  get isFull(): boolean {
    return this.#bytes > maxBytes;
  }

  /** The change to write next. */
  get first(): UnstoredChange | undefined {
    return this.#changes[0];
  }

  get last(): UnstoredChange | undefined {
    return this.#changes.at(-1);
  }

  add(change: UnstoredChange): void {
    this.#changes.push(change);
    this.#bytes += change.json.length;
  }

  /** The changes after this one; all of them if it has been written, or is undefined. */
  after(change: UnstoredChange | undefined): UnstoredChange[] {
    return this.#changes.slice(change ? this.#changes.indexOf(change) + 1 : 0);
  }

  /** The changes that follow a position without a gap, including others of its revision. */
  following({ epoch, revision }: Position): UnstoredChange[] {
    const changes: UnstoredChange[] = [];
    let last = revision;
    for (const change of this.#changes) {
      if (change.epoch !== epoch || change.after > last) break;
      if (change.revision < last) continue;
      changes.push(change);
      last = change.revision;
    }
    return changes;
  }

  /** Drops the first, which has been written. */
  dropFirst(): void {
    this.#bytes -= this.#changes.shift()?.json.length ?? 0;
  }

  /** Drops those that were read from a file. */
  forget(written: readonly UnstoredChange[]): void {
    for (const change of written) if (this.first === change) this.dropFirst();
  }

  /** Drops changes that were read from a file up to this position, and all of another history. */
  dropUntil({ epoch, revision }: Position): void {
    while (this.first && (this.first.epoch !== epoch || this.first.revision < revision)) {
      this.dropFirst();
    }
  }

  clear(): void {
    this.#changes = [];
    this.#bytes = 0;
  }
}
