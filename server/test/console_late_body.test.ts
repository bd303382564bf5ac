// A client who may no longer write when the body of the request has come writes nothing, whatever
// held at its head.
import { beforeAll, describe, expect, test } from 'vitest';
import { requireTokenNow } from '../src/api/account/authentication.ts';
import type { Principal } from '../src/api/account/session.ts';
import { createApiToken, removeApiToken } from '../src/api_tokens/api_tokens.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { type Browser, basic, passwordOf } from './harness.ts';
import { sendHeldBack } from './held_back.ts';

eachApp((t) => {
  let accounts = 0;
  let name: string;
  let acme: BuiltAccount;
  let alice: Browser;
  let bob: Browser;
  beforeAll(async () => {
    await t.server('fra1');
  });

  /** Of an account of its own: alice and bob with all flags, and carol with none. */
  async function people(): Promise<void> {
    name = `acme${++accounts}`;
    acme = await t.account(name, { servers: ['fra1'] });
    await t.user(acme, 'bob', { admin: true, billing: true, proxy: true });
    await t.user(acme, 'carol', { proxy: true });
    [alice, bob] = [await t.signIn(name, 'alice'), await t.signIn(name, 'bob')];
  }
  const late = (
    by: Browser,
    [method, path, body]: [string, string, unknown],
    meanwhile: () => Promise<unknown>,
  ) => {
    const headers = { origin: t.base_url, cookie: by.cookie };
    return sendHeldBack(t.base_url, { method, path: `/console${path}`, headers, body }, meanwhile);
  };

  const newToken: [string, string, unknown] = [
    'POST',
    '/tokens',
    { name: 'late', read_only: true },
  ];
  const namesOfTokens = async () =>
    (await alice.get('/tokens')).body.map((token: { name: string }) => token.name);

  describe.each<[string, () => Promise<{ status: number }>, number]>([
    ['session was ended', () => alice.delete('/users/bob/sessions'), 401],
    ['session was signed out', () => bob.delete('/session'), 401],
    ['user was made inactive', () => alice.patch('/users/bob', { active: false }), 401],
    ['user was reset', () => alice.delete('/users/bob/sign-in'), 401],
    ['flag was taken', () => alice.patch('/users/bob', { flags: { admin: false } }), 403],
  ])('a person whose %s', (_, meanwhile, status) => {
    test('while the body was on its way creates no API token', async () => {
      await people();
      const answer = await late(bob, newToken, meanwhile);
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toEqual({
        message: expect.stringMatching(/^(Sign|This)/),
        code: status === 401 ? 'session_ended' : 'flag_needed',
      });
      expect(await namesOfTokens()).toEqual(['default']);
    });
  });

  test('a person who may still write does, however late the body is', async () => {
    await people();
    expect((await late(bob, newToken, async () => {})).status).toBe(201);
    expect(await namesOfTokens()).toEqual(['default', 'late']);
  });

  test('a person whose contract was suspended while the body was on its way changes no record', async () => {
    await people();
    const expiry = t.now() + 3600;
    const entry = { ip: `192.0.2.${accounts}`, user: 'alice', expiry };
    const override = { server: 'fra1', hostname: 'a.example', ip: '192.0.2.1', expiry };
    await alice.post('/authlist', entry);
    await alice.post('/overrides', override);
    const before = [await alice.get('/authlist'), await alice.get('/overrides')];
    for (const request of [
      ['POST', '/authlist', { ...entry, ip: `198.51.100.${accounts}` }],
      ['PATCH', '/authlist/1', { expiry: expiry + 1 }],
      ['POST', '/overrides', { ...override, hostname: 'b.example' }],
      ['PATCH', '/overrides/1', { expiry: expiry + 1 }],
    ] as Array<[string, string, unknown]>) {
      const { status, text } = await late(alice, request, () => suspend(true));
      expect([request, status, JSON.parse(text).code]).toEqual([
        request,
        403,
        'contract_suspended',
      ]);
      await suspend(false);
    }
    const after = [await alice.get('/authlist'), await alice.get('/overrides')];
    expect(after.map(({ body }) => body)).toEqual(before.map(({ body }) => body));
  });

  describe('who was an admin when the request began', () => {
    const noAdmin = () => alice.patch('/users/bob', { flags: { admin: false } });

    test('changes and removes no entry of another, and lists none for another', async () => {
      await people();
      const expiry = t.now() + 3600;
      const entry = { ip: `192.0.2.${accounts}`, user: 'carol', expiry };
      const { id } = (await alice.post('/authlist', entry)).body;
      const own = { ...entry, ip: `198.51.100.${accounts}` };
      const giveBack = () =>
        alice.patch('/users/bob', { flags: { admin: true }, password: passwordOf('alice') });
      const change = { expiry: expiry + 1 };
      expect((await late(bob, ['PATCH', `/authlist/${id}`, change], noAdmin)).status).toBe(404);
      await giveBack();
      expect((await late(bob, ['POST', '/authlist', own], noAdmin)).status).toBe(403);
      await giveBack();
      const mine = { ...own, user: 'bob' };
      expect((await late(bob, ['POST', '/authlist', mine], noAdmin)).status).toBe(201);
      const list = (await alice.get('/authlist')).body;
      expect(list).toMatchObject([entry, mine]);
    });

    test('ends and makes no proxy access tokens of another', async () => {
      await people();
      const token = { user: 'carol' };
      expect((await late(bob, ['POST', '/proxy-tokens', token], noAdmin)).status).toBe(403);
      await alice.patch('/users/bob', { flags: { admin: true }, password: passwordOf('alice') });
      const path = '/users/carol/token_version';
      expect((await late(bob, ['POST', path, {}], noAdmin)).status).toBe(403);
      const carol = (await alice.get('/users')).body[2];
      expect(carol).toMatchObject({ name: 'carol', token_version: 1 });
    });

    test('ends no connections of another, and with those of the whole account their own alone', async () => {
      await people();
      const path = '/connections/end';
      expect((await late(bob, ['POST', path, { user: 'carol' }], noAdmin)).status).toBe(403);
      await alice.patch('/users/bob', { flags: { admin: true }, password: passwordOf('alice') });
      expect((await late(bob, ['POST', path, {}], noAdmin)).status).toBe(200);
      const records = (await t.operator.get(`/accounts/${name}/audit`)).body as Array<{
        action: string;
        after: unknown;
      }>;
      const orders = records.filter(({ action }) => action === 'connection.end');
      expect(orders.map(({ after }) => after)).toEqual([{ user: 'bob', nodes: 0 }]);
    });
  });

  test('a password is not set by a session that ended, though the user has none any more', async () => {
    await people();
    const password = 'a password of a thief';
    const answer = await late(bob, ['PUT', '/password', { password }], () =>
      alice.delete('/users/bob/sign-in'),
    );
    expect(answer.status).toBe(401);
    const given = { account: name, user: 'bob', password };
    expect((await t.browser().post('/session', given)).status).toBe(401);
    // Nor does it learn whether there is one.
    await people();
    const current_password = passwordOf('bob');
    const guess = await late(bob, ['PUT', '/password', { current_password, password }], () =>
      alice.delete('/users/bob/sign-in'),
    );
    expect(guess.status).toBe(401);
  });

  test('a second factor is not confirmed by a session that ended', async () => {
    await people();
    await bob.post('/second-factor', { password: passwordOf('bob') });
    const answer = await late(bob, ['PUT', '/second-factor', { code: '000000' }], () =>
      alice.delete('/users/bob/sessions'),
    );
    expect(answer.status).toBe(401);
  });

  test('an operator token that was revoked meanwhile makes no other', async () => {
    const { id, admin_token } = (await t.operator.post('/tokens', { name: 'second' })).body;
    const answer = await sendHeldBack(
      t.running.admin_url,
      {
        method: 'POST',
        path: '/admin/tokens',
        headers: { authorization: `Bearer ${admin_token}` },
        body: { name: 'late' },
      },
      () => t.operator.delete(`/tokens/${id}`),
    );
    expect(answer.status).toBe(401);
    const names = (await t.operator.get('/tokens')).body.map(
      (token: { name: string }) => token.name,
    );
    expect(names).not.toContain('late');
  });

  describe.each<[string, (id: number) => Promise<unknown>, number]>([
    ['was revoked', (id) => t.operator.delete(`/accounts/${name}/tokens/${id}`), 401],
    ['has expired', async () => t.clock.advance(60), 401],
    [
      'became read-only',
      (id) =>
        t.write((tx) =>
          tx.run('update api_tokens set read_only = 1 where account_id = $1 and id = $2', [
            acme.account.id,
            id,
          ]),
        ),
      403,
    ],
    ['opens a contract that was suspended', () => suspend(true), 403],
  ])('an API token that %s meanwhile', (_, meanwhile, status) => {
    test('changes nothing', async () => {
      await people();
      const { token, text } = await t.write((tx) =>
        createApiToken(tx, t.running.ctx.secrets, true, acme.account, {
          name: 'short',
          expiry: t.now() + 60,
        }),
      );
      const body = { ip: `203.0.113.${accounts}`, user: 'alice', expiry: t.now() + 3600 };
      const path = '/v0/contract/ip-authlist';
      const headers = { authorization: basic(text) };
      const send = (then: () => Promise<unknown>) =>
        sendHeldBack(t.base_url, { method: 'POST', path, headers, body }, then);
      const answer = await send(() => meanwhile(token.id));
      expect([answer.status, Object.keys(JSON.parse(answer.text))]).toEqual([status, ['message']]);
      expect((await t.as(acme).get('/contract/ip-authlist')).body).toEqual([]);
    });
  });

  test('an API token that is revoked between two changes of one commit makes the first alone', async () => {
    await people();
    const { id } = (await t.operator.get(`/accounts/${name}/tokens`)).body[0];
    const client = { account_id: acme.account.id, token_id: id, token_name: 'default' };
    const commits: number[] = [];
    const use = () =>
      t.write(async (tx) => {
        await requireTokenNow(tx, client as Principal);
        tx.group.beforeCommit(async () => void commits.push(1));
      });
    const outcomes = await Promise.allSettled([
      use(),
      use(),
      t.write((tx) => removeApiToken(tx, acme.account, id)),
      use(),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
    ]);
    expect(outcomes[3]).toMatchObject({ reason: { status: 401 } });
    expect(commits).toHaveLength(2);
  });
  const suspend = (suspended: boolean) => t.operator.patch(`/accounts/${name}`, { suspended });
});
