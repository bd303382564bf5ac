// The allowance of a node: how many bytes it can have carried since its last report, at its
// machine's full rate.
import { hourOf } from '../values/periods.ts';

/** Older usage is not counted, so no node has more than that to report. */
export const oldestUsageSeconds = 40 * 86_400;
/** Tolerance for late counting, and for clocks that differ a little. */
export const burstSeconds = 60;

/**
 * `reported_until` is all that is stored: the time (epoch seconds, by the control plane's clock) up
 * to which the machine would have been busy at its full rate with everything that it reported. Each
 * report moves it ahead, and time catches up with it, even while the node or the server is offline.
 */
interface Reporting {
  reported_until: number;
  joined_at: number;
}

/** The bytes that the node may report now. */
export function plausibleBytes(node: Reporting, rate: number, now: number): number {
  const bytes = (now + burstSeconds - untilOf(node, now)) * rate;
  return Math.min(Math.max(0, Math.floor(bytes)), Number.MAX_SAFE_INTEGER);
}

/**
 * `reported_until` after a batch was counted. A journal is sent in the order of its hours, so
 * nothing from before the hour of the batch's newest row is left to come. A full batch is an
 * exception: usage that was counted at once, after hours, has one time and comes in several
 * batches. So a node that carries little saves up at most an hour of its rate, and one that was
 * offline may send its days in any number of batches.
 */
export function reportedUntil(
  node: Reporting,
  batch: { bytes: number; newest_at: number; is_full?: boolean },
  rate: number,
  now: number,
): number {
  const completeUntil = batch.is_full ? 0 : hourOf(batch.newest_at);
  return Math.max(untilOf(node, now) + batch.bytes / rate, completeUntil);
}

function untilOf({ reported_until, joined_at }: Reporting, now: number): number {
  const until = Math.max(reported_until, joined_at, now - oldestUsageSeconds);
  // No report leads farther ahead than the burst, so the clock was set back since.
  return until > now + burstSeconds ? now : until;
}
