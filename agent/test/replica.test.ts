// The replica: it has the content of the store, reports the accounts that a change affects, and can
// be used while it reads.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { NodeRecord } from '../src/policy/records.ts';
import { encodeNext } from '../src/store/changes_file.ts';
import { encodeLine } from '../src/store/checked_line.ts';
import { changesPath, snapshotPath } from '../src/store/generations.ts';
import { Replica } from '../src/store/replica.ts';
import { SnapshotWriter } from '../src/store/snapshot_file.ts';
import { Store } from '../src/store/store.ts';
import { noon, usual } from './histories.ts';
import {
  createFolder,
  epoch,
  inPieces,
  type StoreCall,
  snapshotText,
  stateAfter,
  stateOf,
} from './stored.ts';

const entry = (account: number, id: number): NodeRecord => ({
  kind: 'authlist',
  account,
  id,
  value: { ip: `192.0.2.${id}`, user: 1, expiry: noon + 60 },
});

/** A store, the changes that it got, and a replica that follows it. */
let dir: string;
let store: Store;
let replica: Replica;
let history: StoreCall[];

async function openStore(): Promise<void> {
  const opened = await Store.open(dir);
  onTestFinished(() => opened.close());
  store = opened;
}

function createReplica(): Replica {
  const created = new Replica(dir);
  onTestFinished(() => created.close());
  return created;
}

async function replace(records = usual, position = { epoch, revision: 10 }): Promise<void> {
  await store.replace(inPieces(snapshotText(position, records)), noon);
  history.push({ replaced: position, heard_at: noon, records });
}

function append(records: NodeRecord[]): void {
  const change = { revision: 10 + history.length, heard_at: noon + history.length, records };
  store.append(change.revision, change.heard_at, change.records);
  history.push(change);
}

function expectAll(of = replica): void {
  expect(of.position).toEqual(store.position);
  expect(stateOf(of.policy)).toEqual(stateAfter(history));
}

beforeEach(async () => {
  const folder = createFolder();
  onTestFinished(folder.remove);
  dir = folder.dir;
  history = [];
  await openStore();
  replica = createReplica();
});

test('it waits for a store that has nothing, or is not there yet', async () => {
  await store.close();
  fs.rmSync(dir, { recursive: true });
  await replica.load();
  expect(replica.position).toBeUndefined();
  expect(replica.policy.server).toBeNull();
  expect(await replica.catchUp()).toEqual(new Set());

  await openStore();
  expect(await replica.catchUp()).toEqual(new Set());
  await replace();
  expect(await replica.catchUp()).toBe('all');
  expectAll();
});

describe('it reports the accounts that changes touched', () => {
  test.each<[string, NodeRecord[][], unknown]>([
    ['nobody, when nothing came', [], new Set()],
    ['nobody, when only the position moved', [[], []], new Set()],
    [
      'the accounts of all changes',
      [[entry(1, 7), entry(3, 7)], [entry(2, 8)]],
      new Set([1, 2, 3]),
    ],
    ['an account that is gone', [[{ kind: 'account', account: 2, value: null }]], new Set([2])],
    ['all, when the keys changed', [[entry(1, 7)], [{ kind: 'keys', value: [] }]], 'all'],
    ['all, when the server changed', [[{ kind: 'server', value: null }], [entry(1, 7)]], 'all'],
  ])('%s', async (_, changes, touched) => {
    await replace();
    await replica.load();
    for (const records of changes) append(records);
    expect(await replica.catchUp()).toEqual(touched);
    expectAll();
    expect(await replica.catchUp()).toEqual(new Set());
  });
});

test('it follows through compactions with the same policy', async () => {
  await replace();
  await replica.load();
  const { policy } = replica;
  append([entry(1, 7)]);
  await store.compact();
  append([entry(2, 8)]);
  expect(await replica.catchUp()).toEqual(new Set([1, 2]));
  await store.compact();
  expect(await replica.catchUp()).toEqual(new Set());
  append([entry(3, 9)]);
  expect(await replica.catchUp()).toEqual(new Set([3]));
  expectAll();
  expect(replica.policy).toBe(policy);
  const started = createReplica();
  await started.load();
  expectAll(started);
});

test('it loads again when it missed whole files of changes', async () => {
  await replace();
  await replica.load();
  for (const id of [7, 8, 9]) {
    append([entry(1, id)]);
    await store.compact();
  }
  expect(await replica.catchUp()).toBe('all');
  expectAll();
});

test('it loads again when the store took another snapshot', async () => {
  await replace();
  await replica.load();
  append([entry(1, 7)]);
  const { policy } = replica;
  await replace(usual.slice(0, 6), { epoch: 'another', revision: 3 });
  append([entry(2, 8)]);
  expect(await replica.catchUp()).toBe('all');
  expectAll();
  // A worker that still decides by the old one is not disturbed.
  expect(policy.findEntry('default', '192.0.2.7')).toBeDefined();
});

test('while it loads others get their turn, and the old policy is the policy', async () => {
  const many = Array.from({ length: 20_000 }, (_, id) => entry(1, id));
  await replace();
  await replica.load();
  const { policy, position } = replica;
  await replace([...usual, ...many], { epoch: 'another', revision: 3 });
  for (let count = 0; count < 20; count++) append(many.slice(0, 1000));

  let turns = 0;
  const loading = replica.catchUp().finally(() => {
    turns += 1000;
  });
  while (turns < 1000) {
    await setImmediate();
    if (turns >= 1000) break;
    expect(replica.policy).toBe(policy);
    expect(replica.position).toEqual(position);
    turns += 1;
  }
  expect(await loading).toBe('all');
  expectAll();
  expect(turns).toBeGreaterThan(1010);
});

test('with much to apply others get their turn, between revisions', async () => {
  await replace();
  await replica.load();
  for (let count = 0; count < 100; count++) {
    append(Array.from({ length: 500 }, (_, id) => entry(1 + (count % 3), id)));
  }
  const seen = new Set<number | undefined>();
  let done = false;
  const following = replica.catchUp().finally(() => {
    done = true;
  });
  while (!done) {
    await setImmediate();
    seen.add(replica.position?.revision);
    const upTo = history.findIndex(
      (change) => 'revision' in change && change.revision === replica.position?.revision,
    );
    if (upTo > 0 && seen.size < 4) {
      expect(stateOf(replica.policy)).toEqual(stateAfter(history.slice(0, upTo + 1)));
    }
  }
  expect(seen.size).toBeGreaterThan(2);
  expect(await following).toEqual(new Set([1, 2, 3]));
  expectAll();
});

test('it finds its way while the store takes snapshot after snapshot', async () => {
  await replace();
  let done = false;
  const loads = async () => {
    while (!done) {
      await replica.load();
      expect(stateOf(replica.policy)).toEqual(
        stateAfter([{ replaced: { epoch, revision: 10 }, heard_at: noon, records: usual }]),
      );
    }
  };
  const replaces = async () => {
    for (let count = 0; count < 200; count++) await replace();
    done = true;
  };
  await Promise.all([loads(), replaces()]);
  await replica.catchUp();
  expectAll();
});

test('calls at the same time are done one after the other', async () => {
  await replace();
  const calls = [replica.catchUp(), replica.load(), replica.catchUp()];
  append([entry(1, 7)]);
  const answers = await Promise.all([...calls, replica.catchUp()]);
  expect(answers).toEqual(['all', undefined, new Set(), new Set()]);
  expectAll();
});

// ---- Damage on disk ------------------------------------------------------------------------

const fileOf = (kind: 'snapshot' | 'changes') =>
  join(dir, fs.readdirSync(dir).find((name) => name.endsWith(kind)) as string);

test('a line that is not whole yet is left for later', async () => {
  await replace();
  await replica.load();
  append([entry(1, 7)]);
  const path = fileOf('changes');
  const bytes = fs.readFileSync(path);
  for (const length of [1, 9, 20, bytes.length - 1]) {
    fs.writeFileSync(path, bytes.subarray(0, length));
    expect(await replica.catchUp()).toEqual(new Set());
    expect(replica.position).toEqual({ epoch, revision: 10 });
  }
  fs.writeFileSync(path, bytes);
  expect(await replica.catchUp()).toEqual(new Set([1]));
  expectAll();
});

test('a file of changes that is not there yet is waited for', async () => {
  await replace();
  await replica.load();
  append([entry(1, 7)]);
  const { policy } = replica;
  await store.close();
  // After a power cut, the line that names the next file exists, but the file does not.
  fs.appendFileSync(fileOf('changes'), encodeNext(9));
  expect(await replica.catchUp()).toEqual(new Set([1]));
  expect(await replica.catchUp()).toEqual(new Set());
  await openStore();
  append([entry(2, 8)]);
  expect(await replica.catchUp()).toEqual(new Set([2]));
  expectAll();
  expect(replica.policy).toBe(policy);
});

test('what a failed write left behind is written over', async () => {
  await replace();
  append([entry(1, 7)]);
  fs.appendFileSync(fileOf('changes'), `deadbeef 99 ${'x'.repeat(400)}`);
  await replica.load();
  append([entry(1, 8)]);
  expect(await replica.catchUp()).toEqual(new Set([1]));
  expectAll();
});

test('nothing behind a damaged line is trusted, until the store has put it away', async () => {
  await replace();
  for (const id of [7, 8, 9]) append([entry(1, id)]);
  // This replica had read everything before the damage.
  await replica.load();
  const path = fileOf('changes');
  const bytes = fs.readFileSync(path);
  const second = bytes.indexOf('\n') + 15;
  fs.writeFileSync(path, bytes.with(second, (bytes[second] as number) ^ 1));
  const started = createReplica();
  await started.load();
  await started.catchUp();
  expect(started.position).toEqual({ epoch, revision: 11 });

  await store.close();
  await openStore();
  history = history.slice(0, 2);
  expect(store.position).toEqual({ epoch, revision: 11 });
  append([entry(2, 20)]);
  append([entry(2, 21)]);
  expect(await replica.catchUp()).toBe('all');
  expectAll();
  expect(await started.catchUp()).toBe('all');
  expectAll(started);
});

test('a snapshot of a newer agent is not used, is reported as such, and is replaced by the next one', async () => {
  await replace();
  await store.close();
  const path = fileOf('snapshot');
  const lines = fs.readFileSync(path, 'utf8').split('\n');
  const last = JSON.parse((lines.at(-2) as string).slice(9));
  lines[lines.length - 2] = encodeLine(JSON.stringify({ ...last, format: 2 }))
    .toString()
    .trimEnd();
  fs.writeFileSync(path, lines.join('\n'));
  const faults: string[] = [];
  store = await Store.open(dir, { onFault: ({ message }) => void faults.push(message) });
  onTestFinished(() => store.close());
  expect(faults).toEqual([
    'the snapshot on disk has format 2, of a newer agent; this one takes it from the control plane again',
  ]);
  expect(store.position).toBeUndefined();
  await replace();
  const started = createReplica();
  await started.load();
  expect(started.position).toEqual(store.position);
});

test('a damaged snapshot is not used, is reported, and is replaced by the next one', async () => {
  await replace();
  append([entry(1, 7)]);
  await replica.load();
  await store.close();
  const path = fileOf('snapshot');
  const bytes = fs.readFileSync(path);
  // Every byte of the last line, and some bytes of the others.
  const places = [...bytes.keys()].filter((at) => at % 7 === 0 || at > bytes.length - 150);
  for (const at of places) {
    fs.writeFileSync(path, bytes.with(at, (bytes[at] as number) ^ 1));
    const started = createReplica();
    await started.load();
    expect(started.position, `byte ${at} was changed`).toBeUndefined();
  }
  for (const length of places) {
    fs.writeFileSync(path, bytes.subarray(0, length));
    const started = createReplica();
    await started.load();
    expect(started.position, `cut at byte ${length}`).toBeUndefined();
  }
  const faults: string[] = [];
  store = await Store.open(dir, { onFault: ({ message }) => void faults.push(message) });
  onTestFinished(() => store.close());
  expect(faults).toEqual(['the snapshot on disk has no valid last line']);
  expect(store.position).toBeUndefined();
  expect(await replica.catchUp()).toEqual(new Set());

  await replace(usual.slice(0, 6), { epoch, revision: 30 });
  expect(await replica.catchUp()).toBe('all');
  expectAll();
});

test('without files it keeps its policy', async () => {
  await replace();
  append([entry(1, 7)]);
  await replica.load();
  fs.renameSync(dir, `${dir}-gone`);
  fs.rmSync(`${dir}-gone`, { recursive: true });
  expect(await replica.catchUp()).toEqual(new Set());
  expectAll();
});

test('a change that cannot be applied is never passed over, and nothing of it is in force', async () => {
  await replace();
  await replica.load();
  const { position } = replica;
  const useless = { kind: 'keys', value: [{ kid: 'k', public_key: 'short' }] } as const;
  append([entry(1, 6), { ...useless, value: [...useless.value] }]);
  append([entry(1, 7)]);
  for (const _ of [1, 2]) {
    expect(await replica.catchUp()).toEqual(new Set());
    expect(replica.position).toEqual(position);
    expect(stateOf(replica.policy)).toEqual(stateAfter(history.slice(0, 1)));
  }
  await replace();
  expect(await replica.catchUp()).toBe('all');
  expectAll();
});

test('a snapshot that cannot be applied, of an older version, leaves what there was', async () => {
  await replace();
  await replica.load();
  const before = stateOf(replica.policy);
  const writer = await SnapshotWriter.create(snapshotPath(dir, 90), undefined);
  await writer.write('{"kind":"server","value":{"name":"fra1"}}\n');
  await writer.finish({ epoch, revision: 90, heard_at: noon });
  fs.writeFileSync(changesPath(dir, 90), '');
  await replica.load();
  expect([replica.position?.revision, stateOf(replica.policy)]).toEqual([10, before]);
  const other = createReplica();
  await other.catchUp();
  expect(other.position).toBeUndefined();
});
