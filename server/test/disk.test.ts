// The disk under SQLite: one that takes its time, one that fails, and one whose power is cut, which
// keeps what was flushed.
import { copyFileSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { testFolder } from '../../test/test_folder.ts';
import { systemClock } from '../src/clock.ts';
import type { Actor, Database, Transaction } from '../src/db/database.ts';
import { openDatabase } from '../src/db/open.ts';
import { conflict } from '../src/errors.ts';
import { until } from './waiting.ts';

const tester: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };
const folder = testFolder('disk');
let files = 0;
const open: Array<{ db: Database; disk: Disk }> = [];

afterEach(async () => {
  const opened = open.splice(0);
  // A test that has failed may have left a flush under way.
  for (const { disk } of opened) disk.isSlow = false;
  for (const { disk } of opened) disk.flush();
  for (const { db } of opened) await db.close();
});

/**
 * A disk that flushes when the test lets it, or at once; it holds what was in the log when it last
 * flushed.
 */
class Disk {
  readonly file: string;
  flushes = 0;
  isSlow = false;
  isBroken = false;
  /** Seconds that pass with each look at the clock: no lock is waited for. */
  hurry = 0;
  /** The log on the disk. */
  log = Buffer.alloc(0);
  #held: Array<() => void> = [];

  constructor(file = join(folder, `${++files}.db`)) {
    this.file = file;
  }
  readonly sync = async (_file: FileHandle) => {
    // The bytes of this moment: what is written while it flushes may or may not be on the disk.
    const log = readFileSync(`${this.file}-wal`);
    if (this.isSlow) await new Promise<void>((resolve) => this.#held.push(resolve));
    if (this.isBroken) throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
    this.log = log;
    this.flushes += 1;
  };
  get flushing(): number {
    return this.#held.length;
  }
  flush(): void {
    for (const done of this.#held.splice(0)) done();
  }
  async open(): Promise<Database> {
    let passed = 0;
    const steady = () => {
      passed += this.hurry;
      return passed;
    };
    const clock = { now: systemClock.now, steady };
    const db = await openDatabase(`sqlite:${this.file}`, { clock, sync: this.sync });
    open.push({ db, disk: this });
    return db;
  }
  get logBytes(): number {
    return statSync(`${this.file}-wal`).size;
  }
  /** Another one each time that the log begins from the start: the salts of its header. */
  get beginning(): string {
    return readFileSync(`${this.file}-wal`).toString('hex', 16, 24);
  }
  /** The marks that a start after a power cut finds. */
  async marksAfterCut(): Promise<string[]> {
    const after = new Disk();
    copyFileSync(this.file, after.file);
    writeFileSync(`${after.file}-wal`, this.log);
    return marksOf(await after.open());
  }
}

async function fresh(): Promise<{ disk: Disk; db: Database }> {
  const disk = new Disk();
  const db = await disk.open();
  await db.script(['create table marks (name text primary key)']);
  return { disk, db };
}

const mark = (db: Database, name: string) =>
  db.write(tester, (tx: Transaction) => tx.run('insert into marks (name) values ($1)', [name]));
const marksOf = async (db: Database) =>
  (await db.all<{ name: string }>('select name from marks order by name')).map(({ name }) => name);

describe('a disk that takes its time', () => {
  test('reads are answered meanwhile, with what is on it; the change is shown when it is acknowledged', async () => {
    const { disk, db } = await fresh();
    await mark(db, 'one');
    disk.isSlow = true;
    let isAcknowledged = false;
    const written = mark(db, 'two').then(() => {
      isAcknowledged = true;
    });
    await until(() => disk.flushing > 0);
    const version = db.dataVersion?.();
    for (let reads = 0; reads < 5; reads += 1) {
      expect(await marksOf(db)).toEqual(['one']);
      await turn();
    }
    expect(db.dataVersion?.()).toBe(version);
    expect(isAcknowledged).toBe(false);
    expect(await disk.marksAfterCut()).toEqual(['one']);
    disk.flush();
    await written;
    expect(db.dataVersion?.()).not.toBe(version);
    expect(await marksOf(db)).toEqual(['one', 'two']);
    expect(await disk.marksAfterCut()).toEqual(['one', 'two']);
  });

  test('a rejection is sent when the writes that it may rest on are on it: those of its own group', async () => {
    const { disk, db } = await fresh();
    disk.isSlow = true;
    const durable: string[] = [];
    const written = mark(db, 'one').then(() => durable.push('written'));
    const rejected = db
      .write(tester, async () => {
        throw conflict('there is one');
      })
      .catch(() => durable.push('rejected'));
    await until(() => disk.flushing > 0);
    for (let turns = 0; turns < 5; turns += 1) await turn();
    expect(durable).toEqual([]);
    disk.flush();
    await Promise.all([written, rejected]);
    expect(durable.sort()).toEqual(['rejected', 'written']);
  });

  test('a snapshot shows what is on it', async () => {
    const { disk, db } = await fresh();
    disk.isSlow = true;
    const written = mark(db, 'one');
    await until(() => disk.flushing > 0);
    const read = db.snapshot(async (reader) => {
      expect(await disk.marksAfterCut()).toEqual(['one']);
      return reader.all('select name from marks');
    });
    await turn();
    disk.flush();
    await until(() => disk.flushing > 0);
    disk.flush();
    expect(await read).toHaveLength(1);
    await written;
  });

  test('what another process has committed is shown when it is on the disk, and then to all who waited', async () => {
    const { disk, db } = await fresh();
    // The other one acknowledges nothing: its flush is still to come.
    const other = new Disk(disk.file);
    const there = await other.open();
    other.isSlow = true;
    disk.isSlow = true;
    const written = mark(there, 'theirs');
    await until(() => other.flushing > 0);
    const reads = [marksOf(db), marksOf(db)];
    await until(() => disk.flushing > 0);
    expect(await disk.marksAfterCut()).toEqual([]);
    // One that comes after yet another commit does not make the first ones wait longer.
    disk.flush();
    expect(await Promise.all(reads)).toEqual([['theirs'], ['theirs']]);
    expect(await disk.marksAfterCut()).toEqual(['theirs']);
    disk.isSlow = false;
    other.isSlow = false;
    other.flush();
    await written;
    expect(await marksOf(db)).toEqual(['theirs']);
  });

  test('what another process has acknowledged is shown to the next request, also right after a commit of this one', async () => {
    const { disk, db } = await fresh();
    const there = new DatabaseSync(disk.file);
    await marksOf(db);
    disk.isSlow = true;
    const ours = mark(db, 'ours');
    const shown = new Promise<string[]>((resolve, reject) => {
      const commitThere = () => {
        try {
          there.exec("insert into marks (name) values ('theirs')");
        } catch {
          // The group still runs.
          queueMicrotask(commitThere);
          return;
        }
        // The event loop reads next, and finds a timer that is due.
        setTimeout(() => marksOf(db).then(resolve, reject), 0);
        const until = performance.now() + 5;
        while (performance.now() < until);
      };
      // In the turn in which the group runs, after it has begun.
      setImmediate(() => queueMicrotask(commitThere));
    });
    await until(() => disk.flushing > 0);
    disk.isSlow = false;
    disk.flush();
    expect(await shown).toContain('theirs');
    await ours;
    there.close();
  });

  test('a rejection that rests on what another process has committed waits until that is on the disk', async () => {
    const { disk, db } = await fresh();
    const other = new Disk(disk.file);
    const there = await other.open();
    other.isSlow = true;
    const written = mark(there, 'theirs');
    await until(() => other.flushing > 0);
    const seen = await db.write(tester, (tx) => tx.all('select name from marks'));
    expect(seen).toHaveLength(1);
    expect(await disk.marksAfterCut()).toEqual(['theirs']);
    other.isSlow = false;
    other.flush();
    await written;
  });

  test('property: at any moment a power cut keeps all that was acknowledged, and all that was read', async () => {
    const { disk, db } = await fresh();
    disk.isSlow = true;
    const durable = new Set<string>();
    const writes = Array.from({ length: 40 }, async (_, at) => {
      for (let turns = 0; turns < at * 3; turns += 1) await turn();
      await mark(db, `m${at}`);
      durable.add(`m${at}`);
    });
    let isOver = false;
    const all = Promise.all(writes).then(() => {
      isOver = true;
    });
    for (let turns = 0; !isOver; turns += 1) {
      if (turns % 7 === 0) disk.flush();
      if (turns % 3 === 0) for (const name of await marksOf(db)) durable.add(name);
      const survivors = turns % 20 === 0 ? await disk.marksAfterCut() : [...durable];
      expect(survivors).toEqual(expect.arrayContaining([...durable]));
      await turn();
    }
    await all;
    expect((await disk.marksAfterCut()).sort()).toEqual([...durable].sort());
    expect(durable.size).toBe(40);
  });

  test('a log that has grown is folded into the database beside the event loop, and nothing is lost by it', async () => {
    const { disk, db } = await fresh();
    const text = 'x'.repeat(50_000);
    const { beginning } = disk;
    let marks = 0;
    // A fold that finds the writer at work leaves the log to one after a later commit.
    await until(async () => {
      await mark(db, `${++marks} ${text}`);
      return disk.beginning !== beginning;
    });
    const { logBytes } = disk;
    expect(logBytes).toBeGreaterThan(4_000_000);
    expect(statSync(disk.file).size).toBeGreaterThan(3_000_000);
    expect(await marksOf(db)).toHaveLength(marks);
    await mark(db, 'last');
    expect(await disk.marksAfterCut()).toHaveLength(marks + 1);
    // A flush is cheaper where the file keeps its size.
    expect(disk.logBytes).toBe(logBytes);
  });

  test('a log that a long read has kept from being folded is emptied when it is', async () => {
    const { disk, db } = await fresh();
    const text = 'x'.repeat(500_000);
    let marks = 0;
    await db.snapshot(async (reader) => {
      await reader.all('select name from marks');
      while (disk.logBytes < 20_000_000) await mark(db, `${++marks} ${text}`);
    });
    await until(async () => {
      await mark(db, `${++marks}`);
      return disk.logBytes < 1_000_000;
    });
    expect(await disk.marksAfterCut()).toHaveLength(marks);
  });
});

describe('writers that never rest', () => {
  /** They write until `isOver`, which is asked after each change. */
  function keepWriting(db: Database, isOver: () => boolean): Promise<unknown> {
    let marks = 0;
    const text = 'x'.repeat(2000);
    const writers = Array.from({ length: 8 }, async () => {
      do await mark(db, `${++marks} ${text}`);
      while (!isOver());
    });
    return Promise.all(writers);
  }

  test('leave the write lock to those of another process', async () => {
    const { disk, db } = await fresh();
    const there = await new Disk(disk.file).open();
    let isOver = false;
    const written = keepWriting(db, () => isOver);
    for (let at = 0; at < 5; at += 1) await mark(there, `theirs ${at}`);
    isOver = true;
    await written;
  });

  test('leave it to the thread that folds the log', async () => {
    const { disk, db } = await fresh();
    const beginnings = new Set<string>();
    const began = performance.now();
    await keepWriting(db, () => {
      const isOver = performance.now() - began > 60_000;
      return isOver || beginnings.add(disk.beginning).size === 4;
    });
    expect(beginnings.size).toBe(4);
    expect(disk.logBytes).toBeGreaterThan(4_000_000);
    expect(disk.logBytes).toBeLessThan(40_000_000);
  });

  test('let the log begin again between two flushes, however long each of them takes', async () => {
    const { disk, db } = await fresh();
    const first = disk.beginning;
    await mark(db, `1 ${'x'.repeat(5_000_000)}`);
    await until(async () => {
      await mark(db, String(performance.now()));
      return disk.beginning !== first;
    });
    const { beginning } = disk;
    disk.isSlow = true;
    const large = mark(db, `2 ${'x'.repeat(5_000_000)}`);
    await until(() => disk.flushing > 0);
    const next = mark(db, 'next');
    disk.flush();
    await large;
    // Until the next flush is done, a view is held; the thread waits less long for it.
    await until(() => disk.flushing > 0);
    await sleep(500);
    disk.isSlow = false;
    disk.flush();
    await next;
    await mark(db, 'last');
    expect(disk.beginning).not.toBe(beginning);
  });
});

describe('a disk that fails', () => {
  test('a failed flush is a 503; reads stay with what is on the disk until the whole log was written again', async () => {
    const { disk, db } = await fresh();
    await mark(db, 'one');
    disk.isBroken = true;
    await expect(mark(db, 'two')).rejects.toMatchObject({ status: 503 });
    expect(await marksOf(db)).toEqual(['one']);
    await expect(mark(db, 'three')).rejects.toMatchObject({ status: 503 });
    await expect(db.snapshot(async () => {})).rejects.toMatchObject({ status: 503 });
    const other = new DatabaseSync(disk.file);
    other.exec('begin immediate');
    disk.hurry = 10;
    await expect(mark(db, 'locked')).rejects.toMatchObject({ status: 503 });
    other.close();
    await turn();
    expect(await marksOf(db)).toEqual(['one']);
    expect(await disk.marksAfterCut()).toEqual(['one']);

    disk.isBroken = false;
    const flushes = disk.flushes;
    await mark(db, 'four');
    // A flush alone would not do: the system takes the pages of the failed one for clean.
    expect(disk.flushes).toBe(flushes + 2);
    expect(await marksOf(db)).toEqual(['four', 'one', 'two']);
    expect(await disk.marksAfterCut()).toEqual(['four', 'one', 'two']);
  });

  test('what another process has committed is not shown while it cannot be flushed', async () => {
    const { disk, db } = await fresh();
    await marksOf(db);
    const other = new Disk(disk.file);
    const there = await other.open();
    disk.isBroken = true;
    await mark(there, 'theirs');
    await expect(marksOf(db)).rejects.toMatchObject({ status: 503 });
    await turn();
    await expect(marksOf(db)).rejects.toMatchObject({ status: 503 });
    disk.isBroken = false;
    // The sweeps write each second.
    await db.write(tester, async () => {});
    expect(await marksOf(db)).toEqual(['theirs']);
  });
});

describe('a start', () => {
  test('writes the log that it finds again, and flushes it, before anything is acknowledged', async () => {
    const { disk, db } = await fresh();
    await mark(db, 'left behind');
    // As after a kill: its log was read into memory, and may be nowhere else.
    const after = new Disk();
    copyFileSync(disk.file, after.file);
    copyFileSync(`${disk.file}-wal`, `${after.file}-wal`);
    const log = readFileSync(`${after.file}-wal`);
    utimesSync(`${after.file}-wal`, 1, 1);
    const again = await after.open();
    expect(statSync(`${after.file}-wal`).mtimeMs).toBeGreaterThan(1000);
    expect(after.log.equals(log)).toBe(true);
    expect(after.flushes).toBe(1);
    expect(await marksOf(again)).toEqual(['left behind']);
  });

  test('says so when the log cannot be flushed, or another process holds the write lock', async () => {
    const { disk } = await fresh();
    const broken = new Disk(disk.file);
    broken.isBroken = true;
    await expect(broken.open()).rejects.toThrow(/ cannot be opened: EIO/);
    const holder = new DatabaseSync(disk.file);
    holder.exec('begin immediate');
    const late = new Disk(disk.file);
    late.hurry = 10;
    await expect(late.open()).rejects.toThrow(
      'cannot be opened: another process has held its write lock for 5 seconds.',
    );
    holder.close();
  });
});
