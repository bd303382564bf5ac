// Refused connections: nodes report them, operators see all, accounts those that concern them, and
// each person what names them or comes from their own address.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { maxPast } from '../src/authlist/past_store.ts';
import { removeMany } from '../src/authlist/store.ts';
import { listRefusals, maxRefusals, type RefusalFilter } from '../src/nodes/refusals.ts';
import { eachDatabase } from './databases.ts';
import { type Browser, startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';

type Body = Record<string, unknown>;
const day = 86_400;

eachDatabase((database) => {
  let t: TestApp;
  /** On fra1, which serves acme and other; and on ams1, which serves other. */
  let fra1: TestNode;
  let ams1: TestNode;
  const ids = { acme: 0, other: 0, alice: 0, carol: 0, stranger: 0 };
  const people = new Map<string, Browser>();

  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_TRUSTED_PROXIES: '127.0.0.1' });
    await t.server('fra1');
    await t.server('ams1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    const other = await t.account('other', { servers: ['fra1', 'ams1'] });
    await t.user(acme, 'boss', { admin: true });
    const carol = await t.user(acme, 'carol', { proxy: true });
    const idOf = async (account: string) =>
      (await t.operator.get(`/accounts/${account}/users/alice`)).body.id;
    Object.assign(ids, { acme: acme.account.id, other: other.account.id, carol: carol.id });
    Object.assign(ids, { alice: await idOf('acme'), stranger: await idOf('other') });
    fra1 = await t.node('fra1', 'fra1-a');
    ams1 = await t.node('ams1');
    for (const person of ['boss', 'carol']) people.set(person, await t.signIn('acme', person));
  });
  afterAll(() => t?.stop());

  const minute = () => t.now() - (t.now() % 60);
  const row = (change: Body = {}): Body => ({
    ...{ at: t.now(), reason: 'unknown_address', source: '203.0.113.7', service: 'proxy' },
    ...{ port: 10_001, count: 1 },
    ...change,
  });
  const named = (user: number, change: Body = {}) =>
    row({ reason: 'expired_token', account: ids.acme, user, ...change });
  let seq = 0;
  const send = async (node: TestNode, body: Body) => {
    expect((await node.send('POST', '/refusals', { boot: 'b', ...body })).status).toBe(204);
  };
  const report = (node: TestNode, ...refusals: Body[]) => {
    seq += 1;
    return send(node, { seq, refusals });
  };
  const operator = async (query = '') => (await t.operator.get(`/refusals${query}`)).body as Body[];
  const seenBy = async (person: string, query = '', headers = {}) =>
    (await (people.get(person) as Browser).get(`/refusals${query}`, headers)).body as Body[];
  const forget = () => t.write((tx) => tx.run('delete from refusals'));

  test('those of a minute that are alike are one row, with names, for operators', async () => {
    await report(fra1, row({ source: '::ffff:203.0.113.7' }), row(), named(ids.alice));
    await report(fra1, row({ count: 3 }));
    await report(
      ams1,
      row({ service: 'vpn-ikev2', port: undefined, reason: 'word_of_a_new_agent' }),
    );
    const state = { listed_for: null, limit: null, is_fixed: null };
    const of = { at: minute(), address: '203.0.113.7', service: 'proxy', port: 10_001, ...state };
    const fra = { ...of, server: 'fra1', node: 'fra1-a' };
    const id = expect.stringMatching(/^[\w-]{22}$/);
    expect(await operator()).toEqual([
      {
        ...{ ...of, id, server: 'ams1', node: 'ams1-node', service: 'vpn-ikev2', port: null },
        ...{ reason: 'other', account: null, user: null, count: 1 },
      },
      { ...fra, id, reason: 'expired_token', account: 'acme', user: 'alice', count: 1 },
      { ...fra, id, reason: 'unknown_address', account: null, user: null, count: 5 },
    ]);
    const countOf = async (query: string) => (await operator(query)).length;
    expect(await countOf('?account=acme')).toBe(1);
    expect(await countOf('?account=acme&user=alice')).toBe(1);
    expect(await countOf('?account=acme&user=carol')).toBe(0);
    expect(await countOf('?server=ams1')).toBe(1);
    expect(await countOf(`?node=${fra1.id}`)).toBe(2);
    expect(await countOf('?address=::ffff:203.0.113.7')).toBe(3);
    expect(await countOf('?reason=other')).toBe(1);
    expect(await countOf(`?since=${minute() + 60}`)).toBe(0);
    expect(await countOf(`?until=${minute() + 60}&since=${minute()}`)).toBe(3);
    expect((await t.operator.get('/refusals?user=alice')).status).toBe(400);
    await forget();
  });

  test('a refusal says what was fixed since, for whom the address is listed, and the limit of today', async () => {
    const boss = people.get('boss') as Browser;
    const { alice } = ids;
    const reasons = [
      ...['inactive_user', 'no_proxy_flag', 'user_expired', 'not_for_user', 'user_limit_reached'],
      ...['too_many_connections', 'too_many_addresses', 'bad_token', 'over_limit'],
      ...['contract_expired', 'contract_suspended', 'server_not_on_contract'],
    ];
    await report(fra1, ...reasons.map((reason) => named(alice, { reason })));
    await report(fra1, row({ source: '203.0.113.40', account: ids.acme, user: alice }));
    const states = async (rows: Body[]) =>
      Object.fromEntries(
        rows.map(({ reason, limit, is_fixed }) => [reason as string, [limit, is_fixed]]),
      );
    const { expiry, limit_bytes } = (await t.operator.get('/accounts/acme')).body;
    const contract = {
      ...{ over_limit: [limit_bytes, true], contract_expired: [expiry, true] },
      ...{ contract_suspended: [null, true], server_not_on_contract: [null, true] },
      bad_token: [null, null],
    };
    const user = '/accounts/acme/users/alice';
    const active_until = t.now() - 1;
    const limits = { active_until, max_connections: 2, max_addresses: 3, limit_bytes: 1000 };
    await t.operator.patch(user, { flags: { proxy: false }, active: false });
    await t.operator.patch(user, { limits: { ...limits, services: ['vpn-ikev2'] } });
    expect(await states(await seenBy('boss'))).toEqual({
      ...{ inactive_user: [null, false], no_proxy_flag: [null, false] },
      ...{ user_expired: [active_until, false], not_for_user: [null, false] },
      ...{ user_limit_reached: [1000, true], too_many_connections: [2, null] },
      ...{ too_many_addresses: [3, null], unknown_address: [null, false], ...contract },
    });
    await t.operator.patch(user, { flags: { proxy: true }, active: true, limits: null });
    const entry = { ip: '203.0.113.40', user: 'alice', expiry: t.now() + day };
    const { id } = (await boss.post('/authlist', entry)).body;
    const fixed = {
      ...{ inactive_user: [null, true], no_proxy_flag: [null, true], user_expired: [null, true] },
      ...{ not_for_user: [null, true], user_limit_reached: [null, true] },
      ...{ too_many_connections: [null, null], too_many_addresses: [null, true] },
      ...{ unknown_address: [null, true], ...contract },
    };
    for (const rows of [await seenBy('boss'), await operator('?account=acme')]) {
      expect(await states(rows)).toEqual(fixed);
      const listed = rows.filter(({ listed_for }) => listed_for === 'alice');
      expect(listed.map(({ address }) => address)).toEqual(['203.0.113.40']);
    }
    // Without the admin flag one sees no entries of others.
    const own = { 'x-forwarded-for': '203.0.113.40' };
    await report(fra1, row({ source: '203.0.113.40', service: 'vpn-ikev2' }));
    const ofCarol = await seenBy('carol', '?own_address=true', own);
    expect(ofCarol.map(({ listed_for, is_fixed }) => [listed_for, is_fixed])).toEqual([
      [null, false],
    ]);
    await boss.delete(`/authlist/${id}`);
    await t.operator.patch('/accounts/acme', { suspended: true });
    expect((await states(await seenBy('boss'))).contract_suspended).toEqual([null, false]);
    await t.operator.patch('/accounts/acme', { suspended: false });
    await forget();
  });

  test('a report that is sent again counts nothing twice; that of another run of the agent counts', async () => {
    await report(fra1, row());
    for (const again of [seq, seq - 1]) await send(fra1, { seq: again, refusals: [row()] });
    const count = async () => (await operator()).map((listed) => listed.count);
    expect(await count()).toEqual([1]);
    await send(fra1, { boot: 'another', seq: 1, refusals: [row()] });
    await send(ams1, { boot: 'b', seq, refusals: [row({ source: '203.0.113.8' })] });
    expect(await count()).toEqual([1, 2]);
    await forget();
  });

  test('pages follow one another, each row once', async () => {
    await report(fra1, ...Array.from({ length: 25 }, (_, at) => row({ source: `192.0.2.${at}` })));
    const addresses: unknown[] = [];
    for (let path: string | undefined = '/refusals?limit=10'; path; ) {
      const { body, headers } = await t.operator.get(path);
      addresses.push(...(body as Body[]).map(({ address }) => address));
      path = /<\/admin([^>]+)>/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(addresses).toEqual(Array.from({ length: 25 }, (_, at) => `192.0.2.${24 - at}`));
    expect((await t.operator.get('/refusals?before=AAAAAAAAAAAAAAAAAAAAAA')).status).toBe(400);
    await forget();
  });

  test('an account sees those that name its users, and those from addresses that it lists or listed; without the admin flag own ones', async () => {
    const boss = people.get('boss') as Browser;
    const list = async (ip: string) => {
      const expiry = t.now() + day;
      return (await boss.post('/authlist', { ip, user: 'alice', expiry })).body.id as number;
    };
    await list('203.0.113.1');
    const removed = await list('203.0.113.2');
    const moved = await list('203.0.113.3');
    const cleared = await list('203.0.113.5');
    await boss.delete(`/authlist/${removed}`);
    await boss.patch(`/authlist/${moved}`, { ip: '203.0.113.4' });
    await boss.post('/authlist/remove', { ids: [cleared] });
    const from = [1, 2, 3, 4, 5, 6].map((at) => row({ source: `203.0.113.${at}` }));
    await report(fra1, ...from, named(ids.alice), named(ids.carol, { source: '203.0.113.8' }));
    await report(ams1, row({ account: ids.other, user: ids.stranger, source: '203.0.113.9' }));
    const addressesOf = (rows: Body[]) => rows.map(({ address }) => address).toSorted();
    const ends = (...last: number[]) => last.map((at) => `203.0.113.${at}`);
    expect(addressesOf(await seenBy('boss'))).toEqual(ends(1, 2, 3, 4, 5, 7, 8));
    expect(addressesOf(await seenBy('boss', '?user=carol'))).toEqual(ends(8));
    expect(addressesOf(await seenBy('boss', '?server=fra1&address=203.0.113.2'))).toEqual(ends(2));
    expect(addressesOf(await seenBy('carol'))).toEqual(ends(8));
    expect((await seenBy('boss'))[0]).not.toHaveProperty('node');
    const ofOther = await (people.get('carol') as Browser).get('/refusals?user=alice');
    expect(ofOther.status).toBe(403);
    const perAccount = (await t.operator.get('/accounts/other/refusals')).body as Body[];
    expect(addressesOf(perAccount)).toEqual(ends(9));
    await forget();
  });

  test('refusals from the minutes before an address is listed do not come to the account', async () => {
    const boss = people.get('boss') as Browser;
    const [ip, expiry] = ['203.0.113.30', t.now() + day];
    await boss.post('/authlist', { ip, user: 'alice', expiry });
    await report(fra1, ...[60, 1].map((ago) => row({ source: ip, at: minute() - ago })));
    await report(fra1, row({ source: ip, at: minute() }));
    expect(await seenBy('boss')).toMatchObject([{ address: ip, at: minute() }]);
    expect(await operator()).toHaveLength(2);
    await forget();
  });

  test('with a person go the refusals from addresses that the person listed, and no others', async () => {
    const boss = people.get('boss') as Browser;
    expect((await boss.post('/users', { name: 'leaver' })).status).toBe(201);
    await report(fra1, row({ source: '203.0.113.20' }), row({ source: '203.0.113.21' }));
    const entry = { ip: '203.0.113.20', user: 'leaver', expiry: t.now() + day };
    const { id } = (await boss.post('/authlist', entry)).body;
    await boss.delete(`/authlist/${id}`);
    const addresses = async () => (await operator()).map(({ address }) => address).toSorted();
    expect(await addresses()).toEqual(['203.0.113.20', '203.0.113.21']);
    expect((await t.operator.post('/accounts/acme/users/leaver/erase', {})).status).toBe(200);
    expect(await addresses()).toEqual(['203.0.113.21']);
    await forget();
  });

  test("of the addresses that left an account's authlist, so many are known as there are slots", async () => {
    const churning = await t.account('churning', { servers: ['fra1'] });
    const client = t.as(churning);
    const list = async (ip: string) => {
      const entry = { ip, user: 'alice', expiry: t.now() + day };
      return (await client.post('/contract/ip-authlist', entry)).body.id as number;
    };
    const [first, second] = [await list('192.0.2.41'), await list('192.0.2.42')];
    await client.delete(`/contract/ip-authlist/${first}`);
    const account = () => t.operator.get('/accounts/churning/refusals');
    await report(fra1, row({ source: '192.0.2.41' }));
    expect((await account()).body).toHaveLength(1);
    // As if as many had been listed in between.
    const later = 'update authlist set id = $1 where id = $2';
    await t.write((tx) => tx.run(later, [first + maxPast, second]));
    await client.delete(`/contract/ip-authlist/${first + maxPast}`);
    await forget();
    await report(fra1, row({ source: '192.0.2.41' }), row({ source: '192.0.2.42' }));
    expect((await account()).body).toMatchObject([{ address: '192.0.2.42' }]);
    await forget();
    // Two that leave it together and share a slot.
    const [third, fourth] = [await list('192.0.2.43'), await list('192.0.2.44')];
    await t.write(async (tx) => {
      await tx.run(later, [third + maxPast, fourth]);
      await removeMany(
        tx,
        [third, third + maxPast].map((id) => [churning.account.id, id]),
      );
    });
    await report(fra1, row({ source: '192.0.2.43' }), row({ source: '192.0.2.44' }));
    expect((await account()).body).toMatchObject([{ address: '192.0.2.44' }]);
    await forget();
  });

  test('one sees those from the address that one calls from, without the names of other accounts', async () => {
    const own = { 'x-forwarded-for': '198.51.100.77' };
    const source = '198.51.100.77';
    await t.as(await t.account('third', { servers: ['fra1'] })).post('/contract/ip-authlist', {
      ...{ ip: source, user: 'alice', expiry: t.now() + day },
    });
    await report(
      fra1,
      row({ source }),
      named(ids.alice, { source }),
      row({ source, account: ids.other, user: ids.stranger }),
      row(),
    );
    const rows = await seenBy('carol', '?own_address=true', own);
    expect(rows).toMatchObject([{ address: source, account: null, user: null }]);
    expect(await seenBy('boss', '?own_address=true', own)).toMatchObject([
      { user: 'alice', account: 'acme' },
      { user: null, account: null },
    ]);
    const boss = people.get('boss') as Browser;
    const both = await boss.get('/refusals?own_address=true&address=203.0.113.7', own);
    expect(both.status).toBe(400);
    await forget();
  });

  test('a node that lies names no one whom its server does not serve, and fills its own part alone', async () => {
    const stranger = { account: ids.acme, user: ids.alice };
    await report(
      ams1,
      row({ ...stranger }),
      row({ ...stranger, reason: 'server_not_on_contract' }),
      row({ account: ids.other, user: ids.alice + 1000 }),
      row({ source: '010.0.0.1' }),
      row({ at: t.now() + 10 * day, source: '192.0.2.9' }),
      row({ at: t.now() - 8 * day, source: '192.0.2.10' }),
    );
    const rows = await operator();
    const words = rows.map(({ reason, user, count }) => [reason, user, count]);
    expect(words).toEqual([
      ['unknown_address', null, 1],
      ['server_not_on_contract', 'alice', 1],
      ['unknown_address', null, 2],
    ]);
    expect(rows[0]).toMatchObject({ at: minute(), address: '192.0.2.9' });
    await report(fra1, named(ids.carol));
    const flood = async (names: Body, count: number) => {
      for (let at = 0; at < count; at += 500) {
        const part = Array.from({ length: 500 }, (_, index) => {
          const number = at + index;
          return row({ ...names, source: `10.1.${number >> 8}.${number & 255}` });
        });
        await t.pass(10);
        await report(ams1, ...part);
      }
    };
    await flood({ account: ids.other, user: ids.stranger }, 500);
    await flood({ account: ids.other, user: ids.stranger, reason: 'bad_token' }, 500);
    await flood({}, maxRefusals.unnamed + 500);
    const countOf = async (account_id: number) => {
      const sql = 'select count(*) as count from refusals where node_id = $1 and account_id = $2';
      const answer = await t.running.ctx.db.one<{ count: number }>(sql, [ams1.id, account_id]);
      return Number(answer?.count);
    };
    expect(await countOf(ids.other)).toBe(maxRefusals.account + maxRefusals.guesses);
    expect(await countOf(0)).toBe(maxRefusals.unnamed);
    expect(await seenBy('boss')).toHaveLength(2);
    await forget();
  });

  test('they go with a revoked node, and after the time that the operator set', async () => {
    await report(fra1, row());
    await t.pass(8 * day);
    expect(await operator()).toEqual([]);
    await report(ams1, row());
    await t.operator.delete(`/nodes/${ams1.id}`);
    expect(await operator()).toEqual([]);
  });
});

eachDatabase((database) => {
  test('the pages of a long list follow one another without a gap, of one server as of all', async () => {
    const t = await startTestApp(await database.url());
    try {
      const { db } = t.running.ctx;
      await t.server('fra1');
      await t.server('ams1');
      const fra1 = (await db.one<{ id: number }>("select id from servers where name = 'fra1'"))?.id;
      const nodes = [await t.node('fra1', 'a'), await t.node('fra1', 'b'), await t.node('ams1')];
      const rows = Array.from({ length: 45_000 }, (_, at) => ({
        ...{ id: at + 1, node_id: nodes[(at % 7) % 3]?.id, at: t.now() - 45_000 + at },
        ...{ account_id: 1, user_id: at % 2, reason: at % 9999 === 1 ? 'drained' : 'bad_token' },
        ...{ source: '192.0.2.1', service: 'proxy', port: 1, count: 1, network: '' },
      }));
      for (let at = 0; at < rows.length; at += 1500) {
        await t.write((tx) => tx.insertMany('refusals', rows.slice(at, at + 1500) as never));
      }
      const walk = async (filter: RefusalFilter, limit: number, maxPages: number) => {
        const ids: number[] = [];
        let pages = 0;
        for (let before: number | undefined, isFirst = true; isFirst || before; isFirst = false) {
          const page = await listRefusals(db, filter, before, limit);
          ids.push(...page.refusals.map(({ id }) => id));
          ({ before } = page);
          pages += 1;
          if (pages === maxPages) break;
        }
        return { ids, pages };
      };
      const idsOf = (met: (row: (typeof rows)[number]) => boolean) =>
        rows.filter(met).map(({ id }) => id);
      const isDrained = (row: (typeof rows)[number]) => row.reason === 'drained';
      for (const filter of [{}, { account_id: 1 }, { source: '192.0.2.1' }]) {
        const { ids, pages } = await walk({ ...filter, reason: 'drained' }, 100, 10);
        expect(ids).toEqual(idsOf(isDrained).reverse());
        // 20,000 rows are looked at for each.
        expect(pages).toBe(3);
      }
      const isOfServer = ({ node_id }: { node_id: number | undefined }) => node_id !== nodes[2]?.id;
      const ofServer = idsOf(isOfServer).reverse();
      const dense = await walk({ server_id: fra1 }, 1000, 5);
      expect(dense.ids).toEqual(ofServer.slice(0, 5000));
      const sparse = await walk({ server_id: fra1, reason: 'drained' }, 2, 10);
      expect(sparse.ids).toEqual(idsOf((row) => isDrained(row) && isOfServer(row)).reverse());
      const ofNode = await walk({ server_id: fra1, node_id: nodes[2]?.id }, 100, 10);
      expect(ofNode).toEqual({ ids: [], pages: 1 });
    } finally {
      await t.stop();
    }
  });

  test('kept for no time, nothing is stored', async () => {
    const settings = { EXITWARD_REFUSALS_KEPT_SECONDS: '0' };
    const t = await startTestApp(await database.url(), settings);
    await t.server('fra1');
    const node = await t.node('fra1');
    const refusal = {
      at: t.now(),
      reason: 'drained',
      source: '192.0.2.1',
      service: 'proxy',
      count: 1,
    };
    expect(
      (await node.send('POST', '/refusals', { boot: 'b', seq: 1, refusals: [refusal] })).status,
    ).toBe(204);
    expect((await t.operator.get('/refusals')).body).toEqual([]);
    await t.stop();
  });
});
