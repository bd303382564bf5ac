// Many users or accounts at once: all or none, each as a change of it alone, each in the audit log.
import { expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { type Browser, passwordOf } from './harness.ts';

eachApp((t) => {
  let acme: BuiltAccount;
  let alice: Browser;
  let accounts = 0;

  /** A new account with alice (1), an admin, and bob (2) and carol (3), who are none. */
  async function scene() {
    const name = `acme${++accounts}`;
    acme = await t.account(name);
    for (const user of ['bob', 'carol']) await t.user(acme, user, { proxy: true });
    alice = await t.signIn(name, 'alice');
    return name;
  }
  interface User {
    id: number;
    name: string;
    active: boolean;
    flags: Record<string, boolean>;
    limits: Record<string, number | null>;
    sign_in: { sessions: number };
  }
  const users = async () => (await alice.get('/users')).body as User[];
  const newest = async (many: number) =>
    ((await alice.get(`/audit?limit=${many}`)).body as Array<{ action: string; target: string }>)
      .map(({ action, target }) => `${action} ${target}`)
      .sort();

  test('users are made inactive and get permissions at once; each is in the audit log, and nodes hear of each', async () => {
    const name = await scene();
    const bob = await t.signIn(name, 'bob');
    const { body, status } = await alice.patch('/users', {
      users: [
        { id: 2, active: false },
        { id: 3, flags: { billing: true, proxy: false } },
      ],
    });
    expect([status, body]).toEqual([200, { changed: 2 }]);
    expect(
      (await users()).map(({ active, flags }) => [active, flags.proxy, flags.billing]),
    ).toEqual([
      [true, true, true],
      [false, true, false],
      [true, false, true],
    ]);
    expect(await newest(2)).toEqual(['user.change bob', 'user.change carol']);
    const changes = await t.running.ctx.db.all<{ record_id: number }>(
      `select record_id from changes where kind = 'user' and account_id = $1 order by revision desc limit 2`,
      [acme.account.id],
    );
    expect(changes.map(({ record_id }) => record_id).sort()).toEqual([2, 3]);
    // A person who is made inactive is signed out.
    expect((await bob.get('/session')).status).toBe(401);
  });

  test('users get limits at once, and those that are left out stay', async () => {
    await scene();
    const limit = (id: number, limits: object | null) => ({ id, limits });
    const limitsAfter = async (...changes: object[]) => {
      const { status } = await alice.patch('/users', { users: changes });
      expect(status).toBe(200);
      return (await users()).map(({ limits }) => [limits.max_connections, limits.max_addresses]);
    };
    expect(
      await limitsAfter(limit(2, { max_connections: 7 }), limit(3, { max_addresses: 2 })),
    ).toEqual([
      [null, null],
      [7, null],
      [null, 2],
    ]);
    expect(await limitsAfter(limit(2, { max_addresses: 3 }), limit(3, null))).toEqual([
      [null, null],
      [7, 3],
      [null, null],
    ]);
  });

  test('one fault, and none is changed; the error names its place', async () => {
    const name = await scene();
    const off = (id: number) => ({ id, active: false });
    const before = await users();
    const refused = async (
      body: object,
      by = (change: object) => alice.patch('/users', change),
    ) => {
      const answer = await by(body);
      return [answer.status, answer.body.code, answer.body.field];
    };
    expect(await refused({ users: [off(2), off(9)] })).toEqual([404, 'not_found', 'users.1.id']);
    expect(await refused({ users: [off(2), off(2)] })).toEqual([
      ...[400, 'invalid_field', 'users.1.id'],
    ]);
    expect(await refused({ users: [off(2), { id: 3 }] })).toEqual([
      ...[400, 'invalid_field', 'users.1'],
    ]);
    expect(await refused({ users: [off(2), off(1)] })).toEqual([
      409,
      'last_admin',
      'users.1.flags',
    ]);
    const made = { id: 3, flags: { admin: true } };
    expect(await refused({ users: [off(2), made] })).toEqual([400, 'invalid_field', 'password']);
    expect(await refused({ users: [off(2), made], password: 'wrong' })).toEqual([
      ...[403, 'wrong_password', 'password'],
    ]);
    const wrong = { id: 3, limits: { max_connections: 0 } };
    expect(await refused({ users: [off(2), wrong] })).toEqual([
      ...[400, 'invalid_field', 'users.1.limits.max_connections'],
    ]);
    const nowhere = { id: 3, limits: { servers: ['nowhere'] } };
    expect((await refused({ users: [off(2), nowhere] }))[0]).toBe(409);
    const many = Array.from({ length: 1001 }, (_, at) => off(at + 1));
    expect((await refused({ users: many })).slice(0, 2)).toEqual([400, 'invalid_field']);
    expect((await refused({ users: [] })).slice(0, 2)).toEqual([400, 'invalid_field']);
    expect(await users()).toEqual(before);
    const bob = await t.signIn(name, 'bob');
    expect((await bob.patch('/users', { users: [off(3)] })).status).toBe(403);
  });

  test('another admin of the same change may take the place of the last one, with the password', async () => {
    await scene();
    const users_ = [
      { id: 3, flags: { admin: true } },
      { id: 1, flags: { admin: false } },
    ];
    const { status } = await alice.patch('/users', {
      ...{ users: users_, password: passwordOf('alice') },
    });
    expect(status).toBe(200);
    expect((await alice.patch('/users', { users: [{ id: 2, active: false }] })).status).toBe(403);
  });

  test('operators change users of any account at once, the last admin too', async () => {
    const name = await scene();
    const path = `/accounts/${name}/users`;
    const ids = [1, 2, 3];
    const { status } = await t.operator.patch(path, {
      users: ids.map((id) => ({ id, active: false })),
    });
    expect(status).toBe(200);
    const { body } = await t.operator.get(`${path}?limit=10&state=inactive`);
    expect(body.map(({ id }: User) => id)).toEqual(ids);
  });

  test('sessions of users are ended at once', async () => {
    const name = await scene();
    await t.signIn(name, 'bob');
    const carol = await t.signIn(name, 'carol');
    const refused = await alice.post('/users/end_sessions', { ids: [2, 9] });
    expect([refused.status, refused.body.field]).toEqual([404, 'ids.1']);
    expect((await alice.post('/users/end_sessions', { ids: [2, 3] })).status).toBe(204);
    expect((await users()).map(({ sign_in }) => sign_in.sessions)).toEqual([1, 0, 0]);
    expect((await carol.get('/session')).status).toBe(401);
    expect(await newest(2)).toEqual(['user.end_sessions bob', 'user.end_sessions carol']);
  });

  test('a thousand users are one change', async () => {
    await scene();
    const { account } = acme;
    const ids = Array.from({ length: 1000 }, (_, at) => at + 10);
    await t.write((tx) =>
      tx.insertMany(
        'users',
        ids.map((id) => ({
          ...{ account_id: account.id, id, name: `u${id}`, display_name: '', token_version: 1 },
          ...{ active: 1, proxy: 1, billing: 0, admin: 0 },
        })),
      ),
    );
    const answer = await alice.patch('/users', { users: ids.map((id) => ({ id, active: false })) });
    expect(answer.body).toEqual({ changed: 1000 });
    expect((await alice.get('/users?limit=1&state=inactive')).headers.get('exitward-found')).toBe(
      '1000',
    );
  });

  test('accounts are suspended, and their contracts extended, all or none', async () => {
    const [first, two] = [await scene(), await scene()];
    const expiry = t.now() + 500 * 86_400;
    const changed = await t.operator.patch('/accounts', {
      accounts: [
        { account: first, suspended: true },
        { account: two, expiry, suspended: false },
      ],
    });
    expect([changed.status, changed.body]).toEqual([200, { changed: 2 }]);
    expect((await t.operator.get(`/accounts/${first}`)).body.suspended).toBe(true);
    expect((await t.operator.get(`/accounts/${two}`)).body.expiry).toBe(expiry);
    expect((await newest(1))[0]).toBe(`account.change ${two}`);
    const refused = async (second: object) => {
      const accounts = [{ account: two, suspended: true }, second];
      const { status, body } = await t.operator.patch('/accounts', { accounts });
      expect((await t.operator.get(`/accounts/${two}`)).body.suspended).toBe(false);
      return [status, body.field];
    };
    expect(await refused({ account: 'nowhere', suspended: true })).toEqual([
      404,
      'accounts.1.account',
    ]);
    expect(await refused({ account: two, expiry })).toEqual([400, 'accounts.1.account']);
    expect(await refused({ account: first })).toEqual([400, 'accounts.1']);
    expect(await refused({ account: first, expiry: 1 })).toEqual([400, 'accounts.1.expiry']);
    expect(await refused({ account: first, expiry: expiry * 1000 })).toEqual([
      400,
      'accounts.1.expiry',
    ]);
    expect(await refused({ account: first, plan: 'x' })).toEqual([400, 'accounts.1.plan']);
  });
});
