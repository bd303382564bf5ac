// When authlist entries last let a connection in: how decisions are noted, and how they are
// reported.
import { describe, expect, test, vi } from 'vitest';
import { keptLog } from '../../server/test/harness.ts';
import type { Authority } from '../src/policy/decision.ts';
import { type LastUsed, LastUsedTimes } from '../src/policy/last_used.ts';
import { LastUsedReporter } from '../src/usage/last_used_reporter.ts';
import { HastyClock } from './hasty_clock.ts';

const minute = 1_800_000_000;
const by = (account: number, entry: number): Authority => ({
  by: 'authlist',
  account,
  user: 1,
  entry,
  ip: '192.0.2.10',
});

describe('what is noted', () => {
  test('is the latest minute of each entry, and is reported once', () => {
    const uses = new LastUsedTimes();
    for (const at of [minute + 59, minute + 121, minute + 60]) uses.note(by(1, 1), at);
    uses.note(by(2, 1), minute + 5);
    uses.note(by(1, 2), minute);
    expect(uses.take()).toEqual([
      { account: 1, entry: 1, at: minute + 120 },
      { account: 1, entry: 2, at: minute },
      { account: 2, entry: 1, at: minute },
    ]);
    expect(uses.take()).toEqual([]);
    uses.note(by(1, 1), minute + 125);
    expect(uses.take()).toEqual([{ account: 1, entry: 1, at: minute + 120 }]);
  });

  test('is nothing of tokens and of the checks of the node itself', () => {
    const uses = new LastUsedTimes();
    uses.note({ by: 'probe' }, minute);
    const claims = { kid: 'k', account: 1, user: 1, token_version: 1, expiry: minute };
    uses.note({ by: 'token', ...claims }, minute);
    expect(uses.take()).toEqual([]);
  });

  test('is bounded, whatever a helper reports: further entries are noted again once some were handed out', () => {
    const uses = new LastUsedTimes(1000);
    const reportFrom = (from: number) =>
      Array.from({ length: 900 }, (_, index) => ({
        account: Number.MAX_SAFE_INTEGER - (index % 7),
        entry: Number.MAX_SAFE_INTEGER - from - index,
        at: minute,
      }));
    for (let round = 0; round < 20; round += 1) uses.add(reportFrom(900 * round));
    const first = reportFrom(0)[0] as LastUsed;
    uses.add([
      { ...first, at: minute + 60 },
      { ...first, entry: 2 ** 60 },
    ]);
    const texts = { account: 'x'.repeat(1000), entry: 1, at: minute } as unknown as LastUsed;
    uses.add([texts]);
    const entries = uses.take(600);
    expect(entries).toContainEqual({ ...first, at: minute + 60 });
    uses.note(by(1, 1), minute);
    const rest = uses.take();
    expect(rest).toHaveLength(401);
    expect(rest).toContainEqual({ account: 1, entry: 1, at: minute });
    expect(
      new Set([...entries, ...rest].map(({ account, entry }) => `${account} ${entry}`)).size,
    ).toBe(1001);
  });

  test('is never invalid, which would make the control plane reject the whole report', () => {
    const uses = new LastUsedTimes();
    uses.add([
      { account: 0, entry: 1, at: minute },
      { account: 1, entry: -1, at: minute },
      { account: -5, entry: 1, at: minute },
      { account: 1, entry: 1, at: -minute },
      { account: 1, entry: 2, at: minute },
    ]);
    expect(uses.take()).toEqual([{ account: 1, entry: 2, at: minute }]);
  });

  test('is handed out in parts, each use in one of them', () => {
    const uses = new LastUsedTimes();
    for (let at = 0; at < 10; at += 1) uses.note(by(at % 3, at), minute);
    const parts = [uses.take(4), uses.take(4), uses.take(4), uses.take(4)];
    expect(parts.map(({ length }) => length)).toEqual([4, 4, 2, 0]);
    expect(new Set(parts.flat().map(({ entry }) => entry)).size).toBe(10);
  });
});

/**
 * A reporter with an engine and a control plane that the test scripts.
 */
function scene() {
  const engine = new LastUsedTimes();
  const reports: LastUsed[][] = [];
  const answers: Error[] = [];
  const { log, lines } = keptLog();
  const clock = new HastyClock();
  const lastUsed = new LastUsedReporter({
    engine: { takeLastUsed: async () => engine.take() },
    control: {
      async reportLastUsed(uses) {
        const error = answers.shift();
        if (error) throw error;
        reports.push(uses);
      },
    },
    clock,
    log,
  });
  const report = async () => {
    await lastUsed.collect();
    await lastUsed.send();
  };
  return { engine, reports, answers, lines, clock, lastUsed, report };
}

describe('the report', () => {
  test('is made each minute, while there is something to report', async () => {
    const { engine, reports, clock, lastUsed } = scene();
    const stop = new AbortController();
    const begin = clock.now();
    const running = lastUsed.run(stop.signal);
    for (let count = 1; count <= 3; count += 1) {
      engine.note(by(1, 1), clock.now());
      await vi.waitFor(() => expect(reports).toHaveLength(count), { timeout: 90_000, interval: 1 });
    }
    stop.abort();
    await running;
    expect(reports).toHaveLength(3);
    expect(clock.now() - begin).toBeGreaterThanOrEqual(180);
  });

  test('of many is several, of 5000 at most', async () => {
    const { engine, reports, report } = scene();
    for (let entry = 1; entry <= 12_000; entry += 1) engine.note(by(1, entry), minute);
    await report();
    expect(reports.map(({ length }) => length)).toEqual([5000, 5000, 2000]);
    expect(new Set(reports.flat().map(({ entry }) => entry)).size).toBe(12_000);
  });

  test.each([undefined, 401, 429, 503])(
    'that fails with status %s goes with the next, where later uses win',
    async (status) => {
      const { engine, reports, answers, lines, report } = scene();
      engine.note(by(1, 1), minute);
      engine.note(by(1, 2), minute);
      answers.push(Object.assign(new Error('away'), { status }));
      await report();
      expect(reports).toEqual([]);
      expect(lines).toMatchObject([{ err: { message: 'away' } }]);
      engine.note(by(1, 2), minute + 60);
      await report();
      expect(reports).toEqual([
        [
          { account: 1, entry: 1, at: minute },
          { account: 1, entry: 2, at: minute + 60 },
        ],
      ]);
    },
  );

  test('that is rejected for good is not sent again', async () => {
    const { engine, reports, answers, report } = scene();
    engine.note(by(1, 1), minute);
    answers.push(Object.assign(new Error('not valid'), { status: 400 }));
    await report();
    await report();
    engine.note(by(1, 2), minute);
    await report();
    expect(reports).toEqual([[{ account: 1, entry: 2, at: minute }]]);
  });
});
