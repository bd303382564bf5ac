// The IP authlist: whose an address is, filters, expiry, undoing a removal of all, caps, and the
// address of the client.
import { beforeAll, describe, expect, it } from 'vitest';
import { listEntries, restoreEntries } from '../src/authlist/authlist.ts';
import { listRemovals } from '../src/lists/removals.ts';
import { createPortScheme } from '../src/port_schemes/port_schemes.ts';
import { changeUser, requireUserNamed } from '../src/users/users.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { CountingReader } from './counting_reader.ts';
import { startTestApp, type TestApp } from './harness.ts';

const day = 86_400;
const list = '/contract/ip-authlist';

eachApp((t, database) => {
  let names = 0;

  beforeAll(async () => {
    await t.write((tx) =>
      createPortScheme(tx, { name: 'second', bases: [{ base: 20_000, service: 'proxy' }] }),
    );
  });

  let addresses = 0;
  const freshIp = () => `203.0.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`;

  async function scene(more: Parameters<TestApp['account']>[1] = {}, app = t) {
    const account = await app.account(`account${++names}`, more);
    const client = app.as(account);
    const create = (body: object = {}, headers?: Record<string, string>) =>
      client.post(
        list,
        { ip: freshIp(), user: 'alice', expiry: app.now() + 100, ...body },
        headers,
      );
    const ids = async (query = '') =>
      (await client.get(`${list}${query}`)).body.map((entry: { id: number }) => entry.id);
    return { account, client, create, ids };
  }

  describe('addresses', () => {
    it.each([
      ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
      ['2001:db8:0:0:1:0:0:2', '2001:db8::1:0:0:2'],
      ['::ffff:198.51.100.7', '198.51.100.7'],
      ['::ffff:c633:6408', '198.51.100.8'],
      ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
      ['10.1.2.3', '10.1.2.3'],
      ['127.0.0.9', '127.0.0.9'],
    ])('%s is kept and shown as %s, and taken in every spelling', async (spelling, canonical) => {
      const { create, client } = await scene();
      const { status, body } = await create({ ip: spelling });
      expect([status, body.ip]).toEqual([201, canonical]);
      expect((await client.get(`${list}/${body.id}`)).body.ip).toBe(canonical);
      expect((await create({ ip: canonical })).status).toBe(409);
      const other = (await create()).body.id;
      expect((await client.patch(`${list}/${other}`, { ip: spelling.toUpperCase() })).status).toBe(
        409,
      );
      await client.delete(list);
    });
  });

  describe('filters', () => {
    let client: Awaited<ReturnType<typeof scene>>;
    beforeAll(async () => {
      client = await scene();
      await t.user(client.account, 'bob', { proxy: true });
      await t.user(client.account, 'carol');
      for (const [ip, user] of [
        ['198.51.100.1', 'alice'],
        ['198.51.100.12', 'bob'],
        ['198.51.100.123', 'alice'],
        ['2001:db8:aa::1', 'bob'],
        ['2001:db8:aa::12', 'carol'],
      ]) {
        expect((await client.create({ ip, user, expiry: t.now() + 300 * day })).status).toBe(201);
      }
      const other = await scene({ port_scheme: 'second' });
      await other.create({ ip: '198.51.100.1', expiry: t.now() + 300 * day });
    });

    it.each([
      ['', [1, 2, 3, 4, 5]],
      ['?ip=198.51.100.1', [1]],
      ['?ip=198.51.100.12', [2]],
      ['?ip=198.51.100.', [1, 2, 3]],
      ['?ip=51.100.12', [2, 3]],
      ['?ip=.123', [3]],
      ['?ip=2001:DB8:AA:0:0:0:0:1', [4]],
      ['?ip=2001:db8:aa::1', [4]],
      ['?ip=2001:DB8:AA', [4, 5]],
      ['?ip=::ffff:198.51.100.1', [1]],
      ['?ip=:aa:', [4, 5]],
      ['?ip=aa::', []],
      ['?ip=198.51.100.9', []],
      ['?ip=zz', []],
      ['?ip=%25', []],
      ['?ip=_', []],
      ['?user=alice', [1, 3]],
      ['?user=alice,bob', [1, 2, 3, 4]],
      ['?user=bob,bob', [2, 4]],
      ['?user=nobody', []],
      ['?user=Alice', []],
      ['?user=nobody,carol', [5]],
      ['?ip=198.51.&user=bob', [2]],
      ['?user=carol&ip=198.51.100.1', []],
    ])('GET /v0/contract/ip-authlist%s', async (query, expected) => {
      expect(await client.ids(query)).toEqual(expected);
      const earlier = await t.as(client.account, 'earlier').get(`/contract/whitelist${query}`);
      expect(earlier.body.map((entry: { id: number }) => entry.id)).toEqual(expected);
    });
  });

  describe('whose is an address?', () => {
    const claim = async (
      awaited: Awaited<ReturnType<typeof scene>>,
      ip: string,
      expiry = t.now() + 100,
    ) => (await awaited.create({ ip, expiry })).status;

    it('one live claim for each address and port scheme in the whole network: first come', async () => {
      const [first, other, elsewhere] = [
        await scene(),
        await scene(),
        await scene({ port_scheme: 'second' }),
      ];
      const ip = freshIp();
      expect(await claim(first, ip)).toBe(201);
      expect(await claim(other, ip)).toBe(409);
      expect(await claim(elsewhere, ip)).toBe(201);
      expect(await claim(await scene({ port_scheme: 'second' }), ip)).toBe(409);
    });

    it('the second gets the same answer, whether the claim is its own or a foreign one', async () => {
      const [first, other] = [await scene(), await scene()];
      const ip = freshIp();
      await first.create({ ip });
      const [own, foreign] = [await first.create({ ip }), await other.create({ ip })];
      expect([foreign.status, foreign.text]).toEqual([own.status, own.text]);
      const id = (await other.create()).body.id;
      const mine = (await first.create()).body.id;
      const patched = await other.client.patch(`${list}/${id}`, { ip });
      const patchedOwn = await first.client.patch(`${list}/${mine}`, { ip });
      expect([patched.status, patched.text]).toEqual([409, patchedOwn.text]);
    });

    it('the claim ends with the expiry, in that second, swept or not', async () => {
      const [first, other] = [await scene(), await scene()];
      const ip = freshIp();
      await first.create({ ip });
      t.clock.advance(99);
      expect(await claim(other, ip)).toBe(409);
      t.clock.advance(1);
      expect(await claim(other, ip)).toBe(201);
      expect(await claim(first, ip)).toBe(409);
      const third = freshIp();
      await first.create({ ip: third });
      await t.pass(100);
      const { id } = (await other.create()).body;
      expect((await other.client.patch(`${list}/${id}`, { ip: third })).status).toBe(200);
    });

    it.each([
      ['its removal', (client: TestApp['operator'], id: number) => client.delete(`${list}/${id}`)],
      ['the removal of all', (client: TestApp['operator']) => client.delete(list)],
      [
        'a change to another address',
        (client: TestApp['operator'], id: number) =>
          client.patch(`${list}/${id}`, { ip: freshIp() }),
      ],
    ])('the claim ends with %s', async (_, end) => {
      const [first, other] = [await scene(), await scene()];
      const ip = freshIp();
      const { id } = (await first.create({ ip })).body;
      await end(first.client, id);
      expect(await claim(other, ip)).toBe(201);
    });

    it('of many accounts that list one address at the same time exactly one gets it', async () => {
      const scenes = await Promise.all(Array.from({ length: 6 }, () => scene()));
      for (let round = 0; round < 5; round++) {
        const ip = freshIp();
        const statuses = await Promise.all(scenes.map((scene) => claim(scene, ip)));
        expect(statuses.sort()).toEqual([201, 409, 409, 409, 409, 409]);
      }
    });

    it('a claim that was freed and one that was made again show to the nodes in order', async () => {
      const server = `srv${++names}`;
      await t.server(server);
      const [first, other] = [
        await scene({ servers: [server] }),
        await scene({ servers: [server] }),
      ];
      const node = await t.node(server);
      await node.start();
      const ip = freshIp();
      await first.create({ ip });
      t.clock.advance(100);
      await other.create({ ip });
      await node.until((it) => it.heard('authlist').length >= 3);
      const held = new Map(
        node.heard('authlist').map(({ account, id, value }) => [`${account} ${id}`, value]),
      );
      expect(held.get(`${first.account.account.id} 1`)).toBe(null);
      expect(held.get(`${other.account.account.id} 1`)).toMatchObject({ ip });
      node.stop();
    });

    it('only so many 409s per hour: lists of others cannot be probed', async () => {
      const app = await startTestApp(await database.url(), { EXITWARD_CONFLICTS_PER_HOUR: '3' });
      const [first, prober] = [await scene({}, app), await scene({}, app)];
      const ip = freshIp();
      await first.create({ ip });
      for (let at = 0; at < 3; at++) expect((await prober.create({ ip })).status).toBe(409);
      const [held, free] = [await prober.create({ ip }), await prober.create()];
      expect(held.status).toBe(429);
      expect(held.text).toBe(free.text);
      expect(Number(held.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await first.create()).status).toBe(201);
      app.clock.advance(3600);
      expect((await prober.create()).status).toBe(201);
      await app.stop();
    });
  });

  describe('expiry', () => {
    it('an entry holds while now < expiry; from then on it is not there for anyone', async () => {
      const { create, client, ids } = await scene();
      const { body } = await create();
      t.clock.advance(99);
      expect(await ids()).toEqual([1]);
      t.clock.advance(1);
      expect(await ids()).toEqual([]);
      expect(await ids(`?ip=${body.ip}`)).toEqual([]);
      const absent = await client.get(`${list}/99`);
      for (const sweep of [false, true]) {
        if (sweep) await t.pass(0);
        for (const answer of [
          await client.get(`${list}/1`),
          await client.patch(`${list}/1`, { expiry: t.now() + 100 }),
          await client.delete(`${list}/1`),
        ]) {
          expect([answer.status, answer.text]).toEqual([404, absent.text]);
        }
      }
    });

    it('PATCH may prolong an entry that holds', async () => {
      const { create, client, ids } = await scene();
      await create();
      await client.patch(`${list}/1`, { expiry: t.now() + 200 });
      await t.pass(150);
      expect(await ids()).toEqual([1]);
    });
  });

  describe('ids and accounts', () => {
    it('ids count from 1 on each account and are never used twice', async () => {
      const { create, client } = await scene();
      const id = async () => (await create()).body.id;
      expect([await id(), await id()]).toEqual([1, 2]);
      await client.delete(`${list}/2`);
      expect(await id()).toBe(3);
      await client.delete(list);
      expect(await id()).toBe(4);
      await t.pass(100);
      expect(await id()).toBe(5);
    });

    it("another account's id answers byte for byte as an absent one", async () => {
      const [first, other] = [await scene(), await scene()];
      await first.create();
      for (const send of [
        (id: number) => other.client.get(`${list}/${id}`),
        (id: number) => other.client.patch(`${list}/${id}`, { expiry: t.now() + 5 }),
        (id: number) => other.client.delete(`${list}/${id}`),
      ]) {
        const [there, absent] = [await send(1), await send(4242)];
        expect([there.status, there.text]).toEqual([404, absent.text]);
        const comparable = (headers: Headers) =>
          Array.from(headers).filter(([name]) => !['date', 'x-request-id'].includes(name));
        expect(comparable(there.headers)).toEqual(comparable(absent.headers));
      }
      await other.client.delete(list);
      expect(await first.ids()).toEqual([1]);
    });

    it('user_active follows the user: active and proxy', async () => {
      const { create, client, account } = await scene();
      await t.user(account, 'bob', { proxy: true });
      await create({ user: 'bob' });
      const turn = (changes: object) =>
        t.write(async (tx) =>
          changeUser(tx, await requireUserNamed(tx, account.account.id, 'bob'), changes),
        );
      const shown = async () => (await client.get(list)).body[0].user_active;
      expect(await shown()).toBe(true);
      await turn({ active: false });
      expect(await shown()).toBe(false);
      await turn({ active: true, flags: { proxy: false } });
      expect(await shown()).toBe(false);
      await turn({ flags: { proxy: true } });
      expect(await shown()).toBe(true);
    });

    it('both variants manage one list, each under its own path', async () => {
      const { create, account, client } = await scene();
      await create();
      const earlier = t.as(account, 'earlier');
      const posted = await earlier.post('/contract/whitelist', {
        ip: freshIp(),
        user: 'alice',
        expiry: t.now() + 100,
      });
      expect(posted.headers.get('location')).toBe('/contract/whitelist/2');
      expect((await earlier.get('/contract/whitelist')).body).toEqual(
        (await client.get(list)).body,
      );
      expect((await earlier.delete('/contract/whitelist/1')).status).toBe(204);
      expect((await client.get(`${list}/1`)).status).toBe(404);
    });
  });

  describe('the removal of all, and its undoing by the operator', () => {
    const undo = async ({ account }: BuiltAccount) => {
      const [removal] = await listRemovals(t.running.ctx.db, account.id, t.now());
      return t.write((tx) =>
        restoreEntries(tx, account, removal?.removal_id ?? 0, t.running.ctx.config),
      );
    };

    it('puts back what still holds and whose address is free, under the old ids', async () => {
      const [first, other] = [await scene(), await scene()];
      const remaining = (await first.create()).body;
      const removed = (await first.create()).body;
      await first.create({ expiry: t.now() + 10 });
      await first.client.delete(list);
      expect(await first.ids()).toEqual([]);
      await other.create({ ip: removed.ip });
      const anew = (await first.create()).body;
      t.clock.advance(10);
      expect(await undo(first.account)).toEqual({ restored: 1, left_out: 2 });
      expect((await first.client.get(list)).body).toEqual([remaining, anew]);
      expect((await other.create({ ip: remaining.ip })).status).toBe(409);
      await expect(undo(first.account)).rejects.toThrow(/no such authlist removal/);
    });

    it('the newest removal is listed first, and each is undone by its number', async () => {
      const holder = await scene();
      for (let at = 0; at < 2; at++) {
        await holder.create({ expiry: t.now() + 100 });
        await holder.client.delete(list);
      }
      const { db } = t.running.ctx;
      const removals = await listRemovals(db, holder.account.account.id, t.now());
      expect(removals.map(({ removal_id, entries }) => [removal_id, entries])).toEqual([
        [2, 1],
        [1, 1],
      ]);
      await t.write((tx) => restoreEntries(tx, holder.account.account, 1, t.running.ctx.config));
      expect(await holder.ids()).toEqual([1]);
    });

    it('for seven days, and never for another account', async () => {
      const [first, other] = [await scene(), await scene()];
      await first.create({ expiry: t.now() + 100 * day });
      await first.client.delete(list);
      await expect(
        t.write((tx) => restoreEntries(tx, other.account.account, 1, t.running.ctx.config)),
      ).rejects.toThrow();
      t.clock.advance(7 * day);
      await expect(
        t.write((tx) => restoreEntries(tx, first.account.account, 1, t.running.ctx.config)),
      ).rejects.toThrow();
      await t.pass(0);
      const rows = await t.running.ctx.db.all(
        'select 1 as yes from removed_entries where account_id = $1',
        [first.account.account.id],
      );
      expect(rows).toEqual([]);
    });

    it('is in the audit log with the count', async () => {
      const holder = await scene();
      for (let at = 0; at < 3; at++) await holder.create();
      await holder.client.delete(list);
      const row = await t.running.ctx.db.one<{ before: string; actor: string; address: string }>(
        "select before, actor, address from audit where account_id = $1 and action = 'authlist.remove_all'",
        [holder.account.account.id],
      );
      expect(JSON.parse(row?.before ?? '{}')).toEqual({ entries: 3, removal_id: 1 });
      expect([row?.actor, row?.address]).toEqual([
        `${holder.account.account.name}/default`,
        '127.0.0.1',
      ]);
    });

    it('of an empty list is 204 and leaves nothing to undo', async () => {
      const holder = await scene();
      expect((await holder.client.delete(list)).status).toBe(204);
      expect(await listRemovals(t.running.ctx.db, holder.account.account.id, t.now())).toEqual([]);
    });
  });

  describe('caps', () => {
    it('an account holds as many entries as the operator allows; expired ones do not count, swept or not', async () => {
      const app = await startTestApp(await database.url(), { EXITWARD_MAX_AUTHLIST_ENTRIES: '2' });
      const { create, client } = await scene({}, app);
      expect([(await create()).status, (await create()).status]).toEqual([201, 201]);
      const refused = await create();
      expect([refused.status, refused.body.message]).toEqual([
        409,
        expect.stringContaining('2 entries'),
      ]);
      expect((await (await scene({}, app)).create()).status).toBe(201);
      app.clock.advance(100);
      expect([(await create()).status, (await create()).status, (await create()).status]).toEqual([
        201, 201, 409,
      ]);
      await client.delete(`${list}/${(await client.get(list)).body[0].id}`);
      expect([(await create()).status, (await create()).status]).toEqual([201, 409]);
      await client.delete(list);
      expect([(await create()).status, (await create()).status, (await create()).status]).toEqual([
        201, 201, 409,
      ]);
      await app.stop();
    });
  });

  describe('ip omitted: the address that the request comes from', () => {
    const listOwn = async (app: TestApp, headers: Record<string, string>) => {
      const { client } = await scene({}, app);
      const answer = await client.post(list, { user: 'alice', expiry: app.now() + 100 }, headers);
      await client.delete(list);
      return answer;
    };

    it('is the peer; X-Forwarded-For and its like mean nothing without a listed proxy', async () => {
      for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'true-client-ip']) {
        const { status, body } = await listOwn(t, { [name]: '198.51.100.99' });
        expect([status, body.ip]).toEqual([201, '127.0.0.1']);
      }
    });

    it('behind a listed proxy X-Forwarded-For counts, from the right, up to the first that is not listed', async () => {
      const app = await startTestApp(await database.url(), {
        EXITWARD_TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8',
      });
      for (const [forwarded, expected] of [
        ['198.51.100.99', '198.51.100.99'],
        ['192.0.2.66, 198.51.100.99', '198.51.100.99'],
        ['198.51.100.99, 10.1.1.1', '198.51.100.99'],
        ['2001:DB8::99', '2001:db8::99'],
        ['::ffff:198.51.100.98', '198.51.100.98'],
        // With the port, as Azure passes it on; IPv6 is then in brackets.
        ['198.51.100.97:50231', '198.51.100.97'],
        ['[2001:db8::97]:50231, 10.1.1.1:80', '2001:db8::97'],
        ['[2001:db8::96]', '2001:db8::96'],
      ] as const) {
        const { status, body } = await listOwn(app, { 'x-forwarded-for': forwarded });
        expect([forwarded, status, body.ip]).toEqual([forwarded, 201, expected]);
      }
      // Text that is no address does not become one, nor does the proxy's own take its place.
      for (const garbage of [
        ...['unknown', 'x', '198.51.100.99:', '[198.51.100.99]', '<script>', '0.0.0.0', '', ' , '],
      ]) {
        expect([garbage, (await listOwn(app, { 'x-forwarded-for': garbage })).status]).toEqual([
          garbage,
          400,
        ]);
      }
      expect((await listOwn(app, { forwarded: 'for=198.51.100.99' })).status).toBe(400);
      expect((await listOwn(app, {})).body.ip).toBe('127.0.0.1');
      await app.stop();
    });

    it('a peer that is not on the list of proxies is not believed', async () => {
      const app = await startTestApp(await database.url(), {
        EXITWARD_TRUSTED_PROXIES: '192.0.2.0/24',
      });
      expect((await listOwn(app, { 'x-forwarded-for': '198.51.100.99' })).body.ip).toBe(
        '127.0.0.1',
      );
      await app.stop();
    });
  });

  it('a filtered list reads no more from the database than it shows', async () => {
    const { account, create } = await scene();
    await t.user(account, 'bob', {});
    await create({ ip: '198.51.7.1' });
    await create({ ip: '198.51.7.12', user: 'bob' });
    await create({ ip: '2001:db8::77' });
    const counting = new CountingReader(t.running.ctx.db);
    const read = async (filter: Parameters<typeof listEntries>[2]) => {
      counting.rows = 0;
      const entries = await listEntries(counting, account.account.id, filter, t.now());
      return [entries.map(({ id }) => id), counting.rows];
    };
    expect(await read({})).toEqual([[1, 2, 3], 3]);
    expect(await read({ ip: '198.51.7.1' })).toEqual([[1], 1]);
    expect(await read({ ip: '51.7.' })).toEqual([[1, 2], 2]);
    expect(await read({ ip: 'DB8:' })).toEqual([[3], 1]);
    for (const pattern of ['%', '_', '.*', '\\', "'"])
      expect(await read({ ip: pattern })).toEqual([[], 0]);
    expect(await read({ users: ['bob', 'nobody', 'bob'] })).toEqual([[2], 1]);
    expect(await read({ ip: '51.7.', users: ['alice'] })).toEqual([[1], 1]);
    const many = Array.from({ length: 4000 }, (_, at) => `n${at}`);
    expect(await read({ users: [...many, 'alice'] })).toEqual([[1, 3], 2]);
  });

  it('Prefer: wait holds the answer until every live node of the account has the entry', async () => {
    const servers = [`srv${++names}`, `srv${++names}`];
    for (const server of servers) await t.server(server);
    const { create } = await scene({ servers });
    const nodes = await Promise.all(servers.map((server) => t.node(server)));
    for (const node of nodes) await node.start();
    let done = false;
    const posted = create({}, { prefer: 'wait=10' }).finally(() => {
      done = true;
    });
    for (const node of nodes) {
      await node.until((follower) => follower.heard('authlist').length === 1);
      expect(done).toBe(false);
      await node.ack();
    }
    const { status, headers } = await posted;
    expect([status, headers.get('preference-applied')]).toEqual([201, 'wait=10']);
    expect(headers.get('exitward-applied')).toBe('2/2');
    for (const node of nodes) node.stop();
  });
});
