// Entries found by a part of them: as the palette of the console asks, for people and operators.
import { beforeAll, expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import type { TestApp } from './harness.ts';

eachApp((t) => {
  beforeAll(async () => {
    await t.server('fra1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    const other = await t.account('other', { servers: ['fra1'] });
    await t.user(acme, 'bob', { proxy: true });
    await t.user(acme, 'carol', { billing: true });
    const expiry = t.now() + 3600;
    const list = async (account: typeof acme, ip: string, user: string) =>
      expect((await t.as(account).post('/contract/ip-authlist', { ip, user, expiry })).status).toBe(
        201,
      );
    for (let host = 1; host <= 12; host++) await list(acme, `203.0.113.${host}`, 'alice');
    await list(acme, '2001:db8::7', 'bob');
    await list(other, '203.0.113.99', 'alice');
    const entry = { server: 'fra1', hostname: 'shop.example.com', ip: '198.51.100.203', expiry };
    expect((await t.as(acme).post('/contract/overrides', entry)).status).toBe(201);
  });

  const matches = async (client: { get: TestApp['operator']['get'] }, search: string, at = '') => {
    const { body } = await client.get(`${at}/entries?${new URLSearchParams({ search })}`);
    return body.map(({ name }: { name: string }) => name);
  };

  test('entries of both lists are found by a part, of this account alone, and no more than ten of each', async () => {
    const alice = await t.signIn('acme', 'alice');
    for (const [client, at] of [
      [alice, ''],
      [t.operator, '/accounts/acme'],
    ] as const) {
      expect(await matches(client, '203', at)).toHaveLength(11);
      expect(await matches(client, '113.12', at)).toEqual(['203.0.113.12']);
      expect(await matches(client, 'SHOP', at)).toEqual(['shop.example.com']);
      expect(await matches(client, '2001:DB8:0::7', at)).toEqual(['2001:db8::7']);
      expect(await matches(client, '113.99', at)).toEqual([]);
      expect(await matches(client, '%', at)).toEqual([]);
    }
    const { body } = await alice.get('/entries?search=shop');
    expect(body).toEqual([
      {
        list: 'overrides',
        id: 1,
        name: 'shop.example.com',
        server: 'fra1',
        ip: '198.51.100.203',
      },
    ]);
  });

  test('a person without the admin flag finds own authlist entries alone; one without the proxy flag nothing', async () => {
    const bob = await t.signIn('acme', 'bob');
    expect(await matches(bob, '203')).toEqual([]);
    expect(await matches(bob, 'shop')).toEqual([]);
    expect(await matches(bob, 'db8')).toEqual(['2001:db8::7']);
    const carol = await t.signIn('acme', 'carol');
    expect((await carol.get('/entries?search=203')).body).toMatchObject({ code: 'flag_needed' });
    expect((await bob.get('/entries?search=')).body).toMatchObject({ field: 'search' });
    expect((await bob.get('/entries')).body).toMatchObject({ field: 'search' });
  });
});
