// The console's custom DNS entries, and which nodes have applied them.
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { type Browser, startTestApp, type TestApp } from './harness.ts';

let count = 0;

eachDatabase((database) => {
  let t: TestApp | undefined;
  let app: TestApp;
  let acme: BuiltAccount;
  let alice: Browser;
  let name: string;
  let server: string;

  beforeEach(async () => {
    t ??= await startTestApp(await database.url());
    app = t;
    count += 1;
    [name, server] = [`acme${count}`, `fra${count}`];
    await app.server(server);
    acme = await app.account(name, { servers: [server] });
    alice = await app.signIn(name, 'alice');
  });
  afterAll(() => t?.stop());

  const entry = (hostname = 'a.example') => ({
    server,
    hostname,
    ip: '203.0.113.7',
    expiry: app.now() + 3600,
  });
  const node = async (label: string) => {
    const joined = await app.node(server, label);
    await joined.snapshot();
    await joined.ack();
    return joined;
  };
  const only = async () => {
    const { body } = await alice.get('/overrides');
    expect(body).toHaveLength(1);
    return body[0];
  };

  test('an entry shows as under /v0, with its server and the nodes of that', async () => {
    await node('one');
    const made = await alice.post('/overrides', entry());
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/console/overrides/${made.body.id}`);
    const shown = (await app.as(acme).get(`/contract/overrides/${made.body.id}`)).body;
    expect(made.body).toEqual({
      ...shown,
      on_contract: true,
      ...{ note: '', added_by_kind: 'user', added_by: expect.stringMatching(/\/alice$/) },
      added_at: app.now(),
      nodes: [{ name: 'one', live: true, applied: false }],
    });
    expect(await only()).toEqual(made.body);
  });

  test('each node is shown with whether it has applied the last change', async () => {
    const [first, two, gone] = [await node('one'), await node('two'), await node('gone')];
    const { id } = (await alice.post('/overrides', entry())).body;
    await app.operator.delete(`/nodes/${gone.id}`);
    await first.snapshot();
    await first.ack();
    expect(await only()).toMatchObject({
      status: 'pending',
      nodes: [
        { name: 'one', live: true, applied: true },
        { name: 'two', live: true, applied: false },
      ],
    });
    await two.snapshot();
    await two.ack();
    // Once it is settled there is nothing to wait for.
    expect(await only()).toMatchObject({ status: 'active', nodes: [] });
    const changed = await alice.patch(`/overrides/${id}`, { ip: '203.0.113.8' });
    expect(changed.body).toMatchObject({
      ip: '203.0.113.8',
      status: 'pending',
      nodes: [{ applied: false }, { applied: false }],
    });
    await first.ack();
    await app.pass(61);
    expect((await only()).nodes.map(({ live }: { live: boolean }) => live)).toEqual([false, false]);
  });

  test('an entry that ends shows the nodes that still hold it, an expired one none', async () => {
    const first = await node('one');
    await alice.post('/overrides', entry());
    await first.snapshot();
    await first.ack();
    expect(await only()).toMatchObject({ status: 'active', nodes: [] });
    await app.pass(3600);
    expect(await only()).toMatchObject({
      status: 'expiring',
      nodes: [{ name: 'one', applied: false }],
    });
    await first.snapshot();
    await first.ack();
    expect(await only()).toMatchObject({ status: 'expired', nodes: [] });
  });

  test('the nodes of all entries are read at once, however many entries there are', async () => {
    await node('one');
    for (const at of Array(20).keys()) await alice.post('/overrides', entry(`h${at}.example`));
    const { db } = app.running.ctx;
    const statements: string[] = [];
    const { all } = db;
    db.all = (sql, values) => {
      statements.push(sql);
      return all.call(db, sql, values) as never;
    };
    try {
      expect((await alice.get('/overrides')).body).toHaveLength(20);
    } finally {
      db.all = all;
    }
    expect(statements.filter((sql) => /\bnodes\b/.test(sql))).toHaveLength(1);
  });

  test('an entry on a server that has left the contract says so', async () => {
    await alice.post('/overrides', entry());
    await alice.delete(`/servers/${server}`);
    expect(await only()).toMatchObject({ on_contract: false, status: 'pending' });
    expect((await alice.post('/overrides', entry('b.example'))).status).toBe(409);
  });

  test('an entry is changed, removed, and not there any more', async () => {
    const { id } = (await alice.post('/overrides', entry())).body;
    expect((await alice.patch(`/overrides/${id}`, {})).status).toBe(400);
    expect((await alice.patch(`/overrides/${id}`, { status: 'active' })).status).toBe(400);
    expect((await alice.patch(`/overrides/${id}`, { hostname: '*.example' })).status).toBe(400);
    expect((await alice.post('/overrides', entry())).status).toBe(409);
    expect((await alice.delete(`/overrides/${id}`)).status).toBe(204);
    expect((await alice.delete(`/overrides/${id}`)).status).toBe(404);
    expect((await alice.patch(`/overrides/${id}`, { ip: '203.0.113.8' })).status).toBe(404);
  });

  test('a "remove all" says what it took, and is undone', async () => {
    expect((await alice.delete('/overrides')).body).toEqual({ removal_id: null, entries: 0 });
    await alice.post('/overrides', entry());
    await alice.post('/overrides', entry('b.example'));
    const { removal_id, entries } = (await alice.delete('/overrides')).body;
    expect(entries).toBe(2);
    expect((await alice.get('/overrides')).body).toEqual([]);
    const restored = await alice.post('/overrides/restore', { removal_id });
    expect([restored.status, restored.body]).toEqual([200, { restored: 2, left_out: 0 }]);
    expect((await alice.get('/overrides')).body).toHaveLength(2);
    // A removal of the one list is none of the other.
    const { removal_id: next } = (await alice.delete('/overrides')).body;
    expect((await alice.post('/authlist/restore', { removal_id: next })).status).toBe(409);
  });
});
