// The open connections: nodes are asked through the change stream, answer again and again, and are
// named when they do not; accounts see their own users alone.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { type Browser, startTestApp } from './harness.ts';
import type { TestNode } from './node.ts';
import { startTwoServers, type TwoServers } from './two_servers.ts';

type Body = Record<string, unknown>;
const nothing = { groups: 0, connections: 0, up: 0, down: 0 };

eachDatabase((database) => {
  let url: string;
  let { t, ids, nodes, browsers, stop } = {} as TwoServers;
  const exits = { fra1: '', ams1: '' };

  beforeAll(async () => {
    url = await database.url();
    ({ t, ids, nodes, browsers, stop } = await startTwoServers(url));
    for (const server of ['fra1', 'ams1'] as const) {
      exits[server] = (await t.operator.get(`/servers/${server}`)).body.exit_ips[0].ip;
    }
  });
  afterAll(() => stop?.());
  // Earlier looks are over, and no node is offline: that would end its stream.
  beforeEach(async () => {
    for (const node of nodes) await node.ack();
    await t.pass(31);
    for (const node of nodes) await node.ack();
  });

  const group = (change: Body = {}): Body => ({
    ...{ service: 'proxy', account: ids.acme, user: ids.alice, address: '192.0.2.1' },
    ...{ exit_ip: exits.fra1, by: ['token'], connections: 2, up: 10, down: 1000 },
    ...{ since: t.now() - 60, last_byte_at: t.now() - 1 },
    ...change,
  });
  const watchesOf = (node: TestNode) => node.heard('connections').filter(({ value }) => value);
  const report = (node: TestNode, watch: unknown, groups: Body[], rest: Body = nothing) =>
    node.send('POST', '/connections', { watch, groups, rest });

  /** Looks, and has these nodes answer the watch that comes of it, each with its groups. */
  async function look(
    asking: () => Promise<{ status: number; body: Body }>,
    answers: ReadonlyArray<readonly [TestNode, Body[], Body?]>,
  ) {
    const before = new Map(answers.map(([node]) => [node, watchesOf(node).length]));
    const looking = asking();
    const watches: Body[] = [];
    for (const [node, groups, rest] of answers) {
      await node.until((heard) => watchesOf(heard).length > (before.get(node) ?? 0));
      const watch = watchesOf(node).at(-1);
      watches.push(watch as unknown as Body);
      expect((await report(node, watch?.id, groups, rest)).status).toBe(204);
    }
    return { ...(await looking), watch: watches[0] as Body & { id: number } };
  }
  const operator = (query = '') => t.operator.get(`/connections${query}`);
  const person = (name: string, query = '') =>
    (browsers.get(name) as Browser).get(`/connections${query}`);

  test('the answers of all nodes are one list, the largest group first, with names', async () => {
    const [first, second, third] = nodes;
    const vpn = { service: 'vpn-ikev2', account: ids.other, user: ids.stranger, by: ['vpn'] };
    const since = t.now() - 300;
    const { status, body } = await look(operator, [
      [first, [group(), group({ address: '2001:db8::1', connections: 1 })]],
      [second, [group({ by: ['authlist'], entry: 7, since, connections: 3 })]],
      [third, [group({ ...vpn, exit_ip: exits.ams1, connections: 9 })], { ...nothing, groups: 4 }],
    ]);
    expect(status).toBe(200);
    const shared = { account: 'acme', user: 'alice', exit_ip: exits.fra1, service: 'proxy' };
    const last_byte_at = t.now() - 1;
    expect(body).toEqual({
      connections: [
        {
          ...{ server: 'ams1', nodes: ['ams1-node'], service: 'vpn-ikev2', account: 'other' },
          ...{ user: 'alice', address: '192.0.2.1', exit_ip: exits.ams1, credentials: ['vpn'] },
          ...{ connections: 9, since: t.now() - 60, last_byte_at, up: 10, down: 1000 },
        },
        {
          ...{ ...shared, server: 'fra1', nodes: ['fra1-a', 'fra1-b'], address: '192.0.2.1' },
          ...{ credentials: ['token', 'authlist'], authlist_entry: 7, connections: 5, since },
          ...{ last_byte_at, up: 20, down: 2000 },
        },
        {
          ...{ ...shared, server: 'fra1', nodes: ['fra1-a'], address: '2001:db8::1' },
          ...{ credentials: ['token'], connections: 1, since: t.now() - 60 },
          ...{ last_byte_at, up: 10, down: 1000 },
        },
      ],
      rest: { ...nothing, groups: 4 },
      total: { groups: 7, connections: 15, up: 40, down: 4000 },
      missing: [],
    });
  });

  test('a limit lists the largest, and sums the others', async () => {
    const groups = Array.from({ length: 50 }, (_, at) =>
      group({ address: `192.0.2.${at + 1}`, connections: at + 1 }),
    );
    const [first, second, third] = nodes;
    const { body } = await look(
      () => operator('?limit=2'),
      [
        [first, groups],
        [second, []],
        [third, [], { groups: 3, connections: 7, up: 1, down: 2 }],
      ],
    );
    expect((body.connections as Body[]).map(({ connections }) => connections)).toEqual([50, 49]);
    expect(body.rest).toEqual({ groups: 51, connections: 1183, up: 481, down: 48_002 });
    expect((await operator('?limit=1001')).status).toBe(400);
  });

  test('groups are summed by account, user, server or address, and one watch serves all of these', async () => {
    const [first, second, third] = nodes;
    const strange = group({ account: ids.other, user: ids.stranger, connections: 1 });
    const since = t.now() - 300;
    const { body } = await look(
      () => operator('?by=user'),
      [
        [first, [group(), strange, group({ user: ids.carol, connections: 9, since })]],
        [second, [group({ address: '192.0.2.2' })]],
        [third, [{ ...strange, exit_ip: exits.ams1 }], { ...nothing, groups: 3, connections: 4 }],
      ],
    );
    const last_byte_at = t.now() - 1;
    const moved = (groups: number) => ({ up: 10 * groups, down: 1000 * groups, last_byte_at });
    const sum = (groups: number, connections: number, from = t.now() - 60) => ({
      ...{ groups, connections, since: from, ...moved(groups) },
    });
    expect(body).toEqual({
      connections: [],
      sums: [
        { account: 'acme', user: 'carol', ...sum(1, 9, since) },
        { account: 'acme', user: 'alice', ...sum(2, 4) },
        { account: 'other', user: 'alice', ...sum(2, 2) },
      ],
      rest: { ...nothing, groups: 3, connections: 4 },
      total: { groups: 8, connections: 19, up: 50, down: 5000 },
      missing: [],
    });
    for (const [query, sums, rest] of [
      ['by=account', [{ account: 'acme', ...sum(3, 13, since) }, sum(2, 2)], 3],
      ['by=server&limit=1', [{ server: 'fra1', ...sum(4, 14, since) }], 4],
      ['by=address', [{ address: '192.0.2.1', ...sum(4, 13, since) }, sum(1, 2)], 3],
    ] as const) {
      const answer = (await operator(`?${query}`)).body;
      expect(answer.sums, query).toMatchObject(sums);
      expect(answer.rest.groups, query).toBe(rest);
      expect(answer.total).toEqual(body.total);
    }
    expect((await operator('?by=exit')).status).toBe(400);
    expect((await person('boss', '?by=account')).status).toBe(400);
  });

  test('nodes are asked once for all who look at the same, only those that matter, until the lease ends', async () => {
    const [first, second, third] = nodes;
    const { watch } = await look(
      () => person('boss'),
      [
        [first, [group()]],
        [second, []],
      ],
    );
    expect(watch.value).toEqual({ lease_seconds: 30, account: ids.acme });
    const again = await t.operator.get('/accounts/acme/connections');
    expect(again.body.connections).toHaveLength(1);
    expect(watchesOf(first).filter(({ id }) => id === watch.id)).toHaveLength(1);
    expect(
      watchesOf(third).some(({ id }) => id === watch.id),
      'not on its server',
    ).toBe(false);
    expect((await report(third, watch.id, [])).status).toBe(404);
    t.clock.advance(20);
    for (const node of nodes) await node.ack();
    await person('boss');
    await first.until((heard) => watchesOf(heard).filter(({ id }) => id === watch.id).length > 1);
    await t.pass(31);
    expect((await report(first, watch.id, [])).status).toBe(404);
    for (const table of ['connection_watches', 'connection_answers']) {
      expect(await t.running.ctx.db.all(`select * from ${table}`)).toEqual([]);
    }
  });

  test('a node that does not answer is named with the reason, and is in the list once it does', async () => {
    const [first, second, third] = nodes;
    for (let count = 0; count < 2; count += 1) {
      await t.pass(31);
      for (const node of [first, second]) await node.ack();
    }
    const { body, watch } = await look(operator, [[first, [group()]]]);
    const versions = { 'fra1-b': 'outdated', 'ams1-node': 'offline' };
    expect(body.missing).toEqual([
      { server: 'ams1', node: 'ams1-node', reason: versions['ams1-node'] },
      { server: 'fra1', node: 'fra1-b', reason: versions['fra1-b'] },
    ]);
    t.clock.advance(3);
    await report(second, watch.id, [group({ address: '192.0.2.9' })]);
    await report(third, watch.id, []);
    const later = (await operator()).body;
    expect([later.connections.length, later.missing]).toEqual([2, []]);
    t.clock.advance(8);
    const stale = (await operator()).body;
    expect(stale.missing.map(({ node }: { node: string }) => node)).toEqual(['fra1-a']);
    expect(stale.connections.map(({ address }: Body) => address)).toEqual(['192.0.2.9']);
    third.stop();
    await third.start();
  });

  test('an account never sees connections of another, whatever a node sends', async () => {
    const [first, second] = nodes;
    const foreign = group({ account: ids.other, user: ids.stranger });
    const { body } = await look(
      () => person('boss'),
      [
        [first, [foreign, group(), group({ user: 999 }), group({ address: 'nowhere' })]],
        [second, [foreign]],
      ],
    );
    expect(body.connections).toMatchObject([{ account: 'acme', user: 'alice', server: 'fra1' }]);
    expect(JSON.stringify(body)).not.toMatch(/other|fra1-a|nowhere/);
    for (const [query, status] of [
      ['?user=nobody', 404],
      ['?server=ams1', 403],
      ['?server=none', 404],
      ['?address=x', 400],
      ['?account=other', 400],
    ] as const) {
      expect((await person('boss', query)).status, query).toBe(status);
    }
  });

  test('without the admin flag one sees oneself alone', async () => {
    const [first, second] = nodes;
    const { body, watch } = await look(
      () => person('carol'),
      [
        [first, [group(), group({ user: ids.carol, address: '192.0.2.7' })]],
        [second, []],
      ],
    );
    expect(watch.value).toMatchObject({ account: ids.acme, user: ids.carol });
    expect(body.connections).toMatchObject([{ user: 'carol', address: '192.0.2.7' }]);
    expect((await person('carol', '?user=carol')).body.connections).toHaveLength(1);
    expect((await person('carol', '?user=alice')).status).toBe(403);
  });

  test('filters reach the nodes in their one spelling', async () => {
    const [first, second, third] = nodes;
    const fra1 = '?server=fra1&address=2001:DB8::1';
    const { watch } = await look(
      () => operator(`${fra1}&account=acme&user=carol`),
      [
        [first, []],
        [second, []],
      ],
    );
    const wanted = { account: ids.acme, user: ids.carol, address: '2001:db8::1' };
    expect(watch.value).toEqual({ lease_seconds: 30, ...wanted });
    const heardBefore = watchesOf(third).length;
    await look(() => operator(`?node=${first.id}&exit_ip=${exits.fra1}`), [[first, []]]);
    expect(watchesOf(first).at(-1)?.value).toEqual({ lease_seconds: 30, exit_ip: exits.fra1 });
    expect(watchesOf(third)).toHaveLength(heardBefore);
    expect((await operator('?user=carol')).status).toBe(400);
    expect((await operator('?node=x')).status).toBe(400);
    expect((await operator('?node=999')).status).toBe(404);
  });

  test('reports of the wrong shape, or too large, are refused, and numbers stay safe', async () => {
    const [first, second, third] = nodes;
    const huge = { up: 2 ** 50, down: 2 ** 50 };
    const many = Array.from({ length: 1000 }, (_, at) =>
      group({ address: `2001:db8::${at.toString(16)}`, ...huge }),
    );
    const { body, watch } = await look(
      () => operator('?limit=1'),
      [
        [first, many, { ...nothing, ...huge }],
        [second, many.map((each) => ({ ...each, ...huge }))],
        [third, many.map((each) => ({ ...each, account: ids.other, user: ids.stranger }))],
      ],
    );
    const { rest, total } = body as { rest: typeof nothing; total: typeof nothing };
    expect(Number.isSafeInteger(rest.up) && Number.isSafeInteger(total.down)).toBe(true);
    expect(total.groups).toBe(2000);
    for (const wrong of [
      { connections: -1 },
      { by: [] },
      { by: ['magic'] },
      { service: 'x y' },
      { up: 1.5 },
      { since: 1e15 },
      { extra: 1 },
    ]) {
      expect((await report(first, watch.id, [group(wrong)])).status).toBe(400);
    }
    expect((await report(first, watch.id, [...many, group()])).status).toBe(400);
    expect((await report(first, 999_999, [])).status).toBe(404);
  });

  test('a person watches a few filters at once, and operators are not kept out by it', async () => {
    const statuses: number[] = [];
    for (const node of nodes) node.stop();
    await t.pass(1000);
    for (let at = 1; at <= 10; at += 1) {
      statuses.push((await person('boss', `?address=192.0.2.${at}`)).status);
    }
    expect(statuses).toEqual([...Array(8).fill(200), 429, 429]);
    expect((await person('boss', '?address=192.0.2.1')).status, 'the same again').toBe(200);
    expect((await operator('?address=192.0.2.99')).status).toBe(200);
    expect((await person('carol')).status).toBe(200);
    for (const node of nodes) await node.start();
  });

  test('a node that is connected to another process is asked, and answers there', async () => {
    const second = await startTestApp(url, { EXITWARD_DATA_DIR: t.data_dir });
    try {
      second.clock.seconds = t.clock.seconds;
      const [first, other, third] = nodes;
      const admin = `Bearer ${t.admin_token}`;
      const { body } = await look(async () => {
        const response = await fetch(`${second.running.admin_url}/admin/connections`, {
          headers: { authorization: admin },
        });
        return { status: response.status, body: (await response.json()) as Body };
      }, [
        [first, [group()]],
        [other, []],
        [third, []],
      ]);
      expect(body).toMatchObject({ connections: [{ user: 'alice' }], missing: [] });
    } finally {
      await second.stop();
    }
  });
});
