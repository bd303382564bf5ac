// Limits of a user: set by operators and admins, and sent to the nodes.
import { beforeAll, describe, expect, it } from 'vitest';
import { eachApp } from './apps.ts';
import type { Browser } from './harness.ts';
import type { TestNode } from './node.ts';
import { until } from './waiting.ts';

const none = {
  limit_bytes: null,
  on_limit: 'refuse',
  max_connections: null,
  max_addresses: null,
  address_seconds: 300,
  active_until: null,
  services: null,
  servers: null,
};

eachApp((t) => {
  let names = 0;

  /** An account with alice, an admin, and bob, on two servers. */
  async function scene() {
    const [here, elsewhere] = [`here${++names}`, `elsewhere${names}`];
    for (const name of [here, elsewhere]) await t.server(name);
    const built = await t.account(`limited${names}`, { servers: [here, elsewhere] });
    await t.user(built, 'bob', { proxy: true });
    const path = `/accounts/${built.account.name}/users`;
    const bob = (limits: object | null) => t.operator.patch(`${path}/bob`, { limits });
    return { built, here, elsewhere, path, bob };
  }
  /** The limits that the node last heard of bob. */
  const heard = (node: TestNode) =>
    (node.heard('user').at(-1)?.value as { limits?: object } | undefined)?.limits;

  it('a user has no limits until some are set; those left out stay, null ends one, or all', async () => {
    const { path, bob, here } = await scene();
    expect((await t.operator.get(`${path}/bob`)).body.limits).toEqual(none);
    const set = { limit_bytes: 5000, max_connections: 3, services: ['proxy'], servers: [here] };
    expect((await bob(set)).body.limits).toEqual({ ...none, ...set });
    const more = { max_addresses: 2, address_seconds: 60, active_until: t.now() + 60 };
    expect((await bob(more)).body.limits).toEqual({ ...none, ...set, ...more });
    expect((await bob({ services: null, address_seconds: 90 })).body.limits).toEqual({
      ...none,
      ...set,
      ...more,
      services: null,
      address_seconds: 90,
    });
    expect((await t.operator.patch(`${path}/bob`, { display_name: 'B' })).body.limits).toEqual(
      (await t.operator.get(`${path}/bob`)).body.limits,
    );
    expect((await bob(null)).body.limits).toEqual(none);
    const made = await t.operator.post(path, { name: 'carol', limits: { max_connections: 1 } });
    expect([made.status, made.body.limits]).toEqual([201, { ...none, max_connections: 1 }]);
  });

  it('a wrong limit is refused, naming its field', async () => {
    const { bob } = await scene();
    const wrong: Array<[field: string, limits: object]> = [
      ['limits.limit_bytes', { limit_bytes: -1 }],
      ['limits.on_limit', { on_limit: 'allow' }],
      ['limits.max_connections', { max_connections: 0 }],
      ['limits.max_addresses', { max_addresses: 1001 }],
      ['limits.address_seconds', { address_seconds: 59 }],
      ['limits.address_seconds', { address_seconds: 601 }],
      ['limits.active_until', { active_until: 1_800_000_000_000 }],
      ['limits.services', { services: [] }],
      ['limits.services.0', { services: ['proxy-https'] }],
      ['limits.servers', { servers: ['nowhere'] }],
      ['limits.users', { users: 1 }],
    ];
    for (const [field, limits] of wrong) {
      const { status, body } = await bob(limits);
      expect([field, body.field]).toEqual([field, field]);
      expect([400, 409]).toContain(status);
    }
  });

  it('the audit log has the limits before and after, and none of users without them', async () => {
    const { built, bob, here } = await scene();
    await bob({ max_connections: 3, servers: [here] });
    await bob(null);
    const { body } = await t.operator.get(
      `/audit?account=${built.account.name}&action=user.change`,
    );
    const [ended, set] = body;
    expect(set.before).not.toHaveProperty('max_connections');
    expect(set.after).toMatchObject({ max_connections: 3, servers: [here], name: 'bob' });
    expect(ended.before).toEqual(set.after);
    expect(ended.after).toEqual(set.before);
  });

  describe('in the console', () => {
    let alice: Browser;
    let bob: Browser;
    beforeAll(async () => {
      const built = await t.account('people');
      await t.user(built, 'bob', { proxy: true });
      alice = await t.signIn('people', 'alice');
      bob = await t.signIn('people', 'bob');
    });

    it('an admin sets the limits of a user, who sees them and may not change them', async () => {
      const limits = { max_connections: 2 };
      expect((await alice.patch('/users/bob', { limits })).body.limits).toEqual({
        ...none,
        ...limits,
      });
      expect((await bob.get('/users/bob')).body.limits.max_connections).toBe(2);
      expect((await bob.patch('/users/bob', { limits: null })).status).toBe(403);
    });
  });

  describe('on a node', () => {
    it('the record of a user has the limits that there are, and no member without any', async () => {
      const { here, bob } = await scene();
      const node = await t.node(here);
      await bob({
        ...{ limit_bytes: 10, max_connections: 3, max_addresses: 2, active_until: t.now() + 60 },
        ...{ services: ['proxy', 'vpn-ikev2'] },
      });
      const users = async () =>
        (await node.snapshot()).filter(({ kind }) => kind === 'user').map(({ value }) => value);
      const bare = { active: true, proxy: true, token_version: 1 };
      expect(await users()).toEqual([
        { ...bare, name: 'alice' },
        {
          ...{ ...bare, name: 'bob' },
          limits: {
            ...{ connections: 3, addresses: 2, address_seconds: 300, until: t.now() + 60 },
            services: ['proxy', 'vpn-ikev2'],
          },
        },
      ]);
      await bob(null);
      expect((await users())[1]).toEqual({ ...bare, name: 'bob' });
    });

    it('a limit to servers reaches each server as its own: those that the user may not use, and the others', async () => {
      const { here, elsewhere, bob } = await scene();
      const nodes = [await t.node(here), await t.node(elsewhere)] as const;
      for (const node of nodes) await node.start();
      await bob({ servers: [here] });
      await until(() => nodes.every((node) => heard(node)));
      expect(nodes.map(heard)).toEqual([{}, { not_here: true }]);
      await bob({ servers: null, max_connections: 1 });
      await until(() => nodes.every((node) => node.heard('user').length === 2));
      expect(nodes.map(heard)).toEqual([{ connections: 1 }, { connections: 1 }]);
      for (const node of nodes) node.stop();
    });
  });

  it('the account API does not change: limited users are in its list as they were', async () => {
    const { built, bob } = await scene();
    const before = (await t.as(built).get('/users')).body;
    await bob({ max_connections: 1, active_until: t.now() - 1 });
    expect((await t.as(built).get('/users')).body).toEqual(before);
  });
});
