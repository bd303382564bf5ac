// Kills its process before, or in the middle of, one call that changes files: CRASH_AT=main:7:half.
// It is preloaded, also in threads.
import fs from 'node:fs';
import promises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';

type Call = (this: unknown, ...args: never[]) => unknown;

const [thread, at, how] = (process.env.CRASH_AT ?? '').split(':');
const mine = thread === (isMainThread ? 'main' : 'compaction');
/** A letter for each call: create, write, append, sync, rename, delete. */
let calls = '';

function count<T extends object>(owner: T, letter: string, names: Array<keyof T>, half?: Call) {
  for (const name of names) {
    const real = owner[name] as Call;
    const counted: Call = function (...args) {
      calls += letter;
      if (!mine || calls.length !== Number(at)) return real.apply(this, args);
      const done = how === 'half' && half ? half.apply(this, args) : undefined;
      const die = () => process.kill(process.pid, 'SIGKILL');
      return done instanceof Promise ? done.then(die) : die();
    };
    owner[name] = counted as T[keyof T];
  }
}

const { openSync, writeSync } = fs;
const folder = await promises.open(import.meta.dirname);
const fileHandle = Object.getPrototypeOf(folder) as FileHandle;
await folder.close();
const { appendFile } = fileHandle;

count(fs, 'c', ['mkdirSync', 'rmSync']);
count(fs, 'r', ['renameSync']);
count(fs, 'w', ['writeSync'], ((fd: number, bytes: Buffer, from: number, all: number, to: number) =>
  writeSync(fd, bytes, from, all >> 1, to)) as Call);
count(promises, 'c', ['copyFile', 'truncate']);
count(promises, 'r', ['rename']);
count(promises, 'd', ['rm', 'unlink']);
count(fileHandle, 's', ['sync']);
count(fileHandle, 'a', ['appendFile'], function (this: FileHandle, bytes: Buffer) {
  return appendFile.call(this, bytes.subarray(0, bytes.length >> 1));
} as Call);
// Opening changes files only if it creates one.
const counting = { create: openSync };
count(counting, 'c', ['create']);
fs.openSync = ((path, flags, mode) =>
  (flags === 'wx' ? counting.create : openSync)(path, flags ?? 'r', mode)) as typeof openSync;
syncBuiltinESMExports();

process.on('exit', () => {
  if (mine) writeSync(1, `calls ${calls}\n`);
});
