// Notices: users near a limit of their own, accounts whose refusals rise tenfold, and addresses
// that try many users; for operators, and for the account that they concern.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { type Browser, startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';

type Body = Record<string, unknown>;
const hour = 3600;

eachDatabase((database) => {
  let t: TestApp;
  let node: TestNode;
  let boss: Browser;
  let seq = 0;
  const accounts = { acme: 0, other: 0 };
  const users: Record<keyof typeof accounts, number[]> = { acme: [], other: [] };

  beforeAll(async () => {
    t = await startTestApp(await database.url());
    await t.server('fra1');
    for (const name of ['acme', 'other'] as const) {
      const account = await t.account(name, { servers: ['fra1'] });
      accounts[name] = account.account.id;
      for (let at = 0; at < 12; at += 1) {
        users[name].push((await t.user(account, `user${at}`, { proxy: true })).id);
      }
      if (name === 'acme') await t.user(account, 'boss', { admin: true });
    }
    node = await t.node('fra1');
    boss = await t.signIn('acme', 'boss');
  });
  afterAll(() => t?.stop());

  const report = async (...refusals: Body[]) => {
    seq += 1;
    const of = { at: t.now(), reason: 'expired_token', source: '203.0.113.7', service: 'proxy' };
    const rows = refusals.map((refusal) => ({ ...of, count: 1, ...refusal }));
    const body = { boot: 'b', seq, refusals: rows };
    expect((await node.send('POST', '/refusals', body)).status).toBe(204);
  };
  /** Refusals of the first user of an account. */
  const refused = (account: keyof typeof accounts, count: number) =>
    report({ account: accounts[account], user: users[account][0], count });
  const guess = (account: keyof typeof accounts, at: number, source: string) => ({
    ...{ account: accounts[account], user: users[account][at], reason: 'bad_token', source },
    service: 'vpn-ikev2',
  });
  const notices = async () => (await t.operator.get('/notices')).body as Record<string, Body[]>;
  const ofAcme = async () => (await boss.get('/notices')).body as Record<string, Body[]>;
  const nextHour = () => t.pass(hour - (t.now() % hour));

  test('an account with ten times its usual refusals in an hour is named, until the hour after is over', async () => {
    await nextHour();
    // 30 in each of seven days' hours on average, and none but a few of the other account.
    await refused('acme', 30 * 168);
    await nextHour();
    await refused('acme', 290);
    await refused('other', 49);
    expect((await notices()).rising).toMatchObject([{ account: 'acme', usual_refusals: 0 }]);
    await nextHour();
    await refused('acme', 299);
    await refused('other', 49);
    expect((await notices()).rising).toEqual([]);
    await refused('acme', 20);
    await refused('other', 1);
    const at = t.now() - (t.now() % hour);
    const rose = { account: 'acme', at, refusals: 319, usual_refusals: 32 };
    expect((await notices()).rising).toEqual([
      rose,
      { account: 'other', at, refusals: 50, usual_refusals: 0 },
    ]);
    expect((await ofAcme()).rising).toEqual([rose]);
    await nextHour();
    expect((await ofAcme()).rising).toEqual([rose]);
    await nextHour();
    expect(await notices()).toMatchObject({ rising: [] });
  });

  test('an address that guesses at the passwords of ten users within an hour is named; those who own five are not warned', async () => {
    const source = '198.51.100.9';
    await report(
      ...[0, 1, 2, 3, 4]
        .flatMap((at) => [guess('acme', at, source), guess('other', at, source)])
        .slice(1),
    );
    await report(guess('acme', 1, source));
    expect((await notices()).tries).toEqual([]);
    await report(guess('acme', 0, source));
    expect((await notices()).tries).toEqual([{ network: source, users: 10, at: t.now() }]);
    expect((await ofAcme()).tries).toEqual([]);
    await t.pass(hour + 60);
    expect((await notices()).tries).toEqual([]);
  });

  test('addresses of an IPv6 /64 are one, an account is warned of its own users, and other reasons are no guesses', async () => {
    const rows = Array.from({ length: 10 }, (_, at) =>
      guess('acme', at, `2001:db8:1:2::${at + 1}`),
    );
    await report(...rows.map((row) => ({ ...row, reason: 'expired_token' })));
    await report(...rows.slice(0, 9), guess('acme', 9, '2001:db8:1:3::1'));
    expect((await ofAcme()).tries).toEqual([]);
    await report(...rows.slice(9));
    const network = '2001:db8:1:2::/64';
    expect((await ofAcme()).tries).toEqual([{ network, users: 10, at: t.now() }]);
    expect((await notices()).tries).toEqual([{ network, users: 10, at: t.now() }]);
  });

  test('with an erased person go the addresses that tried users of the account', async () => {
    expect((await ofAcme()).tries).toHaveLength(1);
    const erased = await t.operator.post('/accounts/acme/users/user3/erase', {});
    expect(erased.status).toBe(200);
    expect([(await ofAcme()).tries, (await notices()).tries]).toEqual([[], []]);
  });

  test('the counts of an account are kept for eight days', async () => {
    const { db } = t.running.ctx;
    const rows = () => db.all('select hour from refusal_hours');
    expect((await rows()).length).toBeGreaterThan(3);
    await t.pass(9 * 24 * hour);
    expect(await rows()).toEqual([]);
  });

  test('a user is named with 80% of the own limit used, and with all of it, until the next period', async () => {
    const path = '/accounts/acme/users';
    boss = await t.signIn('acme', 'boss');
    const limit = (name: string, limit_bytes: number | null) =>
      t.operator.patch(`${path}/${name}`, { limits: { limit_bytes, on_limit: 'notify' } });
    for (const name of ['user0', 'user1', 'user2']) await limit(name, 1000);
    const transfer = async (...bytes: number[]) => {
      const of = { account: accounts.acme, at: t.now(), down: 0 };
      const rows = bytes.map((up, at) => ({ ...of, user: users.acme[at], up }));
      seq += 1;
      expect((await node.send('POST', '/usage', { boot: 'u', seq, rows })).status).toBe(200);
    };
    await transfer(799, 799, 1, 5000);
    expect((await notices()).limits).toEqual([]);
    await transfer(201, 1);
    const { end } = (await t.operator.get(`${path}/user0`)).body.period;
    const of = { account: 'acme', limit_bytes: 1000, on_limit: 'notify', until: end };
    const named = [
      { ...of, user: 'user0', usage: 1000, used_up: true },
      { ...of, user: 'user1', usage: 800, used_up: false },
    ];
    expect((await notices()).limits).toEqual(named);
    expect((await ofAcme()).limits).toEqual(named);
    expect((await t.operator.get('/accounts/other/notices')).body.limits).toEqual([]);
    await limit('user1', 10_000);
    await limit('user2', null);
    expect((await ofAcme()).limits).toEqual(named.slice(0, 1));
    await t.operator.patch(`${path}/user0`, { active: false });
    expect((await ofAcme()).limits).toEqual([]);
    await t.operator.patch(`${path}/user0`, { active: true });
    await t.pass(end - t.now() + 60);
    expect((await notices()).limits).toEqual([]);
  });
});
