// Exits as nodes find them: health as several nodes report it, and the address that the world sees.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeExitIp, removeServer, requireServer } from '../src/servers/servers.ts';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';

eachDatabase((database) => {
  let t: TestApp;
  let names = 0;

  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_TRUSTED_PROXIES: '127.0.0.1' });
  });
  afterAll(() => t.stop());

  async function scene() {
    const server = `srv${++names}`;
    const ip = `198.18.${names}.1`;
    await t.server(server, { exit_ips: [ip, `198.18.${names}.2`] });
    const built = await t.account(`account${names}`, { servers: [server] });
    const node = await t.node(server);
    return { server, built, node, ip };
  }
  const report = async (node: TestNode, exit_ips: object[]) => {
    const answer = await node.send('POST', '/health', { exit_ips });
    return [answer.status, ((await answer.json()) as { known?: number }).known];
  };
  const shown = async (built: BuiltAccount) =>
    (await t.as(built).get('/contract/servers')).body[0].ips.map(
      ({ status, status_time }: Record<string, unknown>) => [status, status_time],
    );

  describe('health', () => {
    it('only of own exit IPs, in any spelling, never from the future, and the newest stands', async () => {
      const { built, node, ip } = await scene();
      const other = await scene();
      const check = (more: object = {}) => ({ ip, status: 'ok', checked_at: t.now() - 5, ...more });
      expect(await report(node, [check(), check({ ip: other.ip }), check({ ip: 'x' })])).toEqual([
        200, 1,
      ]);
      expect(await shown(built)).toEqual([
        ['ok', t.now() - 5],
        ['unknown', 0],
      ]);
      expect(await shown(other.built)).toEqual([
        ['unknown', 0],
        ['unknown', 0],
      ]);
      expect(await report(node, [check({ status: 'crit', checked_at: t.now() - 6 })])).toEqual([
        200, 0,
      ]);
      expect(await shown(built)).toMatchObject([
        ['ok', t.now() - 5],
        ['unknown', 0],
      ]);
      expect(
        await report(node, [
          check({ ip: `::ffff:${ip}`, status: 'warn', checked_at: t.now() + 900 }),
        ]),
      ).toEqual([200, 1]);
      expect(await shown(built)).toEqual([
        ['warn', t.now()],
        ['unknown', 0],
      ]);
      expect((await report(node, [check({ status: 'fine' })]))[0]).toBe(400);
    });

    /**
     * Two live nodes of one server; the first says `crit` of the exit, the second what the test
     * says.
     */
    async function twoNodes() {
      const { built, node, ip, server } = await scene();
      const twin = await t.node(server, 'twin');
      const ack = async (node: TestNode) => {
        await node.snapshot();
        await node.ack();
      };
      for (const follower of [node, twin]) await ack(follower);
      const say = (by: TestNode, status: string) =>
        report(by, [{ ip, status, checked_at: t.now() }]);
      const status = async () => (await shown(built))[0];
      return { node, twin, say, status, ack, server, ip };
    }

    it.each([
      ['crit', 'ok', 'crit'],
      ['ok', 'crit', 'crit'],
      ['warn', 'ok', 'warn'],
      ['crit', 'warn', 'crit'],
      ['unknown', 'ok', 'ok'],
      ['ok', 'unknown', 'ok'],
      ['unknown', 'unknown', 'unknown'],
    ])('of two nodes that say %s and %s the worst shows: %s', async (first, second, worst) => {
      const { node, twin, say, status } = await twoNodes();
      await say(node, first);
      t.clock.advance(5);
      expect(await say(twin, second)).toEqual([200, 1]);
      expect(await status()).toEqual([worst, t.now()]);
    });

    it('what a node said before is over when it says otherwise', async () => {
      const { node, twin, say, status } = await twoNodes();
      await say(node, 'crit');
      await say(twin, 'ok');
      await say(node, 'ok');
      expect(await status()).toEqual(['ok', t.now()]);
    });

    it('a report that is too old, or of a node that is not live, counts no more', async () => {
      const { node, twin, say, status, ack } = await twoNodes();
      await say(node, 'crit');
      for (const seconds of [44, 1]) {
        await t.pass(seconds);
        await ack(twin);
        await say(twin, 'ok');
        expect((await status())[0]).toBe('crit');
      }
      await t.pass(1);
      await say(twin, 'ok');
      expect((await status())[0]).toBe('ok');

      await ack(node);
      await say(twin, 'ok');
      expect((await status())[0]).toBe('crit');
      t.clock.advance(900 - 46 - 1);
      await say(twin, 'ok');
      expect((await status())[0]).toBe('crit');
      t.clock.advance(1);
      await say(twin, 'ok');
      expect((await status())[0]).toBe('ok');
    });

    it('the operator sees it counted for every server, and unknown once the report is too old', async () => {
      const { node, twin, ack, server, ip } = await twoNodes();
      const other = await scene();
      await t.server('bare1', { exit_ips: [] });
      const second = ip.replace(/1$/, '2');
      const counted = async () => {
        const { body } = await t.operator.get('/servers');
        const of = (name: string) => body.find((exit: { name: string }) => exit.name === name);
        const { exits, nodes } = (await t.operator.get(`/servers/${server}`)).body;
        expect({ exits, nodes }).toEqual({ exits: of(server).exits, nodes: of(server).nodes });
        expect(of(other.server).exits).toEqual({ ok: 0, warn: 0, crit: 0, unknown: 2 });
        expect(of('bare1').exits).toEqual({ ok: 0, warn: 0, crit: 0, unknown: 0 });
        expect(of('bare1').nodes).toMatchObject({ all: 0, live: 0 });
        return [exits, nodes];
      };
      const none = { ok: 0, warn: 0, crit: 0, unknown: 0 };
      expect(await counted()).toMatchObject([
        { ...none, unknown: 2 },
        { all: 2, live: 2 },
      ]);
      await report(node, [
        { ip, status: 'crit', checked_at: t.now() - 1 },
        { ip: second, status: 'ok', checked_at: t.now() },
      ]);
      expect((await counted())[0]).toEqual({ ...none, ok: 1, crit: 1 });
      // To the second: the same rule as for accounts.
      t.clock.advance(898);
      expect((await counted())[0]).toEqual({ ...none, ok: 1, crit: 1 });
      t.clock.advance(1);
      expect((await counted())[0]).toEqual({ ...none, ok: 1, unknown: 1 });
      await ack(node);
      await t.pass(1);
      expect(await counted()).toMatchObject([
        { ...none, unknown: 2 },
        { all: 2, live: 1 },
      ]);
      expect((await t.operator.delete(`/nodes/${twin.id}`)).status).toBe(204);
      expect((await counted())[1]).toMatchObject({ all: 1, live: 1 });
    });

    it('a revoked node is asked no more, and an exit or a server can still be removed', async () => {
      const { node, twin, say, status, server, ip } = await twoNodes();
      await say(twin, 'warn');
      await say(node, 'crit');
      expect((await status())[0]).toBe('crit');
      expect((await t.operator.delete(`/nodes/${node.id}`)).status).toBe(204);
      expect((await status())[0]).toBe('warn');
      await say(twin, 'ok');
      expect((await status())[0]).toBe('ok');
      const rows = (of: number) =>
        t.running.ctx.db.all('select * from node_health where node_id = $1', [of]);
      expect(await rows(node.id)).toEqual([]);
      expect(await rows(twin.id)).toHaveLength(1);
      await t.write(async (tx) => removeExitIp(tx, await requireServer(tx, server), ip));
      expect(await rows(twin.id)).toEqual([]);
      await t.operator.delete(`/accounts/account${names}/servers/${server}`);
      await t.write(async (tx) => removeServer(tx, await requireServer(tx, server)));
    });
  });

  describe('GET /node/echo', () => {
    const echo = (headers: Record<string, string> = {}) => t.with().get('/node/echo', headers);

    it('shows any caller the address that the request came from, and nothing may cache it', async () => {
      const { status, body, headers } = await echo();
      expect([status, body]).toEqual([200, { address: '127.0.0.1' }]);
      expect(headers.get('cache-control')).toBe('no-store');
      expect((await t.with('Bearer nonsense').get('/node/echo')).status).toBe(200);
    });

    it.each([
      ['203.0.113.7', '203.0.113.7'],
      ['::ffff:203.0.113.7', '203.0.113.7'],
      ['2001:DB8::0:1', '2001:db8::1'],
      ['198.51.100.9, 203.0.113.7', '203.0.113.7'],
    ])('behind a trusted proxy "%s" comes from %s', async (forwarded, address) => {
      expect((await echo({ 'x-forwarded-for': forwarded })).body).toEqual({ address });
    });

    it('takes no query and no other method', async () => {
      expect((await t.with().get('/node/echo?a=b')).status).toBe(400);
      const { status, headers } = await t.with().post('/node/echo', {});
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    });
  });
});
