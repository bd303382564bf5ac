// Errors of the database engine itself, and the 503 that clients get for them.
import { ApiError, unavailable } from '../errors.ts';

/** Errors that come from the engine itself: disk full, connection lost, a failed statement. */
const storageFaults = new WeakSet<object>();

/** For a log and for operators: SQLite's file has no name any more, so nothing can find it. */
export const lostFile =
  'The database file was removed or replaced while this server runs: changes are refused, and what it holds is lost when it stops.';

/**
 * Marks an engine's error, so that its response is 503 and it is never taken for an action's own.
 */
export function markStorageFault(error: unknown): unknown {
  if (typeof error === 'object' && error !== null) storageFaults.add(error);
  return error;
}

export function isStorageFault(error: unknown): boolean {
  return typeof error === 'object' && error !== null && storageFaults.has(error);
}

/** Whether the database did not answer: by an engine's error, or by the 503 for one. */
export function isUnavailable(error: unknown): boolean {
  return isStorageFault(error) || isStorageFault((error as Error).cause);
}

/** The 503 that a client sees for an engine's error; the cause stays with it for the log. */
export function storageFault(error: unknown): ApiError {
  const unavailableNow = unavailable(
    'The database cannot take this request now; whether the change was made is unknown. Read it back, or send it again with an Idempotency-Key.',
  );
  unavailableNow.cause = error;
  return unavailableNow;
}

/** For a program that works on the database itself: the engine's error in place of that 503. */
export function engineFault(error: unknown): unknown {
  // Another error with such a cause says more of it, such as which disk is full.
  if (!(error instanceof ApiError) || !isStorageFault(error.cause)) return error;
  const { cause } = error;
  return new Error(`The database failed: ${(cause as Error).message}.`, { cause: error });
}
