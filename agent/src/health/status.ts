// The status of an exit, by the outcomes of its last checks.

export type HealthStatus = 'ok' | 'warn' | 'crit' | 'unknown';

/** The outcome of one check: the right address, in time or not; another address; none. */
export type Outcome = 'right' | 'slow' | 'wrong' | 'failed';

/** How many outcomes say what an exit is like. */
export const mostRemembered = 5;
/** So many failures in a row are no accident. */
const isBroken = 3;

/** The status that the last outcomes come to, newest last. */
export function evaluate(outcomes: readonly Outcome[]): HealthStatus {
  const last = outcomes.slice(-mostRemembered);
  const isGood = (outcome: Outcome) => outcome === 'right' || outcome === 'slow';
  const bad = last.slice(last.findLastIndex(isGood) + 1);
  if (last.length === 0) return 'unknown';
  // A failure after a wrong address is no improvement.
  if (bad.includes('wrong') || bad.length >= isBroken) return 'crit';
  return last.at(-1) === 'right' && last.every(isGood) ? 'ok' : 'warn';
}
