// Holdings of users with limits: each node hears of the other live nodes, in the order in which
// the user came to them; an offline node no longer counts.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';

type Held = { account: number; user: number; connections: number; networks: string[] };

eachDatabase((database) => {
  let t: TestApp;
  let nodes: [TestNode, TestNode, TestNode];
  let [account, user, other] = [0, 0, 0];

  beforeAll(async () => {
    t = await startTestApp(await database.url());
    await t.server('fra1');
    await t.server('ams1');
    const acme = await t.account('acme', { servers: ['fra1', 'ams1'] });
    const foreign = await t.account('other', { servers: ['ams1'] });
    [account, other] = [acme.account.id, foreign.account.id];
    const rows = await t.running.ctx.db.all<{ account_id: number; id: number }>(
      'select account_id, id from users',
    );
    user = rows.find(({ account_id }) => account_id === account)?.id ?? 0;
    nodes = [await t.node('fra1', 'fra1-a'), await t.node('fra1', 'fra1-b'), await t.node('ams1')];
    for (const node of nodes) await node.start();
  });
  afterAll(async () => {
    for (const node of nodes ?? []) node.stop();
    await t?.stop();
  });
  const holding = (connections: number, ...networks: string[]): Held => ({
    ...{ account, user, connections, networks },
  });
  const report = async (at: 0 | 1 | 2, users: Held[], whole = false) => {
    const response = await nodes[at].send('POST', '/holdings', { whole, users });
    expect(response.status).toBe(200);
    return ((await response.json()) as { users: unknown[] }).users;
  };
  const elsewhere = (connections: number, ahead: number, ...networks: string[]) => [
    { account, user, connections, ahead, networks },
  ];
  beforeEach(async () => {
    for (const node of nodes) await node.ack();
    for (const at of [0, 1, 2] as const) await report(at, [], true);
    await t.pass(1);
  });

  test('each node hears what the others hold, and which of them the user came to first', async () => {
    expect(await report(0, [holding(2, '192.0.2.1')])).toEqual(elsewhere(0, 0, '192.0.2.1'));
    await t.pass(1);
    expect(await report(2, [holding(3, '2001:db8:0:0::/64', '192.0.2.1')])).toEqual(
      elsewhere(2, 2, '192.0.2.1', '2001:db8:0:0::/64'),
    );
    await t.pass(1);
    // A node that asks and holds nothing comes after all.
    expect(await report(1, [holding(0)])).toEqual(
      elsewhere(5, 5, '192.0.2.1', '2001:db8:0:0::/64'),
    );
    expect(await report(0, [holding(1, '192.0.2.1', '192.0.2.9')])).toEqual(
      elsewhere(3, 0, '192.0.2.1', '2001:db8:0:0::/64', '192.0.2.9'),
    );
    // One that left comes back as the last. An address that others had meanwhile keeps its place.
    await report(0, [holding(0)]);
    await t.pass(1);
    expect(await report(0, [holding(1, '192.0.2.1', '192.0.2.9')])).toEqual(
      elsewhere(3, 3, '192.0.2.1', '2001:db8:0:0::/64', '192.0.2.9'),
    );
  });

  test('a node where a user has just an address, comes after those with connections', async () => {
    await report(0, [holding(1, '192.0.2.1')]);
    await report(0, [holding(0, '192.0.2.1')]);
    await t.pass(1);
    await report(1, [holding(1, '192.0.2.1')]);
    await t.pass(1);
    expect(await report(0, [holding(1, '192.0.2.1')])).toEqual(elsewhere(1, 1, '192.0.2.1'));
  });

  test('a report that changes nothing writes nothing, and a whole one ends what it does not name', async () => {
    await report(0, [holding(2)]);
    const { db } = t.running.ctx;
    const rows = () => db.all('select * from user_holdings order by node_id');
    const before = await rows();
    await report(0, [holding(2)]);
    await report(0, [holding(2)], true);
    expect(await rows()).toEqual(before);
    await report(0, [], true);
    expect(await rows()).toEqual([]);
  });

  test('a whole report of a range ends what it does not name there, and nothing before and after it', async () => {
    const { ctx } = t.running;
    const acme = await t.account('many', { servers: ['fra1'] });
    const many: Held[] = [];
    for (const name of ['a', 'b', 'c']) {
      const { id } = await t.user(acme, name);
      many.push({ account: acme.account.id, user: id, connections: 1, networks: [] });
    }
    await report(0, many);
    const [a, b, c] = many as [Held, Held, Held];
    const key = ({ account, user }: Held) => ({ account, user });
    const whole = async (users: Held[], range: object) => {
      const response = await nodes[0].send('POST', '/holdings', { whole: true, users, ...range });
      expect(response.status).toBe(200);
      const rows = await ctx.db.all<{ user_id: number }>(
        'select user_id from user_holdings order by user_id',
      );
      return rows.map(({ user_id }) => Number(user_id));
    };
    expect(await whole([a], { through: key(a) })).toEqual([a.user, b.user, c.user]);
    expect(await whole([], { after: key(a), through: key(b) })).toEqual([a.user, c.user]);
    expect(await whole([], { after: key(b) })).toEqual([a.user]);
    expect(await whole([], { through: key(a) })).toEqual([]);
  });

  test('an offline node no longer counts, and its rows are forgotten', async () => {
    await report(0, [holding(2, '192.0.2.1')]);
    const others = async (seconds: number) => {
      for (let passed = 0; passed < seconds; passed += 15) {
        await t.pass(15);
        for (const node of nodes.slice(1)) await node.ack();
      }
    };
    await others(60);
    expect(await report(1, [holding(1)])).toEqual(elsewhere(0, 0));
    await others(60);
    const rows = await t.running.ctx.db.all('select connections from user_holdings');
    expect(rows).toEqual([{ connections: 1 }]);
  });

  test('an offline node that comes back comes after those that were there meanwhile', async () => {
    await report(0, [holding(2)]);
    const { db } = t.running.ctx;
    await db.write({ kind: 'system', name: 'test', address: '', request_id: '' }, (tx) =>
      tx.run('update nodes set live = 0 where name = $1', ['fra1-a']),
    );
    expect(await report(1, [holding(1)])).toEqual(elsewhere(0, 0));
    await nodes[0].ack();
    await t.pass(1);
    expect(await report(0, [holding(2)], true)).toEqual(elsewhere(1, 1));
  });

  test('a node names users of the accounts that its server serves, and no others', async () => {
    const stranger = { ...holding(9), account: other };
    const unknown = { ...holding(9), user: user + 1000 };
    expect(await report(0, [stranger, unknown])).toEqual([]);
    expect(await report(0, [holding(1, 'nowhere', '192.0.2.1', '192.0.2.1')])).toEqual(
      elsewhere(0, 0, 'nowhere', '192.0.2.1'),
    );
  });

  // The last one: this node has to wait after it.
  test('a report of too many users, or one too often, is refused', async () => {
    const many = Array.from({ length: 2001 }, () => holding(1));
    const send = (at: 0 | 1, users: Held[]) =>
      nodes[at].send('POST', '/holdings', { whole: false, users });
    expect((await send(0, many)).status).toBe(400);
    const statuses = new Set<number>();
    for (let sent = 0; sent < 150; sent += 1) statuses.add((await send(1, [])).status);
    expect([...statuses]).toEqual([200, 429]);
  });
});
