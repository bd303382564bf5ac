// The allowance of a node: how many bytes it can have carried since its last report, at the full rate of its machine.
import { hourOf } from '../values/periods.ts';

/** Usage that is older is not counted, so no node has more than that to report. */
export const oldest_usage_seconds = 40 * 86_400;
/** For what is counted late, and clocks that differ by a little. */
export const burst_seconds = 60;

/**
 * The one number that is kept of it, `reported_until`: up to when (epoch seconds, by the clock of the control plane) the
 * machine would have been at work, at its full rate without a pause, for all that was taken from the node. It
 * rises by what is reported, and time passes it by: also while the node is cut off, or the server is down.
 */
interface Reporting {
  reported_until: number;
  joined_at: number;
}

/** The bytes that the node can have to report now. */
export function plausibleBytes(node: Reporting, rate: number, now: number): number {
  const bytes = (now + burst_seconds - untilOf(node, now)) * rate;
  return Math.min(Math.max(0, Math.floor(bytes)), Number.MAX_SAFE_INTEGER);
}

/**
 * `reported_until` after a batch was taken. A journal is sent in the order of its hours: of the time before the hour of
 * the batch's newest row nothing is left to come, unless the batch is full: what was counted at once, after hours, has one
 * time, and comes in several. So a node that carries little saves no more than an hour of its rate, and one
 * that was away sends its days in as many batches as it likes.
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
  const until = Math.max(reported_until, joined_at, now - oldest_usage_seconds);
  // No report leads farther ahead than the burst: the clock was set back since.
  return until > now + burst_seconds ? now : until;
}
