// The seed of all that is random in a test: given to replay it, drawn from a text to repeat a whole
// run, or new each time.
import { createHash } from 'node:crypto';

/**
 * `EXITWARD_TEST_SEED` as it is; else a number drawn from `EXITWARD_TEST_SEEDS_OF`, the same for
 * the same text; else a new one.
 */
export function newSeed(): number {
  const { EXITWARD_TEST_SEED: given, EXITWARD_TEST_SEEDS_OF: text } = process.env;
  if (given) return Number(given);
  if (text) return createHash('sha256').update(text).digest().readUInt32BE() >>> 1;
  return Math.floor(Math.random() * 2 ** 31);
}
