// Ending open connections: nodes get an order, take it once while it lives, and say how many they
// ended; people end those of their account alone.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import type { Browser } from './harness.ts';
import type { TestNode } from './node.ts';
import { startTwoServers, type TwoServers } from './two_servers.ts';

type Body = Record<string, unknown>;

eachDatabase((database) => {
  let { t, ids, nodes, browsers, stop } = {} as TwoServers;

  beforeAll(async () => {
    const url = await database.url();
    ({ t, ids, nodes, browsers, stop } = await startTwoServers(url, (app) => {
      // Nodes that do not answer are waited for by the test's clock.
      app.clock.steady = () => app.clock.seconds;
    }));
  });
  afterAll(() => stop?.());
  // The orders of earlier tests are over, and no node is offline: that would end its stream.
  beforeEach(async () => {
    for (let count = 0; count < 5; count += 1) {
      for (const node of nodes) await node.ack();
      await t.pass(31);
    }
    for (const node of nodes) await node.ack();
  });

  const ordersOf = (node: TestNode) => node.heard('end_connections');
  const take = async (node: TestNode, order: unknown) =>
    (await node.send('POST', '/end-orders', { order })).status;
  const report = async (node: TestNode, order: unknown, ended: number) =>
    (await node.send('POST', '/end-orders', { order, ended })).status;

  /** The time passes for which nodes are waited for; a commit has it looked at. */
  async function waitIsOver() {
    t.clock.advance(5);
    for (const node of nodes) await node.ack();
  }

  /** The order that a node hears next, once it is there. */
  async function nextOrder(node: TestNode, before: number): Promise<{ id: number; value: Body }> {
    await node.until((heard) => ordersOf(heard).length > before);
    return ordersOf(node).at(-1) as unknown as { id: number; value: Body };
  }

  /** Sends an order, and has these nodes carry it out, each ending so many. */
  async function end<T>(
    ordering: () => Promise<T>,
    ending: ReadonlyArray<[TestNode, number]>,
    isWhole = true,
  ) {
    const before = ending.map(([node]) => ordersOf(node).length);
    const response = ordering();
    let order: { id: number; value: Body } | undefined;
    for (const [at, [node, ended]] of ending.entries()) {
      order = await nextOrder(node, before[at] ?? 0);
      expect(await take(node, order.id)).toBe(204);
      expect(await report(node, order.id, ended)).toBe(204);
    }
    if (!isWhole) await waitIsOver();
    return { ...(await response), order } as T & { order: { id: number; value: Body } };
  }
  const operator = (body: Body) => t.operator.post('/connections/end', body);
  const person = (name: string, body: Body) =>
    (browsers.get(name) as Browser).post('/connections/end', body);
  const lastAudit = async (path: string) => (await t.operator.get(path)).body[0];

  test('an order ends what nodes have, which say how many, and the audit log says who ordered it', async () => {
    const [first, second, third] = nodes;
    const { status, body, order } = await end(
      () => operator({ account: 'acme', user: 'alice', address: '::ffff:192.0.2.1' }),
      [
        [first, 2],
        [second, 3],
      ],
    );
    expect(status).toBe(200);
    expect(body).toEqual({
      ended: 5,
      acknowledged: [
        { server: 'fra1', node: 'fra1-a', ended: 2 },
        { server: 'fra1', node: 'fra1-b', ended: 3 },
      ],
      missing: [],
      until: t.now() + 60,
    });
    expect(order.value).toEqual({ account: ids.acme, user: ids.alice, address: '192.0.2.1' });
    expect(ordersOf(third), 'not on its server').toEqual([]);
    expect(await lastAudit('/accounts/acme/audit')).toMatchObject({
      action: 'connection.end',
      actor: 'first',
      after: { user: 'alice', address: '192.0.2.1', nodes: 2 },
    });
  });

  test('an order for one address reaches all nodes, one for a node that node alone', async () => {
    const [first, second, third] = nodes;
    const every = await end(
      () => operator({ address: '2001:DB8::1' }),
      nodes.map((node) => [node, 1] as [TestNode, number]),
    );
    expect(every.body.ended).toBe(3);
    expect(every.order.value).toEqual({ address: '2001:db8::1' });
    const single = await end(() => operator({ node: second.id, service: 'proxy' }), [[second, 7]]);
    expect(single.body).toMatchObject({ ended: 7, missing: [] });
    expect(single.order.value).toEqual({ service: 'proxy' });
    expect(await take(first, single.order.id), 'of the same server').toBe(404);
    expect(await take(third, single.order.id)).toBe(404);
    expect(await lastAudit('/audit')).toMatchObject({
      after: { node: 'fra1-b', service: 'proxy', nodes: 1 },
    });
  });

  test('a node takes an order once, and not after a minute; one that does not is named', async () => {
    const [first, second] = nodes;
    const before = ordersOf(second).length;
    const { body, order } = await end(() => operator({ server: 'fra1' }), [[first, 4]], false);
    expect(body).toMatchObject({
      ended: 4,
      acknowledged: [{ node: 'fra1-a', ended: 4 }],
      missing: [{ server: 'fra1', node: 'fra1-b' }],
    });
    expect(await take(first, order.id), 'again').toBe(404);
    expect(await report(first, order.id, 9), 'again').toBe(404);
    expect(await report(second, order.id, 9), 'not taken').toBe(404);
    expect(await take(second, order.id + 1), 'no such order').toBe(404);
    t.clock.advance(54);
    expect(await take(second, (await nextOrder(second, before)).id), 'while it lives').toBe(204);
    for (const node of nodes) await node.ack();
    const late = await end(() => operator({ server: 'fra1' }), [[first, 0]], false);
    t.clock.advance(55);
    expect(await take(second, late.order.id), 'after a minute').toBe(404);
  });

  test('a node that takes an order and dies is named as one that has not finished, an offline one at once', async () => {
    const [first, second, third] = nodes;
    await t.pass(46);
    await third.ack();
    await first.ack();
    const before = ordersOf(first).length;
    const ordering = operator({ account: 'acme' });
    expect(await take(first, (await nextOrder(first, before)).id)).toBe(204);
    t.clock.advance(5);
    await first.ack();
    const { body } = await ordering;
    expect(body.missing).toEqual([
      { server: 'fra1', node: 'fra1-a', reason: 'unfinished' },
      { server: 'fra1', node: 'fra1-b', reason: 'offline' },
    ]);
    expect(body.ended).toBe(0);
    await second.start();
  });

  test('admins end those of their account, other people their own, and neither hears names of nodes', async () => {
    const [first, second] = nodes;
    const both: Array<[TestNode, number]> = [
      [first, 1],
      [second, 1],
    ];
    const admin = await end(() => person('boss', { server: 'fra1' }), both);
    expect(admin.order.value).toEqual({ account: ids.acme });
    expect(admin.body.acknowledged).toEqual([
      { server: 'fra1', ended: 1 },
      { server: 'fra1', ended: 1 },
    ]);
    const own = await end(() => person('carol', {}), both);
    expect(own.order.value).toEqual({ account: ids.acme, user: ids.carol });
    expect(await lastAudit('/accounts/acme/audit')).toMatchObject({
      actor: 'acme/carol',
      after: { user: 'carol', nodes: 2 },
    });
    // Operators may name any server; on one that is not on the contract there is nothing to end.
    const path = '/accounts/acme/connections/end';
    const { status, body } = await t.operator.post(path, { server: 'ams1' });
    expect([status, body.acknowledged, body.missing]).toEqual([200, [], []]);
    const before = ordersOf(first).length;
    expect((await person('carol', { user: 'alice' })).status).toBe(403);
    expect((await person('boss', { server: 'ams1' })).status).toBe(403);
    expect((await person('boss', { user: 'nobody' })).status).toBe(404);
    expect((await person('boss', { account: 'other' })).status).toBe(400);
    const byAccount = await end(
      () => t.operator.post('/accounts/acme/connections/end', { user: 'alice' }),
      both,
    );
    expect(byAccount.body.acknowledged).toMatchObject([{ node: 'fra1-a' }, { node: 'fra1-b' }]);
    expect(ordersOf(first)).toHaveLength(before + 1);
  });

  test('an order must say which connections', async () => {
    for (const body of [
      {},
      { service: 'proxy' },
      { user: 'alice' },
      { address: '192.0.2' },
      { exit_ip: 'fra1' },
      { account: 'acme', service: 'proxy_https' },
    ]) {
      expect((await operator(body)).status, JSON.stringify(body)).toBe(400);
    }
    expect((await operator({ account: 'nobody' })).status).toBe(404);
    expect((await operator({ node: 99 })).status).toBe(404);
  });

  test('people who order too much within a minute wait; users hold no admin back, and people no operator', async () => {
    for (const node of nodes) node.stop();
    await t.pass(46);
    const statuses = async (name: string, times: number) => {
      const answers = [];
      for (let count = 0; count < times; count += 1) answers.push(await person(name, {}));
      return answers.map(({ status }) => status);
    };
    const times = (count: number) => Array<number>(count).fill(200);
    expect(await statuses('carol', 6)).toEqual([...times(5), 429]);
    expect(await statuses('boss', 21)).toEqual([...times(20), 429]);
    const refused = await person('boss', {});
    expect(refused.headers.get('retry-after')).toBe('60');
    expect((await operator({ account: 'acme' })).status).toBe(200);
    t.clock.advance(61);
    expect((await person('boss', {})).status).toBe(200);
    await t.pass(121);
    expect(await t.running.ctx.db.all('select * from end_orders')).toEqual([]);
    expect(await t.running.ctx.db.all('select * from taken_end_orders')).toEqual([]);
    for (const node of nodes) await node.start();
  });

  test('orders of users without the admin flag are bounded for an account, and no account keeps others from any', async () => {
    for (const node of nodes) node.stop();
    await t.pass(46);
    const setOrders = (names: readonly string[]) =>
      t.write(async (tx) => {
        await tx.run('delete from end_orders');
        const rows = names.map((ordered_by, id) => {
          return { id: id + 9000, sealed: '', ordered_by, ordered_at: tx.now };
        });
        await tx.insertMany('end_orders', rows);
      });
    const ofUsers = (account: number, count: number) =>
      Array.from({ length: count }, (_, id) => `user ${account} ${id + 900}`);
    const outcome = async () =>
      Promise.all(['carol', 'boss'].map(async (name) => (await person(name, {})).status));
    await setOrders(ofUsers(ids.acme, 20));
    expect(await outcome()).toEqual([429, 200]);
    await setOrders(ofUsers(Number(`${ids.acme}0`), 20));
    expect(await outcome()).toEqual([200, 200]);
    // Far more than one account may give, of one and of many.
    await setOrders(ofUsers(999, 600));
    expect(await outcome()).toEqual([200, 200]);
    const of = (account: number) => [`account ${account}`, ...ofUsers(account, 1)];
    const many = Array.from({ length: 250 }, (_, at) => of(at + 1000)).flat();
    await setOrders(many);
    expect(await outcome()).toEqual([200, 200]);
    expect(await outcome(), 'after its share').toEqual([429, 429]);
    await setOrders([...many.slice(0, 280), `account ${ids.acme}`, ...ofUsers(ids.acme, 1)]);
    expect(await outcome(), 'while there are few').toEqual([200, 200]);
    await setOrders([...many, ...many]);
    expect((await operator({ account: 'acme' })).status).toBe(200);
    await setOrders([]);
    for (const node of nodes) await node.start();
  });
});
