// The owner of callbacks: an exception of one, or its rejection, ends what it works for, and nothing else.
import type { Logger } from 'pino';

type Log = Pick<Logger, 'error'>;

/** Makes work a callback of its owner. */
export type Own = <Args extends unknown[]>(
  work: (...args: Args) => unknown,
) => (...args: Args) => void;

/** `failed` must not fail. Callbacks of sockets, streams, processes and timers have an owner (`test/tidy.docs.test.ts`). */
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

/** For the sake of one client: its connection ends. */
export function ownedByConnection(log: Log, connection: { destroy(): unknown }): Own {
  return ownedBy((error) => {
    log.error({ err: error }, 'a connection failed in an unforeseen way');
    connection.destroy();
  });
}

/** For the sake of nobody alone: what fails is logged, and tried the next time. */
export function ownedByLog(log: Log): Own {
  return ownedBy((error) => log.error({ err: error }, 'work failed in an unforeseen way'));
}

/** Listens to errors of a stream whose end is told another way. */
export const ignore = () => undefined;
