// Durable files and restored ids: the leftovers of a power cut do no harm, and no id is given
// twice.
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDurably } from '../../kit/src/durable.ts';
import { testFolder } from '../../test/test_folder.ts';
import { fullDiskFault } from '../src/bounds/full_disk.ts';
import { systemClock } from '../src/clock.ts';
import { idGap } from '../src/db/history.ts';
import { openDatabase } from '../src/db/open.ts';
import { restoreSqlite } from '../src/db/restore.ts';
import { loadSecrets } from '../src/keys/keys_file.ts';
import { startTestApp } from './harness.ts';

const folder = testFolder('durable');

test('what a power cut left of a keys file that was being written is removed, and new keys are whole', () => {
  const path = join(folder, 'new', 'below', 'keys.json');
  const { key_id } = loadSecrets(path, false);
  const unfinished = `${path}.0123456789ab.unfinished`;
  for (const there of [true, false]) {
    if (!there) rmSync(path);
    writeFileSync(unfinished, '{ "seal": "');
    expect(loadSecrets(path, there).key_id === key_id).toBe(there);
    expect(readdirSync(join(folder, 'new', 'below'))).toEqual(['keys.json']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
});

test('of two that create a file the first wins, and the other gets an error', () => {
  const path = join(folder, 'file');
  expect([createDurably(path, 'one'), createDurably(path, 'two')]).toEqual([true, false]);
  expect(readFileSync(path, 'utf8')).toBe('one');
  expect(readdirSync(folder).filter((name) => name.startsWith('file'))).toEqual(['file']);
});

test('a database that lives with keys gets no new ones when their file is gone', () => {
  const path = join(folder, 'gone.json');
  expect(() => loadSecrets(path, true)).toThrow(`There is no keys file ${path}`);
  expect(existsSync(path)).toBe(false);
});

test('a full disk is reported as such, wherever it was met, and no other fault is', () => {
  const full = Object.assign(new Error('x'), { code: 'ENOSPC' });
  const said = `The disk is full: ${folder} has no space left for the server to start.`;
  for (const fault of [
    full,
    new Error('The keys file cannot be written (ENOSPC).', { cause: full }),
    Object.assign(new Error('database or disk is full'), { errcode: 13 }),
  ]) {
    expect(fullDiskFault(fault, [folder])?.message).toBe(said);
  }
  for (const fault of [
    new Error('ENOSPC'),
    Object.assign(new Error('disk I/O error'), { errcode: 10 }),
    Object.assign(new Error('x'), { code: 'EACCES' }),
  ]) {
    expect(fullDiskFault(fault, [folder])).toBeUndefined();
  }
});

test('a backup takes the place of nothing: neither of a file that came meanwhile, nor of a link', async () => {
  const file = join(folder, 'busy.db');
  const db = await openDatabase(`sqlite:${file}`, { clock: systemClock });
  const [existing, link, other] = ['taken.db', 'link.db', 'other'].map((name) =>
    join(folder, name),
  );
  writeFileSync(existing as string, 'mine');
  symlinkSync(other as string, link as string);
  for (const target of [existing, link] as string[]) {
    await expect(db.backup(target)).rejects.toThrow(`${target} is there already.`);
  }
  await db.close();
  expect([readFileSync(existing as string, 'utf8'), existsSync(other as string)]).toEqual([
    'mine',
    false,
  ]);
  expect(lstatSync(link as string).isSymbolicLink()).toBe(true);
  expect(readdirSync(folder).filter((name) => name.endsWith('.unfinished'))).toEqual([]);
});

test('a restore gives no id again that was given since the backup, in any list', async () => {
  const file = join(folder, 'restored.db');
  const t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  const { db } = t.running.ctx;
  await t.account('acme');
  await db.backup(join(folder, 'backup.db'));
  const entry = { ip: '192.0.2.1', user: 'alice', expiry: t.now() + 100 };
  const given = await t.operator.post('/accounts/acme/authlist', entry);
  expect([given.status, given.body.id]).toEqual([201, 1]);
  await restoreSqlite(file, join(folder, 'backup.db'), t.clock);
  const { keys_file, admin_token_file } = t.running.ctx.config;
  const again = await startTestApp(`sqlite:${file}`, {
    EXITWARD_KEYS_FILE: keys_file,
    EXITWARD_ADMIN_TOKEN_FILE: admin_token_file,
  });
  const anew = await again.operator.post('/accounts/acme/authlist', entry);
  expect(anew.status).toBe(201);
  expect(anew.body.id).toBeGreaterThan(given.body.id + idGap);
  await Promise.all([t.stop(), again.stop()]);
});
