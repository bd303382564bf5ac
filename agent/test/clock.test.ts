// The clock: waiting, also for longer than a timer can.
import { expect, test } from 'vitest';
import { systemClock } from '../src/clock.ts';

test('a wait that is longer than a timer can be does not end at once', async () => {
  const stop = new AbortController();
  let isOver = false;
  const waiting = systemClock.sleep(2 ** 32, stop.signal).then(() => {
    isOver = true;
  });
  await systemClock.sleep(0.05);
  expect(isOver).toBe(false);
  stop.abort();
  await waiting;
});
