import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { UsageBatch, UsageRow } from '../../kit/src/node_interface.ts';
import { keptLog, startTestApp } from '../../server/test/harness.ts';
import { testFolder } from '../../test/test_folder.ts';
import type { Clock } from '../src/clock.ts';
import { ControlError } from '../src/control_error.ts';
import { Journal } from '../src/usage/journal.ts';
import { Sender, type UsageAnswer } from '../src/usage/sender.ts';

const noon = 1_800_014_400;
const day = 86_400;
const folder = testFolder('sender');
let files = 0;

const rowOf = (account: number, up: number, at = noon): UsageRow => ({
  account,
  user: 1,
  at,
  up,
  down: 0,
});

function rejection(status: number, message: string, about: object = {}): Error {
  return new ControlError(message, { status, ...about });
}

/** The rejection of the first row for its age. */
const tooOld = (about: object = {}) =>
  rejection(400, 'Too old.', { code: 'invalid_field', field: 'rows.0.at', ...about });
const answerOf = (left_out: number[] = []) => ({
  counted: true,
  held: false,
  left_out,
  limits: [],
});

/** Gives the scripted responses in turn, then counts everything. */
class ScriptedControl {
  readonly sent: UsageBatch[] = [];
  readonly script: Array<Error | UsageAnswer> = [];
  async reportUsage(batch: UsageBatch): Promise<UsageAnswer> {
    this.sent.push(batch);
    const answer = this.script.shift() ?? answerOf();
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

let journal: Journal;
let control: ScriptedControl;
let stop: AbortController;
let log: ReturnType<typeof keptLog>;
/** The lengths of its waits. */
let slept: number[];
let clock: Clock;
const newSender = () => new Sender({ journal, control, clock, log: log.log, report_seconds: 3 });
const messages = () => log.lines.map(({ msg }) => msg);
const add = (rows: UsageRow[]) =>
  journal.append({ rows, cursor: undefined, counted: [], settled: [], carry: [] });
const untilSent = () =>
  vi.waitFor(() => expect(journal.pending()).toEqual([]), { timeout: 90_000, interval: 1 });
/** Runs until everything is acknowledged. */
async function runUntilSent(sender = newSender()): Promise<void> {
  const running = sender.run(stop.signal);
  await untilSent();
  stop.abort();
  await running;
}

beforeEach(async () => {
  log = keptLog();
  journal = await Journal.open(join(folder, `${++files}.journal`), { log: log.log });
  control = new ScriptedControl();
  stop = new AbortController();
  slept = [];
  clock = {
    now: () => noon,
    steady: () => 0,
    async sleep(seconds) {
      slept.push(seconds);
    },
  };
  return () => journal.close();
});

test('rows are sent as soon as there are any, one batch after another, with a rest between', async () => {
  const running = newSender().run(stop.signal);
  for (const account of [1, 2]) {
    await add([rowOf(account, 10)]);
    await untilSent();
  }
  stop.abort();
  await running;
  expect(control.sent).toEqual([
    { boot: journal.boot, seq: 1, rows: [rowOf(1, 10)] },
    { boot: journal.boot, seq: 2, rows: [rowOf(2, 10)] },
  ]);
  expect(slept).toEqual([3, 3]);
});

test('what comes while it rests is one batch, and a stop ends the rest', async () => {
  clock.sleep = (_, signal) =>
    new Promise((resolve) => {
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  await add([rowOf(1, 10)]);
  const sender = newSender();
  const running = sender.run(stop.signal);
  await untilSent();
  await add([rowOf(1, 20)]);
  await add([rowOf(1, 30)]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(control.sent).toHaveLength(1);
  stop.abort();
  await running;
  expect(control.sent).toHaveLength(1);
  await sender.send();
  expect(control.sent[1]).toMatchObject({ seq: 2, rows: [rowOf(1, 50)] });
});

test('after an outage a batch is sent as soon as the control plane is heard again, whatever is left of the delay', async () => {
  clock.sleep = (seconds, signal) =>
    new Promise((resolve) => {
      slept.push(seconds);
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  control.script.push(new Error('no answer'), new Error('no answer'));
  await add([rowOf(1, 10)]);
  const sender = newSender();
  const running = sender.run(stop.signal);
  for (const failures of [1, 2]) {
    await vi.waitFor(() => expect(slept).toHaveLength(failures), { timeout: 90_000, interval: 1 });
    // A near limit does not shorten the delay.
    sender.hurry();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(control.sent).toHaveLength(failures);
    sender.retry();
  }
  expect(slept.every((seconds) => seconds <= 2)).toBe(true);
  await untilSent();
  stop.abort();
  await running;
  expect(control.sent).toHaveLength(3);
});

test('numbers rise in a journal, also past what was too old and over a restart', async () => {
  await journal.close();
  const path = join(folder, 'numbers.journal');
  const numbers: Array<[string, number]> = [];
  for (const at of [noon, noon - 41 * day, noon]) {
    journal = await Journal.open(path, { log: log.log });
    await add([rowOf(1, 10, at)]);
    if (at < noon) control.script.push(tooOld());
    await newSender().send();
    const { boot, seq } = control.sent.at(-1) as UsageBatch;
    numbers.push([boot, seq]);
    await journal.close();
  }
  expect(numbers).toEqual([1, 2, 3].map((seq) => [journal.boot, seq]));
});

test.each([
  ['the network', new Error('connect ECONNREFUSED')],
  ['a revoked token', rejection(401, 'The token is not known.')],
  ['a conflict', rejection(409, 'Take a new snapshot.')],
  ['a fault', rejection(400, 'rows.0.user: 0 is less than 1.')],
  ['a field', rejection(400, 'Not valid.', { code: 'invalid_field', field: 'rows.0.user' })],
  ['an overload', rejection(503, 'Try again later. rows.0.at: older than you think.')],
])(
  'a batch that fails for %s is kept and sent again under its name, after a growing, random delay',
  async (_, failure) => {
    control.script.push(...Array.from({ length: 9 }, () => failure));
    await add([rowOf(1, 10)]);
    const sender = newSender();
    clock.sleep = async (seconds) => {
      // After that there is a pause.
      if (control.sent.length > 9) return;
      slept.push(seconds);
      expect(sender.faults()).toEqual([`Usage cannot be reported: ${failure.message}`]);
      await add([rowOf(1, 1)]);
    };
    await runUntilSent(sender);
    expect(sender.faults()).toEqual([]);
    expect(control.sent.slice(0, 10)).toEqual(
      Array.from({ length: 10 }, () => ({ boot: journal.boot, seq: 1, rows: [rowOf(1, 10)] })),
    );
    expect(control.sent[10]).toMatchObject({ seq: 2, rows: [rowOf(1, 9)] });
    for (const [index, seconds] of slept.entries()) {
      const max = [2, 4, 8, 16, 32, 60, 60, 60, 60][index] ?? 0;
      expect(seconds).toBeGreaterThanOrEqual(max / 2);
      expect(seconds).toBeLessThanOrEqual(max);
    }
    expect(new Set(slept.slice(5)).size).toBeGreaterThan(1);
  },
);

test('rows that are too old are dropped with a cry, and the rest is sent', async () => {
  const old = [rowOf(1, 10, noon - 50 * day), rowOf(3, 30, noon - 60 * day)];
  await add([old[0] as UsageRow, rowOf(2, 20), old[1] as UsageRow]);
  control.script.push(tooOld());
  await runUntilSent();
  expect(control.sent[1]).toEqual({ boot: journal.boot, seq: 1, rows: [rowOf(2, 20)] });
  expect(log.lines).toMatchObject([{ level: 50, rows: 2, bytes: 40, first: old }]);
  expect(slept).toEqual([3]);
});

test('a batch whose rows are all too old is dropped', async () => {
  await add([rowOf(1, 10, 1)]);
  control.script.push(tooOld());
  await runUntilSent();
  expect(control.sent).toHaveLength(1);
});

describe('rows that are too old by the clock of the control plane alone', () => {
  test('are sent with as much added as our clock is behind, which is a fault', async () => {
    const sender = newSender();
    const days = 100.5;
    const sendFrom = async (rows: UsageRow[], rejections: number) => {
      await add(rows);
      for (let remaining = rejections; remaining > 0; remaining--) {
        control.script.push(tooOld({ answered_at: noon + days * day }));
      }
      await sender.send();
    };
    await sendFrom([rowOf(1, 10), rowOf(2, 20, noon - 60)], 1);
    expect(control.sent[1]).toEqual({
      boot: journal.boot,
      seq: 1,
      rows: [rowOf(1, 10, noon + days * day), rowOf(2, 20, noon - 60 + days * day)],
    });
    expect(sender.faults()).toEqual([
      "The clock of this machine is 100.5 days behind the control plane's; correct it (timedatectl).",
    ]);
    await sendFrom([rowOf(1, 30)], 1);
    expect(sender.faults()).toHaveLength(1);
    expect(log.lines).toHaveLength(1);
    await sendFrom([rowOf(1, 40)], 0);
    expect(sender.faults()).toEqual([]);
    expect(messages()).not.toContainEqual(expect.stringMatching(/^usage is lost/));
  });

  test('except those that are too old by ours, too', async () => {
    await add([rowOf(1, 10, noon - 41 * day), rowOf(2, 20)]);
    const rejected = tooOld({ answered_at: noon + 50 * day });
    control.script.push(rejected, rejected);
    await newSender().send();
    expect(control.sent.at(-1)?.rows).toEqual([rowOf(2, 20, noon + 50 * day)]);
    expect(log.lines).toMatchObject([{ rows: 1, bytes: 10 }, { level: 50 }]);
  });

  test.each([{}, { answered_at: noon + 5 }])(
    'are kept when it does not show that our clock is slow: %j',
    async (more) => {
      await add([rowOf(1, 10)]);
      control.script.push(...Array.from({ length: 9 }, () => tooOld(more)));
      await runUntilSent();
      expect(control.sent).toHaveLength(10);
      expect(control.sent.at(-1)).toMatchObject({ seq: 1, rows: [rowOf(1, 10)] });
    },
  );
});

test('rows that the control plane left out are reported', async () => {
  await add([rowOf(1, 10), rowOf(2, 20)]);
  control.script.push(answerOf([1]));
  await runUntilSent();
  expect(log.lines).toMatchObject([{ level: 40, rows: 1, bytes: 20, first: [rowOf(2, 20)] }]);
});

test('a batch that is held is as done, and reported; one that finds no room is kept, and sent again until it does', async () => {
  const t = await startTestApp(`sqlite:${join(folder, 'held.db')}`, {
    EXITWARD_NODE_MAX_BYTES_PER_SECOND: '1000',
  });
  await t.server('fra1');
  const { account } = await t.account('acme', { servers: ['fra1'] });
  const node = await t.node('fra1');
  const held = async () => (await t.operator.get('/held_usage')).body as Array<{ id: number }>;
  let refused = 0;
  const real = {
    async reportUsage(batch: UsageBatch) {
      const response = await node.send('POST', '/usage', batch);
      const body = (await response.json()) as UsageAnswer & { message: string; code?: string };
      if (response.status === 200) return body;
      expect([response.status, body.code]).toEqual([503, 'held_usage_full']);
      refused += 1;
      if (refused === 3) {
        const [oldest] = await held();
        await t.operator.delete(`/held_usage/${oldest?.id}`);
      }
      throw rejection(response.status, body.message, body);
    },
  };
  const sender = new Sender({ journal, control: real, clock, log: log.log, report_seconds: 3 });
  for (let number = 1; number <= 100; number += 1) {
    await add([rowOf(account.id, 10 ** 6 + number, t.now())]);
    await sender.send();
  }
  expect(journal.pending()).toEqual([]);
  expect(messages()).toHaveLength(100);
  expect(messages()[0]).toContain('billed when an operator accepts it');
  const last = [rowOf(account.id, 10 ** 6 + 101, t.now())];
  await add(last);
  await expect(sender.send()).rejects.toThrow('too much of it is held');
  expect(journal.pending()).toEqual(last);
  await runUntilSent(sender);
  expect(refused).toBe(3);
  expect(await held()).toMatchObject([...Array(99).fill({}), { bytes: 10 ** 6 + 101 }]);
  await t.stop();
});

test('the control plane itself: old rows are refused as the sender expects, the rest counts once', async () => {
  const t = await startTestApp(`sqlite:${join(folder, 'control.db')}`);
  await t.server('fra1');
  const acme = await t.account('acme', { servers: ['fra1'] });
  const node = await t.node('fra1');
  const { id } = acme.account;
  let lost = 1;
  const real = {
    async reportUsage(batch: UsageBatch) {
      const response = await node.send('POST', '/usage', batch);
      const body = (await response.json()) as { message: string; code?: string; field?: string };
      if (response.status !== 200) {
        throw rejection(response.status, body.message, { ...body, answered_at: t.now() });
      }
      // The first response is lost.
      if (lost-- > 0) throw new Error('socket hang up');
      return body as unknown as UsageAnswer;
    },
  };
  await add([
    rowOf(id, 1, t.now() - 41 * day),
    rowOf(id, 20, t.now() - 5),
    rowOf(999, 300, t.now()),
  ]);
  await runUntilSent(
    new Sender({ journal, control: real, clock, log: log.log, report_seconds: 3 }),
  );
  expect(messages()).toEqual([
    expect.stringMatching(/^usage is lost and will not be billed: rows\.0\.at: older than 40 days/),
    'usage cannot be reported; it will be sent again',
    expect.stringMatching(/^usage is lost/),
    'usage is reported again',
  ]);
  const contract = await t.as(acme).get('/contract');
  expect(contract.body.period.usage).toBe(20);
  await t.stop();
});
