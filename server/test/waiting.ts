// How tests wait for what comes about by itself: one way for all of them, also outside the test runner.
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Resolves with what `find` returns, once that is neither false nor undefined.
 * Errors: after so many seconds, what `find` threw last, or what `otherwise` says.
 */
export async function until<T>(
  find: () => T | Promise<T>,
  seconds = 30,
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
  try {
    for (;;) {
      let fault: unknown;
      try {
        // One that hangs is not waited for longer.
        const found = await Promise.race([find(), over]);
        if (found !== false && found !== undefined) return found as Exclude<T, false | undefined>;
      } catch (error) {
        fault = error;
      }
      if (isOver) throw fault ?? new Error(otherwise());
      await sleep(10);
    }
  } finally {
    ending.abort();
  }
}
