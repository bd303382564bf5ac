// A disk that accepts changes and may lose them: fsync fails, as on a disk that is dying.
import { expect, onTestFinished, test, vi } from 'vitest';
import { Store } from '../src/store/store.ts';
import { failToSync } from './failing_sync.ts';
import { noon, usual } from './histories.ts';
import { createFolder, epoch, inPieces, readStored, snapshotText } from './stored.ts';

async function filled(): Promise<{ dir: string; store: Store }> {
  const { dir, remove } = createFolder();
  onTestFinished(remove);
  const store = await Store.open(dir);
  onTestFinished(() => store.close());
  await store.replace(inPieces(snapshotText({ epoch, revision: 10 }, usual)), noon);
  return { dir, store };
}

test('changes that a power cut may take are not sound until they are written again', async () => {
  const { dir, store } = await filled();
  const heal = failToSync();
  store.append(11, noon, []);
  expect(store.isSound).toBe(true);
  await vi.waitFor(() => expect(store.isSound).toBe(false), { timeout: 90_000 });
  expect(store.faults()).toEqual([
    expect.stringMatching(/^The disk may lose changes of the policy when the power fails: EIO/),
  ]);
  // Readers see the changes all the same.
  expect((await readStored(dir)).position).toEqual({ epoch, revision: 11 });

  heal();
  expect([await store.repair(), store.faults()]).toEqual([true, []]);
  store.append(12, noon, []);
  expect((await readStored(dir)).position).toEqual({ epoch, revision: 12 });
});

test('a new snapshot makes it sound, too', async () => {
  const { store } = await filled();
  failToSync();
  store.append(11, noon, []);
  await vi.waitFor(() => expect(store.isSound).toBe(false), { timeout: 90_000 });
  await store.replace(inPieces(snapshotText({ epoch, revision: 20 }, usual)), noon);
  expect(store.isSound).toBe(true);
});
