// The people who were erased. Their list is on disk, so that an erasure is completed even if it is
// interrupted.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceDurably } from '../../../kit/src/durable.ts';

interface Kept {
  /** All that the control plane names. */
  people: string[];
  /** Those that may still be in files. */
  pending: string[];
}

export class ErasedPeople {
  readonly #path: string;
  #people: Set<string>;
  #pending: Set<string>;

  /** Errors: those of the disk. */
  constructor(dir: string) {
    this.#path = join(dir, 'erased.json');
    const { people, pending } = read(this.#path);
    this.#people = new Set(people);
    this.#pending = new Set(pending);
  }

  has(person: string): boolean {
    return this.#people.has(person);
  }

  get pending(): ReadonlySet<string> {
    return this.#pending;
  }

  /** Marks them as erased; this survives a power cut. Errors: those of the disk. */
  set(people: readonly string[]): void {
    const added = people.filter((person) => !this.#people.has(person));
    if (added.length === 0 && people.length === this.#people.size) return;
    const pending = [...this.#pending, ...added];
    this.#store({ people: [...people, ...this.#pending], pending });
  }

  /** Notes that no file has lines of these people any more. Errors: those of the disk. */
  done(people: Iterable<string>): void {
    const gone = new Set(people);
    const pending = [...this.#pending].filter((person) => !gone.has(person));
    this.#store({ people: [...this.#people], pending });
  }

  #store(kept: Kept): void {
    replaceDurably(this.#path, JSON.stringify(kept));
    this.#people = new Set(kept.people);
    this.#pending = new Set(kept.pending);
  }
}

function read(path: string): Kept {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Kept;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { people: [], pending: [] };
    throw error;
  }
}
