// Waiting until a commit, by any process of the network, brings the expected result.
import type { Database } from '../db/database.ts';

interface Patience {
  steady: () => number;
  wait_seconds: number;
  /** The wait ends when it is aborted. */
  stopping?: AbortSignal;
}

/** The result of `look`, now or after a commit; undefined when the time was over first. */
export async function waitFor<T>(
  db: Database,
  look: () => Promise<T | undefined>,
  { steady, wait_seconds, stopping }: Patience,
): Promise<T | undefined> {
  const until = steady() + wait_seconds;
  let wake = () => {};
  const wakeUp = () => wake();
  const stopListening = db.listen(wakeUp);
  stopping?.addEventListener('abort', wakeUp);
  try {
    for (;;) {
      // Listens before looking, so that no commit in between is missed.
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const result = await look();
      const remainingSeconds = until - steady();
      if (result !== undefined || remainingSeconds <= 0 || stopping?.aborted) return result;
      const timer = setTimeout(wake, remainingSeconds * 1000);
      await woken;
      clearTimeout(timer);
    }
  } finally {
    stopListening();
    stopping?.removeEventListener('abort', wakeUp);
  }
}
