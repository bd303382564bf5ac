// The audit log by month on PostgreSQL: nothing is lost when a month begins, and an old one goes as
// a whole.

import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { dropAuditMonths, makeAuditMonths } from '../src/changes/audit_months.ts';
import { nextId } from '../src/changes/changes.ts';
import type { Database } from '../src/db/database.ts';
import { openDatabase } from '../src/db/open.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, TestClock } from './harness.ts';

const day = 86_400;
const actor = { kind: 'system', name: 'test', address: '', request_id: '' } as const;
const noon = Date.UTC(2027, 0, 15, 12) / 1000;

eachDatabase((database) => {
  const open: Database[] = [];
  afterAll(() => Promise.all(open.map((db) => db.close())));
  async function connect(url: string, clock = new TestClock()) {
    const db = await openDatabase(url, { clock });
    open.push(db);
    return db;
  }

  /** Adds records of these times, in this order; answers their ids. */
  const add = (db: Database, times: readonly number[], account_id: number | null = 1) =>
    db.write(actor, async (tx) => {
      const rows = [];
      for (const at of times) {
        const person = { actor_kind: 'account', actor: 'acme/ci', address: '', request_id: '' };
        const deed = { account_id, action: 'x.create', target: 'x/1', before: null, after: null };
        rows.push({ id: await nextId(tx, 0, 'audit'), at, ...person, ...deed });
      }
      await tx.insertMany('audit', rows);
      return rows.map(({ id }) => id);
    });
  const idsOf = async (db: Database) =>
    (await db.all<{ id: number }>('select id from audit order by id')).map(({ id }) => id);
  const months = async (db: Database) =>
    (
      await db.all<{ name: string }>(
        `select relname as name from pg_class where relkind = 'r' and relname like 'audit\\_20%' order by 1`,
      )
    ).map(({ name }) => name);

  if (database.name === 'SQLite') {
    test('there are none on SQLite, which removes from the old end of the log', async () => {
      const db = await connect(await database.url());
      const [ids] = [await add(db, [1, noon])];
      expect(await makeAuditMonths(db, noon)).toBe(0);
      expect(await dropAuditMonths(db, noon + 9999 * day)).toBe(0);
      expect(await idsOf(db)).toEqual(ids);
    });
    return;
  }

  test('this month and two more are made, once, and take the records that came before them', async () => {
    const db = await connect(await database.url());
    const ids = await add(db, [noon - 40 * day, noon, noon + 20 * day, noon + 900 * day]);
    expect(await makeAuditMonths(db, noon)).toBe(3);
    expect(await makeAuditMonths(db, noon + 10 * day)).toBe(0);
    expect(await months(db)).toEqual(['audit_2027_01', 'audit_2027_02', 'audit_2027_03']);
    expect(await idsOf(db)).toEqual(ids);
    const of = async (table: string) =>
      (await db.all<{ id: number }>(`select id from ${table} order by id`)).map(({ id }) => id);
    expect(await of('audit_2027_01')).toEqual([ids[1]]);
    expect(await of('audit_2027_02')).toEqual([ids[2]]);
    // Of no month: before the first, and far ahead, as by a clock that jumped.
    expect(await of('audit_rest')).toEqual([ids[0], ids[3]]);
    expect(await makeAuditMonths(db, noon + 17 * day)).toBe(1);
    expect(await months(db)).toContain('audit_2027_04');
  });

  test('at any time, all records that are to be kept are there in their order, and old months are gone', async () => {
    const expected = 100 * day;
    const step = fc.tuple(
      fc.integer({ min: 0, max: 50 }),
      fc.array(fc.integer({ min: -3, max: 3 })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const db = await connect(await database.url());
        const all = new Map<number, number>();
        let now = noon;
        for (const [days, times] of steps) {
          now += days * day;
          // Of clocks that differ by days.
          const at = times.map((off) => now + off * day);
          for (const [index, id] of (await add(db, at)).entries()) all.set(id, at[index] as number);
          await makeAuditMonths(db, now);
          await dropAuditMonths(db, now - expected);
          const there = new Set(await idsOf(db));
          for (const [id, time] of all) {
            if (time >= now - expected) expect(there.has(id)).toBe(true);
            if (!there.has(id)) expect(time).toBeLessThan(now - expected);
          }
          expect((await idsOf(db)).every((id) => all.has(id))).toBe(true);
          const oldest = new Date((now - expected) * 1000)
            .toISOString()
            .slice(0, 7)
            .replace('-', '_');
          for (const name of await months(db)) expect(name >= `audit_${oldest}`).toBe(true);
        }
        await open.pop()?.close();
      }),
      { numRuns: tries(12, { atLeast: 2 }) },
    );
  });

  test('two processes at once make each month once', async () => {
    const url = await database.url();
    const [first, other] = [await connect(url), await connect(url)];
    const made = await Promise.all([makeAuditMonths(first, noon), makeAuditMonths(other, noon)]);
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(3);
    const gone = await Promise.all(
      [first, other].map((db) => dropAuditMonths(db, noon + 9999 * day)),
    );
    expect(gone.reduce((sum, count) => sum + count, 0)).toBe(3);
  });

  test('a reader that goes on for long, as a dump does, holds nobody up for long: it is done the next time', async () => {
    const url = await database.url();
    const db = await connect(url);
    await add(db, [noon]);
    await (await connect(url)).snapshot(async (reader) => {
      await reader.all('select id from audit');
      const write = add(db, [noon]);
      const [made] = await Promise.all([makeAuditMonths(db, noon), write]);
      expect(made).toBe(0);
      await add(db, [noon]);
      expect(await reader.all('select id from audit')).toHaveLength(1);
    });
    expect(await makeAuditMonths(db, noon)).toBe(3);
    expect(await idsOf(db)).toHaveLength(3);
  });

  test('a page of the log is read by an index of each month', async () => {
    const t = await startTestApp(await database.url());
    const { db } = t.running.ctx;
    await makeAuditMonths(db, noon);
    for (const ahead of [0, 25, 50]) {
      const times = Array.from({ length: 4000 }, () => noon + ahead * day);
      for (const account of [1, 2]) await add(db, times, account);
    }
    await db.script(['analyze audit']);
    for (const where of ['account_id = 1 and id < 90000', 'id < 90000']) {
      const plan = JSON.stringify(
        await db.all(`explain select * from audit where ${where} order by id desc limit 100`),
      );
      expect(plan).toContain('Index');
      expect(plan).not.toMatch(/Seq Scan on audit_20/);
    }
    await t.stop();
  });
});
