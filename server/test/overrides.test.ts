// Custom DNS entries: four states from two facts, driven by scripted nodes; uniqueness, revival,
// waiting.
import { describe, expect, it } from 'vitest';
import {
  removeContractServer,
  setContractServer,
} from '../src/contract_servers/contract_servers.ts';
import { listRemovals } from '../src/lists/removals.ts';
import { revokeNode } from '../src/nodes/nodes.ts';
import { createOverride, listOverrides, restoreOverrides } from '../src/overrides/overrides.ts';
import { removeServer, requireServer } from '../src/servers/servers.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { CountingReader } from './counting_reader.ts';
import { startTestApp, type TestClient } from './harness.ts';
import type { TestNode } from './node.ts';

const day = 86_400;
const list = '/contract/overrides';

eachApp((t, database) => {
  let names = 0;

  /** A server of its own with nodes that follow, and an account on it. */
  async function scene(nodes = 1) {
    const server = `srv${++names}`;
    await t.server(server);
    const account = await t.account(`account${names}`, { servers: [server] });
    const joined: TestNode[] = [];
    for (let at = 0; at < nodes; at++) {
      const node = await t.node(server, `node${at}`);
      await node.start();
      joined.push(node);
    }
    const client = t.as(account);
    const create = (more: object = {}, headers?: Record<string, string>) =>
      client.post(
        list,
        {
          server,
          hostname: `host${++names}.example.com`,
          ip: '192.0.2.1',
          expiry: t.now() + 100,
          ...more,
        },
        headers,
      );
    const status = async (id: number) => (await client.get(`${list}/${id}`)).body?.status;
    const [node] = joined as [TestNode];
    return { server, account, client, create, status, node, nodes: joined };
  }

  /** Waits until the node has heard of the entry, and acknowledges all that it heard. */
  async function apply(node: TestNode, id: number, isThere = true) {
    await node.until((entry) => {
      const last = entry
        .heard('override')
        .filter((record) => record.id === id)
        .at(-1);
      return last !== undefined && (last.value !== null) === isThere;
    });
    expect(await node.ack()).toBe(204);
  }

  const change = async (account: BuiltAccount, server: string, on: boolean) =>
    t.write(async (tx) => {
      const row = await requireServer(tx, server);
      await (on
        ? setContractServer(tx, account.account, row, null)
        : removeContractServer(tx, account.account, row));
    });

  describe('the states', () => {
    it('pending -> active -> expiring -> expired -> gone after 30 days', async () => {
      const { create, status, node, client, server } = await scene();
      const { body } = await create();
      expect(body.status).toBe('pending');
      await apply(node, body.id);
      expect(node.heard('override').at(-1)).toEqual({
        kind: 'override',
        account: expect.any(Number),
        id: body.id,
        value: { hostname: body.hostname, ip: '192.0.2.1', expiry: body.expiry },
      });
      expect(await status(body.id)).toBe('active');

      await t.pass(99);
      expect(await status(body.id)).toBe('active');
      t.clock.advance(1);
      expect(await status(body.id)).toBe('expiring');
      await t.pass(0);
      expect(await status(body.id)).toBe('expiring');
      await node.follow();
      await apply(node, body.id, false);
      expect(await status(body.id)).toBe('expired');

      await t.pass(30 * day - 1);
      expect((await client.get(`${list}?server=${server}`)).body).toEqual([
        { ...body, status: 'expired' },
      ]);
      await t.pass(1);
      expect(await status(body.id)).toBe(undefined);
      expect((await client.get(list)).text).toBe('[]');
      node.stop();
    });

    it('an entry that no node applied goes from pending to expired', async () => {
      const { create, status, node } = await scene();
      const { body } = await create();
      await t.pass(100);
      expect(await status(body.id)).toBe('expired');
      node.stop();
    });

    it('the node that has not heard of the end yet keeps the entry expiring, for 30 days if need be', async () => {
      const { create, status, node, client } = await scene();
      const { body } = await create();
      await apply(node, body.id);
      node.stop();
      await t.pass(100 + 30 * day - 1);
      expect(await status(body.id)).toBe('expiring');
      await t.pass(1);
      expect((await client.get(`${list}/${body.id}`)).status).toBe(404);
    });

    it.each(['pending', 'active', 'expiring', 'expired'])(
      'PATCH leads from %s to pending, and the node applies it again',
      async (from) => {
        const { create, status, node, client } = await scene();
        const { body } = await create();
        if (from === 'active' || from === 'expiring') await apply(node, body.id);
        if (from === 'expiring' || from === 'expired') await t.pass(100);
        expect(await status(body.id)).toBe(from);
        const patched = await client.patch(`${list}/${body.id}`, {
          ip: '192.0.2.2',
          expiry: t.now() + 50,
        });
        expect(patched.body).toEqual({
          ...body,
          ip: '192.0.2.2',
          expiry: t.now() + 50,
          status: 'pending',
        });
        await node.until((entry) =>
          entry
            .heard('override')
            .some(({ value }) => (value as { ip?: string } | null)?.ip === '192.0.2.2'),
        );
        await node.ack();
        expect(await status(body.id)).toBe('active');
        node.stop();
      },
    );

    it('a PATCH that changes nothing leads to pending too', async () => {
      const { create, status, node, client } = await scene();
      const { body } = await create();
      await apply(node, body.id);
      expect((await client.patch(`${list}/${body.id}`, { ip: '192.0.2.1' })).body.status).toBe(
        'pending',
      );
      expect(await status(body.id)).toBe('pending');
      node.stop();
    });

    it('a server without a node keeps its entries pending', async () => {
      const { create, status } = await scene(0);
      const { body } = await create();
      await t.pass(50);
      expect(await status(body.id)).toBe('pending');
    });

    it('two nodes: active when both have applied it, expired when both have dropped it', async () => {
      const { create, status, nodes } = await scene(2);
      const [first, other] = nodes as [TestNode, TestNode];
      const { body } = await create();
      await apply(first, body.id);
      expect(await status(body.id)).toBe('pending');
      await apply(other, body.id);
      expect(await status(body.id)).toBe('active');
      t.clock.advance(100);
      await first.ack();
      await other.ack();
      await t.pass(0);
      await apply(first, body.id, false);
      expect(await status(body.id)).toBe('expiring');
      await apply(other, body.id, false);
      expect(await status(body.id)).toBe('expired');
      for (const node of nodes) node.stop();
    });

    it('an offline node no longer delays the entries of its server, until it is back', async () => {
      const { create, status, nodes } = await scene(2);
      const [first, lost] = nodes as [TestNode, TestNode];
      lost.stop();
      const { body } = await create({ expiry: t.now() + day });
      await apply(first, body.id);
      expect(await status(body.id)).toBe('pending');
      t.clock.advance(61);
      await first.ack();
      await t.pass(0);
      expect(await status(body.id)).toBe('active');
      await lost.follow();
      expect(await status(body.id)).toBe('pending');
      await apply(lost, body.id);
      expect(await status(body.id)).toBe('active');
      for (const node of nodes) node.stop();
    });

    it('a node that was revoked no longer holds the entries of its server back', async () => {
      const { create, status, nodes } = await scene(2);
      const [first, other] = nodes as [TestNode, TestNode];
      const { body } = await create();
      await apply(first, body.id);
      expect(await status(body.id)).toBe('pending');
      await t.write((tx) => revokeNode(tx, other.id, 900));
      expect(await status(body.id)).toBe('active');
      await t.write((tx) => revokeNode(tx, first.id, 900));
      expect(await status(body.id)).toBe('pending');
      for (const node of nodes) node.stop();
    });

    it('a node that starts again from an older state makes its entries pending again: that is the truth', async () => {
      const { create, status, node } = await scene();
      const old = node.revision;
      const { body } = await create();
      await apply(node, body.id);
      expect(await status(body.id)).toBe('active');
      expect(await node.ack(old)).toBe(204);
      expect(await status(body.id)).toBe('pending');
      await node.ack();
      expect(await status(body.id)).toBe('active');
      node.stop();
    });

    it('so it does when the log of changes no longer reaches back to that state', async () => {
      const { create, status, node, client } = await scene();
      const old = node.revision;
      const { body } = await create({ expiry: t.now() + 100 * day });
      await apply(node, body.id);
      await t.pass(8 * day);
      await node.ack();
      expect(await status(body.id)).toBe('active');
      expect((await client.get(list)).body[0].status).toBe('active');
      expect(await node.ack(old)).toBe(204);
      expect(await status(body.id)).toBe('pending');
      expect((await client.get(list)).body[0].status).toBe('pending');
      node.stop();
    });

    it('a server taken off the contract keeps its entries pending; back on it, its node applies them again', async () => {
      const { create, status, node, account, server } = await scene();
      const { body } = await create();
      await apply(node, body.id);
      await change(account, server, false);
      expect(await status(body.id)).toBe('pending');
      await node.until((follower) => follower.heard('account').length > 0);
      await node.ack();
      expect(await status(body.id)).toBe('pending');
      const before = node.heard('override').length;
      await change(account, server, true);
      expect(await status(body.id)).toBe('pending');
      await node.until((follower) => follower.heard('override').length > before);
      expect(node.heard('override').slice(before)).toMatchObject([{ id: body.id }]);
      await node.ack();
      expect(await status(body.id)).toBe('active');
      node.stop();
    });

    it('changes of an entry while its account is off the server are not sent to the node', async () => {
      const { create, node, client, account, server } = await scene();
      const { db } = t.running.ctx;
      await create({ expiry: t.now() + 1000 });
      await client.delete(list);
      const hearAll = async () => {
        const newest = await db.one<{ revision: number }>('select revision from network');
        await node.until((follower) => follower.revision === newest?.revision);
      };
      await hearAll();
      const since = { events: node.events.length, revision: node.revision };

      // Made and left behind by one commit; and put back, though nobody serves it.
      await t.write(async (tx) => {
        const body = { server, hostname: 'a.example', ip: '192.0.2.1', expiry: t.now() + 1000 };
        const rules = { addresses: 'any', max_overrides: 10 } as const;
        await createOverride(tx, account.account.id, body, rules);
        await removeContractServer(tx, account.account, await requireServer(tx, server));
      });
      await hearAll();
      const [removal] = await listRemovals(db, account.account.id, t.now());
      await t.write((tx) =>
        restoreOverrides(tx, account.account, removal?.removal_id ?? 0, t.running.ctx.config),
      );
      const gone = { kind: 'account', account: account.account.id, value: null };
      const reported = () => node.events.slice(since.events).flatMap(({ records }) => records);
      expect(reported()).toEqual([gone, gone]);

      // And the same to one that was away meanwhile.
      node.stop();
      since.events = node.events.length;
      node.revision = since.revision;
      await node.follow();
      await hearAll();
      expect(reported()).toEqual([gone, gone, gone]);
      node.stop();
    });

    it('PATCH moves an entry to another server: gone from the one, pending until the other has it', async () => {
      const { create, status, node, client, account } = await scene();
      const second = await scene();
      await change(account, second.server, true);
      const { body } = await create();
      await apply(node, body.id);
      expect(
        (await client.patch(`${list}/${body.id}`, { server: second.server })).body,
      ).toMatchObject({
        server: second.server,
        status: 'pending',
      });
      await apply(node, body.id, false);
      expect(await status(body.id)).toBe('pending');
      await apply(second.node, body.id);
      expect(await status(body.id)).toBe('active');
      node.stop();
      second.node.stop();
    });
  });

  describe('uniqueness counts wanted entries only', () => {
    const twice = async (client: TestClient, body: object) =>
      (await client.post(list, body)).status;

    it('a hostname is overridden once on a server, in any spelling', async () => {
      const { create, server, client } = await scene(0);
      const { body } = await create({ hostname: 'Münster.Example.com.' });
      expect(body.hostname).toBe('xn--mnster-3ya.example.com');
      const again = { server, ip: '192.0.2.9', expiry: t.now() + 100 };
      expect(await twice(client, { ...again, hostname: 'XN--MNSTER-3YA.example.COM' })).toBe(409);
      const refused = await client.post(list, { ...again, hostname: 'münster.example.com' });
      expect(refused.body.message).toContain(`by entry ${body.id}`);
    });

    it('an expired entry gives its hostname free in that second, swept or not', async () => {
      const { create } = await scene(0);
      const { body } = await create();
      t.clock.advance(99);
      expect((await create({ hostname: body.hostname })).status).toBe(409);
      t.clock.advance(1);
      expect((await create({ hostname: body.hostname })).status).toBe(201);
    });

    it('an expired entry is revived by a PATCH with a new expiry, unless its hostname is taken by then', async () => {
      const { create, client } = await scene(0);
      const { body } = await create();
      await t.pass(100);
      const path = `${list}/${body.id}`;
      const without = await client.patch(path, { ip: '192.0.2.2' });
      expect([without.status, without.body.message]).toEqual([
        409,
        expect.stringContaining('No changes were made'),
      ]);
      const other = (await create({ hostname: body.hostname })).body;
      expect(await client.patch(path, { expiry: t.now() + 10 })).toMatchObject({
        status: 409,
        body: { message: expect.stringMatching(/already overridden.*No changes were made/) },
      });
      await client.delete(`${list}/${other.id}`);
      expect(await client.patch(path, { expiry: t.now() + 10 })).toMatchObject({
        status: 200,
        body: { status: 'pending' },
      });
    });

    it('PATCH to a hostname or a server where it is taken gets 409 and changes nothing', async () => {
      const { create, client } = await scene(0);
      const [first, other] = [(await create()).body, (await create()).body];
      const refused = await client.patch(`${list}/${first.id}`, {
        hostname: other.hostname,
        ip: '192.0.2.9',
      });
      expect([refused.status, refused.body.message]).toEqual([
        409,
        expect.stringContaining('No changes were made'),
      ]);
      expect((await client.get(`${list}/${first.id}`)).body).toEqual(first);
    });

    it('concurrent creates of one hostname give exactly one 201', async () => {
      const { create } = await scene(0);
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => create({ hostname: 'once.example.com' })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([
        201,
        ...Array.from({ length: 19 }, () => 409),
      ]);
    });

    it('another account overrides the same hostname on the same server: entries belong to an account', async () => {
      const { create, server, node } = await scene();
      const { body } = await create();
      const other = await t.account(`other${++names}`, { servers: [server] });
      const same = { server, hostname: body.hostname, ip: '192.0.2.66', expiry: body.expiry };
      expect((await t.as(other).post(list, same)).status).toBe(201);
      const records = (await node.snapshot()).filter(({ kind }) => kind === 'override');
      const ips = records.map(({ account, value }) => [account, (value as { ip: string }).ip]);
      expect(new Map(ips as Array<[number, string]>)).toEqual(
        new Map([
          [other.account.id - 1, '192.0.2.1'],
          [other.account.id, '192.0.2.66'],
        ]),
      );
      node.stop();
    });
  });

  it('a filtered list reads no more from the database than it shows', async () => {
    const { create, account, client, server } = await scene(0);
    const other = await scene(0);
    await change(account, other.server, true);
    await create();
    await create({ ip: '2001:db8::7' });
    await create({ server: other.server });
    const counting = new CountingReader(t.running.ctx.db);
    const read = async (filter: Parameters<typeof listOverrides>[2]) => {
      counting.rows = 0;
      const entries = await listOverrides(counting, account.account.id, filter, t.now());
      return [entries.map(({ id }) => id), counting.rows];
    };
    expect(await read({})).toEqual([[1, 2, 3], 3]);
    expect(await read({ ip: '2001:DB8:0::7' })).toEqual([[2], 1]);
    expect(await read({ servers: [other.server, 'nowhere', other.server] })).toEqual([[3], 1]);
    expect(await read({ ip: '192.0.2.1', servers: [server] })).toEqual([[1], 1]);
    const many = Array.from({ length: 4000 }, (_, at) => `n${at}`);
    expect((await client.get(`${list}?server=${many.slice(0, 900)},${server}`)).body).toHaveLength(
      2,
    );
    expect(await read({ servers: [...many, server] })).toEqual([[1, 2], 2]);
  });

  describe('ids and removal', () => {
    it('ids count from 1 on each account and are never used twice', async () => {
      const { create, client } = await scene(0);
      expect((await create()).body.id).toBe(1);
      expect((await create()).body.id).toBe(2);
      await client.delete(`${list}/2`);
      expect((await create()).body.id).toBe(3);
      await client.delete(list);
      expect((await create()).body.id).toBe(4);
    });

    it("another account's id answers byte for byte as an absent one", async () => {
      const holder = await scene(0);
      const other = await scene(0);
      await holder.create();
      for (const send of [
        (id: number) => other.client.get(`${list}/${id}`),
        (id: number) => other.client.patch(`${list}/${id}`, { ip: '192.0.2.6' }),
        (id: number) => other.client.delete(`${list}/${id}`),
      ]) {
        const [there, absent] = [await send(1), await send(77)];
        expect([there.status, there.text]).toEqual([404, absent.text]);
      }
      expect((await holder.client.get(`${list}/1`)).status).toBe(200);
    });

    it('a removed entry is dropped by the node, and the collection too', async () => {
      const { create, node, client } = await scene();
      const [first, other] = [(await create()).body, (await create()).body];
      await apply(node, other.id);
      await client.delete(`${list}/${first.id}`);
      await apply(node, first.id, false);
      await client.delete(list);
      await node.until((it) => it.heard('overrides_cleared').length > 0);
      expect((await node.snapshot()).filter(({ kind }) => kind === 'override')).toEqual([]);
      node.stop();
    });

    it('the operator undoes a removal of all: what is still wanted and free is back under its id, and pending', async () => {
      const { create, client, account } = await scene(0);
      const remaining = (await create({ expiry: t.now() + 1000 })).body;
      const removed = (await create({ expiry: t.now() + 1000 })).body;
      await create({ expiry: t.now() + 10 });
      await client.delete(list);
      const anew = (await create({ hostname: removed.hostname })).body;
      await t.pass(10);
      const [removal] = await listRemovals(t.running.ctx.db, account.account.id, t.now());
      expect(removal).toMatchObject({ list: 'overrides', entries: 3 });
      const undo = () =>
        t.write((tx) =>
          restoreOverrides(tx, account.account, removal?.removal_id ?? 0, t.running.ctx.config),
        );
      expect(await undo()).toEqual({ restored: 1, left_out: 2 });
      expect((await client.get(list)).body).toEqual([remaining, anew]);
      await expect(undo()).rejects.toThrow(/no such removal/);
    });

    it('an entry whose server is gone is left out when a removal of all is undone', async () => {
      const { create, client, account, server } = await scene(0);
      const other = await scene(0);
      await change(account, other.server, true);
      const remaining = (await create({ server: other.server, expiry: t.now() + 1000 })).body;
      await create({ expiry: t.now() + 1000 });
      await client.delete(list);
      await change(account, server, false);
      await t.write(async (tx) => removeServer(tx, await requireServer(tx, server)));
      const [removal] = await listRemovals(t.running.ctx.db, account.account.id, t.now());
      const undone = await t.operator.post(`/accounts/${account.account.name}/overrides/restore`, {
        removal_id: removal?.removal_id,
      });
      expect([undone.status, undone.body]).toEqual([200, { restored: 1, left_out: 1 }]);
      expect((await client.get(list)).body).toEqual([remaining]);
    });

    it('a removal of all can be undone for seven days', async () => {
      const { create, client, account } = await scene(0);
      await create({ expiry: t.now() + 100 * day });
      await client.delete(list);
      await t.pass(7 * day);
      expect(await listRemovals(t.running.ctx.db, account.account.id, t.now())).toEqual([]);
    });
  });

  describe('Prefer: wait', () => {
    const wait = { prefer: 'wait=10' };

    it('without it the answer is pending at once, with a live node too', async () => {
      const { create, node } = await scene();
      const { body, headers } = await create();
      expect([body.status, headers.get('preference-applied')]).toEqual(['pending', null]);
      node.stop();
    });

    it('an answer whose time is over says how many live nodes have the change', async () => {
      const { create, node } = await scene();
      const { body, headers } = await create({}, { prefer: 'wait=1' });
      expect([body.status, headers.get('exitward-applied')]).toEqual(['pending', '0/1']);
      node.stop();
    });

    it('POST and PATCH wait until the live node has applied the change, and show the state reached', async () => {
      const { create, node, client } = await scene();
      let done = false;
      const posted = create({}, wait).finally(() => {
        done = true;
      });
      await node.until((follower) => follower.heard('override').length > 0);
      expect(done).toBe(false);
      await node.ack();
      const { status, body, headers } = await posted;
      expect([status, body.status, headers.get('preference-applied')]).toEqual([
        201,
        'active',
        'wait=10',
      ]);
      expect(headers.get('location')).toBe(`${list}/${body.id}`);
      expect((await client.get(`${list}/${body.id}`)).headers.get('etag')).toBe(
        headers.get('etag'),
      );

      const patched = client.patch(`${list}/${body.id}`, { ip: '192.0.2.3' }, wait);
      await node.until((follower) => follower.heard('override').length > 1);
      await node.ack();
      expect(await patched).toMatchObject({
        status: 200,
        body: { status: 'active', ip: '192.0.2.3' },
      });
      node.stop();
    });

    it('an entry that is removed meanwhile is answered as it was committed', async () => {
      const { create, node, client } = await scene();
      const posted = create({}, wait);
      await node.until((follower) => follower.heard('override').length > 0);
      const [{ id }] = (await client.get(list)).body;
      expect((await client.delete(`${list}/${id}`)).status).toBe(204);
      await node.ack();
      expect(await posted).toMatchObject({ status: 201, body: { id, status: 'pending' } });
      node.stop();
    });

    it('both live nodes must have applied it', async () => {
      const { create, nodes } = await scene(2);
      const [first, other] = nodes as [TestNode, TestNode];
      const posted = create({}, wait);
      await first.until((it) => it.heard('override').length > 0);
      await first.ack();
      await other.until((it) => it.heard('override').length > 0);
      await other.ack();
      expect((await posted).body.status).toBe('active');
      for (const node of nodes) node.stop();
    });

    it('two concurrent changes each wait for their own server', async () => {
      const [first, other] = [await scene(), await scene()];
      const row = await requireServer(t.running.ctx.db, other.server);
      await t.write((tx) => setContractServer(tx, first.account.account, row, null));
      const slow = first.create({ server: other.server }, wait);
      await other.node.until((node) => node.heard('override').length > 0);
      const posted = first.create({}, wait);
      await first.node.until((node) => node.heard('override').length > 0);
      await first.node.ack();
      expect((await posted).body.status).toBe('active');
      await other.node.ack();
      expect((await slow).body.status).toBe('active');
      for (const { node } of [first, other]) node.stop();
    });

    it('when the seconds are over the answer shows pending; without a live node it does so at once', async () => {
      const { create, node } = await scene();
      const start = performance.now();
      expect((await create({}, { prefer: 'wait=1' })).body.status).toBe('pending');
      expect(performance.now() - start).toBeGreaterThan(900);
      node.stop();
      const other = await scene(0);
      const again = performance.now();
      expect((await other.create({}, wait)).body.status).toBe('pending');
      // It would have waited for ten seconds.
      expect(performance.now() - again).toBeLessThan(9000);
    });

    it('a refusal does not wait', async () => {
      const { create, node } = await scene();
      expect((await create({ ip: 'x' }, wait)).status).toBe(400);
      expect((await create({ server: 'nowhere' }, wait)).status).toBe(409);
      node.stop();
    });
  });

  describe('settings', () => {
    it('an account holds as many entries as the operator allows, expired ones counted', async () => {
      const small = await startTestApp(await database.url(), { EXITWARD_MAX_OVERRIDES: '2' });
      await small.server('fra1');
      const client = small.as(await small.account('acme', { servers: ['fra1'] }));
      const create = (hostname: string) =>
        client.post(list, { server: 'fra1', hostname, ip: '192.0.2.1', expiry: small.now() + 100 });
      expect([(await create('a.example')).status, (await create('b.example')).status]).toEqual([
        201, 201,
      ]);
      const refused = await create('c.example');
      expect([refused.status, refused.body.message]).toEqual([
        409,
        expect.stringContaining('as many as'),
      ]);
      await small.pass(100);
      expect((await create('c.example')).status).toBe(409);
      await small.pass(30 * day);
      expect((await create('c.example')).status).toBe(201);
      await client.delete(list);
      expect([(await create('a.example')).status, (await create('b.example')).status]).toEqual([
        201, 201,
      ]);
      await small.stop();
    });

    it('EXITWARD_ADDRESSES=public refuses private and reserved addresses, which are taken by default', async () => {
      const { create } = await scene(0);
      const strict = await startTestApp(await database.url(), { EXITWARD_ADDRESSES: 'public' });
      await strict.server('fra1');
      const client = strict.as(await strict.account('acme', { servers: ['fra1'] }));
      for (const ip of [
        '127.0.0.1',
        '10.0.0.1',
        '169.254.169.254',
        '192.0.2.1',
        '::1',
        'fd00::1',
        '2001:db8::1',
      ]) {
        expect([ip, (await create({ ip })).status]).toEqual([ip, 201]);
        const body = {
          server: 'fra1',
          hostname: `h${++names}.example.com`,
          ip,
          expiry: strict.now() + 100,
        };
        const refused = await client.post(list, body);
        expect([ip, refused.status, refused.body.message]).toEqual([
          ip,
          400,
          expect.stringMatching(/^ip: .*public Internet/),
        ]);
        expect((await client.post(list, { ...body, ip: '8.8.8.8' })).status).toBe(201);
      }
      await strict.stop();
    });
  });
});
