// The contract and its usage: periods by the calendar, sums, and the window of 30 days against a
// brute-force model.

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { periodAt } from '../src/values/periods.ts';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';

const [hour, day] = [3_600, 86_400];
const at = (text: string) => Date.parse(`${text}Z`) / 1000;

interface Row {
  server: string;
  at: number;
  bytes: number;
}

eachDatabase((database) => {
  let t: TestApp;
  const nodes = new Map<string, TestNode>();
  let names = 0;
  let seq = 0;

  beforeAll(async () => {
    // Sums at the edge of what JSON can tell are not for any machine to carry.
    t = await startTestApp(await database.url(), {
      EXITWARD_NODE_MAX_BYTES_PER_SECOND: String(9 * 10 ** 14),
    });
    for (const server of ['fra1', 'nyc1']) {
      await t.server(server);
      nodes.set(server, await t.node(server));
    }
  });
  afterAll(() => t.stop());

  const account = (more: Parameters<TestApp['account']>[1] = {}) =>
    t.account(`account${++names}`, {
      servers: ['fra1', 'nyc1'],
      expiry: t.now() + 5000 * day,
      ...more,
    });
  const report = async (of: BuiltAccount, rows: Row[]) => {
    for (const [server, node] of nodes) {
      const mine = rows.filter((row) => row.server === server);
      const answer = await node.send('POST', '/usage', {
        boot: 'b',
        seq: ++seq,
        rows: mine.map((row) => ({
          account: of.account.id,
          user: 1,
          at: row.at,
          up: row.bytes,
          down: 0,
        })),
      });
      expect(answer.status).toBe(200);
      await answer.text();
    }
  };
  const contract = async (of: BuiltAccount) => (await t.as(of).get('/contract')).body;
  const usage = async (of: BuiltAccount) => {
    const servers = (await t.as(of).get('/contract/servers?detail=usage')).body;
    for (const server of servers) {
      const alone = await t.as(of).get(`/contract/servers/${server.server}?detail=usage`);
      expect(alone.body.usage).toEqual(server.usage);
    }
    return Object.fromEntries(
      servers.map((server: { server: string; usage: Record<string, number> }) => [
        server.server,
        [server.usage.current, server.usage.last_30_days],
      ]),
    );
  };

  describe('GET /v0/contract', () => {
    it('shows name, plan, the running period with usage and limit in bytes, and the expiry, in both variants', async () => {
      const of = await account({ start: t.now() - day, limit_bytes: 2 ** 50, plan: 'Größe L' });
      await report(of, [
        { server: 'fra1', at: t.now(), bytes: 2 ** 49 },
        { server: 'nyc1', at: t.now(), bytes: 5 },
      ]);
      const expected = {
        name: of.account.name,
        plan: 'Größe L',
        period: {
          start: t.now() - day,
          end: periodAt(t.now() - day, t.now()).end,
          usage: 2 ** 49 + 5,
          limit: 2 ** 50,
        },
        expiry: of.account.expiry,
      };
      expect(await contract(of)).toEqual(expected);
      expect((await t.as(of, 'earlier').get('/contract')).body).toEqual(expected);
    });

    it('usage stops at the largest integer that JSON can hold exactly', async () => {
      const of = await account();
      for (let round = 0; round < 9; round++) {
        await report(of, [{ server: 'fra1', at: t.now(), bytes: 2 ** 50 }]);
      }
      expect((await contract(of)).period.usage).toBe(Number.MAX_SAFE_INTEGER);
      expect((await usage(of)).fra1).toEqual([Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);
    });
  });

  it('traffic counts in the period of its own time, also where a period begins in the middle of an hour', async () => {
    const start = t.now() - (t.now() % 3600) + 1800 - 39 * day;
    const of = await account({ start, expiry: start + 400 * day });
    const { end } = periodAt(start, start);
    await report(of, [
      { server: 'fra1', at: end - 30, bytes: 7 },
      { server: 'fra1', at: end + 30, bytes: 5 },
    ]);
    const sums = await t.running.ctx.db.all(
      'select period_start, bytes from usage_periods where account_id = $1 order by period_start',
      [of.account.id],
    );
    expect(sums).toEqual([
      { period_start: start, bytes: 7 },
      { period_start: end, bytes: 5 },
    ]);
  });

  it('periods follow one another by calendar month from the start, and usage begins at zero with each', async () => {
    const app = await startTestApp(await database.url());
    app.clock.seconds = at('2028-01-31T12:00:00');
    await app.server('fra1');
    const of = await app.account('acme', {
      servers: ['fra1'],
      start: app.now(),
      expiry: app.now() + 400 * day,
    });
    const node = await app.node('fra1');
    const starts = [
      '2028-01-31',
      '2028-02-29',
      '2028-03-31',
      '2028-04-30',
      '2028-05-31',
      '2028-06-30',
    ].map((date) => at(`${date}T12:00:00`));
    for (const [number, start] of starts.slice(0, -1).entries()) {
      const end = starts[number + 1] as number;
      app.clock.seconds = start;
      const period = async () => (await app.as(of).get('/contract')).body.period;
      expect(await period()).toMatchObject({ start, end, usage: 0 });
      for (const moment of [start, end - 1]) {
        app.clock.seconds = moment;
        const rows = [{ account: of.account.id, user: 1, at: moment, up: 10, down: number }];
        await node.send('POST', '/usage', { boot: 'b', seq: moment, rows });
      }
      expect(await period()).toMatchObject({ start, end, usage: 20 + 2 * number });
    }
    await app.stop();
  });

  it('last_30_days has the last 720 whole hours and the running one', async () => {
    const of = await account({ start: t.now() - 300 * day });
    const now = t.now() - (t.now() % hour) + 1800;
    t.clock.seconds = now;
    const edge = now - 1800 - 720 * hour;
    await report(of, [
      { server: 'fra1', at: now, bytes: 1 },
      { server: 'fra1', at: edge, bytes: 10 },
      { server: 'fra1', at: edge - 1, bytes: 100 },
    ]);
    expect((await usage(of)).fra1?.[1]).toBe(11);
    t.clock.seconds = now + 1799;
    expect((await usage(of)).fra1?.[1]).toBe(11);
    t.clock.seconds = now + 1800;
    expect((await usage(of)).fra1?.[1]).toBe(1);
  });

  it('property: current, last_30_days and the contract agree with a sum over all rows, whatever came in when', async () => {
    const row = fc.record({
      server: fc.constantFrom('fra1', 'nyc1'),
      // Mostly near the edges of hours and of the window.
      ago: fc.oneof(
        fc.integer({ min: 0, max: 39 * day }),
        fc.integer({ min: -2, max: 2 }).map((near) => 30 * day + near * hour),
        fc.integer({ min: 0, max: 3 * hour }),
      ),
      bytes: fc.integer({ min: 0, max: 1_000_000 }),
    });
    const history = fc.array(
      fc.record({
        pass: fc.integer({ min: 0, max: 20 * day }),
        rows: fc.array(row, { maxLength: 8 }),
      }),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 0, max: 60 * day }), async (steps, age) => {
        const of = await account({ start: t.now() - age });
        const all: Row[] = [];
        for (const { pass, rows } of steps) {
          t.clock.advance(pass);
          const now = t.now();
          const sent = rows.map(({ server, ago, bytes }) => ({ server, bytes, at: now - ago }));
          await report(of, sent);
          all.push(...sent);
          const sum = (counted: (at: number) => boolean, server?: string) =>
            all
              .filter(
                (report) =>
                  (server === undefined || report.server === server) && counted(report.at),
              )
              .reduce((bytes, report) => bytes + report.bytes, 0);
          const period = periodAt(of.account.start, now);
          const inPeriod = (at: number) => periodAt(of.account.start, at).start === period.start;
          // The window moves by full hours.
          const hourOf = (seconds: number) => seconds - (seconds % hour);
          const inWindow = (at: number) => hourOf(at) >= hourOf(now) - 720 * hour;
          expect(await usage(of)).toEqual({
            fra1: [sum(inPeriod, 'fra1'), sum(inWindow, 'fra1')],
            nyc1: [sum(inPeriod, 'nyc1'), sum(inWindow, 'nyc1')],
          });
          expect((await contract(of)).period).toEqual({
            ...period,
            usage: sum(inPeriod),
            limit: of.account.limit_bytes,
          });
        }
      }),
      { numRuns: tries(12) },
    );
  });
});
