// The console's users and proxy access tokens: for admins all, for others themselves.
import { beforeAll, expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { type Browser, passwordOf } from './harness.ts';

eachApp((t) => {
  let acme: BuiltAccount;
  let alice: Browser;
  let bob: Browser;

  beforeAll(async () => {
    acme = await t.account('acme');
    await t.user(acme, 'bob', { proxy: true });
    await t.account('other');
    alice = await t.signIn('acme', 'alice');
    bob = await t.signIn('acme', 'bob');
  });

  const given = (user: string) => ({ password: passwordOf(user) });
  const named = async (name: string, as = alice) =>
    (await as.get('/users')).body.find((user: { name: string }) => user.name === name);

  test('an admin sees all users and how they sign in, another person only themselves', async () => {
    await t.user(acme, 'carol');
    await alice.post('/users/carol/invite', given('alice'));
    const { body } = await alice.get('/users');
    const names = (users: Array<{ name: string }>) => users.map(({ name }) => name);
    expect(names(body)).toEqual(['alice', 'bob', 'carol']);
    expect(body[1]).toEqual({
      id: 2,
      name: 'bob',
      display_name: 'bob',
      active: true,
      flags: { proxy: true, billing: false, admin: false },
      token_version: 1,
      limits: expect.objectContaining({ limit_bytes: null, max_connections: null }),
      period: { start: expect.any(Number), end: expect.any(Number), usage: 0 },
      over_limit: false,
      sign_in: {
        has_password: true,
        second_factor: false,
        invited_until: null,
        last_sign_in_at: t.now(),
        sessions: 1,
      },
    });
    expect(body[2].sign_in).toEqual({
      has_password: false,
      second_factor: false,
      invited_until: t.now() + 7 * 86_400,
      last_sign_in_at: null,
      sessions: 0,
    });
    expect(names((await bob.get('/users')).body)).toEqual(['bob']);
  });

  test('an admin adds a user, who has not signed in yet', async () => {
    const body = { name: 'dave', display_name: 'Dave', flags: { billing: true } };
    const made = await alice.post('/users', body);
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe('/console/users/dave');
    expect(made.body).toMatchObject({
      ...body,
      active: true,
      flags: { proxy: false, billing: true, admin: false },
      sign_in: { has_password: false, sessions: 0 },
    });
    expect(made.body).toEqual(await named('dave'));
    expect((await alice.post('/users', { name: 'dave' })).status).toBe(409);
    expect((await alice.post('/users', { name: 'two words' })).status).toBe(400);
  });

  test('an admin changes any of display name, active and flags; nothing is no change', async () => {
    const { status, body } = await alice.patch('/users/bob', { display_name: 'Bob' });
    expect([status, body.display_name, body.flags.proxy]).toEqual([200, 'Bob', true]);
    expect((await alice.patch('/users/bob', { flags: { billing: true } })).body.flags).toEqual({
      proxy: true,
      billing: true,
      admin: false,
    });
    expect((await alice.patch('/users/bob', {})).status).toBe(400);
    expect((await alice.patch('/users/bob', { name: 'rob' })).status).toBe(400);
    expect((await alice.patch('/users/nobody', { active: false })).status).toBe(404);
  });

  test('the last active admin stays one, until there is another', async () => {
    await t.user(acme, 'sleeping', { admin: true });
    await alice.patch('/users/sleeping', { active: false });
    for (const change of [{ active: false }, { flags: { admin: false } }]) {
      const { status, body } = await alice.patch('/users/alice', change);
      expect([status, body.message]).toEqual([409, expect.stringMatching(/^flags: "alice" is /)]);
    }
    expect((await alice.patch('/users/alice', { flags: { billing: false } })).status).toBe(200);
    const admin = { flags: { admin: true } };
    expect((await alice.patch('/users/bob', { ...admin, ...given('alice') })).status).toBe(200);
    expect((await alice.patch('/users/alice', { flags: { admin: false } })).status).toBe(200);
    // From now on alice is nobody special.
    expect((await alice.patch('/users/bob', { flags: { admin: false } })).status).toBe(403);
    expect((await bob.patch('/users/bob', { flags: { admin: false } })).status).toBe(409);
    expect((await bob.patch('/users/alice', { ...admin, ...given('bob') })).status).toBe(200);
    expect((await alice.patch('/users/bob', { flags: { admin: false } })).status).toBe(200);
  });

  test('an open session lets nobody else become an admin: inviting, and making an admin, ask for the password again', async () => {
    const own = await t.account('borrowed');
    for (const name of ['bea', 'cid']) await t.user(own, name);
    await t.user(own, 'dan', { admin: true });
    await t.operator.patch('/accounts/borrowed/users/dan', { active: false });
    const session = await t.signIn('borrowed', 'alice');
    const makeAdmin = { flags: { admin: true } };
    const ways: Array<[string, (password?: string) => ReturnType<Browser['send']>]> = [
      ['invite', (password) => session.post('/users/alice/invite', { password })],
      ['invite another', (password) => session.post('/users/bea/invite', { password })],
      ['give', (password) => session.patch('/users/bea', { ...makeAdmin, password })],
      ['back', (password) => session.patch('/users/dan', { active: true, password })],
      ['both', (password) => session.patch('/users/dan', { active: true, ...makeAdmin, password })],
    ];
    const before = (await session.get('/users')).body;
    for (const [way, send] of ways) {
      const missing = await send();
      expect([way, missing.status, missing.body.field]).toEqual([way, 400, 'password']);
    }
    for (const [way, send] of [ways[0], ways[2]] as typeof ways) {
      const wrong = await send('not the right password');
      expect([way, wrong.status, wrong.body.code]).toEqual([way, 403, 'wrong_password']);
    }
    expect((await session.get('/users')).body).toEqual(before);
    // All other changes, and what takes rights away, go on without.
    for (const changes of [
      { display_name: 'Cid' },
      { flags: { billing: true } },
      { active: false },
    ]) {
      expect((await session.patch('/users/cid', changes)).status).toBe(200);
    }
    // The flag alone opens nothing for somebody inactive; the way back then asks.
    expect((await session.patch('/users/cid', makeAdmin)).status).toBe(200);
    expect((await session.patch('/users/cid', { active: true })).status).toBe(400);
    expect((await session.patch('/users/cid', given('alice'))).status).toBe(400);
    for (const [way, send] of ways) {
      const { status } = await send(passwordOf('alice'));
      expect([way, status]).toEqual([way, expect.toBeOneOf([200, 201])]);
    }
  });

  test('of admins who leave at the same moment one is left', async () => {
    const own = await t.account('leaving');
    for (const name of ['bea', 'cid', 'dan']) await t.user(own, name, { admin: true });
    const names = ['alice', 'bea', 'cid', 'dan'];
    const people = await Promise.all(names.map((name) => t.signIn('leaving', name)));
    const outcomes = await Promise.all(
      people.map((person, at) => person.patch(`/users/${names[at]}`, { flags: { admin: false } })),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409]);
  });

  test('token_version is raised by admins for anybody, by others for themselves', async () => {
    expect((await alice.post('/users/bob/token_version', undefined)).body.token_version).toBe(2);
    expect((await bob.post('/users/bob/token_version', undefined)).body.token_version).toBe(3);
    // The answer does not say whether there is such a user.
    for (const name of ['alice', 'nobody']) {
      expect((await bob.post(`/users/${name}/token_version`, undefined)).status).toBe(403);
    }
    expect((await alice.post('/users/nobody/token_version', undefined)).status).toBe(404);
  });

  test('a proxy access token is made for anybody by admins, for themselves by others', async () => {
    const own = await bob.post('/proxy-tokens', { user: 'bob', lifetime_seconds: 600 });
    expect(own.status).toBe(201);
    expect(own.body).toEqual({
      token: expect.stringMatching(/^ewt_/),
      user: 'bob',
      expiry: t.now() + 600,
    });
    const usual = await alice.post('/proxy-tokens', { user: 'bob' });
    expect(usual.body.expiry).toBe(t.now() + acme.account.token_lifetime_seconds);
    const foreign = await bob.post('/proxy-tokens', { user: 'alice' });
    expect([foreign.status, foreign.body.message]).toEqual([
      403,
      expect.stringMatching(/^user: you may name yourself alone/),
    ]);
    // Bob is user 2: an id in digits is no way around.
    expect((await bob.post('/proxy-tokens', { user: '1' })).status).toBe(403);
    expect((await alice.post('/proxy-tokens', { user: 'carol' })).status).toBe(409);
    expect((await alice.post('/proxy-tokens', { user: 'nobody' })).status).toBe(409);
    expect((await alice.post('/proxy-tokens', { user: 'bob', lifetime_seconds: 0 })).status).toBe(
      400,
    );
  });

  test('a user of another account is not there', async () => {
    await t.user(await t.account('third'), 'erin', { proxy: true });
    expect((await alice.patch('/users/erin', { active: false })).status).toBe(404);
    expect((await alice.post('/proxy-tokens', { user: 'erin' })).status).toBe(409);
  });
});
