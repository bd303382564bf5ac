// The owner of callbacks: an exception of one, or its rejection, ends the connection that it works for, and nothing else.
import type { Socket } from 'node:net';
import type { Logger } from 'pino';

/** Makes work a callback of its owner. */
export type Own = <Args extends unknown[]>(
  work: (...args: Args) => unknown,
) => (...args: Args) => void;

/** Callbacks given to sockets, streams and timers for the sake of this client go through it (`test/tidy.test.ts`). */
export function ownedBy(log: Logger, client: Socket): Own {
  const failed = (error: unknown) => {
    log.error({ err: error }, 'a connection failed in an unforeseen way');
    client.destroy();
  };
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

/** Listens to errors of a stream whose end is told another way. */
export const ignore = () => undefined;
