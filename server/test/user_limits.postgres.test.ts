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

  it('limits can be written as they were read, also once all servers of the user were removed', async () => {
    const { bob, path } = await scene();
    const gone = `gone${names}`;
    await t.server(gone);
    await bob({ servers: [gone], max_connections: 3 });
    await t.operator.delete(`/servers/${gone}`);
    const { limits } = (await t.operator.get(`${path}/bob`)).body;
    expect(limits).toEqual({ ...none, servers: [], max_connections: 3 });
    expect(await bob(limits)).toMatchObject({ status: 200, body: { limits } });
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

  it('a list of users has those who have reached a limit of bytes or an end, if asked for', async () => {
    const { built, path, bob } = await scene();
    await t.user(built, 'carol');
    const reached = async () =>
      (await t.operator.get(`${path}?limit=10&state=limit_reached`)).body.map(
        ({ name }: { name: string }) => name,
      );
    await bob({ active_until: t.now() + 1, limit_bytes: 1, max_connections: 1 });
    await t.operator.patch(`${path}/carol`, { limits: { limit_bytes: 0, on_limit: 'notify' } });
    expect(await reached()).toEqual(['carol']);
    await t.pass(1);
    expect(await reached()).toEqual(['bob', 'carol']);
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
      await bob({ servers: [] });
      await until(() => nodes.every((node) => node.heard('user').length === 3));
      const nowhere = { connections: 1, not_here: true };
      expect(nodes.map(heard)).toEqual([nowhere, nowhere]);
      for (const node of nodes) node.stop();
    });
  });

  describe('bytes in a billing period', () => {
    /** Bob, with a node that reports usage; `remaining` is its answer about users. */
    async function metered(limits: object) {
      const { built, bob, here, path } = await scene();
      const node = await t.node(here);
      await node.start();
      await bob(limits);
      let seq = 0;
      const report = async (bytes: number, of = 2) => {
        const row = { account: built.account.id, user: of, at: t.now(), up: 1, down: bytes - 1 };
        const answer = await node.send('POST', '/usage', { boot: 'b', seq: ++seq, rows: [row] });
        return ((await answer.json()) as { user_limits: object[] }).user_limits;
      };
      const shown = async () => (await t.operator.get(`${path}/bob`)).body;
      const { end } = (await shown()).period;
      const remaining = (left_bytes: number) => [
        { account: built.account.id, user: 2, left_bytes, until: end },
      ];
      return { built, bob, node, report, shown, end, remaining };
    }

    it('are counted for each user, whatever the servers, and left to a node until the period ends', async () => {
      const { report, shown, remaining, node } = await metered({ limit_bytes: 1000 });
      expect(await report(300)).toEqual(remaining(700));
      expect(await report(5000, 1)).toEqual([]);
      expect(await shown()).toMatchObject({ period: { usage: 300 }, over_limit: false });
      expect(await report(699)).toEqual(remaining(1));
      expect((await shown()).over_limit).toBe(false);
      expect(await report(1)).toEqual(remaining(0));
      expect(await shown()).toMatchObject({ period: { usage: 1000 }, over_limit: true });
      await until(() => heard(node) !== undefined && 'over' in (heard(node) as object));
      expect(heard(node)).toEqual({ over: true });
      node.stop();
    });

    it('end their limit with the next billing period, and when the limit is raised or removed', async () => {
      const { bob, report, shown, node, end } = await metered({ limit_bytes: 100 });
      await report(100);
      expect((await bob({ limit_bytes: 101 })).body.over_limit).toBe(false);
      expect((await bob({ limit_bytes: 50 })).body.over_limit).toBe(true);
      expect((await bob({ limit_bytes: null })).body.over_limit).toBe(false);
      expect((await bob({ limit_bytes: 0, max_connections: 2 })).body.over_limit).toBe(true);
      await bob({ limit_bytes: 100 });
      await until(() => node.heard('user').length >= 7);
      expect(heard(node)).toEqual({ connections: 2, over: true });
      await t.pass(end - t.now() - 1);
      expect((await shown()).over_limit).toBe(true);
      await t.pass(1);
      expect(await shown()).toMatchObject({ over_limit: false, period: { start: end, usage: 0 } });
      const value = (await node.snapshot()).filter(({ kind }) => kind === 'user').at(-1)?.value;
      expect(value).toMatchObject({ limits: { connections: 2 } });
      node.stop();
    });

    it('with notify are counted and shown, and no node refuses the user', async () => {
      const { bob, report, shown, node } = await metered({ limit_bytes: 10, on_limit: 'notify' });
      expect(await report(11)).toEqual([]);
      expect((await shown()).over_limit).toBe(true);
      const value = (await node.snapshot()).filter(({ kind }) => kind === 'user').at(-1)?.value;
      expect(value).toMatchObject({ limits: {} });
      expect((value as { limits: object }).limits).toEqual({});
      await bob({ on_limit: 'refuse' });
      expect(await report(1)).toMatchObject([{ left_bytes: 0 }]);
      node.stop();
    });

    it('cost a report what its users cost, not what the account has', async () => {
      const { built, report } = await metered({ limit_bytes: 1000 });
      await t.proxyUsers(
        built,
        1000,
        Array.from({ length: 600 }, (_, at) => `u${at}`),
      );
      await t.write((tx) =>
        tx.run(
          'update users set limit_bytes = 5, over_until = 7 where account_id = $1 and id >= 1000',
          [built.account.id],
        ),
      );
      await report(1);
      // Evaluated, they would be no longer over until then.
      const [row] = await t.running.ctx.db.all<{ untouched: number }>(
        'select count(*) as untouched from users where account_id = $1 and over_until = 7',
        [built.account.id],
      );
      expect(Number(row?.untouched)).toBe(600);
    });

    it('are kept for the periods that late usage may still count in', async () => {
      const { report, built } = await metered({ limit_bytes: 1000 });
      await report(7);
      const periods = () =>
        t.running.ctx.db.all('select bytes from usage_user_periods where account_id = $1', [
          built.account.id,
        ]);
      await t.pass(60 * 86_400);
      expect(await periods()).toEqual([{ bytes: 7 }]);
      await t.pass(80 * 86_400);
      expect(await periods()).toEqual([]);
    });
  });

  it('the account API does not change: limited users are in its list as they were', async () => {
    const { built, bob } = await scene();
    const before = (await t.as(built).get('/users')).body;
    await bob({ max_connections: 1, active_until: t.now() - 1 });
    expect((await t.as(built).get('/users')).body).toEqual(before);
  });
});
