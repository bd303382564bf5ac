// Chance that can be repeated: a seed, printed by the test, decides everything.

import { newSeed } from '../../test/seed.ts';

export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed;
  }
  /** By the run's seed, printed. */
  static printed(test: string): Random {
    const seed = newSeed();
    console.log(`${test}: EXITWARD_TEST_SEED=${seed}`);
    return new Random(seed);
  }
  /** At least 0, less than 1. */
  next(): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  /** A whole number of at least `least` and at most `most`. */
  between(least: number, max: number): number {
    return least + Math.floor(this.next() * (max - least + 1));
  }
  one<T>(of: readonly T[]): T {
    return of[this.between(0, of.length - 1)] as T;
  }
  /** Another source, so that what happens at the same time does not mix its numbers. */
  fork(): Random {
    return new Random(this.between(0, 2 ** 31));
  }
}
