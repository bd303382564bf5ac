// Crashes: wherever the agent is killed and whatever the disk has then, everything acknowledged is
// there, and nothing that was never received.

import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { tries } from '../../test/effort.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { Replica } from '../src/store/replica.ts';
import { Store } from '../src/store/store.ts';
import { storeCallsIn, story } from './crash_process.ts';
import { history, noon, seed, usual } from './histories.ts';
import {
  createFolder,
  epoch,
  inPieces,
  readStored,
  type StoreCall,
  snapshotText,
  stateAfter,
  stateOf,
} from './stored.ts';

const written = storeCallsIn(story);
const positionAfter = (changes: readonly StoreCall[]) => {
  const last = changes.findLast((change) => 'replaced' in change)?.replaced;
  const end = changes.at(-1);
  return last && end && 'revision' in end ? { epoch: last.epoch, revision: end.revision } : last;
};

function folder(): string {
  const { dir, remove } = createFolder();
  onTestFinished(remove);
  return dir;
}

/** The number of acknowledged calls; and, if it was not killed, the calls that changed the disk. */
function liveAndDie(dir: string, at: string): Promise<{ acknowledged: number; calls: string }> {
  const [preload, program] = [
    new URL('./crash_preload.ts', import.meta.url),
    new URL('./crash_process.ts', import.meta.url),
  ].map((url) => fileURLToPath(url));
  const args = ['--import', preload as string, program as string, dir];
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...bareEnvironment, CRASH_AT: at };
    execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
      if (error && error.signal !== 'SIGKILL') reject(new Error(stderr));
      const acknowledged = stdout.match(/^acknowledged \d+$/gm)?.length ?? 0;
      resolve({ acknowledged, calls: stdout.match(/^calls (\w+)$/m)?.[1] ?? '' });
    });
  });
}

/** Expects on disk all changes up to a call that is not before the last acknowledged one. */
async function expectPrefix(dir: string, acknowledged: number, death: string): Promise<number> {
  const stored = await readStored(dir);
  const length = [...written.keys(), written.length].findLast(
    (length) =>
      JSON.stringify(positionAfter(written.slice(0, length))) === JSON.stringify(stored.position),
  );
  expect(length, death).toBeGreaterThanOrEqual(acknowledged);
  expect(length, death).toBeLessThanOrEqual(acknowledged + 1);
  expect(stored.state, death).toEqual(stateAfter(written.slice(0, length)));
  return length as number;
}

test('wherever it is killed, everything acknowledged is there, and it continues from there', async () => {
  const deaths: string[] = [];
  for (const thread of ['main', 'compaction']) {
    const { calls, acknowledged } = await liveAndDie(folder(), `${thread}:never`);
    expect(acknowledged).toBe(written.length);
    expect(calls.length).toBeGreaterThan(3);
    for (const [at, call] of [...calls].entries()) {
      // A sync matters in a power cut. After a kill, the bytes are still in the system's memory.
      if (call !== 's') deaths.push(`${thread}:${at + 1}:before`);
      if (call === 'w' || call === 'a') deaths.push(`${thread}:${at + 1}:half`);
    }
  }
  const every = Math.ceil(deaths.length / tries(deaths.length, { atLeast: 20 }));
  const chosen = deaths.filter((_, at) => at % every === Math.abs(seed) % every);
  const reached = new Set<number>();
  const dieAll = async () => {
    for (let death = chosen.pop(); death; death = chosen.pop()) {
      const { dir, remove } = createFolder();
      const { acknowledged, calls } = await liveAndDie(dir, death);
      expect(calls, death).toBe('');
      reached.add(await expectPrefix(dir, acknowledged, death));
      const store = await Store.open(dir);
      const length = await expectPrefix(dir, acknowledged, death);
      expect(store.position, death).toEqual(positionAfter(written.slice(0, length)));
      const next: StoreCall = { revision: 99, heard_at: noon, records: usual.slice(-3) };
      if (length > 0) store.append(next.revision, next.heard_at, next.records);
      await store.close();
      const { state } = await readStored(dir);
      expect(state, death).toEqual(
        stateAfter([...written.slice(0, length), ...(length > 0 ? [next] : [])]),
      );
      // No file is left that is not needed.
      const names = readdirSync(dir);
      expect(
        names.filter((name) => !/^\d+\.(changes|snapshot)$/.test(name)),
        death,
      ).toEqual([]);
      expect(names.filter((name) => name.endsWith('snapshot')).length, death).toBeLessThanOrEqual(
        1,
      );
      remove();
    }
  };
  await Promise.all([dieAll(), dieAll()]);
  // Each of them was the last received one at some death, except the last of the story.
  if (every === 1) expect(reached.size).toBe(written.length);
  expect(reached.size).toBeGreaterThan(written.length / 2);
}, 1_800_000);

test('a snapshot is on the disk before its name is, and the name before old files go', async () => {
  const { calls } = await liveAndDie(folder(), 'main:never');
  expect(calls).toMatch(/as.*r.*d/);
  expect(calls).not.toMatch(/a[^s]*r/);
  expect(calls).not.toMatch(/r[^s]*d/);
  const { calls: inThread } = await liveAndDie(folder(), 'compaction:never');
  expect(inThread).toMatch(/as$/);
});

// ---- Damage -------------------------------------------------------------------------------

test('wherever the changes are cut off or damaged, what stands before is the policy', async () => {
  const dir = folder();
  const store = await Store.open(dir);
  for (const change of written.slice(0, 3)) {
    if ('replaced' in change) {
      await store.replace(inPieces(snapshotText(change.replaced, change.records)), change.heard_at);
    } else store.append(change.revision, change.heard_at, change.records);
  }
  store.append(13, noon, []);
  await store.close();
  const all: StoreCall[] = [...written.slice(0, 3), { revision: 13, heard_at: noon, records: [] }];
  const name = readdirSync(dir).find((name) => name.endsWith('.changes')) as string;
  const bytes = readFileSync(join(dir, name));
  const ends = [...bytes.keys()].filter((at) => bytes[at] === 0x0a);

  const copy = `${dir}-copy`;
  for (let at = 0; at < bytes.length; at++) {
    for (const damage of ['cut', 'changed'] as const) {
      if (damage === 'changed' && at % 4 > 0) continue;
      rmSync(copy, { recursive: true, force: true });
      cpSync(dir, copy, { recursive: true });
      const damaged =
        damage === 'cut' ? bytes.subarray(0, at) : bytes.with(at, (bytes[at] ?? 0) ^ 1);
      writeFileSync(join(copy, name), damaged);
      const expected = all.slice(0, 1 + ends.filter((end) => end < at).length);
      const where = `${damage} at byte ${at}`;
      const state = stateAfter(expected);
      expect(await readStored(copy), where).toEqual({ position: positionAfter(expected), state });
      const again = await Store.open(copy);
      expect(again.position, where).toEqual(positionAfter(expected));
      again.append(50, noon + 50, usual.slice(-1));
      await again.close();
      const next: StoreCall = { revision: 50, heard_at: noon + 50, records: usual.slice(-1) };
      expect((await readStored(copy)).state, where).toEqual(stateAfter([...expected, next]));
    }
  }
}, 1_800_000);

// ---- Anything in any order ------------------------------------------------------------------

type Step =
  | { do: 'replace' | 'append'; records: NodeRecord[] }
  | { do: 'compact' | 'reopen' | 'follow' | 'start' }
  | { do: 'tear' | 'damage' | 'lose'; at: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('append' as const), records: history }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('replace' as const), records: history }) },
  { weight: 2, arbitrary: fc.constant({ do: 'compact' as const }) },
  { weight: 3, arbitrary: fc.constantFrom({ do: 'reopen' as const }, { do: 'start' as const }) },
  { weight: 4, arbitrary: fc.constant({ do: 'follow' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('tear', 'damage', 'lose'), at: fc.nat() }),
  },
);

/**
 * A store, the replica that follows it, and the changes that it got, which are the model of both.
 */
class Subject {
  readonly dir: string;
  written: StoreCall[] = [];
  store: Store;
  replica: Replica;
  revision = 0;

  private constructor(dir: string, store: Store) {
    this.dir = dir;
    this.store = store;
    this.replica = new Replica(dir);
  }
  static async create(dir: string): Promise<Subject> {
    return new Subject(dir, await Store.open(dir));
  }
  /** Runs the step, and removes from the model what the disk has lost. */
  async take(step: Step): Promise<void> {
    this.revision += 1;
    const [heard_at, replaced] = [noon + this.revision, { epoch, revision: this.revision }];
    if (step.do === 'replace') {
      await this.store.replace(inPieces(snapshotText(replaced, step.records)), heard_at);
      this.written.push({ replaced, heard_at, records: step.records });
    } else if (step.do === 'append' && this.store.position) {
      this.store.append(this.revision, heard_at, step.records);
      this.written.push({ revision: this.revision, heard_at, records: step.records });
    } else if (step.do === 'compact' && this.store.position) {
      await this.store.compact();
    } else if (step.do === 'follow') {
      await this.follow();
    } else if (step.do === 'start') {
      this.startReplica();
    } else if ('at' in step || step.do === 'reopen') {
      await this.store.close();
      if ('at' in step) this.spoil(step.do, step.at);
      this.store = await Store.open(this.dir);
      const last = this.written.findLastIndex(
        (_, at) =>
          JSON.stringify(positionAfter(this.written.slice(0, at + 1))) ===
          JSON.stringify(this.store.position),
      );
      this.written = this.written.slice(0, last + 1);
    }
  }
  startReplica(): void {
    this.replica.close();
    this.replica = new Replica(this.dir);
  }
  async follow(): Promise<void> {
    await this.replica.catchUp();
    expect(this.replica.position).toEqual(this.store.position);
    expect(stateOf(this.replica.policy)).toEqual(stateAfter(this.written));
  }
  spoil(how: 'tear' | 'damage' | 'lose', at: number): void {
    const changes = readdirSync(this.dir).filter((name) => name.endsWith('.changes'));
    if (changes.length !== 1) return;
    const path = join(this.dir, changes[0] as string);
    const bytes = readFileSync(path);
    if (how === 'tear') {
      // Only a part of a line: a whole one would be a change that was received.
      const line = bytes.subarray(0, Math.max(0, bytes.indexOf('\n')));
      writeFileSync(path, Buffer.concat([bytes, line.subarray(0, at % 100)]));
    } else if (how === 'damage' && bytes.length > 0) {
      writeFileSync(path, bytes.with(at % bytes.length, 0));
    } else {
      // A power cut, which no replica survives.
      truncateSync(path, at % (bytes.length + 1));
      this.startReplica();
    }
  }
}

test('whatever it gets and whatever happens, it gives what a model in memory gives', async () => {
  const done = new Map<string, number>();
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 5, maxLength: 20 }),
    async (steps) => {
      const { dir, remove } = createFolder();
      const subject = await Subject.create(dir);
      try {
        for (const step of steps) {
          await subject.take(step);
          done.set(step.do, (done.get(step.do) ?? 0) + 1);
          const { position, state } = await readStored(dir);
          expect(position).toEqual(subject.store.position);
          expect(position).toEqual(positionAfter(subject.written));
          expect(state).toEqual(stateAfter(subject.written));
        }
        await subject.follow();
      } finally {
        subject.replica.close();
        await subject.store.close();
        remove();
      }
    },
  );
  await fc.assert(property, { numRuns: tries(60, { atLeast: 40 }), seed });
  expect(done.size).toBe(9);
}, 1_800_000);
