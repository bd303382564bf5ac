// A disk that takes its time to flush: writes wait for it, and nobody else does.

import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { BuiltAccount } from './builders.ts';
import { startTestApp, type TestApp } from './harness.ts';

const list = '/contract/ip-authlist';
let folder: string;
let t: TestApp;
let account: BuiltAccount;
/** The class of all files' handles, whose `datasync` the write-ahead log is flushed by. */
let handles: FileHandle;
let datasync: FileHandle['datasync'];
let release = () => {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-slow-disk-'));
  t = await startTestApp(`sqlite:${join(folder, 'a.db')}`);
  await t.server('fra1');
  account = await t.account('acme', { servers: ['fra1'] });
  const handle = await open(join(folder, 'any'), 'w');
  handles = Object.getPrototypeOf(handle);
  datasync = handles.datasync;
  await handle.close();
});
afterEach(() => {
  handles.datasync = datasync;
  release();
});
afterAll(async () => {
  await t.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** From now on flushes begin and do not end; resolves when one has begun. */
function hold(): Promise<void> {
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  return new Promise((begun) => {
    handles.datasync = async function (this: FileHandle) {
      begun();
      await held;
      return datasync.call(this);
    };
  });
}

test('while a flush is under way, reads of accounts and operators, and /healthz, are answered; a write is when it is over', async () => {
  const begun = hold();
  let isAnswered = false;
  const entry = { ip: '198.51.100.7', user: 'alice', expiry: t.now() + 1000 };
  const write = t
    .as(account)
    .post(list, entry)
    .finally(() => {
      isAnswered = true;
    });
  await begun;
  const client = t.as(account);
  const reads = [
    () => client.get('/contract'),
    // Not from the cache, and made of what is on the disk.
    () => client.get(`${list}?ip=198.51.100.7`),
    () => t.operator.get('/status'),
    () => t.operator.get('/accounts'),
    () => fetch(`${t.running.base_url}/healthz`),
  ];
  for (const read of reads)
    expect([String(read), (await read()).status]).toEqual([String(read), 200]);
  expect((await client.get(`${list}?ip=198.51.100.7&user=alice`)).body).toEqual([]);
  expect(isAnswered).toBe(false);
  release();
  expect((await write).status).toBe(201);
  expect((await client.get(list)).body).toHaveLength(1);
});
