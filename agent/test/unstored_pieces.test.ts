// Pieces of one long change have the revision before it: those in memory and those on disk are each applied once, in their order.
import { expect, onTestFinished, test } from 'vitest';
import type { NodeRecord } from '../src/policy/records.ts';
import { Replica } from '../src/store/replica.ts';
import { Store } from '../src/store/store.ts';
import { Unstored } from '../src/store/unstored.ts';
import { noon, usual } from './histories.ts';
import { createFolder, epoch, inPieces, snapshotText, stateOf } from './stored.ts';

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

// The embedded engine shares the store's list; a decider has a copy, which loses what its replica has read from disk.
test.each(['shared', 'copied'])(
  'of a disk that takes them one by one nothing is lost, by a list that is %s',
  async (list) => {
    const { dir, remove } = createFolder();
    onTestFinished(remove);
    const store = await Store.open(dir);
    onTestFinished(() => store.close());
    await store.replace(inPieces(snapshotText({ epoch, revision: 10 }, usual)), noon);
    const unstored = new Unstored();
    const replica = new Replica(dir, unstored);
    onTestFinished(() => replica.close());
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
