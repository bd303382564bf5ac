// The store: every change is on disk, an incomplete one changes nothing, and nothing else is
// stored.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { NodeRecord } from '../src/policy/records.ts';
import { Store, type StoreOptions } from '../src/store/store.ts';
import { noon, usual } from './histories.ts';
import {
  createFolder,
  epoch,
  inPieces,
  readStored,
  type StoreCall,
  snapshotText,
  stateAfter,
} from './stored.ts';

const entry = (id: number, ip = `192.0.2.${id}`): NodeRecord => ({
  kind: 'authlist',
  account: 1,
  id,
  value: { ip, user: 1, expiry: noon + 60 },
});
const first: StoreCall = { replaced: { epoch, revision: 10 }, heard_at: noon, records: usual };

function folder(): string {
  const { dir, remove } = createFolder();
  onTestFinished(remove);
  return dir;
}

async function openStore(dir: string, options: StoreOptions = {}): Promise<Store> {
  const store = await Store.open(dir, options);
  onTestFinished(() => store.close());
  return store;
}

/** A store with the usual records. */
async function filled(options: StoreOptions = {}): Promise<{ dir: string; store: Store }> {
  const dir = folder();
  const store = await openStore(dir, options);
  await store.replace(inPieces(snapshotText({ epoch, revision: 10 }, usual)), noon);
  return { dir, store };
}

const bytesIn = (dir: string) =>
  readdirSync(dir).map((name) => readFileSync(join(dir, name), 'latin1'));

test('what was stored is there when it is opened again', async () => {
  const { dir, store } = await filled();
  store.append(12, noon + 1, [entry(7), entry(8)]);
  store.append(15, noon + 2, []);
  expect(store.position).toEqual({ epoch, revision: 15 });
  await store.close();

  const again = await openStore(dir);
  expect(again.position).toEqual({ epoch, revision: 15 });
  again.append(16, noon + 3, [entry(9)]);
  const changes: StoreCall[] = [
    first,
    { revision: 12, heard_at: noon + 1, records: [entry(7), entry(8)] },
    { revision: 16, heard_at: noon + 3, records: [entry(9)] },
  ];
  expect(await readStored(dir)).toEqual({
    position: { epoch, revision: 16 },
    state: stateAfter(changes),
  });
});

test('a change is readable by others as soon as it was appended', async () => {
  const { dir, store } = await filled();
  store.append(12, noon + 1, [entry(7)]);
  expect(bytesIn(dir).some((bytes) => bytes.includes('192.0.2.7'))).toBe(true);
});

test('an empty store has no position and takes no changes', async () => {
  const store = await openStore(folder());
  expect(store.position).toBeUndefined();
  expect(() => store.append(1, noon, [])).toThrow('take a snapshot first');
  await expect(store.compact()).rejects.toThrow('take a snapshot first');
});

test('a closed store takes no changes', async () => {
  const { store } = await filled();
  await store.close();
  expect(() => store.append(12, noon, [])).toThrow('take a snapshot first');
});

test.each([
  ['revision: 9 is before 10', 9, noon],
  ['revision: 11.5 is not valid', 11.5, noon],
  ['heard_at: NaN is not valid', 11, Number.NaN],
])('a change is refused: %s', async (message, revision, heard_at) => {
  const { dir, store } = await filled();
  expect(() => store.append(revision, heard_at, [entry(7)])).toThrow(message);
  expect(store.position).toEqual({ epoch, revision: 10 });
  expect(await readStored(dir)).toEqual({
    position: { epoch, revision: 10 },
    state: stateAfter([first]),
  });
});

test('questions are kept in no file, because they may hold tokens', async () => {
  const question = (id: number): NodeRecord => ({
    kind: 'explain',
    id,
    value: {
      ...{ from: '192.0.2.7', port: 10_001, method: 'CONNECT', host: 'a.example' },
      ...{ destination_port: 443, user: 'alice', token: `ewt_canary-${id}` },
    },
  });
  const dir = folder();
  const store = await openStore(dir);
  const records = [question(1), ...usual, question(2)];
  await store.replace(inPieces(snapshotText({ epoch, revision: 10 }, records)), noon);
  store.append(11, noon, [question(3), entry(7)]);
  store.append(12, noon, [question(4)]);
  expect(bytesIn(dir).filter((bytes) => bytes.includes('canary'))).toEqual([]);
  const changes: StoreCall[] = [first, { revision: 12, heard_at: noon, records: [entry(7)] }];
  expect(await readStored(dir)).toEqual({
    position: { epoch, revision: 12 },
    state: stateAfter(changes),
  });
});

// ---- Snapshots ----------------------------------------------------------------------------

test.each([1, 7, 64, 100_000])('a snapshot may come in pieces of %i bytes', async (length) => {
  const records: NodeRecord[] = [
    ...usual,
    {
      kind: 'user',
      account: 1,
      id: 9,
      value: { name: 'Ünï€🙂', active: true, proxy: true, token_version: 1 },
    },
  ];
  const dir = folder();
  const store = await openStore(dir);
  await store.replace(inPieces(snapshotText({ epoch, revision: 10 }, records), length), noon);
  expect((await readStored(dir)).state).toEqual(
    stateAfter([{ replaced: { epoch, revision: 10 }, heard_at: noon, records }]),
  );
});

const whole = snapshotText({ epoch: 'another', revision: 3 }, usual);
const lines = whole.trimEnd().split('\n');
const joined = (...parts: string[]) => parts.map((line) => `${line}\n`).join('');
test.each<[string, string, string]>([
  ['nothing', '', 'breaks off before its last line'],
  ['no last line', joined(...lines.slice(0, -1)), 'breaks off before its last line'],
  ['half of the last line', whole.slice(0, -5), 'is not a JSON object'],
  [
    'a record less than it says',
    joined(...lines.toSpliced(5, 1)),
    `has ${usual.length - 1} records`,
  ],
  [
    'a record more than it says',
    joined(...lines.toSpliced(5, 0, lines[5] as string)),
    'its last line says',
  ],
  ['a damaged line', joined(...lines.toSpliced(5, 1, '{"kind":"user"')), 'line 6 of the snapshot'],
  ['a line that is no record', joined(...lines.toSpliced(5, 1, 'null')), 'line 6 of the snapshot'],
  ['an empty line', joined(...lines.toSpliced(5, 0, '')), 'line 6 of the snapshot'],
  ['no first line', joined(...lines.slice(1)), 'does not begin with'],
  ['no epoch', whole.replace('"another"', '""'), 'does not begin with'],
  ['no revision', whole.replace('"revision":3', '"revision":"3"'), 'does not begin with'],
  [
    'more than its last line',
    joined(...lines, lines[1] as string),
    'continues after its last line',
  ],
  ['an endless line', `${lines[0]}\n${'x'.repeat(17 * 1024 * 1024)}`, 'has a line without an end'],
])('a snapshot with %s changes nothing', async (_, text, message) => {
  const { dir, store } = await filled();
  store.append(11, noon + 1, [entry(7)]);
  const before = readdirSync(dir);
  await expect(store.replace(inPieces(text, 65_536), noon + 9)).rejects.toThrow(message);
  expect(readdirSync(dir)).toEqual(before);
  store.append(12, noon + 2, [entry(8)]);
  const changes: StoreCall[] = [
    first,
    { revision: 12, heard_at: noon + 2, records: [entry(7), entry(8)] },
  ];
  expect(await readStored(dir)).toEqual({
    position: { epoch, revision: 12 },
    state: stateAfter(changes),
  });
});

test('a snapshot that breaks off with an error changes nothing, and the error is reported', async () => {
  const { dir, store } = await filled();
  async function* broken() {
    yield whole.slice(0, 300);
    throw new Error('the connection was reset');
  }
  await expect(store.replace(broken(), noon)).rejects.toThrow('the connection was reset');
  expect(readdirSync(dir).filter((name) => name.endsWith('.partial'))).toEqual([]);
  expect((await readStored(dir)).position).toEqual({ epoch, revision: 10 });
});

test('a snapshot replaces everything, with changes that came while it was read', async () => {
  const { dir, store } = await filled();
  async function* slow() {
    yield whole.slice(0, 300);
    store.append(11, noon + 1, [entry(7)]);
    yield whole.slice(300);
  }
  await store.replace(slow(), noon + 2);
  expect(store.position).toEqual({ epoch: 'another', revision: 3 });
  store.append(4, noon + 3, [entry(8)]);
  const changes: StoreCall[] = [
    first,
    { replaced: { epoch: 'another', revision: 3 }, heard_at: noon + 2, records: usual },
    { revision: 4, heard_at: noon + 3, records: [entry(8)] },
  ];
  expect(await readStored(dir)).toEqual({
    position: { epoch: 'another', revision: 4 },
    state: stateAfter(changes),
  });
  expect(readdirSync(dir)).toHaveLength(2);
});

test('two snapshots at a time do not mix', async () => {
  const { dir, store } = await filled();
  const other = snapshotText({ epoch, revision: 90 }, usual.slice(0, 5));
  await Promise.all([
    store.replace(inPieces(whole, 50), noon),
    store.replace(inPieces(other, 50), noon),
  ]);
  const { position, state } = await readStored(dir);
  expect(position).toEqual(store.position);
  const records = position?.epoch === epoch ? usual.slice(0, 5) : usual;
  expect(state).toEqual(
    stateAfter([{ replaced: position ?? first.replaced, heard_at: noon, records }]),
  );
});

// ---- Compaction ---------------------------------------------------------------------------

test('many changes become a new snapshot by themselves, and the old files go', async () => {
  const { dir, store } = await filled({ compact_bytes: 10_000 });
  const changes: StoreCall[] = [first];
  const snapshots = () => readdirSync(dir).filter((name) => name.endsWith('.snapshot'));
  const before = snapshots();
  const grow = () => {
    const at = changes.length;
    const change = { revision: 10 + at, heard_at: noon + at, records: [entry(at % 200)] };
    store.append(change.revision, change.heard_at, change.records);
    changes.push(change);
  };
  while (changes.length < 50) grow();
  expect(snapshots()).toEqual(before);
  while (changes.length < 150) grow();
  await vi.waitFor(
    () => expect([readdirSync(dir).length, snapshots()[0] !== before[0]]).toEqual([2, true]),
    { timeout: 90_000, interval: 5 },
  );
  // Changes that were appended during the compaction are in the next file.
  expect(await readStored(dir)).toEqual({ position: store.position, state: stateAfter(changes) });
});

test('a compaction that fails is reported, leaves everything, and is tried again after as much again', async () => {
  const faults: Error[] = [];
  const { dir, store } = await filled({
    compact_bytes: 4000,
    onFault: (error) => void faults.push(error),
  });
  const changes = join(dir, readdirSync(dir).find((name) => name.endsWith('.changes')) as string);
  store.append(11, noon, [entry(1)]);
  // The disk has damaged the middle of the changes, which must not be folded into a snapshot.
  const bytes = readFileSync(changes);
  writeFileSync(changes, bytes.with(20, 0));
  for (let revision = 12; faults.length < 2; revision++) {
    store.append(revision, noon, [entry(revision % 200)]);
    await sleep(1);
  }
  const message = 'the changes of the policy are damaged on disk';
  expect(faults).toEqual([new Error(message), new Error(message)]);
  expect(await readStored(dir)).toEqual({
    position: { epoch, revision: 10 },
    state: stateAfter([first]),
  });
});

test('replacing and closing give up a compaction', async () => {
  const { dir, store } = await filled();
  store.append(11, noon, [entry(1)]);
  const given = [store.compact()];
  await store.replace(inPieces(whole), noon);
  given.push(store.compact());
  await store.close();
  for (const entry of given)
    await expect(entry).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  expect(readdirSync(dir).filter((name) => name.endsWith('.partial'))).toEqual([]);
  expect((await readStored(dir)).position).toEqual({ epoch: 'another', revision: 3 });
});

test('a compaction that is given up while it writes leaves nothing behind', async () => {
  const { dir, store } = await filled();
  const many = Array.from({ length: 50_000 }, (_, id) => entry(id + 1));
  store.append(11, noon, many);
  const given = store.compact();
  given.catch(() => undefined);
  const partials = () => readdirSync(dir).filter((name) => name.endsWith('.partial'));
  await vi.waitFor(() => expect(partials()).not.toEqual([]), { timeout: 90_000, interval: 5 });
  await store.close();
  await expect(given).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
  expect(partials()).toEqual([]);
  const changes: StoreCall[] = [first, { revision: 11, heard_at: noon, records: many }];
  expect((await readStored(dir)).state).toEqual(stateAfter(changes));
});

// ---- Access rights ------------------------------------------------------------------------

test('the owner writes, one group reads, and others have no access', async () => {
  // Only root may give files to any group.
  const group = process.getuid?.() === 0 ? 54_321 : (process.getgid?.() as number);
  const dir = folder();
  mkdirSync(dir, { mode: 0o700 });
  const store = await openStore(dir, { group });
  await store.replace(inPieces(whole), noon);
  store.append(11, noon, [entry(7)]);
  await store.compact();
  const rights = (path: string) => {
    const { mode, gid } = statSync(path);
    return [(mode & 0o777).toString(8), gid];
  };
  expect(rights(dir)).toEqual(['750', group]);
  const files = readdirSync(dir).map((name) => rights(join(dir, name)));
  expect(files).toEqual([
    ['640', group],
    ['640', group],
  ]);
});

test('a store that was cleared has nothing, and takes a policy again', async () => {
  const { dir, store } = await filled();
  await store.clear();
  expect([store.position, readdirSync(dir)]).toEqual([undefined, []]);
  expect(() => store.append(11, noon, [])).toThrow('there is no policy to change');
  await store.clear();
  await store.replace(inPieces(snapshotText({ epoch, revision: 12 }, usual)), noon);
  const { position, state } = await readStored(dir);
  expect(position).toEqual({ epoch, revision: 12 });
  expect(state).toEqual(stateAfter([first]));
});
