// The usage of all accounts over time, as operators read it: the accounts or servers with the most,
// and the others together.
import { beforeAll, describe, expect, test } from 'vitest';
import type { Reader, Value } from '../src/db/database.ts';
import { comparedOfDay, recordUsage, sumsOverTime } from '../src/usage/usage.ts';
import { eachApp } from './apps.ts';

const hour = 3600;
const day = 24 * hour;

interface Part {
  name: string | null;
  total: number;
  steps: Array<{ at: number; bytes: number }>;
}

/** A reader that counts the rows that it answers, and notes its statements. */
function countingReader(db: Reader) {
  let count = 0;
  const statements = new Map<string, readonly Value[]>();
  const all = async <R>(sql: string, values: readonly Value[] = []) => {
    const rows = await db.all<R>(sql, values);
    count += rows.length;
    statements.set(sql, values);
    return rows;
  };
  const reader: Reader = { all, one: async (sql, values) => (await all(sql, values))[0] as never };
  return { rows: () => count, statements, reader };
}

eachApp((t) => {
  let midnight: number;

  beforeAll(async () => {
    for (const server of ['fra1', 'zrh1']) await t.server(server);
    // More accounts than one slice reads.
    for (let at = 0; at < 25; at += 1) {
      const { account } = await t.account(`a${String(at).padStart(2, '0')}`, { servers: ['fra1'] });
      midnight = t.now() - (t.now() % day);
      const bucket = { account_id: account.id, user_id: 1, up: 0 };
      await t.write((tx) =>
        recordUsage(
          tx,
          [
            { ...bucket, server_id: 1, hour: midnight - day, down: 10 + at },
            { ...bucket, server_id: 2, hour: midnight - hour, down: 1 },
          ],
          () => 0,
        ),
      );
    }
  });
  const read = async (query: string) => {
    const { status, body } = await t.operator.get(`/usage/over_time?${query}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body as { step: number; parts: Part[] };
  };

  test('the accounts with the most have parts of their own, and the others share one', async () => {
    const { step, parts } = await read('by=account&parts=2');
    expect(step).toBe(day);
    expect(parts.map(({ name, total }) => [name, total])).toEqual([
      ['a24', 35],
      ['a23', 34],
      [null, 25 * 11 + 300 - 69],
    ]);
    expect(parts[0]?.steps).toEqual([{ at: midnight - day, bytes: 35 }]);
  });

  test('servers have the bytes of all accounts, by the hour of the span', async () => {
    const span = `by=server&each=hour&from=${midnight - day}&to=${midnight}`;
    expect((await read(span)).parts).toEqual([
      { name: 'fra1', total: 550, steps: [{ at: midnight - day, bytes: 550 }] },
      { name: 'zrh1', total: 25, steps: [{ at: midnight - hour, bytes: 25 }] },
    ]);
    const late = await read(`by=server&each=hour&from=${midnight - hour}&to=${midnight}`);
    expect(late.parts.map(({ name }) => name)).toEqual(['zrh1']);
  });

  test('whole days and the hours around them add up to the span', async () => {
    const from = midnight - 26 * hour;
    const { parts } = await read(`by=account&parts=1&from=${from}&to=${midnight - hour}`);
    expect(parts).toEqual([
      { name: 'a24', total: 34, steps: [{ at: midnight - day, bytes: 34 }] },
      { name: null, total: 516, steps: [{ at: midnight - day, bytes: 516 }] },
    ]);
  });

  test('a request reads as many rows in a network of many accounts as in one of few', async () => {
    const { db } = t.running.ctx;
    const since = midnight - 200 * day;
    const span = { from: since - 90 * day, to: since, step: day };
    const addAccounts = (first: number, last: number) =>
      t.write((tx) =>
        recordUsage(
          tx,
          Array.from({ length: last - first }, (_, at) => ({
            ...{ account_id: 1000 + first + at, server_id: 1, user_id: 1, up: 0 },
            ...{ hour: since - day, down: 10 ** 9 - 10 ** 7 * Math.min(first + at, 90) },
          })),
          () => 0,
        ),
      );
    const readRows = async () => {
      const { rows, statements, reader } = countingReader(db);
      for await (const _ of sumsOverTime(reader, 'account', span));
      return { rows: rows(), statements };
    };
    await addAccounts(0, comparedOfDay);
    const few = await readRows();
    await addAccounts(comparedOfDay, 10 * comparedOfDay);
    const many = await readRows();
    expect(many.rows).toBe(few.rows);
    if (db.engine !== 'sqlite') return;
    // Rows that are read are also answered: no statement sorts, sums up or leaves out rows.
    for (const [sql, values] of many.statements) {
      const plan = await db.all<{ detail: string }>(`explain query plan ${sql}`, values);
      const details = plan.map(({ detail }) => detail).filter((detail) => !/^LIST/.test(detail));
      expect(details).toEqual([
        expect.stringMatching(
          /^SEARCH usage_(hour|day)_sums USING .*\(kind=\? AND (day|hour)(=|>\? AND (day|hour)<)\?( AND id=\?)?\)$/,
        ),
      ]);
    }
  });

  describe('a question that makes no sense is rejected, and the field is named', () => {
    test.each([
      ['', 'by'],
      ['by=user', 'by'],
      ['by=account&parts=21', 'parts'],
      ['by=account&from=5&to=5', 'from'],
      [`by=account&from=0&to=${401 * day}`, 'from'],
      [`by=account&each=hour&from=0&to=${9 * day}`, 'from'],
    ])('%s', async (query, field) => {
      const { status, body } = await t.operator.get(`/usage/over_time?${query}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({ field });
    });
  });
});
