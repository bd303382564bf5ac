// Waiting until a commit, by whichever process of the network, brings the thing that is waited for.
import type { Database } from '../db/database.ts';

interface Patience {
  steady: () => number;
  wait_seconds: number;
  /** When it is aborted the wait ends. */
  stopping?: AbortSignal;
}

/** The thing that `look` finds, now or after a commit; undefined when the seconds were over first. */
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
      // Listening before looking: a commit in between is not missed.
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
