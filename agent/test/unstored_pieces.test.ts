// Pieces of a long change have the revision before it. Pieces in memory and on disk are each
// applied once, in their order.
import { expect, onTestFinished, test } from 'vitest';
import type { NodeRecord } from '../src/policy/records.ts';
import { Replica } from '../src/store/replica.ts';
import { Store } from '../src/store/store.ts';
import { Unstored } from '../src/store/unstored.ts';
import { noon, seed, usual } from './histories.ts';
import { createFolder, epoch, inPieces, snapshotText, stateOf } from './stored.ts';
import { randomOf } from './usage_world.ts';

const user = (id: number): NodeRecord => ({
  kind: 'user',
  account: 90,
  id,
  value: { name: `user${id}`, active: true, proxy: true, token_version: 1 },
});
const pieces: NodeRecord[][] = [
  [{ kind: 'account', account: 90, value: null }, user(1)],
  [user(2)],
  [user(3)],
  [user(4)],
];

/**
 * A store at revision 10 and its replica, with nothing in memory yet. They are closed with the
 * test, or before.
 */
async function begin() {
  const { dir, remove } = createFolder();
  const store = await Store.open(dir);
  await store.replace(inPieces(snapshotText({ epoch, revision: 10 }, usual)), noon);
  const unstored = new Unstored();
  const replica = new Replica(dir, unstored);
  let ended: Promise<void> | undefined;
  const end = () => {
    ended ??= (async () => {
      replica.close();
      await store.close();
      remove();
    })();
    return ended;
  };
  onTestFinished(end);
  return { dir, store, unstored, replica, end };
}

// The embedded engine shares the store's list. A decider has a copy, from which changes are dropped
// that its replica has read from disk.
test.each(['shared', 'copied'])(
  'of a disk that takes them one by one nothing is lost, by a list that is %s',
  async (list) => {
    const { dir, store, unstored, replica } = await begin();
    const catchUp = async () => {
      await replica.catchUp();
      if (list === 'copied' && replica.read) unstored.dropUntil(replica.read);
    };
    const hold = (at: number) =>
      unstored.add({
        ...{ revision: at === 3 ? 11 : 10, heard_at: noon, json: JSON.stringify(pieces[at]) },
        ...{ epoch, after: 10 },
      });
    const write = (at: number) => {
      store.append(at === 3 ? 11 : 10, noon, pieces[at] as NodeRecord[]);
      if (list === 'shared') unstored.dropFirst();
    };
    await catchUp();
    hold(0);
    hold(1);
    await catchUp();
    // There was room for one; the disk is full again.
    write(0);
    hold(2);
    await catchUp();
    expect([...(replica.policy.accounts.get(90)?.users.keys() ?? [])]).toEqual([1, 2, 3]);
    hold(3);
    await catchUp();
    for (const at of [1, 2, 3]) write(at);
    await catchUp();

    expect(replica.position).toEqual({ epoch, revision: 11 });
    const fresh = new Replica(dir);
    onTestFinished(() => fresh.close());
    await fresh.load();
    expect(stateOf(replica.policy)).toEqual(stateOf(fresh.policy));
    expect([...(replica.policy.accounts.get(90)?.users.keys() ?? [])]).toEqual([1, 2, 3, 4]);
  },
);

test('of what an earlier agent held in memory nothing stands in the way of what comes again, in longer pieces', async () => {
  const { store, unstored, replica } = await begin();
  await replica.catchUp();
  // A decider has a change of the earlier agent, and the first piece of a long one after it.
  const hold = (revision: number, after: number, records: NodeRecord[]) =>
    unstored.add({ revision, after, epoch, heard_at: noon, json: JSON.stringify(records) });
  hold(11, 10, [{ kind: 'account', account: 90, value: null }, user(1)]);
  hold(11, 11, [user(2)]);
  await replica.catchUp();
  expect(replica.position).toEqual({ epoch, revision: 11 });
  unstored.clear();
  // The next agent requests changes after the position on disk, and gets the changes 11 to 15
  // together, revocations first.
  const revoked: NodeRecord = { ...user(1), value: null } as NodeRecord;
  const long: NodeRecord[][] = [[revoked], [user(3)], [user(4)]];
  for (const [index, piece] of long.entries()) {
    store.append(index === long.length - 1 ? 15 : 10, noon + 60, piece);
    await replica.catchUp();
    if (replica.read) unstored.dropUntil(replica.read);
    expect(replica.policy.accounts.get(90)?.users.has(1)).toBe(false);
  }
  expect(replica.position).toEqual({ epoch, revision: 15 });
  expect([...(replica.policy.accounts.get(90)?.users.keys() ?? [])]).toEqual([2, 3, 4]);
});

test('a piece that a decider gets again, since it was cut off from its agent, is not applied again', async () => {
  const { unstored, replica } = await begin();
  await replica.catchUp();
  for (let n = 0; n < 3; n += 1) {
    unstored.clear();
    for (const records of pieces.slice(0, 2)) {
      const json = JSON.stringify(records);
      unstored.add({ revision: 10, after: 10, epoch, heard_at: noon, json });
    }
    expect((await replica.catchUp()) as Set<number>).toEqual(n === 0 ? new Set([90]) : new Set());
  }
});

test('a piece between two that are alike is applied', async () => {
  const { unstored, replica } = await begin();
  const hold = (records: NodeRecord[]) =>
    unstored.add({
      ...{ revision: 10, after: 10, epoch, heard_at: noon },
      json: JSON.stringify(records),
    });
  await replica.catchUp();
  hold(pieces[0] as NodeRecord[]);
  await replica.catchUp();
  // A revocation is sent ahead, and comes again in its place.
  hold([user(2)]);
  hold([user(1)]);
  await replica.catchUp();
  hold([user(3)]);
  hold([user(1)]);
  for (const touched of [new Set([90]), new Set()]) {
    expect(await replica.catchUp()).toEqual(touched);
    expect([...(replica.policy.accounts.get(90)?.users.keys() ?? [])]).toEqual([1, 2, 3]);
  }
});

test('pieces that one agent held, and another one got after it, end as they are on the disk', async () => {
  const random = randomOf(seed);
  for (let life = 0; life < 200; life += 1) {
    const { dir, store, unstored, replica, end } = await begin();
    await replica.catchUp();
    // The control plane: each change is of one user, and records are sent in their current state.
    const log: number[] = [];
    const versions = new Map<number, number>();
    const change = () => {
      const id = 1 + random(6);
      log.push(id);
      versions.set(id, (versions.get(id) ?? 0) + 1);
    };
    const record = (id: number): NodeRecord => ({
      kind: 'user',
      account: 1,
      id: 100 + id,
      value: { name: `user${id}`, active: true, proxy: true, token_version: versions.get(id) ?? 0 },
    });
    /** The changes after a revision, as some pieces of one or more long ones. */
    const pieces = (from: number) => {
      const all: Array<{ revision: number; after: number; records: NodeRecord[] }> = [];
      for (let after = from; after < 10 + log.length; ) {
        const revision = Math.min(after + 1 + random(4), 10 + log.length);
        const ids = [...new Set(log.slice(after - 10, revision - 10))];
        const cut = random(ids.length);
        if (cut > 0) {
          all.push({ revision: after, after, records: ids.slice(0, cut).map(record) });
        }
        all.push({ revision, after, records: ids.slice(cut).map(record) });
        after = revision;
      }
      return all;
    };
    for (let n = random(8); n >= 0; n -= 1) change();
    const first = pieces(10);
    for (const { revision, after, records } of first.slice(0, random(first.length + 1))) {
      unstored.add({ revision, after, epoch, heard_at: noon, json: JSON.stringify(records) });
      if (random(2) === 0) await replica.catchUp();
    }
    if (random(2) === 0) {
      // The decider was cut off from its agent for a moment.
      const held = unstored.following({ epoch, revision: 10 });
      unstored.clear();
      for (const piece of held) unstored.add({ ...piece });
      await replica.catchUp();
    }
    unstored.clear();
    for (let n = random(4); n > 0; n -= 1) change();
    if (random(3) === 0) {
      const ids = [...new Set(log)];
      const text = snapshotText({ epoch, revision: 10 + log.length }, [
        ...usual,
        ...ids.map(record),
      ]);
      await store.replace(inPieces(text), noon + 50);
      await replica.catchUp();
      const from = 10 + log.length;
      for (let n = random(4); n > 0; n -= 1) change();
      for (const { revision, records } of pieces(from)) store.append(revision, noon + 60, records);
    } else {
      for (const { revision, records } of pieces(10)) {
        store.append(revision, noon + 60, records);
        if (random(2) === 0) {
          await replica.catchUp();
          if (replica.read) unstored.dropUntil(replica.read);
        }
      }
    }
    await replica.catchUp();
    const fresh = new Replica(dir);
    await fresh.load();
    const why = `EXITWARD_TEST_SEED=${seed}, life ${life}`;
    expect(stateOf(replica.policy), why).toEqual(stateOf(fresh.policy));
    expect(replica.position, why).toEqual(fresh.position);
    fresh.close();
    await end();
  }
});
