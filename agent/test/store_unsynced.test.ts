// A disk that takes changes and may forget them: fsync fails, as it does on a disk that is dying.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Store } from '../src/store/store.ts';
import { noon, usual } from './histories.ts';
import { createFolder, epoch, inPieces, readStored, snapshotText } from './stored.ts';

const real = fs.fsync;

/** Lets every fsync of a file of changes fail, until it is called. */
function failToSync(): () => void {
  const heal = () => {
    fs.fsync = real;
    syncBuiltinESMExports();
  };
  const error = Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  fs.fsync = Object.assign((_fd: number, done: fs.NoParamCallback) => done(error), {
    __promisify__: real.__promisify__,
  });
  syncBuiltinESMExports();
  onTestFinished(heal);
  return heal;
}

async function filled(): Promise<{ dir: string; store: Store }> {
  const { dir, remove } = createFolder();
  onTestFinished(remove);
  const store = await Store.open(dir);
  onTestFinished(() => store.close());
  await store.replace(inPieces(snapshotText({ epoch, revision: 10 }, usual)), noon);
  return { dir, store };
}

test('changes that a power cut may take are not sound until they are written anew', async () => {
  const { dir, store } = await filled();
  const heal = failToSync();
  store.append(11, noon, []);
  expect(store.isSound).toBe(true);
  await vi.waitFor(() => expect(store.isSound).toBe(false), { timeout: 90_000 });
  expect(store.faults()).toEqual([
    expect.stringMatching(/^The disk may lose changes of the policy when the power fails: EIO/),
  ]);
  // They are there for all that read them meanwhile.
  expect((await readStored(dir)).position).toEqual({ epoch, revision: 11 });

  heal();
  expect([await store.mend(), store.faults()]).toEqual([true, []]);
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
