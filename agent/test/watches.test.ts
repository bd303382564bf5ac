// Watches: the node answers at once and then every few seconds during a watch, and does nothing
// without one.
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LargestGroups, WatchValue } from '../../kit/src/node_interface.ts';
import { ControlError } from '../src/control_error.ts';
import type { OpenConnection } from '../src/engine.ts';
import { Watches } from '../src/link/watches.ts';

const connection: OpenConnection = {
  authority: { by: 'authlist', account: 1, user: 1, entry: 1, ip: '192.0.2.1' },
  ...{ service: 'proxy', address: '192.0.2.1', exit_ip: '198.51.100.1' },
  ...{ since: 100, last_byte_at: 100, up: 1, down: 1 },
};

let seconds: number;
let sleepers: Set<{ until: number; wake: () => void }>;
let looks: number;
let reports: Array<{ watch: number; groups: number; at: number }>;
let refusal: Error | undefined;
let watches: Watches;
let stopping: AbortController;
let running: Promise<void>;

beforeEach(() => {
  [seconds, looks, reports, refusal] = [0, 0, [], undefined];
  sleepers = new Set();
  watches = new Watches({
    engine: {
      connections: () => {
        looks += 1;
        return [connection, { ...connection, address: '192.0.2.2' }];
      },
    },
    control: {
      async reportConnections(watch: number, { groups }: LargestGroups) {
        reports.push({ watch, groups: groups.length, at: seconds });
        if (refusal) throw refusal;
      },
    },
    clock: { now: () => seconds, steady: () => seconds, sleep },
    log: pino({ level: 'silent' }),
  });
  stopping = new AbortController();
  running = watches.run(stopping.signal);
});
afterEach(async () => {
  stopping.abort();
  await running;
});

function sleep(pause: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const sleeper = { until: seconds + pause, wake: resolve };
    if (signal?.aborted || pause <= 0) return resolve();
    sleepers.add(sleeper);
    signal?.addEventListener('abort', () => {
      sleepers.delete(sleeper);
      resolve();
    });
  });
}

/** Lets this many seconds pass, a quarter at a time. */
async function pass(passing: number): Promise<void> {
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  };
  await settle();
  for (const end = seconds + passing; seconds < end; ) {
    seconds += 0.25;
    for (const sleeper of sleepers) {
      if (sleeper.until > seconds) continue;
      sleepers.delete(sleeper);
      sleeper.wake();
    }
    await settle();
  }
}

const note = (id: number, value: WatchValue | null = { lease_seconds: 30 }) =>
  watches.note({ kind: 'connections', id, value });
const timesOf = (id: number) => reports.flatMap(({ watch, at }) => (watch === id ? [at] : []));

test('a watch is answered at once, every three seconds, and ends with its lease', async () => {
  await pass(60);
  expect(looks, 'without a watch nothing is looked at').toBe(0);
  const start = seconds;
  note(7);
  await pass(60);
  const times = timesOf(7).map((at) => at - start);
  expect(times[0]).toBe(0);
  expect(times.length).toBeGreaterThanOrEqual(9);
  expect(times.length).toBeLessThanOrEqual(11);
  expect(times.at(-1)).toBeLessThan(30);
  expect(watches.size).toBe(0);
});

test('watches that come one after the other share the looks after the first', async () => {
  for (let id = 1; id <= 20; id += 1) {
    note(id);
    await setImmediate();
  }
  expect(timesOf(1)).toEqual([seconds]);
  await pass(0.5);
  expect(new Set(reports.map(({ watch }) => watch)).size).toBe(20);
  expect(looks).toBe(2);
});

test('a renewal extends it, and a record without a value ends it', async () => {
  note(7);
  await pass(20);
  note(7);
  await pass(25);
  expect(timesOf(7).at(-1)).toBeGreaterThan(40);
  note(7, null);
  const { length } = reports;
  await pass(10);
  expect(reports).toHaveLength(length);
});

test('each watch gets what its filter lets through, and all that are due share one look', async () => {
  note(7);
  note(8, { lease_seconds: 30, address: '192.0.2.2' });
  note(9, { lease_seconds: 30, account: 2 });
  await pass(2);
  expect(reports.map(({ watch, groups }) => [watch, groups])).toEqual([
    [7, 2],
    [8, 1],
    [9, 0],
  ]);
  expect(looks).toBe(1);
});

test('one that the control plane does not know is over, and a failing report is sent again later', async () => {
  refusal = new ControlError('away', {});
  note(7);
  await pass(4);
  expect(timesOf(7)).toHaveLength(2);
  refusal = new ControlError('over', { status: 404 });
  await pass(4);
  expect([timesOf(7).length, watches.size]).toEqual([3, 0]);
});

test('a control plane that asks for more and more at once keeps no node busy for ever', async () => {
  for (let id = 1; id <= 1000; id += 1) note(id, { lease_seconds: 1e9 });
  expect(watches.size).toBe(256);
  await pass(70);
  expect(watches.size).toBe(0);
});
