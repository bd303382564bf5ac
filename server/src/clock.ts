// The one clock. Nothing else in the server reads the time; tests pass in a clock that they
// control.

export interface Clock {
  /** Wall clock, epoch seconds. */
  now(): number;
  /** A clock that never jumps, in seconds from an arbitrary start. */
  steady(): number;
}

export const systemClock: Clock = {
  now: () => Math.floor(Date.now() / 1000),
  steady: () => performance.now() / 1000,
};
