// A clock for tests, by which waiting takes no time.
import { setTimeout } from 'node:timers/promises';
import { type Clock, systemClock } from '../src/clock.ts';

/** The shortest sleep ends at once, and its time has passed for all sleepers. */
export class HastyClock implements Clock {
  seconds = 1_800_000_000;
  #slept = 0;
  /** When each sleeper wakes up. */
  readonly #sleepers = new Set<{ until: number }>();

  now(): number {
    return Math.floor(this.seconds + this.#slept);
  }

  steady(): number {
    return systemClock.steady() + this.#slept;
  }

  async sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    const sleeper = { until: this.#slept + seconds };
    this.#sleepers.add(sleeper);
    do {
      await setTimeout(2, undefined, signal ? { signal } : {}).catch(() => {});
      const first = Math.min(...Array.from(this.#sleepers, ({ until }) => until));
      if (first === sleeper.until) this.#slept = Math.max(this.#slept, first);
    } while (this.#slept < sleeper.until && !signal?.aborted);
    this.#sleepers.delete(sleeper);
  }
}
