// How tests wait for what comes about by itself: one way for all of them, also outside the test
// runner.
import { setTimeout as sleep } from 'node:timers/promises';

const shortestMs = 10;
const longestMs = 250;

/**
 * The pause after a look: one that takes long, or in vain for long, is taken less often. It makes
 * no wait longer by much.
 */
const pauseAfter = (look_milliseconds: number, waited_milliseconds: number) =>
  Math.min(longestMs, Math.max(shortestMs, 2 * look_milliseconds, waited_milliseconds / 20));

/**
 * Resolves with what `find` returns, once that is neither false nor undefined.
 * Errors: after so many seconds, what `find` threw last, or what `otherwise` says.
 */
export async function until<T>(
  find: () => T | Promise<T>,
  seconds = 90,
  otherwise = () => `it did not come to hold: ${find}`,
): Promise<Exclude<T, false | undefined>> {
  const ending = new AbortController();
  let isOver = false;
  const over = sleep(seconds * 1000, undefined, { ref: false, signal: ending.signal }).then(
    () => {
      isOver = true;
      return undefined;
    },
    () => undefined,
  );
  const began = performance.now();
  try {
    for (;;) {
      const looked = performance.now();
      let fault: unknown;
      try {
        // One that hangs is not waited for longer.
        const value = await Promise.race([find(), over]);
        if (value !== false && value !== undefined) return value as Exclude<T, false | undefined>;
      } catch (error) {
        fault = error;
      }
      if (isOver) throw fault ?? new Error(otherwise());
      const now = performance.now();
      await sleep(pauseAfter(now - looked, now - began));
    }
  } finally {
    ending.abort();
  }
}
