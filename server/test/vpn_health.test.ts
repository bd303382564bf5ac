// The VPN's health as several nodes report it: shown to people and operators beside that of the
// exits, and to no client of /v0.
import { expect, it } from 'vitest';
import { networkVersion } from '../src/changes/changes.ts';
import { changeServer, removeExitIp, requireServer } from '../src/servers/servers.ts';
import { eachApp } from './apps.ts';
import type { TestNode } from './node.ts';

eachApp((t) => {
  let names = 0;

  const both = ['vpn-ikev2', 'vpn-ikev1'] as const;
  const ack = async (node: TestNode) => {
    await node.snapshot();
    await node.ack();
  };

  /** A server with two services of a VPN at two exits, and two live nodes. */
  async function scene() {
    const server = `vpn${++names}`;
    const [ip, other] = [`198.18.${names}.1`, `198.18.${names}.2`] as const;
    await t.server(server, { exit_ips: [ip, other], services: ['proxy', ...both] });
    const account = await t.account(`account${names}`, { servers: [server] });
    const node = await t.node(server);
    const twin = await t.node(server, 'twin');
    for (const follower of [node, twin]) await ack(follower);
    const check = (service: string, status = 'ok', more: object = {}) => {
      return { service, ip, status, checked_at: t.now(), ...more };
    };
    /** The first exit, as its operator sees it: `vpn-ikev2 ok`. */
    const shown = async () =>
      (await t.operator.get(`/servers/${server}`)).body.exit_ips[0].vpn.map(
        ({ service, status }: Record<string, string>) => `${service} ${status}`,
      );
    return { server, ip, other, account, node, twin, check, shown };
  }

  const report = async (node: TestNode, services: object[], certificate_expiry: unknown = null) =>
    (await node.send('POST', '/health', { exit_ips: [], vpn: { services, certificate_expiry } }))
      .status;

  it('an operator and the people of an account see each service at each exit; /v0 does not show them', async () => {
    const { server, ip, account, node, check } = await scene();
    const before = (await t.as(account).get('/contract/servers')).text;
    expect(await report(node, [check('vpn-ikev2'), check('vpn-ikev1', 'crit')])).toBe(200);
    const health = [
      { service: 'vpn-ikev2', status: 'ok', status_time: t.now() },
      { service: 'vpn-ikev1', status: 'crit', status_time: t.now() },
    ];
    const unknown = both.map((service) => ({ service, status: 'unknown', status_time: 0 }));
    const { exit_ips } = (await t.operator.get(`/servers/${server}`)).body;
    expect(exit_ips.map(({ vpn }: { vpn: unknown }) => vpn)).toEqual([health, unknown]);
    const path = `/accounts/account${names}/servers`;
    const alice = await t.signIn(`account${names}`, 'alice');
    for (const { body } of [await alice.get('/servers'), await t.operator.get(path)]) {
      expect(body[0].ips.map(({ vpn }: { vpn: unknown }) => vpn)).toEqual([health, unknown]);
    }
    expect((await t.as(account).get('/contract/servers')).text).toBe(before);
    expect(before).toContain(ip);
  });

  it('a service that the server does not list is not shown, nor one at an exit of IPv6 or of another server', async () => {
    const { server, node, check, shown } = await scene();
    const foreign = await scene();
    await t.operator.put(`/servers/${server}/exits/2001:db8:${names}::1`, { port_base: 9 });
    const other = check('vpn-l2tp');
    await report(node, [check('vpn-ikev2'), other, { ...other, ip: foreign.ip }]);
    expect(await shown()).toEqual(['vpn-ikev2 ok', 'vpn-ikev1 unknown']);
    expect(await foreign.shown()).toEqual(['vpn-ikev2 unknown', 'vpn-ikev1 unknown']);
    const { exit_ips } = (await t.operator.get(`/servers/${server}`)).body;
    expect(exit_ips.at(-1)).toMatchObject({ ip: `2001:db8:${names}::1`, vpn: [] });
    await t.write(async (tx) =>
      changeServer(tx, await requireServer(tx, server), { services: ['vpn-l2tp'] }),
    );
    expect(await shown()).toEqual(['vpn-l2tp ok']);
  });

  it.each([
    ['crit', 'ok', 'crit'],
    ['ok', 'warn', 'warn'],
    ['unknown', 'ok', 'ok'],
  ])('of two nodes that say %s and %s the worst shows: %s', async (first, second, worst) => {
    const { node, twin, check, shown } = await scene();
    await report(node, [check('vpn-ikev2', first)]);
    await report(twin, [check('vpn-ikev2', second)]);
    expect((await shown())[0]).toBe(`vpn-ikev2 ${worst}`);
  });

  it('a report is all that a node serves: what is left out is gone, and so is a VPN that an agent does not report', async () => {
    const { server, ip, node, check, shown } = await scene();
    const certificate = async () => [
      (await t.operator.get(`/servers/${server}`)).body.certificate_expiry,
      (await t.operator.get(`/nodes/${node.id}`)).body.certificate_expiry,
    ];
    await report(node, [check('vpn-ikev2'), check('vpn-ikev1')], 1_900_000_000);
    expect(await certificate()).toEqual([1_900_000_000, 1_900_000_000]);
    await report(node, [check('vpn-ikev1')], 1_900_000_001);
    expect(await shown()).toEqual(['vpn-ikev2 unknown', 'vpn-ikev1 ok']);
    expect(await certificate()).toEqual([1_900_000_001, 1_900_000_001]);
    // As older agents report.
    const exit_ips = [{ ip, status: 'ok', checked_at: t.now() }];
    const answer = await node.send('POST', '/health', { exit_ips });
    expect([answer.status, await answer.json()]).toEqual([200, { known: 1 }]);
    expect(await shown()).toEqual(['vpn-ikev2 unknown', 'vpn-ikev1 unknown']);
    expect(await certificate()).toEqual([null, null]);
  });

  it('of several nodes the certificate that ends first is that of the server', async () => {
    const { server, node, twin } = await scene();
    await report(node, [], 1_900_000_000);
    await report(twin, [], 1_800_000_000);
    const { body } = await t.operator.get(`/servers/${server}`);
    expect(body.certificate_expiry).toBe(1_800_000_000);
    await t.operator.delete(`/nodes/${twin.id}`);
    const after = (await t.operator.get(`/servers/${server}`)).body;
    expect(after.certificate_expiry).toBe(1_900_000_000);
  });

  it('a drained node does not count, and where all are drained it is crit', async () => {
    const { node, twin, check, shown } = await scene();
    await report(node, [check('vpn-ikev2', 'warn')]);
    await report(twin, [check('vpn-ikev2', 'ok')]);
    const drain = (node: TestNode, drained: boolean) =>
      t.operator.patch(`/nodes/${node.id}`, { drained });
    await drain(node, true);
    expect((await shown())[0]).toBe('vpn-ikev2 ok');
    await drain(twin, true);
    expect((await shown())[0]).toBe('vpn-ikev2 crit');
    await drain(node, false);
    expect((await shown())[0]).toBe('vpn-ikev2 warn');
  });

  it('an offline or revoked node does not count next to a live one; alone it does until its report is too old', async () => {
    const { node, twin, check, shown } = await scene();
    await report(node, [check('vpn-ikev2', 'crit')]);
    await report(twin, [check('vpn-ikev2', 'ok')]);
    t.clock.advance(46);
    await ack(twin);
    await t.pass(1);
    expect((await shown())[0]).toBe('vpn-ikev2 ok');
    await t.operator.delete(`/nodes/${twin.id}`);
    expect((await shown())[0]).toBe('vpn-ikev2 crit');
    t.clock.advance(900 - 48);
    expect((await shown())[0]).toBe('vpn-ikev2 crit');
    t.clock.advance(1);
    expect((await shown())[0]).toBe('vpn-ikev2 unknown');
  });

  it('a report from the future counts as now, one in another spelling of the address counts, and nonsense is rejected', async () => {
    const { server, ip, node, check } = await scene();
    await report(node, [
      check('vpn-ikev2', 'ok', { ip: `::ffff:${ip}`, checked_at: t.now() + 900 }),
    ]);
    const [{ vpn }] = (await t.operator.get(`/servers/${server}`)).body.exit_ips;
    expect(vpn[0]).toEqual({ service: 'vpn-ikev2', status: 'ok', status_time: t.now() });
    for (const wrong of [
      { service: 'proxy' },
      { status: 'fine' },
      { checked_at: 0 },
      { more: 1 },
    ]) {
      expect(await report(node, [{ ...check('vpn-ikev2'), ...wrong }])).toBe(400);
    }
    expect(await report(node, [], 0)).toBe(400);
    expect(await report(node, Array(3001).fill(check('vpn-ikev2')))).toBe(400);
  });

  it('an exit that is removed takes its reports along, and so does a server', async () => {
    const { server, ip, other, node, check } = await scene();
    await report(node, [check('vpn-ikev2'), check('vpn-ikev2', 'ok', { ip: other })]);
    const rows = () =>
      t.running.ctx.db.all('select ip from node_vpn_health where node_id = $1', [node.id]);
    expect(await rows()).toHaveLength(2);
    await t.write(async (tx) => removeExitIp(tx, await requireServer(tx, server), ip));
    expect(await rows()).toEqual([{ ip: other }]);
    await t.operator.delete(`/accounts/account${names}/servers/${server}`);
    expect((await t.operator.delete(`/servers/${server}`)).status).toBe(204);
    expect(await rows()).toEqual([]);
  });

  it('each report moves the version of the network, so that open pages read it', async () => {
    const { node, check } = await scene();
    const version = async () => (await t.running.ctx.versions.current(networkVersion)).network;
    const before = await version();
    await report(node, [check('vpn-ikev2')]);
    expect(await version()).toBeGreaterThan(before);
  });
});
