// The difference of two clocks, by the times in responses that take a while. A difference that the
// delay may explain does not count.
import { describe, expect, test } from 'vitest';
import { ControlTime } from '../src/health/control_time.ts';

/** The clocks of this machine and of the control plane. */
function scene(ahead_seconds: number) {
  let steady = 1000;
  const start = 1_800_000_000;
  const now = () => Math.floor(start + steady + ahead_seconds);
  const time = new ControlTime({ now, steady: () => steady });
  return {
    time,
    /**
     * A request whose response is written after `written` seconds, and arrives `back` seconds
     * later.
     */
    ask(written: number, back: number) {
      const end = time.begin();
      steady += written;
      const date = new Date((start + steady) * 1000).toUTCString();
      steady += back;
      end(date);
    },
    faults: () => time.faults().map(({ kind, message }) => [kind, message.split(':')[0]]),
    set(seconds: number) {
      ahead_seconds = seconds;
    },
  };
}

describe('a clock', () => {
  test.each([0, 29, -29, 30, -30])('that is %i seconds ahead is no fault', (ahead) => {
    const { ask, faults } = scene(ahead);
    for (const [written, back] of [
      [0, 0],
      [0.7, 0.1],
      [0, 9],
      [9, 0],
    ] as const)
      ask(written, back);
    expect(faults()).toEqual([]);
  });

  test.each([
    [33.5, /^The clock of this machine is 3[1-3] seconds ahead of the control plane's$/],
    [-33.5, /^The clock of this machine is 3[1-4] seconds behind the control plane's$/],
    [3600, /^The clock of this machine is 3(599|600) seconds ahead of /],
    [-86_400, /^The clock of this machine is 86(399|400) seconds behind /],
  ])('that is %d seconds ahead is a fault, with the figure', (ahead, says) => {
    const { ask, faults } = scene(ahead);
    ask(0.1, 0.1);
    expect(faults()).toEqual([['clock', expect.stringMatching(says)]]);
  });

  test('is not judged by what a slow response may have made, neither at fault nor right again', () => {
    const { ask, faults } = scene(40);
    ask(12, 1);
    expect(faults()).toEqual([]);
    ask(1, 12);
    const estimate = faults();
    expect(estimate).toHaveLength(1);
    ask(12, 1);
    expect(faults()).toEqual(estimate);
  });

  test('whose difference hardly moves has the same sentence, and none when it is set right', () => {
    const { ask, faults, set } = scene(60);
    ask(0, 0);
    const first = faults();
    set(61.2);
    ask(0, 0);
    expect(faults()).toEqual(first);
    set(70);
    ask(0, 0);
    expect(faults()).not.toEqual(first);
    set(0.4);
    ask(0, 0);
    expect(faults()).toEqual([]);
  });
});

test('a response without a time says nothing', () => {
  const { time, faults } = scene(500);
  time.begin()(undefined);
  time.begin()('yesterday');
  expect(faults()).toEqual([]);
});
