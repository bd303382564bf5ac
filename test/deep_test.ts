// In files that each submission runs, the part of a deep run: second proofs that share a scene with
// first ones, and the rest of those cases of which one is as good as another.
import { createHash } from 'node:crypto';
import { describe, test } from 'vitest';
import { Random } from '../server/test/random.ts';
import { effort } from './effort.ts';
import { newSeed } from './seed.ts';

type Nothing = (() => void) & { each: () => Nothing };
const nothing: Nothing = Object.assign(() => {}, { each: () => nothing });
const inDeepRuns = <T>(define: T): T => (effort === 'deep' ? define : (nothing as unknown as T));

/** `test`, in a deep run alone. */
export const deepTest = inDeepRuns(test);

/** `describe`, in a deep run alone. */
export const deepDescribe = inDeepRuns(describe);

/** All of them in a deep run; one for a submission, which the seed draws. */
export const drawn = <T>(all: readonly T[]): T[] =>
  effort === 'deep' ? [...all] : [new Random(newSeed()).one(all)];

/**
 * Whether a case is in this run: always in a deep one; for a submission about one of so many, by
 * the seed and its name alone.
 */
export function isDrawnOf(count: number, name: string): boolean {
  if (effort === 'deep') return true;
  const bytes = createHash('sha256').update(`${newSeed()} ${name}`).digest();
  return bytes.readUInt32BE() % count === 0;
}
