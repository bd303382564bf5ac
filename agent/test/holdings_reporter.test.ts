// Holdings of users with limits are reported when they change, asked about again while they are
// shared, and forgotten with their lease.
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ControlError } from '../src/control_error.ts';
import { HoldingsReporter } from '../src/link/holdings_reporter.ts';
import type { Elsewhere, Holding } from '../src/user_counts.ts';

function scene() {
  let now = 1000;
  const [reports, shared]: [unknown[], unknown[]] = [[], []];
  const state = { held: [] as Holding[], answer: [] as Elsewhere[], error: undefined as unknown };
  const sleepers: Array<() => void> = [];
  const reporter = new HoldingsReporter({
    engine: { held: () => state.held, share: (elsewhere) => shared.push(elsewhere) },
    control: {
      async reportHoldings({ whole, users, ...range }) {
        if (state.error) throw await state.error;
        reports.push([whole, users, ...Object.values(range)]);
        return state.answer;
      },
    },
    clock: {
      ...{ now: () => now, steady: () => now },
      sleep: () => new Promise((wake) => sleepers.push(wake)),
    },
    log: pino({ level: 'silent' }),
  });
  const look = async (seconds = 1) => {
    now += seconds;
    await reporter.look();
    return { reported: reports.splice(0), shared: shared.splice(0).at(-1) };
  };
  /** Wakes all sleepers. */
  const pass = async (seconds: number) => {
    now += seconds;
    for (const wake of sleepers.splice(0)) wake();
    await setImmediate();
    return shared.at(-1);
  };
  return { state, look, pass, reporter };
}
const holding = (user: number, connections: number, ...networks: string[]): Holding => ({
  ...{ account: 1, user, connections, networks },
});

test('the first report is whole, and then only changes are reported', async () => {
  const { state, look } = scene();
  expect((await look()).reported).toEqual([[true, []]]);
  expect((await look()).reported).toEqual([]);
  state.held = [holding(1, 1, '192.0.2.1'), holding(2, 3)];
  expect((await look()).reported).toEqual([[false, state.held]]);
  // Another node may have reported at the same moment.
  expect((await look(1)).reported).toEqual([]);
  expect((await look(1)).reported).toEqual([[false, state.held]]);
  expect((await look(5)).reported).toEqual([]);
  state.held = [holding(2, 4)];
  expect((await look()).reported).toEqual([[false, [holding(2, 4), holding(1, 0)]]]);
  // Anything that was lost is reported again within a minute.
  expect((await look(60)).reported).toEqual([[true, [holding(2, 4)]]]);
  state.held = [];
  await look();
  expect((await look(600)).reported).toEqual([]);
});

test('users who are elsewhere, too, or were refused for it, are asked about again', async () => {
  const { state, look } = scene();
  state.held = [holding(1, 1)];
  state.answer = [{ account: 1, user: 1, connections: 2, ahead: 2, networks: [] }];
  expect(await look()).toEqual({ reported: [[true, state.held]], shared: state.answer });
  expect((await look(1)).reported).toEqual([]);
  expect((await look(1)).reported).toEqual([[false, state.held]]);
  state.held = [{ ...holding(1, 1), was_refused: true }];
  state.answer = [{ account: 1, user: 1, connections: 0, ahead: 0, networks: [] }];
  expect((await look(1)).reported).toEqual([[false, [holding(1, 1)]]]);
  state.held = [holding(1, 1)];
  expect((await look(10)).reported).toEqual([]);
  [state.held, state.answer] = [[], []];
  expect((await look(1)).shared).toEqual([]);
});

test('without the control plane what is known is used until the lease ends, and then the own count alone', async () => {
  const { state, look } = scene();
  state.held = [holding(1, 1)];
  state.answer = [{ account: 1, user: 1, connections: 2, ahead: 0, networks: [] }];
  await look();
  state.error = new ControlError('it is away');
  expect((await look(20)).shared).toEqual(state.answer);
  expect((await look(25)).shared).toEqual(state.answer);
  expect((await look(1)).shared).toEqual([]);
  state.error = undefined;
  // After an outage it is unknown which reports arrived.
  expect((await look(61)).reported).toEqual([[true, state.held]]);
});

test('changes of other users do not keep a shared user from being asked about', async () => {
  const { state, look } = scene();
  state.answer = [{ account: 1, user: 1, connections: 2, ahead: 2, networks: [] }];
  for (let second = 0; second < 2; second += 1) {
    state.held = [holding(1, 1), holding(2, second + 1)];
    await look();
  }
  state.held = [holding(1, 1), holding(2, 3)];
  expect((await look()).reported).toEqual([[false, state.held]]);
});

test('a lease ends while a report waits for its answer', async () => {
  const { state, pass, reporter } = scene();
  state.held = [holding(1, 1)];
  state.answer = [{ account: 1, user: 1, connections: 2, ahead: 0, networks: [] }];
  void reporter.run(new AbortController().signal);
  expect(await pass(0)).toEqual(state.answer);
  state.error = new Promise(() => {});
  expect(await pass(4)).toEqual(state.answer);
  expect(await pass(41)).toEqual(state.answer);
  expect(await pass(1)).toEqual([]);
});

test('when the control plane is there again, everything is reported at once', async () => {
  const { state, look, reporter } = scene();
  state.held = [holding(1, 1)];
  await look();
  state.error = new ControlError('it is away');
  state.held = [holding(1, 2)];
  await look();
  state.error = undefined;
  expect((await look(0)).reported).toEqual([]);
  reporter.retry();
  expect((await look(0)).reported).toEqual([[true, state.held]]);
  // Other nodes may come back at the same moment.
  expect((await look(2)).reported).toEqual([[false, state.held]]);
  expect((await look(2)).reported).toEqual([]);
  state.held = [];
  await look();
  reporter.retry();
  expect((await look(0)).reported).toEqual([[true, []]]);
});

test('a control plane that does not know of it is left alone, and asked again within a minute', async () => {
  const { state, look } = scene();
  state.error = new ControlError('not found', { status: 404 });
  await look();
  state.error = undefined;
  expect((await look(29)).reported).toEqual([]);
  expect((await look(31)).reported).toEqual([[true, []]]);
});

test('many users, or addresses, are reported in several parts, each whole from one user to another', async () => {
  const { state, look } = scene();
  state.held = Array.from({ length: 4500 }, (_, at) => holding(at + 1, 1)).reverse();
  const parts: unknown[] = [];
  const reported = new Set<number>();
  // News does not wait for the last part. Users who are asked about again after two seconds do not
  // displace those who wait.
  for (let at = 0; at < 3; at += 1) {
    for (const [whole, users, ...range] of (await look()).reported as Part[]) {
      parts.push([whole, users.length, ...range.map(({ user }) => user)]);
      for (const { user } of users) reported.add(user);
    }
  }
  expect(parts).toEqual([
    [true, 2000, 2000],
    [false, 2000],
    [true, 2000, 2000, 4000],
    [false, 2000],
    [true, 500, 4000],
  ]);
  expect(reported.size).toBe(4500);
});
type Part = [whole: boolean, users: Holding[], ...range: Holding[]];

test('a user with short connections here is limited by those elsewhere for five seconds', async () => {
  const { state, look } = scene();
  state.answer = [{ account: 1, user: 1, connections: 2, ahead: 2, networks: [] }];
  state.held = [holding(1, 0)];
  expect((await look()).reported).toEqual([[true, state.held]]);
  state.held = [];
  expect((await look(4)).shared).toEqual(state.answer);
  expect((await look(1)).shared).toEqual([]);
});
