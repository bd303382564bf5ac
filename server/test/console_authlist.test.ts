// The console's authlist: whole for admins, one's own entries for everybody else with the proxy
// flag.
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { type Browser, startTestApp, type TestApp } from './harness.ts';

let accounts = 0;
let addresses = 0;
const newAddress = () => {
  addresses += 1;
  return `10.2.${addresses >> 8}.${addresses & 255}`;
};

eachDatabase((database) => {
  let t: TestApp | undefined;
  let app: TestApp;
  let acme: BuiltAccount;
  let alice: Browser;
  let bob: Browser;
  let name: string;

  beforeEach(async () => {
    t ??= await startTestApp(await database.url(), { EXITWARD_CONFLICTS_PER_HOUR: '5' });
    app = t;
    name = `acme${++accounts}`;
    acme = await app.account(name);
    await app.user(acme, 'bob', { proxy: true });
    alice = await app.signIn(name, 'alice');
    bob = await app.signIn(name, 'bob');
  });
  afterAll(() => t?.stop());

  const entry = (user: string, ip = newAddress()) => ({ ip, user, expiry: app.now() + 3600 });
  const add = async (by: Browser, user: string) => {
    const answer = await by.post('/authlist', entry(user));
    expect(answer.status).toBe(201);
    return answer.body as { id: number; ip: string; user: string };
  };
  const idsOf = async (by: Browser) =>
    (await by.get('/authlist')).body.map(({ id }: { id: number }) => id);

  test('an entry shows as under /v0, with its proof, and when it was last used', async () => {
    const made = await alice.post('/authlist', entry('bob'));
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/console/authlist/${made.body.id}`);
    const [shown] = (await app.as(acme).get('/contract/ip-authlist')).body;
    const added = { added_by_kind: 'user', added_by: `${name}/alice`, added_at: app.now() };
    const beside = { proof: 'unproven', last_used_at: null, note: '', ...added };
    expect(made.body).toEqual({ ...shown, ...beside });
    expect((await alice.get('/authlist')).body).toEqual([made.body]);
  });

  test('one entry is read alone: by whom it is shown to in the list', async () => {
    const made = await add(alice, 'alice');
    expect((await alice.get(`/authlist/${made.id}`)).body).toEqual(made);
    const path = `/accounts/${name}/authlist/${made.id}`;
    expect((await app.operator.get(path)).body).toEqual(made);
    expect((await bob.get(`/authlist/${made.id}`)).status).toBe(404);
    await alice.delete(`/authlist/${made.id}`);
    expect((await alice.get(`/authlist/${made.id}`)).status).toBe(404);
    expect((await alice.get('/authlist/x')).status).toBe(404);
  });

  test('with the own address comes its entry, where it is among those that one sees', async () => {
    const own = '127.0.0.1';
    const listed = async (by: Browser) => {
      const { body } = await by.get('/address');
      expect(body.ip).toBe(own);
      return body.entry;
    };
    expect(await listed(alice)).toBe(null);
    const { body } = await alice.post('/authlist', entry('alice', own));
    expect(await listed(alice)).toEqual(body);
    expect(await listed(bob)).toBe(null);
    app.clock.advance(3600);
    expect(await listed(alice)).toBe(null);
  });

  test('its nodes report when an entry was last used', async () => {
    await app.server(`fra${accounts}`);
    await app.operator.put(`/accounts/${name}/servers/fra${accounts}`, {});
    const node = await app.node(`fra${accounts}`);
    const { id } = await add(bob, 'bob');
    const at = app.now() - 30;
    const answer = await node.send('POST', '/last-used', {
      uses: [{ account: acme.account.id, entry: id, at }],
    });
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect((await bob.get('/authlist')).body[0].last_used_at).toBe(null);
    await app.running.ctx.lastUsed.write(app.running.ctx);
    const [shown] = (await bob.get('/authlist')).body;
    expect(shown.last_used_at).toBe(at - (at % 60));
    const changed = await bob.patch(`/authlist/${id}`, { expiry: app.now() + 60 });
    expect(changed.body.last_used_at).toBe(at - (at % 60));
  });

  test('without an ip the address that the page comes from is listed', async () => {
    const { ip: _, ...body } = entry('bob');
    const answer = await bob.post('/authlist', body);
    expect([answer.status, answer.body.ip]).toEqual([201, '127.0.0.1']);
    await bob.delete(`/authlist/${answer.body.id}`);
  });

  test('a person without the admin flag sees and changes own entries; those of others are not there', async () => {
    const [own, foreign] = [await add(alice, 'bob'), await add(alice, 'alice')];
    expect(await idsOf(bob)).toEqual([own.id]);
    expect(await idsOf(alice)).toEqual([own.id, foreign.id]);
    const absent = await bob.patch('/authlist/99', { expiry: app.now() + 60 });
    const refused = await bob.patch(`/authlist/${foreign.id}`, { expiry: app.now() + 60 });
    expect([refused.status, refused.text]).toEqual([404, absent.text]);
    expect((await bob.delete(`/authlist/${foreign.id}`)).text).toBe(absent.text);
    const changed = await bob.patch(`/authlist/${own.id}`, { expiry: app.now() + 60 });
    expect([changed.status, changed.body.expiry]).toEqual([200, app.now() + 60]);
    expect((await bob.delete(`/authlist/${own.id}`)).status).toBe(204);
    expect(await idsOf(alice)).toEqual([foreign.id]);
  });

  test('a person without the admin flag names only themselves', async () => {
    const own = await add(bob, 'bob');
    const given = await bob.patch(`/authlist/${own.id}`, { user: 'alice' });
    expect([given.status, given.body.message]).toEqual([403, expect.stringMatching(/^user: /)]);
    // The answer does not say whether there is such a user.
    for (const user of ['alice', 'nobody']) {
      expect((await bob.post('/authlist', entry(user))).status).toBe(403);
    }
    expect((await alice.post('/authlist', entry('nobody'))).status).toBe(409);
    expect((await bob.patch(`/authlist/${own.id}`, { user: 'bob' })).status).toBe(200);
  });

  test('an entry that an admin gives to another user leaves the list of the first', async () => {
    const own = await add(bob, 'bob');
    expect((await alice.patch(`/authlist/${own.id}`, { user: 'alice' })).body.user).toBe('alice');
    expect(await idsOf(bob)).toEqual([]);
  });

  test('a change names at least one field, and none that it does not know', async () => {
    const { id } = await add(bob, 'bob');
    expect((await bob.patch(`/authlist/${id}`, {})).status).toBe(400);
    expect((await bob.patch(`/authlist/${id}`, { id })).status).toBe(400);
    expect((await bob.patch(`/authlist/${id}`, { expiry: app.now() })).status).toBe(400);
    expect((await bob.patch(`/authlist/${id}`, { ip: '10.0.0.0/8' })).status).toBe(400);
  });

  test('a "remove all" says what it took, and is undone', async () => {
    expect((await alice.delete('/authlist')).body).toEqual({ removal_id: null, entries: 0 });
    const ids = [(await add(alice, 'bob')).id, (await add(alice, 'alice')).id];
    const removed = await alice.delete('/authlist');
    expect([removed.status, removed.body.entries]).toEqual([200, 2]);
    expect(await idsOf(alice)).toEqual([]);
    const { removal_id } = removed.body;
    expect((await alice.get('/removals')).body).toEqual([
      { removal_id, list: 'authlist', entries: 2, at: app.now(), chosen: false },
    ]);
    const restored = await alice.post('/authlist/restore', { removal_id });
    expect([restored.status, restored.body]).toEqual([200, { restored: 2, left_out: 0 }]);
    expect(await idsOf(alice)).toEqual(ids);
    expect((await alice.post('/authlist/restore', { removal_id })).status).toBe(409);
  });

  test('conflicts count the same at this door and under /v0', async () => {
    const { ip } = await add(alice, 'bob');
    const body = entry('bob', ip);
    const statuses: number[] = [];
    for (let times = 0; times < 3; times += 1) {
      statuses.push((await alice.post('/authlist', body)).status);
      statuses.push((await app.as(acme).post('/contract/ip-authlist', body)).status);
    }
    expect(statuses).toEqual([409, 409, 409, 409, 409, 429]);
  });

  test('a person called all, who asks while an admin does, sees own entries alone', async () => {
    await app.user(acme, 'all', { proxy: true });
    const all = await app.signIn(name, 'all');
    const others = await add(bob, 'bob');
    const own = await add(all, 'all');
    const { db } = app.running.ctx;
    const { one: entry } = db;
    // Both lists are begun before one of them is made.
    db.one = async (sql, values) => {
      if (sql.startsWith('select id from authlist')) await setTimeout(500);
      return entry.call(db, sql, values) as never;
    };
    const lists = await Promise.all([idsOf(alice), idsOf(all)]).finally(() => {
      db.one = entry;
    });
    expect(lists).toEqual([[others.id, own.id], [own.id]]);
  });

  test('what a person does is in the audit log under their name', async () => {
    await add(bob, 'bob');
    const [last] = (await app.operator.get(`/audit?account=${name}&limit=1`)).body;
    expect(last).toMatchObject({
      actor_kind: 'user',
      actor: `${name}/bob`,
      address: '127.0.0.1',
      action: 'authlist.create',
    });
  });
});
