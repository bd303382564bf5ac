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
  const over = performance.now() + seconds * 1000;
  const hangs = Symbol();
  for (;;) {
    let fault: unknown;
    try {
      const left = Math.max(over - performance.now(), 0);
      const found = await Promise.race([find(), sleep(left, hangs, { ref: false })]);
      if (found !== false && found !== undefined && found !== hangs) {
        return found as Exclude<T, false | undefined>;
      }
    } catch (error) {
      fault = error;
    }
    if (performance.now() >= over) throw fault ?? new Error(otherwise());
    await sleep(10);
  }
}
