// How tests wait for what comes about by itself: one way for all of them, built on `vi.waitFor`.
import { vi } from 'vitest';

/**
 * Resolves with what `find` returns, once that is neither false nor undefined.
 * Errors: after so many seconds, what `find` threw last, or what `otherwise` says.
 */
export function until<T>(
  find: () => T | Promise<T>,
  seconds = 30,
  otherwise = () => `it did not come to hold: ${find}`,
): Promise<Exclude<T, false | undefined>> {
  return vi.waitFor(
    async () => {
      const found = await find();
      if (found === false || found === undefined) throw new Error(otherwise());
      return found as Exclude<T, false | undefined>;
    },
    { timeout: seconds * 1000, interval: 10 },
  );
}
