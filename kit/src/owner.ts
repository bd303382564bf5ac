// The owner of callbacks: when one throws or rejects, what it works for ends, and nothing else.
import type { Logger } from 'pino';

type Log = Pick<Logger, 'error'>;

/** Turns work into a callback of its owner. */
export type Own = <Args extends unknown[]>(
  work: (...args: Args) => unknown,
) => (...args: Args) => void;

/**
 * `failed` must not throw. Callbacks of sockets, streams, processes and timers have an owner
 * (`test/tidy.docs.test.ts`).
 */
export function ownedBy(failed: (error: unknown) => void): Own {
  return (work) =>
    (...args) => {
      try {
        const outcome = work(...args);
        if (outcome instanceof Promise) outcome.catch(failed);
      } catch (error) {
        failed(error);
      }
    };
}

/** For work on behalf of one client: if it fails, the connection ends. */
export function ownedByConnection(log: Log, connection: { destroy(): unknown }): Own {
  return ownedBy((error) => {
    log.error({ err: error }, 'a connection failed in an unforeseen way');
    connection.destroy();
  });
}

/** For work that belongs to no single client: a failure is logged, and the next run tries again. */
export function ownedByLog(log: Log): Own {
  return ownedBy((error) => log.error({ err: error }, 'work failed in an unforeseen way'));
}

/** For the errors of a stream whose end is noticed another way. */
export const ignore = () => undefined;
