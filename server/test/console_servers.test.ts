// The console's servers: those on the contract, those of the network, and who puts one on the
// other.
import { beforeAll, expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { type Browser, startTestApp } from './harness.ts';

eachApp((t, database) => {
  let acme: BuiltAccount;
  let alice: Browser;

  beforeAll(async () => {
    await t.operator.post('/port_schemes', {
      name: 'high',
      bases: [{ base: 40000, service: 'proxy' }],
    });
    await t.server('fra1', { exit_ips: ['198.51.100.10', '198.51.100.11'] });
    await t.server('ams1');
    await t.server('high1', { port_schemes: ['high'] });
    acme = await t.account('acme', { servers: ['fra1'] });
    // On another contract, too: neither its exit IPs nor its nodes are counted twice.
    await t.account('globex', { servers: ['fra1'] });
    alice = await t.signIn('acme', 'alice');
  });

  test('a server of the contract is shown with health, usage, nodes, and the ports of each exit IP', async () => {
    const node = await t.node('fra1');
    const lost = await t.node('fra1', 'lost');
    const revoked = await t.node('fra1', 'revoked');
    for (const follower of [node, lost, revoked]) {
      await follower.snapshot();
      await follower.ack();
    }
    // With the reports of the revoked node the status of the exits goes.
    const status_time = t.now();
    await t.operator.delete(`/nodes/${revoked.id}`);
    t.clock.advance(50);
    await node.ack();
    await t.pass(20);
    await node.send('POST', '/health', {
      exit_ips: [{ ip: '198.51.100.10', status: 'ok', checked_at: t.now() }],
    });
    await node.send('POST', '/usage', {
      boot: 'b',
      seq: 1,
      rows: [{ account: acme.account.id, user: 1, at: t.now(), up: 7, down: 8 }],
    });
    const { status, body } = await alice.get('/servers');
    expect(status).toBe(200);
    const ports = (port_base: number) =>
      [10000, 11000, 12000].map((base) => ({
        port: base + port_base,
        override_port: base + port_base + 500,
        service: base === 12000 ? 'proxy-https' : 'proxy',
      }));
    const vpn = [{ service: 'vpn-ikev2', status: 'unknown', status_time: 0 }];
    const exit = { geostatus: {}, status_time, status: 'unknown', vpn };
    expect(body).toEqual([
      {
        server: 'fra1',
        hostname: 'fra1.exitward.example',
        title: 'Metro of fra1',
        services: ['proxy', 'proxy-https', 'vpn-ikev2'],
        location: { city: 'Frankfurt', country: 'DE', latitude: 50.1155, longitude: 8.6842 },
        usage: { limit: 1_000_000_000_000, current: 15, last_30_days: 15 },
        limit_bytes: null,
        over_limit: false,
        added_at: t.now() - 70,
        nodes: { all: 2, live: 1 },
        ips: [
          {
            ...exit,
            ip: '198.51.100.10',
            port_base: 1,
            status: 'ok',
            status_time: t.now(),
            ports: ports(1),
          },
          { ...exit, ip: '198.51.100.11', port_base: 2, ports: ports(2) },
        ],
      },
    ]);
  });

  test('the network says which servers are on the contract, and which can be added', async () => {
    const { body } = await alice.get('/network');
    const flags = body.map((record: Record<string, unknown>) => [
      record.server,
      record.ip_count,
      record.on_contract,
      record.can_add,
    ]);
    expect(flags).toEqual([
      ['ams1', 1, false, true],
      ['fra1', 2, true, false],
      ['high1', 1, false, false],
    ]);
    expect(body[0]).toMatchObject({
      hostname: 'ams1.exitward.example',
      title: 'Metro of ams1',
      services: ['proxy', 'proxy-https', 'vpn-ikev2'],
      location: { country: 'DE' },
    });
  });

  test('an admin adds a server and takes it off; what is there already stays as it is', async () => {
    const added = await alice.put('/servers/ams1', undefined);
    expect([added.status, added.body.server]).toEqual([201, 'ams1']);
    expect(added.headers.get('location')).toBe('/console/servers/ams1');
    const names = async () =>
      (await t.as(acme).get('/contract/servers')).body.map((row: { server: string }) => row.server);
    expect(await names()).toEqual(['ams1', 'fra1']);
    await t.operator.put('/accounts/acme/servers/ams1', { limit_bytes: 5 });
    // A person sets no limits, whatever the body says.
    const again = await alice.put('/servers/ams1', { limit_bytes: 7 });
    expect([again.status, again.body]).toMatchObject([200, { server: 'ams1', limit_bytes: 5 }]);
    const { body } = await t.operator.get('/accounts/acme/servers');
    expect(body[0]).toMatchObject({ server: 'ams1', limit_bytes: 5 });
    expect((await alice.delete('/servers/ams1')).status).toBe(204);
    expect(await names()).toEqual(['fra1']);
    expect((await alice.delete('/servers/ams1')).status).toBe(404);
  });

  test('a server that is not there is 404, one on another port scheme 409', async () => {
    expect((await alice.put('/servers/nowhere', undefined)).status).toBe(404);
    const { status, body } = await alice.put('/servers/high1', undefined);
    expect([status, body.message]).toEqual([409, expect.stringContaining('port scheme')]);
  });

  test('where the operator keeps contracts, nobody else changes them', async () => {
    const own = await startTestApp(await database.url(), {
      EXITWARD_CONTRACT_SERVERS: 'operator',
    });
    await own.server('fra1');
    await own.server('ams1');
    await own.account('acme', { servers: ['fra1'] });
    const admin = await own.signIn('acme', 'alice');
    expect((await admin.put('/servers/ams1', undefined)).status).toBe(403);
    expect((await admin.delete('/servers/fra1')).status).toBe(403);
    for (const path of ['/servers/add', '/servers/remove']) {
      expect((await admin.post(path, { servers: 1 })).status).toBe(403);
    }
    const { body } = await admin.get('/network');
    expect(body.map((row: { can_add: boolean }) => row.can_add)).toEqual([false, false]);
    await own.stop();
  });
});
