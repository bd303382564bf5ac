// Usage: every way to ask for a billing period reports the same bytes, also where it begins within
// an hour.

import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { bumpVersion } from '../src/changes/changes.ts';
import { addUp, claimBatch, periodUsage, recordUsage, sumSlices } from '../src/usage/usage.ts';
import { eachApp } from './apps.ts';

const hour = 3600;
const day = 24 * hour;

eachApp((t) => {
  let names = 0;

  beforeAll(async () => {
    await t.server('fra1');
  });

  it('a report of the billing period adds up to the usage of the contract, whenever the period begins', async () => {
    const start = t.now() - 40 * day - 17 * 60;
    const built = await t.account('acme', { servers: ['fra1'], start, plan: 'p' });
    const { id } = built.account;
    const { period } = (await t.as(built).get('/contract')).body;
    expect(period.start % hour).not.toBe(0);
    await t.write(async (tx) => {
      await bumpVersion(tx, id);
      await recordUsage(
        tx,
        [-1, 0, 1, day].map((seconds, at) => ({
          account_id: id,
          server_id: 1,
          user_id: 1,
          hour: period.start + seconds,
          up: 10 ** at,
          down: 0,
        })),
        () => start,
      );
    });
    expect((await t.as(built).get('/contract')).body.period.usage).toBe(1110);
    const report = (await t.operator.get('/accounts/acme/usage?by=hour')).body;
    expect(report).toMatchObject({ from: period.start, total: 1110 });
    const begun = period.start - (period.start % hour);
    expect(report.rows.map((row: { hour: number }) => row.hour)).toEqual([begun, begun + day]);
    const before = `/accounts/acme/usage?by=hour&from=${begun}&to=${begun + hour}`;
    expect((await t.operator.get(before)).body.rows).toEqual([
      { hour: begun, up: 111, down: 0, total: 111 },
    ]);
  });

  it('a batch that is sent again counts once, also late in the life of its journal', async () => {
    const built = await t.account('long', { servers: ['fra1'] });
    const node = await t.node('fra1', 'long-running');
    await node.snapshot();
    const send = async (seq: number) => {
      const row = { account: built.account.id, user: 1, at: t.now(), up: 10, down: 0 };
      const { status } = await node.send('POST', '/usage', { boot: 'b', seq, rows: [row] });
      expect(status).toBeLessThan(300);
    };
    const used = async () => {
      const sum =
        'select cast(sum(bytes) as bigint) as bytes from usage_server_hours where account_id = $1';
      const [row] = await t.running.ctx.db.all(sum, [built.account.id]);
      return row?.bytes;
    };
    // A journal is forgotten when nothing was heard of it for 45 days.
    for (const seq of [1, 2, 3]) {
      await send(seq);
      await t.pass(23 * day);
      await send(seq);
      expect(await used()).toBe(10 * seq);
    }
  });

  it('a node has a thousand journals at most: the oldest gives way, and no batch of the others counts again', async () => {
    const node = await t.node('fra1', 'forgetful');
    const journals = Array.from({ length: 1000 }, (_, age) => ({
      ...{ node_id: node.id, boot: `run${age}`, seq: 7, at: t.now() - age },
    }));
    await t.write((tx) => tx.insertMany('usage_journals', journals));
    const isNew = (boot: string) => t.write((tx) => claimBatch(tx, node.id, boot, 7));
    expect(await isNew('one more')).toBe(true);
    const count = 'select count(*) as n from usage_journals where node_id = $1';
    expect(await t.running.ctx.db.one(count, [node.id])).toEqual({ n: 1000 });
    for (const boot of ['one more', 'run0', 'run998']) expect(await isNew(boot)).toBe(false);
  });

  it('buckets and periods add up to the same, however the traffic falls', async () => {
    const traffic = fc.array(
      fc.record({
        hour: fc.integer({ min: 0, max: 100 * day }),
        up: fc.nat(1000),
        down: fc.nat(1000),
        user_id: fc.integer({ min: 1, max: 2 }),
      }),
      { minLength: 1, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(traffic, fc.nat(30 * day), async (rows, offset) => {
        const start = t.now() - 100 * day - offset;
        const { account } = await t.account(`any${++names}`, { start });
        const buckets = rows.map((row) => ({
          ...row,
          hour: start + row.hour,
          account_id: account.id,
          server_id: 1,
        }));
        await t.write((tx) => recordUsage(tx, buckets, () => start));
        const { db } = t.running.ctx;
        const periods = await db.all<{ period_start: number }>(
          'select distinct period_start from usage_periods where account_id = $1 order by period_start',
          [account.id],
        );
        for (const [at, { period_start }] of periods.entries()) {
          const end = periods[at + 1]?.period_start ?? Number.MAX_SAFE_INTEGER;
          const { total } = await periodUsage(db, account.id, period_start);
          const sums = await addUp(sumSlices(db, account.id, period_start, end, 'hour'));
          expect(sums.reduce((sum, { up, down }) => sum + up + down, 0)).toBe(total);
          expect(sums.every(({ key }) => Number(key) % hour === 0)).toBe(true);
        }
      }),
      { numRuns: tries(25) },
    );
  });
});
