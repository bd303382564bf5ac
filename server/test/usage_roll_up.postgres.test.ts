// Roll-up of usage: hours become days and days end, and every sum stays the same to the byte at
// every moment.

import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import type { Reader } from '../src/db/database.ts';
import { notFound } from '../src/errors.ts';
import {
  addUp,
  periodUsage,
  recordUsage,
  sumSlices,
  type UsageBucket,
  UsageRollUp,
} from '../src/usage/usage.ts';
import { periodAt } from '../src/values/periods.ts';
import { eachApp } from './apps.ts';
import { contradictions } from './contradictions.ts';

const hour = 3600;
const day = 24 * hour;
const retention = { usage_hours_kept_seconds: 92 * day, usage_days_kept_seconds: 0 };

eachApp((t) => {
  let names = 0;

  beforeAll(async () => {
    await t.server('fra1');
    await t.server('ams1');
  });

  const sumsOf = async (db: Reader, account_id: number, start: number) => {
    const sums = (by: 'day' | 'server' | 'user', from = 0, to = 10 ** 12) =>
      addUp(sumSlices(db, account_id, from, to, by));
    const periods: Array<{ start: number; report: number; period: number }> = [];
    for (let at = start; at < t.now() + day; ) {
      const period = periodAt(start, at);
      const rows = await sums('server', period.start, period.end);
      const report = rows.reduce((sum, { up, down }) => sum + up + down, 0);
      const { total } = await periodUsage(db, account_id, period.start);
      periods.push({ start: period.start, report, period: total });
      at = period.end;
    }
    return {
      day: await sums('day'),
      server: await sums('server'),
      user: await sums('user'),
      periods,
    };
  };

  it('no sum by day, server, user or period moves, however reports, late ones and roll-ups follow one another', async () => {
    const { db } = t.running.ctx;
    const report = fc.array(
      fc.record({
        hour: fc.integer({ min: 0, max: 200 * day }),
        up: fc.nat(1000),
        down: fc.nat(1000),
        user_id: fc.integer({ min: 1, max: 2 }),
        server_id: fc.integer({ min: 1, max: 2 }),
      }),
      { minLength: 1, maxLength: 30 },
    );
    // Each step: a report, and for how many days before now the roll-up leaves the hours.
    const steps = fc.array(fc.tuple(report, fc.integer({ min: 41, max: 200 })), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(30 * day), async (all, offset) => {
        const start = t.now() - 200 * day - offset;
        const { account } = await t.account(`any${++names}`, { start });
        const totals = new Map<number, number>();
        for (const [rows, days] of all) {
          const buckets: UsageBucket[] = rows.map((row) => ({
            ...row,
            hour: start + row.hour,
            account_id: account.id,
          }));
          await t.write((tx) => recordUsage(tx, buckets, () => start));
          for (const { hour: at, up, down } of buckets) {
            const begun = at - (at % day);
            totals.set(begun, (totals.get(begun) ?? 0) + up + down);
          }
          const before = await sumsOf(db, account.id, start);
          const roll = new UsageRollUp(
            db,
            { ...retention, usage_hours_kept_seconds: days * day },
            async () => start,
          );
          await roll.look(t.now());
          const after = await sumsOf(db, account.id, start);
          expect(after).toEqual(before);
          // Those of the network, the accounts and the servers as well.
          expect(await contradictions(db, 'the sums by')).toEqual([]);
          expect(after.periods.every(({ report: sum, period }) => sum === period)).toBe(true);
          expect(new Map(after.day.map(({ key, up, down }) => [Number(key), up + down]))).toEqual(
            new Map(Array.from(totals).sort(([a], [b]) => a - b)),
          );
          const [remaining] = await db.all<{ hours: number }>(
            'select count(*) as hours from usage_hours where account_id = $1 and hour < $2',
            [account.id, t.now() - (days + 1) * day],
          );
          expect(remaining?.hours).toBe(0);
        }
      }),
      { numRuns: tries(15) },
    );
  });

  it('a roll-up that is ended between two slices, or fails within one, has lost and doubled nothing, and goes on', async () => {
    const { db } = t.running.ctx;
    const start = t.now() - 150 * day - 17 * 60;
    // Nothing is left to do for the accounts of other tests.
    await new UsageRollUp(db, retention, async () => start).look(t.now());
    const { account } = await t.account('sliced', { start });
    const buckets = Array.from({ length: 1300 }, (_, at) => ({
      account_id: account.id,
      server_id: 1 + (at % 2),
      user_id: 1 + (at % 3),
      hour: start + at * hour,
      up: at,
      down: 1,
    }));
    await t.write((tx) => recordUsage(tx, buckets, () => start));
    const before = await sumsOf(db, account.id, start);
    const hours = async () =>
      (await db.all('select hour from usage_hours where account_id = $1', [account.id])).length;
    const rollUp = new UsageRollUp(db, retention, async () => start);

    const writing = (write: typeof db.write) =>
      new UsageRollUp(
        { one: db.one.bind(db), all: db.all.bind(db), write },
        retention,
        async () => start,
      );

    const failing = writing((actor, action) =>
      db.write(actor, async (tx) => {
        await action(tx);
        throw notFound('the process ends here');
      }),
    );
    await expect(failing.look(t.now())).rejects.toThrow('the process ends here');
    expect(await hours()).toBe(1300);

    let writes = 0;
    const ended = writing((actor, action) => {
      writes += 1;
      return db.write(actor, action);
    });
    await ended.look(t.now(), () => writes > 0);
    expect(await hours()).toBe(800);
    expect(await sumsOf(db, account.id, start)).toEqual(before);
    await Promise.all([rollUp.look(t.now()), rollUp.look(t.now())]);
    expect(await sumsOf(db, account.id, start)).toEqual(before);
    expect(await hours()).toBeLessThan(100);
  });

  it('by hour, a day that was rolled up is one row, at its first hour or where the billing period begins', async () => {
    const start = t.now() - (t.now() % day) - 120 * day + 5 * hour;
    const { account } = await t.account('hourly', { start });
    const first = start - 5 * hour;
    await t.write((tx) =>
      recordUsage(
        tx,
        [5, 7, 30, 31].map((at) => ({
          account_id: account.id,
          server_id: 1,
          user_id: 1,
          hour: first + at * hour,
          up: at,
          down: 0,
        })),
        () => start,
      ),
    );
    await new UsageRollUp(t.running.ctx.db, retention, async () => start).look(t.now());
    const path = `/accounts/hourly/usage?from=${first}`;
    expect((await t.operator.get(`${path}&by=hour`)).body.rows).toEqual([
      { hour: start, up: 12, down: 0, total: 12 },
      { hour: first + day, up: 61, down: 0, total: 61 },
    ]);
    expect((await t.operator.get(`${path}&by=user`)).body.total).toBe(73);
  });

  it('days end after their time, and the sums by billing period stay', async () => {
    const { db } = t.running.ctx;
    const start = t.now() - 500 * day;
    const { account } = await t.account('ended', { start });
    const at = (hour: number, up: number) => ({
      account_id: account.id,
      server_id: 1,
      user_id: 1,
      hour,
      up,
      down: 0,
    });
    await t.write((tx) => recordUsage(tx, [at(start, 7), at(t.now() - 300 * day, 9)], () => start));
    const settings = { ...retention, usage_days_kept_seconds: 400 * day };
    await new UsageRollUp(db, settings, async () => start).look(t.now());
    const days = await addUp(sumSlices(db, account.id, 0, 10 ** 12, 'day'));
    expect(days.map(({ up }) => up)).toEqual([9]);
    expect(await contradictions(db, 'the sums by')).toEqual([]);
    expect((await periodUsage(db, account.id, start)).total).toBe(7);
    const none = { usage_hours_kept_seconds: 0, usage_days_kept_seconds: 0 };
    expect(await new UsageRollUp(db, none, async () => start).look(t.now() + 1000 * day)).toBe(0);
  });
});
