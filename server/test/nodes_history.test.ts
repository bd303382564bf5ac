// History: traffic, connections, rejections, lag and faults of nodes and the network over time, as
// operators read it.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allReasons } from '../../agent/src/policy/denials.ts';
import { tries } from '../../test/effort.ts';
import type { Point as StoredPoint } from '../src/nodes/history_store.ts';
import { historySlices } from '../src/nodes/nodes.ts';
import { eachApp } from './apps.ts';
import type { TestNode } from './node.ts';

type Point = StoredPoint & { rejected: Record<string, number> };

const day = 86_400;

eachApp((t) => {
  async function scene() {
    const { server, built } = await t.site();
    const { account } = built;
    const node = await t.node(server);
    let seq = 0;
    const usage = (...rows: Array<{ at: number; up: number; down: number }>) =>
      node.send('POST', '/usage', {
        ...{ boot: 'run', seq: ++seq },
        rows: rows.map((row) => ({ account: account.id, user: 1, ...row })),
      });
    return { server, account, node, usage };
  }
  const reject = (node: TestNode, boot: string, reasons: object) =>
    node.send('POST', '/rejections', { boot, reasons });
  const read = async (query = '') => {
    const { status, body } = await t.operator.get(`/history${query}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body as { step: number; from: number; to: number; points: Point[] };
  };
  const inAll = (points: Point[], of: (point: Point) => number) =>
    points.reduce((sum, point) => sum + of(point), 0);

  test('traffic is in the five minutes that it was in, of its node, its server and the network', async () => {
    const { server, node, usage } = await scene();
    const before = await read(`?to=${t.now() + 1}`);
    const at = t.now() - 7200 - (t.now() % 300);
    await usage(
      { at, up: 10, down: 100 },
      { at: at + 299, up: 1, down: 2 },
      { at: at + 300, up: 5, down: 50 },
    );
    const expected = [
      { at, up: 11, down: 102 },
      { at: at + 300, up: 5, down: 50 },
    ];
    for (const query of [`?node=${node.id}`, `?server=${server}`]) {
      const { step, points } = await read(query);
      expect(step).toBe(300);
      expect(points).toMatchObject(expected);
    }
    const until = await read(`?node=${node.id}&from=${at}&to=${at + 300}`);
    expect(until.points).toMatchObject(expected.slice(0, 1));
    const { points } = await read(`?to=${t.now() + 1}`);
    expect(inAll(points, ({ up, down }) => up + down)).toBe(
      inAll(before.points, ({ up, down }) => up + down) + 168,
    );
  });

  test('a batch that comes twice is in it once, and one that is held when it was accepted', async () => {
    const { node, account } = await scene();
    const rows = [{ account: account.id, user: 1, at: t.now(), up: 2 ** 50, down: 0 }];
    const batch = { boot: 'run', seq: 1, rows };
    const sums = async () =>
      inAll((await read(`?node=${node.id}&to=${t.now() + 1}`)).points, ({ up }) => up);
    await node.send('POST', '/usage', batch);
    expect(await sums()).toBe(0);
    const { body: held } = await t.operator.get('/held_usage');
    const id = held.find(({ node_id }: { node_id: number }) => node_id === node.id).id;
    expect((await t.operator.post(`/held_usage/${id}/accept`, {})).status).toBeLessThan(300);
    await node.send('POST', '/usage', batch);
    expect(await sums()).toBe(2 ** 50);
  });

  test('rejections are counted by reason, however often and late a node reports its counts', async () => {
    const { server, node } = await scene();
    const rejected = async () =>
      (await read(`?server=${server}&to=${t.now() + 1}`)).points.map(({ rejected }) => rejected);
    expect((await reject(node, 'one', { bad_token: 3, unknown_address: 1 })).status).toBe(204);
    await reject(node, 'one', { bad_token: 3, unknown_address: 1 });
    expect(await rejected()).toEqual([{ bad_token: 3, unknown_address: 1 }]);
    t.clock.advance(300);
    await reject(node, 'one', { bad_token: 10, unknown_address: 1 });
    // An older report that was under way comes last.
    await reject(node, 'one', { bad_token: 5 });
    await reject(node, 'one', { bad_token: 10, unknown_address: 1 });
    expect(await rejected()).toEqual([{ bad_token: 3, unknown_address: 1 }, { bad_token: 7 }]);
    // The agent started again.
    await reject(node, 'two', { bad_token: 2 });
    expect((await rejected()).at(-1)).toEqual({ bad_token: 9 });
  });

  test('each reason of an agent is a kind of its own; made-up ones are `other`, all together', async () => {
    const { node } = await scene();
    const real = Object.fromEntries(allReasons.map((reason, at) => [reason, at + 1]));
    const madeUp = (at: number) => ({ [`made_up_${at}`]: 1, [`made_up_${at + 1}`]: 2 });
    await reject(node, 'one', real);
    for (let at = 0; at < 20; at += 1) await reject(node, `run${at}`, madeUp(at));
    const { points } = await read(`?node=${node.id}&to=${t.now() + 1}`);
    expect(points.map(({ rejected }) => rejected)).toEqual([{ ...real, other: 60 }]);
    const stored = await t.running.ctx.db.one<{ counts: string }>(
      'select counts from node_told_rejections where node_id = $1',
      [node.id],
    );
    expect(JSON.parse(stored?.counts ?? '')).toEqual({ other: 3 });
  });

  test('a revoked node leaves no rejections, neither its own nor in the sums of the network', async () => {
    const { node, server } = await scene();
    const honest = await t.node(server, 'honest');
    const ofNetwork = async () => (await read(`?to=${t.now() + 1}`)).points.at(-1)?.rejected;
    t.clock.advance(300);
    await reject(honest, 'one', { bad_token: 2 });
    await reject(node, 'one', { bad_token: 40, stale: 2 ** 52, no_such_reason: 5 });
    expect(await ofNetwork()).toEqual({ bad_token: 42, stale: 2 ** 52, other: 5 });
    expect((await t.operator.delete(`/nodes/${node.id}`)).status).toBe(204);
    expect(await ofNetwork()).toEqual({ bad_token: 2 });
    expect((await read(`?node=${node.id}&to=${t.now() + 1}`)).points).toEqual([]);
    for (const table of ['node_rejections', 'node_told_rejections']) {
      const count = `select count(*) as n from ${table} where node_id = $1`;
      expect(await t.running.ctx.db.one(count, [node.id])).toEqual({ n: 0 });
    }
  });

  test('sums are whole numbers that JSON can carry, whatever the nodes of a server report', async () => {
    const { server, node } = await scene();
    const largest = Number.MAX_SAFE_INTEGER;
    for (const other of [node, await t.node(server, 'second')]) {
      await reject(other, 'one', { stale: largest, made_up: largest, made_up_too: largest });
    }
    const { points } = await read(`?server=${server}&to=${t.now() + 1}`);
    expect(points[0]?.rejected).toEqual({ stale: largest, other: largest });
  });

  test.each([
    [{ 'Bad token': 1 }, 'reasons.Bad token'],
    [{ bad_token: -1 }, 'reasons.bad_token'],
    [{ bad_token: 1.5 }, 'reasons.bad_token'],
    [Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`r${at}`, 1])), 'reasons'],
  ])(
    'rejections that are none are rejected, and the field is named: %j',
    async (reasons, field) => {
      const { node } = await scene();
      const response = await reject(node, 'one', reasons);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ field });
    },
  );

  test('each minute the live nodes are looked at: connections, lag and faults', async () => {
    const { node } = await scene();
    await node.snapshot();
    const { epoch, revision } = node;
    const look = async (connections: number) => {
      t.clock.advance(60);
      const headers = { 'exitward-connections': String(connections) };
      await node.send('POST', '/acks', { epoch, revision }, headers);
      await t.pass(1);
      return (await read(`?node=${node.id}&to=${t.now() + 1}`)).points;
    };
    t.clock.advance(300 - (t.now() % 300));
    expect(await look(4)).toMatchObject([{ connections: 4, lag_peak: 0, faults_peak: 0 }]);
    const fault = { kind: 'disk', message: 'The disk is full.', since: t.now() };
    await node.send('POST', '/faults', { faults: [fault] });
    expect(await look(7)).toMatchObject([{ connections: 6, connections_peak: 7, faults_peak: 1 }]);
    // So does the network as a whole, once: another process has looked already.
    await t.pass(1);
    const network = (await read(`?to=${t.now() + 1}`)).points.at(-1);
    expect(network).toMatchObject({ connections: 6, connections_peak: 7, faults_peak: 1 });
  });

  test('a change that waits for a node is its lag, in seconds', async () => {
    const { server, node } = await scene();
    await node.snapshot();
    const { epoch, revision } = node;
    await t.account(`lag-${server}`, { servers: [server] });
    const made = t.now();
    t.clock.advance(60);
    await node.send('POST', '/acks', { epoch, revision });
    await t.pass(1);
    const { points } = await read(`?node=${node.id}&to=${t.now() + 1}`);
    expect(points.at(-1)?.lag_peak).toBe(t.now() - made);
  });

  test('a long span is shown by hours and days, whose sums are those of what was reported', async () => {
    const { node, usage } = await scene();
    const base = t.now() - 30 * day;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            at: fc.integer({ min: base, max: base + 29 * day }),
            up: fc.nat(1000),
            down: fc.nat(1000),
          }),
          { minLength: 1, maxLength: 30 },
        ),
        async (rows) => {
          const sum = async (from: number, to: number) => {
            const { points, step } = await read(`?node=${node.id}&from=${from}&to=${to}`);
            expect(points.every(({ at }) => at % step === 0)).toBe(true);
            return inAll(points, ({ up, down }) => up + down);
          };
          const spans: Array<[number, number]> = [
            [base - day, t.now() + 1],
            [base - 20 * day, t.now() + 1],
          ];
          const before = await Promise.all(spans.map((span) => sum(...span)));
          expect((await usage(...rows)).status).toBe(200);
          const after = await Promise.all(spans.map((span) => sum(...span)));
          const added = rows.reduce((all, { up, down }) => all + up + down, 0);
          expect(after).toEqual(before.map((row) => row + added));
        },
      ),
      { numRuns: tries(10) },
    );
    expect((await read(`?node=${node.id}&from=${base}`)).step).toBe(3600);
    expect((await read(`?node=${node.id}&from=${base - 20 * day}`)).step).toBe(day);
  });

  test('a step as wide as a chart can show it has the mean, the slowest and the fastest five minutes', async () => {
    const { node, usage } = await scene();
    const to = t.now() - (t.now() % 1800);
    const from = to - 7200;
    await usage(
      { at: from, up: 300, down: 0 },
      { at: from + 300, up: 900, down: 600 },
      { at: from + 1800 + 600, up: 30_000, down: 3000 },
    );
    const { step, points } = await read(`?node=${node.id}&from=${from}&to=${to}&step=1700`);
    expect(step).toBe(1800);
    expect(points).toMatchObject([
      {
        at: from,
        measured_seconds: 600,
        up: 1200,
        up_min: 1,
        up_peak: 3,
        down_min: 0,
        down_peak: 2,
      },
      { at: from + 1800, measured_seconds: 300, up: 30_000, up_min: 100, up_peak: 100 },
    ]);
    // The five minutes of `from` are the first of their step: the ten before them are left out.
    const late = await read(`?node=${node.id}&from=${from + 300}&to=${to}&step=1800`);
    expect(late.points).toMatchObject([
      { at: from, measured_seconds: 300, up: 900 },
      { up: 30_000 },
    ]);
  });

  test('the five minutes of now are measured so far, and are neither the slowest nor the fastest', async () => {
    const { node, usage } = await scene();
    t.clock.advance(300 - (t.now() % 300) + 100);
    await usage({ at: t.now() - 100, up: 100, down: 0 });
    const query = `?node=${node.id}&from=${t.now() - 100}&to=${t.now() + 1}`;
    expect((await read(query)).points).toMatchObject([
      { measured_seconds: 100, up: 100, up_min: null, up_peak: null },
    ]);
  });

  test('a server has the open connections of its nodes together, at least and at most', async () => {
    const { server, node } = await scene();
    const nodes = [node, await t.node(server, 'second')];
    for (const each of nodes) await each.snapshot();
    t.clock.advance(300 - (t.now() % 300));
    for (const connections of [10, 4]) {
      t.clock.advance(60);
      for (const each of nodes) {
        const { epoch, revision } = each;
        const headers = { 'exitward-connections': String(connections) };
        await each.send('POST', '/acks', { epoch, revision }, headers);
      }
      await t.pass(1);
    }
    const expected = { connections: 14, connections_min: 8, connections_peak: 20 };
    for (const span of [`from=${t.now() - 600}`, `from=${t.now() - 3 * day}`]) {
      const { points } = await read(`?server=${server}&${span}&to=${t.now() + 1}`);
      expect(points.at(-1)).toMatchObject(expected);
    }
  });

  test('steps of a week begin on Mondays, and have all days of the week', async () => {
    const { usage } = await scene();
    const from = t.now() - 60 * day;
    await usage({ at: from, up: 7, down: 0 }, { at: from + 10 * day, up: 1, down: 0 });
    const { step, points } = await read(`?from=${from}&to=${t.now() + 1}&step=${7 * day}`);
    expect(step).toBe(7 * day);
    for (const { at } of points) expect(new Date(at * 1000).getUTCDay()).toBe(1);
    const days = await read(`?from=${from}&to=${t.now() + 1}&step=1`);
    expect(days.step).toBe(day);
    expect(inAll(points, ({ up }) => up)).toBe(inAll(days.points, ({ up }) => up));
  });

  test('however long the span is, a turn of the event loop reads four days of it at most', async () => {
    const { node, usage } = await scene();
    const to = t.now() + 1;
    const days = Array.from({ length: 30 }, (_, back) => t.now() - back * day);
    await usage(...days.map((at) => ({ at, up: 1, down: 1 })));
    const scope = { node_id: node.id };
    const sizes: number[] = [];
    const span = { from: to - 400 * day, to, step: day, now: t.now() };
    for await (const { points } of historySlices(t.running.ctx.db, scope, span)) {
      sizes.push(points.length);
    }
    expect(sizes).toHaveLength(101);
    expect(Math.max(...sizes)).toBe(4);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(30);
  });

  test('steps of five minutes go after two days, hours of a node after 35', async () => {
    const { node, usage } = await scene();
    await usage({ at: t.now(), up: 1, down: 1 });
    await reject(node, 'one', { bad_token: 1 });
    const rows = async (table: string) =>
      Number(
        (
          await t.running.ctx.db.one<{ n: number }>(
            `select count(*) as n from ${table} where node_id = $1`,
            [node.id],
          )
        )?.n,
      );
    expect([await rows('node_points'), await rows('node_rejections')]).toEqual([2, 2]);
    await t.pass(2 * day + 600);
    expect([await rows('node_points'), await rows('node_rejections')]).toEqual([1, 1]);
    expect((await read(`?node=${node.id}&from=${t.now() - 3 * day}`)).points).toMatchObject([
      { up: 1, rejected: { bad_token: 1 } },
    ]);
    await t.pass(34 * day);
    expect([await rows('node_points'), await rows('node_rejections')]).toEqual([0, 0]);
  });

  describe('a question that makes no sense is rejected, and the field is named', () => {
    test.each([
      ['?from=x', 400, 'from'],
      ['?from=5&to=5', 400, 'from'],
      ['?from=1', 400, 'from'],
      ['?step=0', 400, 'step'],
      ['?step=604801', 400, 'step'],
      ['?server=srv1&node=1', 400, 'node'],
      ['?server=nowhere', 404, undefined],
      ['?node=999999', 404, undefined],
      ['?node=x', 400, 'node'],
      ['?node=%20', 400, 'node'],
      ['?node=', 400, 'node'],
    ])('%s', async (query, status, field) => {
      const response = await t.operator.get(`/history${query}`);
      expect(response.status).toBe(status);
      if (field) expect(response.body).toMatchObject({ field });
    });
  });
});
