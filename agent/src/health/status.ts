// Derives the status of an exit from the outcomes of its last checks.
import type { HealthStatus } from '../../../kit/src/node_interface.ts';

/**
 * The outcome of one check: the right address, in time or slow; another address; or no response.
 */
export type Outcome = 'right' | 'slow' | 'wrong' | 'failed';

/** The number of outcomes that decide an exit's status. */
export const maxOutcomes = 5;
/** Fewer failures in a row may be a coincidence. */
const minFailures = 3;

/** The status that follows from the last outcomes, newest last. */
export function evaluate(outcomes: readonly Outcome[]): HealthStatus {
  const last = outcomes.slice(-maxOutcomes);
  const isGood = (outcome: Outcome) => outcome === 'right' || outcome === 'slow';
  const bad = last.slice(last.findLastIndex(isGood) + 1);
  if (last.length === 0) return 'unknown';
  // A failure after a wrong address does not improve the status.
  if (bad.includes('wrong') || bad.length >= minFailures) return 'crit';
  return last.at(-1) === 'right' && last.every(isGood) ? 'ok' : 'warn';
}
