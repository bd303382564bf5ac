// Limits that the node counts itself: at a steady rate, at most a quarter of a second of traffic
// exceeds one, and no connection is ended before it.

import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { UsageBatch } from '../../kit/src/node_interface.ts';
import { tries } from '../../test/effort.ts';
import { testFolder } from '../../test/test_folder.ts';
import type { Clock } from '../src/clock.ts';
import type { Poll } from '../src/engine.ts';
import { Journal } from '../src/usage/journal.ts';
import { type BytesLeft, Limits } from '../src/usage/limits.ts';
import { Meter } from '../src/usage/meter.ts';
import { Sender, type UsageAnswer } from '../src/usage/sender.ts';

const log = pino({ level: 'silent' });
const noon = 1_800_014_400;
const never = noon + 86_400;
const megabyte = 1_000_000;
const usual = { poll_seconds: 1, report_seconds: 3 };
/** The durations of listing sockets, of a request to the control plane, and of closing. */
const [poll_takes, answer_takes, end_takes] = [0.03, 0.02, 0.05];

const folder = testFolder('limits');
let files = 0;

interface Sleeper {
  until: number;
  wake: () => void;
}

/** Time that passes when all parts sleep. */
class ModelClock {
  seconds = 0;
  readonly sleepers = new Set<Sleeper>();

  /** The clock of a part that sleeps at times. */
  of(): Clock & { isAsleep: () => boolean } {
    let mine = 0;
    return {
      now: () => noon + Math.floor(this.seconds),
      steady: () => this.seconds,
      isAsleep: () => mine > 0,
      sleep: async (seconds, signal) => {
        if (signal?.aborted) return;
        mine += 1;
        await new Promise<void>((resolve) => {
          const sleeper = { until: this.seconds + seconds, wake: resolve };
          this.sleepers.add(sleeper);
          signal?.addEventListener('abort', () => resolve());
        });
        mine -= 1;
      },
    };
  }
  /** Wakes the sleeper that is due first. */
  pass(): void {
    const [first] = [...this.sleepers].sort((a, b) => a.until - b.until);
    if (!first) return;
    this.seconds = Math.max(this.seconds, first.until);
    this.sleepers.delete(first);
    first.wake();
  }
}

/**
 * A control plane with one account, which it ends as soon as it knows that the limit is reached.
 */
class Control {
  readonly nodes: Node[] = [];
  limit: number;
  used = 0;
  isAway = false;

  constructor(limit: number) {
    this.limit = limit;
  }
  async answer({ rows }: UsageBatch, clock: Clock): Promise<UsageAnswer> {
    if (this.isAway) throw new Error('it is away');
    for (const { up, down } of rows) this.used += up + down;
    const left_bytes = Math.max(0, this.limit - this.used);
    await clock.sleep(answer_takes);
    if (left_bytes === 0) for (const node of this.nodes) node.end();
    const limits: BytesLeft[] = [{ account: 1, left_bytes, until: never }];
    return { counted: true, held: false, left_out: [], limits };
  }
}

/** An agent whose engine has one tunnel, with a steady rate until it is ended. */
class Node {
  readonly #clock: ModelClock;
  readonly #bytes_a_second: number;
  readonly #running = new AbortController();
  readonly #meters: ReturnType<ModelClock['of']>;
  readonly #senders: ReturnType<ModelClock['of']>;
  #journal!: Journal;
  readonly ends: number[] = [];
  ended_at = Number.POSITIVE_INFINITY;
  limits!: Limits;

  constructor(clock: ModelClock, bytes_a_second: number) {
    this.#clock = clock;
    this.#meters = clock.of();
    this.#senders = clock.of();
    this.#bytes_a_second = bytes_a_second;
  }
  async start(control: Control): Promise<void> {
    const [clock, reporting] = [this.#meters, this.#senders];
    const journal = await Journal.open(join(folder, `${++files}.journal`), { log });
    this.#journal = journal;
    const limits = new Limits({
      of: 'accounts',
      ...{ ...usual, journal, clock, log },
      end: (_, until) => {
        this.ends.push(until);
        if (until > 0) this.end();
      },
      report: () => sender.hurry(),
    });
    this.limits = limits;
    const sender = new Sender({
      ...{ ...usual, journal, log, limits, clock: reporting },
      control: { reportUsage: (batch) => control.answer(batch, reporting) },
    });
    const meter = new Meter({ ...usual, journal, engine: this, clock, log, limits });
    control.nodes.push(this);
    for (const part of [meter, sender]) void part.run(this.#running.signal);
  }
  end(): void {
    this.ended_at = Math.min(this.ended_at, this.#clock.seconds + end_takes);
  }
  /** The bytes that it has carried so far. */
  get moved(): number {
    return Math.floor(this.#bytes_a_second * Math.min(this.#clock.seconds, this.ended_at));
  }
  async poll(): Promise<Poll> {
    await this.#meters.sleep(poll_takes);
    const open = [{ connection: 'c', account: 1, user: 1, up: 0, down: this.moved }];
    return { finished: [], open, cursor: null };
  }
  /** Whether both parts sleep; a sender that has nothing to send does. */
  get isAsleep(): boolean {
    const isIdle = this.#journal.pending().length === 0;
    return this.#meters.isAsleep() && (isIdle || this.#senders.isAsleep());
  }
  async stop(): Promise<void> {
    this.#running.abort();
    for (const { wake } of this.#clock.sleepers) wake();
    await this.#journal.append({ rows: [], cursor: 0, counted: [], settled: [], carry: [] });
    await this.#journal.close();
  }
}

/** Runs until this is true; returns the bytes over the limit. */
async function run(
  { pace, limit, nodes = 1 }: { pace: number; limit: number; nodes?: number },
  holds: (all: Node[], clock: ModelClock, control: Control) => boolean,
) {
  const clock = new ModelClock();
  const control = new Control(limit);
  const all = Array.from({ length: nodes }, () => new Node(clock, pace / nodes));
  for (const node of all) await node.start(control);
  while (!holds(all, clock, control)) {
    if (clock.seconds > 600) throw new Error('it does not come to hold in ten minutes');
    await setImmediate();
    if (all.every(({ isAsleep }) => isAsleep)) clock.pass();
  }
  for (const node of all) await node.stop();
  const moved = all.reduce((sum, node) => sum + node.moved, 0);
  return { over: moved - limit, all, control };
}
const areEnded = (all: Node[], clock: ModelClock) =>
  all.every(({ ended_at }) => ended_at <= clock.seconds);

describe('at a steady pace', () => {
  const paces = fc.integer({ min: 1, max: 120 }).map((each) => each * megabyte);
  const seconds = fc.double({ min: 1.2, max: 15, noNaN: true });

  test('no more than a quarter of a second of traffic passes a limit, and nothing is ended before it', {
    timeout: 120_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(paces, seconds, async (pace, lasts) => {
        const { over } = await run({ pace, limit: Math.floor(pace * lasts) }, areEnded);
        expect(over).toBeGreaterThanOrEqual(0);
        expect(over / pace).toBeLessThanOrEqual(0.25);
      }),
      { numRuns: tries(30) },
    );
  });

  test('of two nodes each ends its own, and together no more than half a second passes', async () => {
    const pace = 100 * megabyte;
    const { over } = await run({ pace, limit: 7.3 * pace, nodes: 2 }, areEnded);
    expect(over).toBeGreaterThanOrEqual(0);
    expect(over / pace).toBeLessThanOrEqual(0.5);
  });

  test('while the control plane is away, the count continues from its last report, and the end is renewed', async () => {
    const pace = 50 * megabyte;
    const { over, all } = await run({ pace, limit: 7.3 * pace }, ([node], clock, control) => {
      control.isAway = clock.seconds > 4;
      return clock.seconds > 60 && node !== undefined;
    });
    expect(over / pace).toBeLessThanOrEqual(0.25);
    const [first = 0, second = 0] = all[0]?.ends ?? [];
    expect(first).toBe(noon + 7 + 30);
    expect(second).toBeGreaterThan(first);
  });
});

describe('an account that was ended ahead', () => {
  /** A node that ended the account by its own count, and what followed. */
  async function ended(journal: { rows: number }) {
    const clock = new ModelClock();
    const ends: Array<[account: number, until: number]> = [];
    const pending = () => [{ account: 1, user: 1, at: noon, up: journal.rows, down: 0 }];
    const limits = new Limits({
      of: 'accounts',
      ...{ ...usual, clock: clock.of(), log, journal: { pending } },
      end: ({ account }, until) => ends.push([account, until]),
      report: () => {},
    });
    limits.answered(pending(), [{ account: 1, left_bytes: 1000, until: never }]);
    return { clock, ends, limits, pending };
  }

  test('is let in again when a later answer leaves it something', async () => {
    const journal = { rows: 1000 };
    const { limits, ends, pending } = await ended(journal);
    journal.rows = 0;
    limits.answered(pending(), [{ account: 1, left_bytes: 1, until: never }]);
    expect(ends).toEqual([
      [1, noon + 30],
      [1, 0],
    ]);
  });

  test('is let in again when it has no limit any more', async () => {
    const journal = { rows: 1000 };
    const { limits, ends, pending } = await ended(journal);
    limits.answered(pending(), []);
    expect(ends.at(-1)).toEqual([1, 0]);
  });

  test('is ended again while its own count says so, and not when the control plane says so itself', async () => {
    const journal = { rows: 1000 };
    const { limits, ends, clock, pending } = await ended(journal);
    for (const seconds of [10, 10, 10]) {
      clock.seconds += seconds;
      limits.counted([]);
    }
    expect(ends.map(([, until]) => until - noon)).toEqual([30, 50]);
    journal.rows = 0;
    limits.answered(pending(), [{ account: 1, left_bytes: 0, until: never }]);
    clock.seconds += 60;
    limits.counted([]);
    expect(ends).toHaveLength(2);
  });

  test('hurries neither polls nor reports any more', async () => {
    const { limits, clock } = await ended({ rows: 1000 });
    clock.seconds += 1;
    expect(limits.counted([{ account: 1, user: 1, at: noon, up: 1000, down: 0 }])).toBe(1);
  });

  test('is not ended again by a report from before its contract changed', async () => {
    const { limits, ends, clock, pending } = await ended({ rows: 1000 });
    limits.forget({ account: 1 });
    clock.seconds += 20;
    limits.counted(pending());
    expect(ends).toEqual([[1, noon + 30]]);
  });

  test('is not ended longer than its billing period lasts', async () => {
    const { limits, ends, clock, pending } = await ended({ rows: 0 });
    limits.answered(pending(), [{ account: 1, left_bytes: 0, until: noon + 5 }]);
    expect(ends).toEqual([[1, noon + 5]]);
    clock.seconds += 5;
    limits.counted(pending());
    expect(ends).toHaveLength(1);
  });
});

test('a user is ended by the count of that user alone, and no other of the account', () => {
  const rows = [1, 2].map((user) => ({ account: 1, user, at: noon, up: 600, down: 0 }));
  const ends: unknown[] = [];
  let reports = 0;
  const limits = new Limits({
    ...{ ...usual, of: 'users', clock: new ModelClock().of(), log },
    journal: { pending: () => rows },
    end: (payer, until) => ends.push([payer, until]),
    report: () => reports++,
  });
  // There are many users, so a new one does not hurry a report.
  limits.counted(rows);
  expect([ends, reports]).toEqual([[], 0]);
  limits.answered(rows, [
    { account: 1, user: 1, left_bytes: 500, until: never },
    { account: 1, user: 2, left_bytes: 700, until: never },
  ]);
  expect([ends, reports]).toEqual([[[{ account: 1, user: 1 }, noon + 30]], 1]);
  limits.forget({ account: 1, user: 1 });
  limits.answered(rows, []);
  expect(ends).toHaveLength(1);
});
