// The usage journal: after a crash at any byte, nothing that counts as stored is lost, and nothing
// counts twice.

import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { UsageBatch, UsageRow } from '../../kit/src/node_interface.ts';
import { tries } from '../../test/effort.ts';
import { testFolder } from '../../test/test_folder.ts';
import { Journal } from '../src/usage/journal.ts';
import type { Tick } from '../src/usage/journal_state.ts';

const log = pino({ level: 'silent' });
const noon = 1_800_014_400;
const folder = testFolder('journal');
let files = 0;

const newPath = () => join(folder, `${++files}.journal`);
const open = (path: string) => Journal.open(path, { log });
const rowOf = (account: number, up: number, at = noon): UsageRow => ({
  account,
  user: 1,
  at,
  up,
  down: 2 * up,
});
const tickOf = (rows: UsageRow[], more: Partial<Tick> = {}): Tick => ({
  rows,
  cursor: undefined,
  counted: [],
  settled: [],
  carry: [],
  ...more,
});
const stateOf = (journal: Journal) => ({
  boot: journal.boot,
  cursor: journal.cursor,
  counted: [...journal.counted],
  carry: [...journal.carry],
  newest_at: journal.newest_at,
  pending: journal.pending(),
});

/** Bytes by user and hour, as bigints: many huge rows exceed the range of exact numbers. */
class Sums {
  readonly #bytes = new Map<string, bigint>();
  add(rows: UsageRow[]): void {
    for (const { account, user, at, up, down } of rows) {
      for (const [way, bytes] of [
        ['up', up],
        ['down', down],
      ] as const) {
        const key = `${account} ${user} ${Math.floor(at / 3600)} ${way}`;
        this.#bytes.set(key, (this.#bytes.get(key) ?? 0n) + BigInt(bytes));
      }
    }
  }
  all(): Record<string, bigint> {
    return Object.fromEntries([...this.#bytes].filter(([, bytes]) => bytes > 0).sort());
  }
}

/** A control plane by docs/node.md: a batch counts once by its name, whatever it contains. */
class ControlPlane {
  readonly sums = new Sums();
  readonly #contents = new Map<string, string>();
  has({ boot, seq }: { boot: string; seq: number }): boolean {
    return this.#contents.has(`${boot} ${seq}`);
  }
  take(batch: UsageBatch): void {
    const name = `${batch.boot} ${batch.seq}`;
    const content = JSON.stringify(batch.rows);
    // With one name for two contents, one of them would be lost.
    expect(this.#contents.get(name) ?? content).toBe(content);
    if (!this.#contents.has(name)) this.sums.add(batch.rows);
    this.#contents.set(name, content);
  }
}

interface Crash {
  at: 'tick' | 'next' | 'acknowledged';
  /** How much of what the step wrote is on disk, of 1000. */
  kept: number;
}

type Step =
  | { step: 'tick'; rows: UsageRow[]; fat: boolean }
  | { step: 'send'; isDelivered: boolean; isAnswered: boolean }
  | { step: 'restart' };

const anyRow = fc.record({
  account: fc.integer({ min: 1, max: 2 }),
  user: fc.integer({ min: 1, max: 2 }),
  at: fc.integer({ min: noon - 3600, max: noon + 3600 }),
  up: fc.oneof(fc.nat(1000), fc.constant(2 ** 50 - 500), fc.constant(2 ** 51 + 1)),
  down: fc.nat(1000),
});
const anyStep = fc.record({
  step: fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        step: fc.constant('tick' as const),
        rows: fc.array(anyRow, { maxLength: 3 }),
        fat: fc.boolean(),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        step: fc.constant('send' as const),
        isDelivered: fc.boolean(),
        isAnswered: fc.boolean(),
      }),
    },
    { weight: 1, arbitrary: fc.record({ step: fc.constant('restart' as const) }) },
  ) as fc.Arbitrary<Step>,
  crash: fc.option(
    fc.record<Crash>({
      at: fc.constantFrom('tick', 'next', 'acknowledged'),
      kept: fc.integer({ min: 0, max: 1000 }),
    }),
    { freq: 2 },
  ),
});

test('every tick counts once, whatever crashes at whatever byte and whichever answers are lost', async () => {
  let rewritten = 0;
  const history = async (steps: Array<{ step: Step; crash: Crash | null }>) => {
    const path = newPath();
    const control = new ControlPlane();
    const truth = new Sums();
    let journal = await open(path);
    let ticks = 0;

    /**
     * Runs one step of the journal. In a crash, the file keeps a part of it, and this returns
     * undefined.
     */
    const survive = async <T>(action: () => Promise<T>, size: number | undefined) => {
      const before = readFileSync(path);
      const result = await action();
      const after = readFileSync(path);
      const isAppended = after.subarray(0, before.length).equals(before);
      if (!isAppended) rewritten += 1;
      if (size === undefined) return { result };
      await journal.close();
      // The lines before the rewrite end with the last but one.
      const safe = isAppended ? before.length : after.lastIndexOf(10, -2) + 1;
      truncateSync(path, safe + Math.round(((after.length - safe) * size) / 1000));
      if (!isAppended && size < 300) writeFileSync(path, before);
      journal = await open(path);
      return undefined;
    };

    for (const { step, crash } of steps) {
      const keptAt = (at: Crash['at']) => (crash?.at === at ? crash.kept : undefined);
      if (step.step === 'restart') {
        await journal.close();
        const before = stateOf(journal);
        journal = await open(path);
        expect(stateOf(journal)).toEqual(before);
      } else if (step.step === 'tick') {
        const cursor = { tick: ++ticks, ballast: step.fat ? 'x'.repeat(400_000) : '' };
        await survive(() => journal.append(tickOf(step.rows, { cursor })), keptAt('tick'));
        // The cursor shows whether the tick is stored. If not, an engine reports its traffic again.
        if ((journal.cursor as typeof cursor | undefined)?.tick === ticks) truth.add(step.rows);
      } else {
        const handedOut = await survive(() => journal.next(), keptAt('next'));
        const batch = handedOut?.result;
        if (!batch || !step.isDelivered) continue;
        control.take(batch);
        if (!step.isAnswered) continue;
        await survive(() => journal.acknowledged(batch.seq), keptAt('acknowledged'));
      }
    }
    for (let batch = await journal.next(); batch; batch = await journal.next()) {
      control.take(batch);
      await journal.acknowledged(batch.seq);
    }
    expect(control.sums.all()).toEqual(truth.all());
    expect(journal.pending()).toEqual([]);
    await journal.close();
    rmSync(path);
  };
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 40, size: 'max' }), history),
    { numRuns: tries(30) },
  );
  // In every run: a crash in each tick up to a rewrite, which long cursors cause, and in the
  // rewrite.
  const before = rewritten;
  for (const size of [0, 299, 300, 1000]) {
    for (let last = 1; last <= 8; last++) {
      await history(
        Array.from({ length: last + 1 }, (_, at) => ({
          step: { step: 'tick' as const, rows: [], fat: true },
          crash: at === last ? { at: 'tick' as const, kept: size } : null,
        })),
      );
    }
  }
  expect(rewritten - before).toBeGreaterThan(5);
});

describe('a journal', () => {
  test('continues after a restart with its name, its numbers and all counts', async () => {
    const path = newPath();
    const journal = await open(path);
    const traffic = { connection: 'c1', account: 1, user: 1, up: 5, down: 6 };
    const carry = { account: 1, user: 2, up: 7, down: 0 };
    await journal.append(
      tickOf([rowOf(1, 10)], { cursor: { at: 1 }, counted: [traffic], carry: [carry] }),
    );
    expect(await journal.next()).toEqual({ boot: journal.boot, seq: 1, rows: [rowOf(1, 10)] });
    await journal.acknowledged(1);
    await journal.append(tickOf([rowOf(2, 20)], { cursor: { at: 2 } }));
    await journal.close();

    const again = await open(path);
    expect(stateOf(again)).toEqual(stateOf(journal));
    expect([again.cursor, again.counted.get('c1'), again.carry.get('1 2')]).toEqual([
      { at: 2 },
      traffic,
      carry,
    ]);
    expect(await again.next()).toEqual({ boot: journal.boot, seq: 2, rows: [rowOf(2, 20)] });
    await again.append(tickOf([], { settled: ['c1'], carry: [{ ...carry, up: 0 }] }));
    expect([again.counted.size, again.carry.size]).toEqual([0, 0]);
    await again.close();
    const other = await open(newPath());
    expect(other.boot).not.toBe(journal.boot);
    await other.close();
  });

  test('sends the same batch until it is acknowledged, of at most 20000 rows', async () => {
    const journal = await open(newPath());
    const rows = Array.from({ length: 20_001 }, (_, index) => rowOf(index + 1, 1));
    await journal.append(tickOf(rows));
    const first = await journal.next();
    expect(first?.rows).toEqual(rows.slice(0, 20_000));
    await journal.append(tickOf([rowOf(1, 1)]));
    expect(await journal.next()).toEqual(first);
    await journal.acknowledged(7);
    expect(await journal.next()).toEqual(first);
    await journal.acknowledged(1);
    const second = await journal.next();
    expect(second).toMatchObject({ seq: 2, rows: [rowOf(20_001, 1), rowOf(1, 1)] });
    await journal.acknowledged(2);
    expect(await journal.next()).toBeUndefined();
    await journal.close();
  });

  test('grows by users and hours in memory, and is rewritten when most of it is over', async () => {
    const path = newPath();
    const journal = await open(path);
    const ballast = 'x'.repeat(50_000);
    let longest = 0;
    for (let second = 0; second < 100; second += 1) {
      await journal.append(tickOf([rowOf(1, 1, noon + second)], { cursor: { second, ballast } }));
      longest = Math.max(longest, statSync(path).size);
    }
    expect(journal.pending()).toEqual([rowOf(1, 100, noon + 99)]);
    expect(longest).toBeLessThan(2 ** 20 + 100_000);
    await journal.append(tickOf([rowOf(1, 1, noon + 3600)]));
    expect(journal.pending()).toHaveLength(2);
    await journal.close();
    const again = await open(path);
    expect(stateOf(again)).toEqual(stateOf(journal));
    await again.close();
    expect(readdirSync(folder).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  test('splits what is more than the control plane takes in one row, and loses no byte', async () => {
    const journal = await open(newPath());
    await journal.append(tickOf([{ ...rowOf(1, 0), up: Number.MAX_SAFE_INTEGER }]));
    const { rows } = (await journal.next()) as UsageBatch;
    expect(rows).toHaveLength(8);
    expect(Math.max(...rows.map(({ up }) => up))).toBe(2 ** 50);
    expect(rows.reduce((sum, { up }) => sum + up, 0)).toBe(Number.MAX_SAFE_INTEGER);
    await journal.close();
  });

  test('wakes who waits for something to send', async () => {
    const journal = await open(newPath());
    const stop = new AbortController();
    const happened: string[] = [];
    const waiting = journal.whenPending(stop.signal).then(() => happened.push('woken'));
    await journal.append(tickOf([]));
    happened.push('nothing to send');
    await journal.append(tickOf([rowOf(1, 1)]));
    await waiting;
    expect(happened).toEqual(['nothing to send', 'woken']);
    await journal.acknowledged((await journal.next())?.seq ?? 0);
    const stopped = journal.whenPending(stop.signal);
    stop.abort();
    await stopped;
    await journal.close();
  });

  test('refuses a file that is damaged elsewhere than at its end, or that it does not know', async () => {
    const path = newPath();
    const journal = await open(path);
    for (const account of [1, 2, 3]) await journal.append(tickOf([rowOf(account, 1)]));
    await journal.close();
    const bytes = readFileSync(path);
    const broken = Buffer.from(bytes);
    broken.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
    for (const content of [broken, Buffer.alloc(0), Buffer.from('a diary\n')]) {
      writeFileSync(path, content);
      await expect(open(path)).rejects.toThrow(`${path} is damaged at byte`);
      expect(readFileSync(path)).toEqual(content);
    }
    const newer = newPath();
    writeFileSync(newer, '717bd2bb {"kind":"wish"}\n');
    await expect(open(newer)).rejects.toThrow(/"wish" is not known; was it written by a newer/);
  });

  test('lets one caller after another write', async () => {
    const path = newPath();
    const journal = await open(path);
    const appended = [1, 2, 3].map((account) => journal.append(tickOf([rowOf(account, 1)])));
    const batches = await Promise.all([journal.next(), journal.next()]);
    await Promise.all(appended);
    const rows = [1, 2, 3].map((account) => rowOf(account, 1));
    expect(batches).toMatchObject([
      { seq: 1, rows },
      { seq: 1, rows },
    ]);
    await journal.close();
    const again = await open(path);
    expect(stateOf(again)).toEqual(stateOf(journal));
    await again.close();
  });

  test('still has the cursor when it crashes right after a rewriting that left nothing else', async () => {
    const path = newPath();
    let journal = await open(path);
    const ballast = 'x'.repeat(600_000);
    for (const at of [1, 2]) await journal.append(tickOf([], { cursor: { at, ballast } }));
    await journal.append(tickOf([], { cursor: { at: 3 } }));
    await journal.close();
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    writeFileSync(path, `${lines.slice(0, 2).join('\n')}\n`);
    journal = await open(path);
    expect(journal.cursor).toEqual({ at: 2, ballast });
    await journal.close();
  });

  test('is rewritten at a start, as what it reads may be on no disk; where it cannot be, that is a fault, and nothing of it is reported', async () => {
    const path = newPath();
    const journal = await open(path);
    await journal.append(tickOf([rowOf(1, 5)]));
    const batch = await journal.next();
    await journal.close();
    const { ino } = statSync(path);
    mkdirSync(`${path}.new`);
    const hindered = await open(path);
    expect(hindered.pending()).toEqual([rowOf(1, 5)]);
    expect(hindered.faults()).toEqual([expect.stringContaining('cannot be written')]);
    await expect(hindered.next()).rejects.toThrow();
    await expect(hindered.append(tickOf([rowOf(2, 5)]))).rejects.toThrow();
    rmdirSync(`${path}.new`);
    expect(await hindered.next()).toEqual(batch);
    expect(hindered.faults()).toEqual([]);
    // The inode differs: the new file was created while the old one existed.
    expect(statSync(path).ino).not.toBe(ino);
    await hindered.close();
    const again = await open(path);
    expect(await again.next()).toEqual(batch);
    await again.close();
  });

  test('does not mind what a crash left of a rewriting', async () => {
    const path = newPath();
    const journal = await open(path);
    await journal.append(tickOf([rowOf(1, 1)]));
    await journal.close();
    writeFileSync(`${path}.new`, 'half of a li');
    const again = await open(path);
    await again.append(tickOf([rowOf(1, 1)]));
    expect(again.pending()).toEqual([rowOf(1, 2)]);
    await again.close();
  });
});

test('a disk that takes no more bytes: the tick fails as a whole, and succeeds when there is room again', () => {
  const path = newPath();
  // In a process of its own, so that the limit does not affect other tests.
  const program = `
    import { execFileSync } from 'node:child_process';
    import { readFileSync } from 'node:fs';
    import { pino } from 'pino';
    import { Journal } from ${JSON.stringify(join(import.meta.dirname, '../src/usage/journal.ts'))};
    const path = ${JSON.stringify(path)};
    const log = pino({ level: 'silent' });
    const limit = (bytes) => execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=' + bytes + ':']);
    const tick = (cursor) => ({ rows: [{ account: 1, user: 1, at: ${noon}, up: 1, down: 1 }], cursor, counted: [], settled: [], carry: [] });
    const journal = await Journal.open(path, { log });
    await journal.append(tick(1));
    limit(readFileSync(path).length + 40);
    const seen = [];
    for (const attempt of [1, 2]) {
      const error = await journal.append(tick(2)).catch((error) => error.code);
      seen.push([error, journal.cursor, journal.pending()[0].up, journal.faults().length]);
    }
    limit('unlimited');
    await journal.append(tick(2));
    seen.push([journal.cursor, journal.pending()[0].up, journal.faults().length]);
    await journal.close();
    const again = await Journal.open(path, { log });
    seen.push([again.cursor, again.pending()[0].up]);
    console.log(JSON.stringify(seen));
  `;
  const output = execFileSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  });
  expect(JSON.parse(output)).toEqual([
    ['EFBIG', 1, 1, 1],
    ['EFBIG', 1, 1, 1],
    [2, 2, 0],
    [2, 2],
  ]);
});
