// The changes that the disk does not take: they are in force from memory, and wait there to be written.
import type { Position } from '../policy/records.ts';
import type { Change } from './changes_file.ts';

/** A change that is in memory alone. */
export interface UnstoredChange extends Change {
  epoch: string;
  /** The revision before it: whoever has not come so far cannot apply it. */
  after: number;
}

/** Of their records, as JSON. With more the node stops following: what it holds must not crowd out its work. */
const most_bytes = 64 * 1024 * 1024;

export class Unstored {
  /** In their order. */
  #changes: UnstoredChange[] = [];
  #bytes = 0;

  get size(): number {
    return this.#changes.length;
  }

  /** Whether another change must wait. */
  get isFull(): boolean {
    return this.#bytes > most_bytes;
  }

  /** The one that is to be written next. */
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

  /** Those after this one; all, when it is written by now, or was none. */
  behind(change: UnstoredChange | undefined): UnstoredChange[] {
    return this.#changes.slice(change ? this.#changes.indexOf(change) + 1 : 0);
  }

  /** Those that lead on from this position, without a gap: also of its own revision, which can have several. */
  following({ epoch, revision }: Position): UnstoredChange[] {
    const some: UnstoredChange[] = [];
    let reached = revision;
    for (const change of this.#changes) {
      if (change.epoch !== epoch || change.after > reached) break;
      if (change.revision < reached) continue;
      some.push(change);
      reached = change.revision;
    }
    return some;
  }

  /** Forgets the first, which is written. */
  dropFirst(): void {
    this.#bytes -= this.#changes.shift()?.json.length ?? 0;
  }

  /** Forgets those that were read from a file. */
  forget(written: readonly UnstoredChange[]): void {
    for (const change of written) if (this.first === change) this.dropFirst();
  }

  /** Forgets what a file holds that was read up to this position, and all of another history. */
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
