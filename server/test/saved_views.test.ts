// Saved views: each person's own, an operator's by token; bounded; none is lost when two tabs save.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { longestView, maxViews } from '../src/saved_views/saved_views.ts';
import { TestClient } from './client.ts';
import { eachDatabase } from './databases.ts';
import { passwordOf, startTestApp, type TestApp } from './harness.ts';

const ending = { page: '/authlist', name: 'Ends this week', query: 'ends=7d&sort=expiry' };

eachDatabase((database) => {
  let t: TestApp;
  let accounts = 0;
  beforeAll(async () => {
    t = await startTestApp(await database.url());
  });
  afterAll(() => t.stop());

  /** alice and bob of an account of their own, without flags. */
  async function people() {
    const account = `acme${++accounts}`;
    const holder = await t.account(account);
    await t.user(holder, 'bob');
    return {
      account,
      alice: await t.signIn(account, 'alice'),
      bob: await t.signIn(account, 'bob'),
    };
  }
  type Client = Pick<TestClient, 'get' | 'put' | 'delete'>;
  const namesOf = async (client: Client) =>
    (await client.get('/views')).body.map(({ name }: { name: string }) => name);

  /** Another operator, with a token of their own. */
  async function operator(name: string) {
    const { id, admin_token } = (await t.operator.post('/tokens', { name })).body;
    const headers = { authorization: `Bearer ${admin_token}` };
    return { id, client: new TestClient(`${t.running.admin_url}/admin`, headers) };
  }

  test('a view is listed for the person who saved it, in each of their browsers, and for no one else', async () => {
    const { account, alice, bob } = await people();
    const { status, body } = await alice.put('/views', ending);
    expect([status, body]).toEqual([200, { id: expect.any(Number), ...ending }]);
    const browser = t.browser();
    const password = passwordOf('alice');
    const again = await browser.post('/session', { account, user: 'alice', password });
    expect(again.status).toBe(201);
    expect((await browser.get('/views')).body).toEqual([body]);
    expect(await namesOf(bob)).toEqual([]);
    expect((await bob.delete(`/views/${body.id}`)).status).toBe(404);
    expect(await namesOf(alice)).toEqual([ending.name]);
    expect((await alice.delete(`/views/${body.id}`)).status).toBe(204);
    expect(await namesOf(alice)).toEqual([]);
  });

  test('an operator’s belong to the token, and end with it', async () => {
    const [first, second] = [await operator('first-shift'), await operator('second-shift')];
    expect((await first.client.put('/views', ending)).status).toBe(200);
    expect(await namesOf(first.client)).toEqual([ending.name]);
    expect(await namesOf(second.client)).toEqual([]);
    expect(await namesOf(t.operator)).toEqual([]);
    expect((await t.operator.delete(`/tokens/${first.id}`)).status).toBe(204);
    const stored = await t.running.ctx.db.all('select name from saved_views where account_id = 0');
    expect(stored).toEqual([]);
  });

  test('a name that is taken on the page is refused, and replaced on request', async () => {
    const { alice } = await people();
    const { id } = (await alice.put('/views', ending)).body;
    const changed = { ...ending, query: 'ends=24h' };
    const refused = await alice.put('/views', changed);
    expect([refused.status, refused.body]).toMatchObject([
      409,
      { code: 'name_taken', field: 'name' },
    ]);
    expect((await alice.get('/views')).body).toEqual([{ id, ...ending }]);
    expect((await alice.put('/views', { ...changed, replace: true })).body).toEqual({
      id,
      ...changed,
    });
    // The same name on another page is another view.
    expect((await alice.put('/views', { ...ending, page: '/dns' })).status).toBe(200);
    expect((await alice.get('/views')).body).toHaveLength(2);
  });

  test('two tabs that save at the same moment lose none', async () => {
    const { alice } = await people();
    const names = Array.from({ length: 10 }, (_, n) => `view ${n}`);
    const answers = await Promise.all(
      [...names, ...names].map((name) => alice.put('/views', { ...ending, name })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array(10).fill(200),
      ...Array(10).fill(409),
    ]);
    expect((await namesOf(alice)).toSorted()).toEqual(names);
  });

  test('their number and their size are bounded, on a page and in all', async () => {
    const { alice } = await people();
    const { page, all } = maxViews;
    const save = (n: number, change = {}) =>
      alice.put('/views', {
        ...{ ...ending, page: `/page/${Math.floor(n / page)}`, name: `view ${n}` },
        ...change,
      });
    const saved = await Promise.all(Array.from({ length: all }, (_, n) => save(n)));
    expect(new Set(saved.map(({ status }) => status))).toEqual(new Set([200]));
    for (const refused of [await save(0, { name: 'one more' }), await save(all)]) {
      expect([refused.status, refused.body.code]).toEqual([409, 'list_full']);
    }
    expect((await save(0, { replace: true })).status).toBe(200);
    for (const [field, most] of Object.entries(longestView)) {
      const text = '/'.repeat(most + 1);
      const { status, body } = await alice.put('/views', { ...ending, [field]: text });
      expect([status, body.field]).toEqual([400, field]);
    }
    expect((await alice.put('/views', { ...ending, name: ' ' })).body.field).toBe('name');
  });

  test('with a person who is erased go their views, and those of others that name them', async () => {
    const { account, alice, bob } = await people();
    const { alice: stranger } = await people();
    const named = { page: '/authlist', name: 'hers', query: 'user=alice' };
    const others = { page: '/authlist', name: 'his', query: 'user=bob' };
    const ofOperator = { ...named, page: `/operator/accounts/${account}/users`, name: 'one' };
    for (const view of [named, others]) {
      for (const client of [alice, bob, stranger]) {
        expect((await client.put('/views', view)).status).toBe(200);
      }
    }
    expect((await t.operator.put('/views', ofOperator)).status).toBe(200);
    const elsewhere = { ...ofOperator, page: '/operator/accounts', name: 'two' };
    expect((await t.operator.put('/views', elsewhere)).status).toBe(200);
    const erased = await t.operator.post(`/accounts/${account}/users/alice/erase`, {});
    expect(erased.status).toBe(200);
    expect(await namesOf(bob)).toEqual(['his']);
    expect(await namesOf(stranger)).toEqual(['hers', 'his']);
    expect(await namesOf(t.operator)).toEqual(['two']);
    const stored = await t.running.ctx.db.all<{ name: string }>(
      'select name from saved_views where account_id = (select id from accounts where name = $1)',
      [account],
    );
    expect(stored).toEqual([{ name: 'his' }]);
  });

  test('a suspended contract keeps no one from saving a view', async () => {
    const { account, alice } = await people();
    await t.operator.patch(`/accounts/${account}`, { suspended: true });
    expect((await alice.put('/views', ending)).status).toBe(200);
  });
});
