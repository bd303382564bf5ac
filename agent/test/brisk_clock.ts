// A clock for tests of what an agent does every few seconds: it sleeps for a tenth of the time.
import { type Clock, systemClock } from '../src/clock.ts';

const times = 10;

/** Its epoch seconds are the real ones, since expiries must agree with those of others. */
export const briskClock = (now = systemClock.now): Clock => ({
  now,
  steady: () => systemClock.steady() * times,
  sleep: (seconds, signal) => systemClock.sleep(seconds / times, signal),
});
