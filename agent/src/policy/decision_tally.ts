// Counts decisions by outcome and by duration. Plain numbers, since this runs for every request.
import type { Authority } from './decision.ts';
import { allReasons, type Reason } from './denials.ts';

/** The authority that let the connection in, or the reason for the denial. */
export type Outcome = Authority['by'] | Reason;

/** The upper bounds of the buckets, in seconds; one more bucket holds everything slower. */
export const bucketSeconds = [
  0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25, 1,
] as const;

export const authorities = ['authlist', 'token', 'vpn', 'probe'] as const;
const outcomes: readonly Outcome[] = [...authorities, ...allReasons];

/**
 * The counts that deciders send to the agent. The names must not change, since deciders of the
 * previous version may be running.
 */
export interface DecisionCounts {
  /** By outcome; outcomes without decisions are left out. */
  outcomes: Partial<Record<Outcome, number>>;
  /** By bucket: decisions that took no longer than its bound, and longer than the previous one. */
  took: number[];
  /** The sum of the times. */
  seconds: number;
}

export class DecisionTally {
  readonly #outcomes = new Map<Outcome, number>(outcomes.map((outcome) => [outcome, 0]));
  readonly #took: number[] = new Array(bucketSeconds.length + 1).fill(0);
  #seconds = 0;
  #isNew = false;

  /** Counts decisions with the same outcome. */
  note(outcome: Outcome, count = 1): void {
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + count);
    this.#isNew = true;
  }

  /** Counts decisions that took this long each. */
  noteTime(seconds: number, count = 1): void {
    let bucket = 0;
    while (bucket < bucketSeconds.length && seconds > (bucketSeconds[bucket] as number)) bucket++;
    this.#took[bucket] = (this.#took[bucket] as number) + count;
    this.#seconds += seconds * count;
    this.#isNew = true;
  }

  /** Adds another tally's counts, without impossible ones: a faulty process may have sent them. */
  add(counts: DecisionCounts): void {
    for (const outcome of outcomes) {
      const count = counts.outcomes?.[outcome];
      if (isCount(count)) this.note(outcome, count);
    }
    const { took, seconds } = counts;
    const isWhole = Array.isArray(took) && took.length === this.#took.length && took.every(isCount);
    if (!isWhole || !isAmount(seconds)) return;
    for (const [bucket, count] of took.entries()) {
      this.#took[bucket] = (this.#took[bucket] as number) + count;
    }
    this.#seconds += seconds;
    this.#isNew = true;
  }

  get counts(): DecisionCounts {
    const nonzero = [...this.#outcomes].filter(([, count]) => count > 0);
    return { outcomes: Object.fromEntries(nonzero), took: [...this.#took], seconds: this.#seconds };
  }

  /** Returns all counts and starts again from zero; undefined if nothing was counted. */
  take(): DecisionCounts | undefined {
    if (!this.#isNew) return undefined;
    const { counts } = this;
    for (const outcome of outcomes) this.#outcomes.set(outcome, 0);
    this.#took.fill(0);
    this.#seconds = 0;
    this.#isNew = false;
    return counts;
  }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function isCount(value: unknown): value is number {
  return isAmount(value) && Number.isInteger(value);
}
