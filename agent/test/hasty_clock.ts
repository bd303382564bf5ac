// A clock for tests, by which waiting takes no time.
import { setTimeout } from 'node:timers/promises';
import { type Clock, systemClock } from '../src/clock.ts';

/** Whoever sleeps wakes up a moment later, and so much time has passed for everybody. */
export class HastyClock implements Clock {
  seconds = 1_800_000_000;
  #slept = 0;

  now(): number {
    return Math.floor(this.seconds + this.#slept);
  }

  steady(): number {
    return systemClock.steady() + this.#slept;
  }

  async sleep(seconds: number, signal?: AbortSignal): Promise<void> {
    await setTimeout(2, undefined, signal ? { signal } : {}).catch(() => {});
    this.#slept += seconds;
  }
}
