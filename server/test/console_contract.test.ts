// The console of an account: contract, usage, API tokens, what can be undone, and who changed what.
import { beforeAll, describe, expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { type Browser, passwordOf } from './harness.ts';
import type { TestNode } from './node.ts';

const day = 86_400;

eachApp((t) => {
  let acme: BuiltAccount;
  let alice: Browser;
  let node: TestNode;
  let other: TestNode;

  beforeAll(async () => {
    await t.server('fra1');
    await t.server('ams1');
    acme = await t.account('acme', { servers: ['fra1', 'ams1'] });
    await t.user(acme, 'bob', { billing: true });
    alice = await t.signIn('acme', 'alice');
    [node, other] = [await t.node('fra1'), await t.node('ams1')];
  });

  const report = (by: TestNode, seq: number, user: number, at: number, up: number) =>
    by.send('POST', '/usage', {
      boot: 'b',
      seq,
      rows: [{ account: acme.account.id, user, at, up, down: 0 }],
    });

  test('the contract says what the account may use, how much it did, and by which ports', async () => {
    await report(node, 1, 1, t.now(), 1000);
    const { status, body, headers } = await alice.get('/contract');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    const { start, expiry } = acme.account;
    expect(body).toEqual({
      name: 'acme',
      plan: 'Team',
      start,
      expiry,
      suspended: false,
      over_limit: false,
      on_limit: 'refuse',
      detailed_billing: false,
      period: { start, end: expect.any(Number), usage: 1000, limit: 1_000_000_000_000 },
      earlier_periods: [],
      token_lifetime_seconds: 365 * day,
      ports: [
        { base: 10000, service: 'proxy' },
        { base: 11000, service: 'proxy' },
        { base: 12000, service: 'proxy-https' },
      ],
      override_offset: 500,
    });
  });

  describe('usage', () => {
    beforeAll(async () => {
      await report(node, 2, 1, t.now() - day, 20);
      await report(node, 3, 2, t.now() - day, 300);
      await report(other, 1, 2, t.now() - day, 4000);
    });

    test('is reported by day, server and user, as the operator sees it', async () => {
      for (const by of ['hour', 'day', 'server', 'user']) {
        const { body } = await alice.get(`/usage?by=${by}`);
        expect(body).toEqual((await t.operator.get(`/accounts/acme/usage?by=${by}`)).body);
        expect(body.total).toBe(5320);
      }
    });

    test('is narrowed to a server, a user, or both, at either door', async () => {
      const rows = async (query: string) => {
        const { body } = await alice.get(`/usage?${query}`);
        expect((await t.operator.get(`/accounts/acme/usage?${query}`)).body).toEqual(body);
        return body.rows.map((row: Record<string, unknown>) => [row[body.by], row.total]);
      };
      expect(await rows('by=user&server=fra1')).toEqual([
        ['alice', 1020],
        ['bob', 300],
      ]);
      expect(await rows('by=server&user=bob')).toEqual([
        ['ams1', 4000],
        ['fra1', 300],
      ]);
      expect(await rows('by=server&user=bob&server=ams1')).toEqual([['ams1', 4000]]);
      const midnight = (at: number) => at - (at % day);
      expect(await rows('by=day&user=alice')).toEqual([
        [midnight(t.now() - day), 20],
        [midnight(t.now()), 1000],
      ]);
      expect(await rows('server=nowhere')).toEqual([]);
    });

    test('of a server that is gone is found under the name that reports show', async () => {
      await t.server('gone');
      await t.operator.put('/accounts/acme/servers/gone', {});
      const gone = await t.node('gone');
      await report(gone, 1, 1, t.now(), 5);
      await t.operator.delete('/accounts/acme/servers/gone');
      await t.operator.delete('/servers/gone');
      const { rows } = (await alice.get('/usage?by=server')).body;
      const shown = rows.find((row: { server: string }) => row.server.startsWith('#')).server;
      const query = `by=server&server=${encodeURIComponent(shown)}`;
      expect((await alice.get(`/usage?${query}`)).body.total).toBe(5);
    });

    test('refuses a span without time, and what it does not know', async () => {
      const wrong = async (query: string) => {
        const { status, body } = await alice.get(`/usage?${query}`);
        expect(status).toBe(400);
        return body.message;
      };
      expect(await wrong('from=20&to=10')).toMatch(/^from: /);
      expect(await wrong('by=month')).toMatch(/^by: /);
      expect(await wrong('account=other')).toMatch(/^account: /);
    });
  });

  describe('API tokens', () => {
    test('are made, work at once, and are revoked', async () => {
      const made = await alice.post('/tokens', { name: 'ci', read_only: true });
      expect(made.status).toBe(201);
      const { api_token, ...token } = made.body;
      expect(made.headers.get('location')).toBe(`/console/tokens/${token.id}`);
      expect((await t.as({ api_token }).get('/contract')).status).toBe(200);
      const { body: listed } = await alice.get('/tokens');
      expect(listed).toEqual((await t.operator.get('/accounts/acme/tokens')).body);
      expect(listed).toContainEqual(expect.objectContaining({ id: token.id, name: 'ci' }));
      expect((await alice.delete(`/tokens/${token.id}`)).status).toBe(204);
      expect((await t.as({ api_token }).get('/contract')).status).toBe(401);
      expect((await alice.delete(`/tokens/${token.id}`)).status).toBe(404);
    });

    test('that do not only read need the password again', async () => {
      const names = async () =>
        (await alice.get('/tokens')).body.map(({ name }: { name: string }) => name);
      for (const full of [{ name: 'full' }, { name: 'full', read_only: false }]) {
        const missing = await alice.post('/tokens', full);
        expect([missing.status, missing.body.field]).toEqual([400, 'password']);
        const wrong = await alice.post('/tokens', { ...full, password: 'not this one at all' });
        expect([wrong.status, wrong.body.code]).toEqual([403, 'wrong_password']);
      }
      expect(await names()).not.toContain('full');
      const made = await alice.post('/tokens', { name: 'full', password: passwordOf('alice') });
      expect([made.status, made.body.read_only]).toEqual([201, false]);
      expect((await t.operator.post('/accounts/acme/tokens', { name: 'free' })).status).toBe(201);
      const [last] = (await alice.get('/audit?limit=1')).body;
      expect(JSON.stringify(last)).not.toContain(passwordOf('alice'));
    });

    test('need a name of their own and an expiry to come', async () => {
      const read_only = true;
      expect((await alice.post('/tokens', { name: 'default', read_only })).status).toBe(409);
      const past = await alice.post('/tokens', { name: 'late', read_only, expiry: t.now() });
      expect([past.status, past.body.message]).toEqual([400, expect.stringMatching(/^expiry: /)]);
    });

    test('are viewed with the password entered again, and the audit log records it', async () => {
      const wrong = await alice.post('/tokens/1/view', { password: 'not this one at all' });
      expect([wrong.status, wrong.body.message]).toEqual([403, 'password: is not right.']);
      const { status, body } = await alice.post('/tokens/1/view', {
        password: passwordOf('alice'),
      });
      expect([status, body]).toEqual([200, { api_token: acme.api_token }]);
      const [last] = (await alice.get('/audit?limit=1')).body;
      expect(last).toMatchObject({
        actor_kind: 'user',
        actor: 'acme/alice',
        action: 'api_token.view',
        target: 'token/1',
      });
      expect((await alice.post('/tokens/99/view', { password: 'x' })).status).toBe(404);
    });

    test('are not viewed by who has no password, and made only to read', async () => {
      await t.user(acme, 'carol', { admin: true });
      const path = '/accounts/acme/users/carol/sign-in-link';
      const { code } = (await t.operator.post(path, {})).body;
      const carol = t.browser();
      expect((await carol.post('/session/link', { code })).status).toBe(201);
      const password = 'whatever it is';
      expect((await carol.post('/tokens/1/view', { password })).status).toBe(409);
      expect((await carol.post('/tokens', { name: 'carols', password })).status).toBe(409);
      expect((await carol.post('/tokens', { name: 'carols', read_only: true })).status).toBe(201);
    });
  });

  test('the audit log is of this account alone, newest first, page by page', async () => {
    await t.account('other');
    await t.operator.patch('/accounts/acme', { plan: 'Large' });
    const { body } = await alice.get('/audit?limit=1000');
    expect(body.every((entry: { account: string }) => entry.account === 'acme')).toBe(true);
    expect(body[0]).toMatchObject({ action: 'account.change', actor_kind: 'operator' });
    const times = body.map(({ at }: { at: number }) => at);
    expect(times).toEqual(times.toSorted((a: number, b: number) => b - a));
    const ids = body.map((entry: { id: string }) => entry.id);
    const page = await alice.get(`/audit?limit=2&before=${ids[1]}`);
    expect(page.body.map((entry: { id: string }) => entry.id)).toEqual(ids.slice(2, 4));
    expect(page.headers.get('link')).toBe(`</console/audit?limit=2&before=${ids[3]}>; rel="next"`);
    expect((await alice.get('/audit?account=other')).status).toBe(400);
  });

  test('the audit log shows an account the addresses of its own people, and of no others', async () => {
    const { body } = await alice.get('/audit?limit=1000');
    const of = (kind: string) =>
      body.filter((entry: { actor_kind: string }) => entry.actor_kind === kind);
    expect(new Set(of('user').map((entry: { address: string }) => entry.address))).toEqual(
      new Set(['127.0.0.1']),
    );
    expect(new Set(of('operator').map((entry: { address: string }) => entry.address))).toEqual(
      new Set(['']),
    );
  });
});
