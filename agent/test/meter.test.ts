// The meter: in the end the rows equal the finished traffic, despite wrong guesses and repeated
// reports.

import { mkdirSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { testFolder } from '../../test/test_folder.ts';
import type { Clock } from '../src/clock.ts';
import type { Finished, Poll, Traffic } from '../src/engine.ts';
import { Journal } from '../src/usage/journal.ts';
import { Meter } from '../src/usage/meter.ts';

const silent = pino({ level: 'silent' });
const noon = 1_800_014_400;
const folder = testFolder('meter');
let files = 0;
const newPath = () => join(folder, `${++files}.journal`);

/** Time that passes only by sleeping. */
class TestClock implements Clock {
  seconds = noon;
  now = () => this.seconds;
  steady = () => this.seconds;
  async sleep(seconds: number): Promise<void> {
    this.seconds += seconds;
  }
}

/** An engine by the contract: finished traffic is in a log, and the cursor is a place in it. */
class FakeEngine {
  readonly log: Finished[] = [];
  open: Traffic[] = [];
  /** How much of the log cannot be read yet. */
  late = 0;
  fault: Error | undefined;

  async poll(cursor: unknown): Promise<Poll> {
    if (this.fault) throw this.fault;
    const from = (cursor as { line: number } | undefined)?.line ?? 0;
    const to = Math.max(from, this.log.length - this.late);
    return { finished: this.log.slice(from, to), open: this.open, cursor: { line: to } };
  }
}

const trafficOf = (connection: string, account: number, up: number, down = 0): Traffic => ({
  connection,
  account,
  user: 1,
  up,
  down,
});
const finishedOf = (connection: string, account: number, up: number, down = 0): Finished => ({
  ...trafficOf(connection, account, up, down),
  at: noon,
});

type Step =
  | { step: 'transfer'; connection: number; up: number; down: number }
  | { step: 'finish'; connection: number; account: number }
  | { step: 'poll'; late: number; guess: number[]; stray: number; crash: number | null };

const bytes = fc.oneof(fc.nat(1000), fc.constant(0), fc.integer({ min: 0, max: 2 ** 40 }));
const steps = (mostGuess: number) =>
  fc.array(
    fc.oneof(
      fc.record({
        step: fc.constant('transfer' as const),
        connection: fc.nat(2),
        up: bytes,
        down: bytes,
      }),
      fc.record({
        step: fc.constant('finish' as const),
        connection: fc.nat(2),
        account: fc.integer({ min: 1, max: 2 }),
      }),
      fc.record({
        step: fc.constant('poll' as const),
        late: fc.nat(2),
        guess: fc.array(fc.integer({ min: 0, max: mostGuess }), { minLength: 3, maxLength: 3 }),
        stray: mostGuess > 100 ? fc.nat(5) : fc.constant(0),
        crash: fc.option(fc.nat(100), { freq: 3 }),
      }),
    ) as fc.Arbitrary<Step>,
    { maxLength: 60, size: 'max' },
  );

/**
 * Plays it with crashes, then lets everything finish. Returns the billed, carried and true bytes by
 * account.
 */
async function play(history: Step[]) {
  const path = newPath();
  const engine = new FakeEngine();
  const clock = new TestClock();
  let journal = await Journal.open(path, { log: silent });
  const newMeter = () => new Meter({ engine, journal, clock, log: silent, poll_seconds: 1 });
  let meter = newMeter();
  const connections = [1, 2, 1].map((account) => ({ account, up: 0, down: 0 }));

  const finish = (index: number, nextAccount: number) => {
    const connection = connections[index];
    if (!connection) return;
    const { account, up, down } = connection;
    engine.log.push(finishedOf(`c${index}`, account, up, down));
    connections[index] = { account: nextAccount, up: 0, down: 0 };
  };
  for (const step of history) {
    if (step.step === 'transfer') {
      const connection = connections[step.connection];
      if (!connection) continue;
      connection.up += step.up;
      connection.down += step.down;
    } else if (step.step === 'finish') {
      finish(step.connection, step.account);
    } else {
      engine.late = step.late;
      engine.open = connections.map(({ account, up, down }, index) => {
        const share = (step.guess[index] ?? 0) / 100;
        // A wrong guess may be another account's, too.
        const whose = step.stray === index + 1 ? 3 - account : account;
        return trafficOf(`c${index}`, whose, Math.floor(up * share), Math.floor(down * share));
      });
      const before = readFileSync(path).length;
      await meter.tick();
      clock.seconds += 1;
      if (step.crash === null) continue;
      await journal.close();
      const written = readFileSync(path).length - before;
      truncateSync(path, before + Math.round((written * step.crash) / 100));
      journal = await Journal.open(path, { log: silent });
      meter = newMeter();
    }
  }
  for (const index of connections.keys()) finish(index, 1);
  engine.late = 0;
  engine.open = [];
  await meter.tick();
  const sum = (all: Iterable<{ account: number; up: number; down: number }>) => {
    const sums: Record<number, { up: number; down: number }> = {
      1: { up: 0, down: 0 },
      2: { up: 0, down: 0 },
    };
    for (const { account, up, down } of all) {
      const sum = sums[account] as { up: number; down: number };
      sum.up += up;
      sum.down += down;
    }
    return sums;
  };
  const rows = journal.pending();
  await journal.close();
  rmSync(path);
  return {
    rows,
    billed: sum(rows),
    finished: sum(engine.log),
    carried: sum(journal.carry.values()),
    counted: journal.counted.size,
  };
}

test('all rows are all that finished, when no estimate was too high', async () => {
  await fc.assert(
    fc.asyncProperty(steps(100), async (history) => {
      const { billed, finished, carried, counted } = await play(history);
      expect(billed).toEqual(finished);
      expect(Object.values(carried).every(({ up, down }) => up + down === 0)).toBe(true);
      expect(counted).toBe(0);
    }),
    { numRuns: tries(60) },
  );
});

test('whatever was estimated, no row is negative, and what was too much is carried to the byte', async () => {
  await fc.assert(
    fc.asyncProperty(steps(300), async (history) => {
      const { rows, billed, finished, carried } = await play(history);
      expect(rows.filter(({ up, down }) => up < 0 || down < 0)).toEqual([]);
      for (const account of [1, 2]) {
        for (const way of ['up', 'down'] as const) {
          const owed = carried[account]?.[way] ?? 0;
          expect((billed[account]?.[way] ?? 0) - owed).toBe(finished[account]?.[way]);
        }
      }
    }),
    { numRuns: tries(60) },
  );
});

describe('a meter', () => {
  let engine: FakeEngine;
  let clock: TestClock;
  let journal: Journal;
  let path: string;
  let lines: Array<{ msg: string }>;
  let meter: Meter;
  beforeEach(async () => {
    engine = new FakeEngine();
    clock = new TestClock();
    path = newPath();
    lines = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    journal = await Journal.open(path, { log });
    meter = new Meter({ engine, journal, clock, log, poll_seconds: 1 });
    return () => journal.close();
  });
  const billed = () => journal.pending().map(({ account, up, down }) => [account, up, down]);

  test('counts a tunnel while it is open, and the rest when it is over', async () => {
    engine.open = [trafficOf('c1', 1, 100, 1000)];
    await meter.tick();
    expect(journal.pending()).toEqual([{ account: 1, user: 1, at: noon, up: 100, down: 1000 }]);
    clock.seconds += 3600;
    engine.open = [];
    engine.log.push(finishedOf('c1', 1, 150, 1000));
    await meter.tick();
    expect(journal.pending()[1]).toEqual({ account: 1, user: 1, at: noon + 3600, up: 50, down: 0 });
    expect(journal.counted.size).toBe(0);
  });

  test('a clock that was put back makes no row older than those before it, also after a rewrite and a restart', async () => {
    engine.open = [trafficOf('c1', 1, 100)];
    await meter.tick();
    const batch = await journal.next();
    await journal.acknowledged(batch?.seq ?? 0);
    // A failed write, so that the file is written again.
    await journal.close();
    await expect(journal.acknowledged(0)).rejects.toThrow();
    await journal.repair();
    await journal.close();
    journal = await Journal.open(path, { log: pino({ level: 'silent' }) });
    meter = new Meter({ engine, journal, clock, log: silent, poll_seconds: 1 });
    clock.seconds = -noon;
    engine.open = [trafficOf('c1', 1, 150)];
    await meter.tick();
    expect(journal.pending()).toEqual([{ account: 1, user: 1, at: noon, up: 50, down: 0 }]);
  });

  test('a row of a clock that begins at 0 is of a time that can be reported', async () => {
    clock.seconds = -noon;
    engine.open = [trafficOf('c1', 1, 100)];
    await meter.tick();
    expect(journal.pending()).toMatchObject([{ at: 1 }]);
    await journal.append({
      rows: [{ account: 2, user: 1, at: 0, up: 1, down: 0 }],
      ...{ cursor: 0, counted: [], settled: [], carry: [] },
    });
    expect(journal.pending()).toMatchObject([{ at: 1 }, { at: 1 }]);
  });

  test('after a write that failed, a tick with nothing to count clears the fault as soon as it can', async () => {
    const cramped = `${path}.new`;
    mkdirSync(cramped);
    await meter.tick();
    // The state after a failed fsync: the file is useless.
    await journal.close();
    engine.open = [trafficOf('c1', 1, 100)];
    await expect(meter.tick()).rejects.toThrow();
    engine.open = [];
    await expect(meter.tick()).rejects.toThrow();
    expect(journal.faults()).toEqual([expect.stringMatching(/ cannot be written: .*EISDIR/)]);
    rmSync(cramped, { recursive: true });
    await meter.tick();
    expect([...journal.faults(), ...meter.faults()]).toEqual([]);
  });

  test('reduces later rows of the same user by what was counted too much, and no one else’s', async () => {
    engine.open = [trafficOf('c1', 1, 100)];
    await meter.tick();
    engine.open = [];
    engine.log.push(finishedOf('c1', 1, 70));
    await meter.tick();
    expect([...journal.carry.values()]).toEqual([{ account: 1, user: 1, up: 30, down: 0 }]);
    engine.log.push(finishedOf('c2', 1, 20, 5), finishedOf('c3', 2, 9));
    await meter.tick();
    expect(billed()).toEqual([
      [1, 100, 5],
      [2, 9, 0],
    ]);
    engine.log.push(finishedOf('c4', 1, 25));
    await meter.tick();
    expect(billed()).toEqual([
      [1, 115, 5],
      [2, 9, 0],
    ]);
    expect(journal.carry.size).toBe(0);
  });

  test('lets a higher count stand while the connection is open', async () => {
    engine.open = [trafficOf('c1', 1, 100, 100)];
    await meter.tick();
    engine.open = [trafficOf('c1', 1, 90, 120)];
    await meter.tick();
    expect(billed()).toEqual([[1, 100, 120]]);
    expect(journal.carry.size).toBe(0);
    engine.open = [trafficOf('c1', 1, 105, 120)];
    await meter.tick();
    expect(billed()).toEqual([[1, 105, 120]]);
  });

  test('writes nothing when nothing happened, and moves the cursor past what is not billed', async () => {
    engine.open = [trafficOf('c1', 1, 100)];
    await meter.tick();
    const before = readFileSync(path);
    for (let tick = 0; tick < 5; tick += 1) await meter.tick();
    expect(readFileSync(path)).toEqual(before);
    engine.log.push(finishedOf('c9', 1, 0));
    await meter.tick();
    expect(journal.cursor).toEqual({ line: 1 });
    expect(billed()).toEqual([[1, 100, 0]]);
  });

  test('forgets a connection an hour after the engine last reported it', async () => {
    engine.open = [trafficOf('c1', 1, 100), trafficOf('c2', 1, 50)];
    await meter.tick();
    engine.open = [trafficOf('c1', 1, 100)];
    await meter.tick();
    clock.seconds += 3599;
    await meter.tick();
    expect([...journal.counted.keys()]).toEqual(['c1', 'c2']);
    clock.seconds += 1;
    await meter.tick();
    expect([...journal.counted.keys()]).toEqual(['c1']);
    expect(billed()).toEqual([[1, 150, 0]]);
  });

  test('starts the hour again when a connection is reported again', async () => {
    const open = [trafficOf('c1', 1, 100)];
    engine.open = open;
    await meter.tick();
    for (let times = 0; times < 3; times += 1) {
      engine.open = [];
      await meter.tick();
      clock.seconds += 3000;
      engine.open = open;
      await meter.tick();
    }
    expect(journal.counted.size).toBe(1);
    expect(billed()).toEqual([[1, 100, 0]]);
  });

  test.each([
    { up: Number.NaN },
    { up: -1 },
    { down: 1.5 },
    { down: 2 ** 53 },
    { up: Number.POSITIVE_INFINITY },
    { down: '7' as unknown as number },
    { account: 0 },
    { user: 0 },
    { user: undefined as unknown as number },
  ])(
    'leaves out a count that makes no sense, says so, and counts the others: %o',
    async (wrong) => {
      engine.open = [{ ...trafficOf('c1', 1, 1, 1), ...wrong }, trafficOf('c2', 2, 5)];
      engine.log.push({ ...finishedOf('c3', 1, 1, 1), ...wrong }, finishedOf('c4', 2, 6));
      await meter.tick();
      expect(billed()).toEqual([[2, 11, 0]]);
      expect(lines.map(({ msg }) => msg)).toEqual([
        'an impossible count was left out',
        'an impossible count was left out',
      ]);
    },
  );

  test('repeats what failed, logs that once, and logs when it works again', async () => {
    engine.log.push(finishedOf('c1', 1, 100));
    engine.fault = new Error('the decider does not answer');
    const stop = new AbortController();
    const faults: string[][] = [];
    clock.sleep = async () => {
      clock.seconds += 1;
      faults.push(meter.faults());
      if (faults.length === 3) engine.fault = undefined;
      if (faults.length === 5) stop.abort();
    };
    await meter.run(stop.signal);
    const fault = 'Usage cannot be counted: the decider does not answer';
    expect(faults).toEqual([[fault], [fault], [fault], [], []]);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'usage cannot be counted',
      'usage is counted again',
    ]);
    expect(billed()).toEqual([[1, 100, 0]]);
  });
});
