// The only place in the agent that reads the time; tests and simulations pass a clock that they
// control.

export interface Clock {
  /** Epoch seconds, whole. */
  now(): number;
  /** Seconds that only increase, with fractions: for intervals, never for expiries. */
  steady(): number;
  /** Resolves after this many seconds, or as soon as the signal is aborted. */
  sleep(seconds: number, signal?: AbortSignal): Promise<void>;
}

/** The longest time for a timer; a longer one would fire at once. */
const longestMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Math.floor(Date.now() / 1000),
  steady: () => performance.now() / 1000,
  sleep: (seconds, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.min(seconds * 1000, longestMs));
      signal?.addEventListener('abort', done);
    }),
};

/** Repeats `act`, with a pause before each time, until the signal is aborted. */
export async function every(
  clock: Pick<Clock, 'sleep'>,
  seconds: number,
  signal: AbortSignal,
  act: () => unknown,
): Promise<void> {
  for (;;) {
    await clock.sleep(seconds, signal);
    if (signal.aborted) return;
    await act();
  }
}
