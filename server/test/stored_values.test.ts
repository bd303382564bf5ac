// Values of before they were checked, put into the database past the verbs: what can be read goes on, and they can be removed.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { keptLog, startTestApp, type TestApp } from './harness.ts';

eachDatabase((database) => {
  const { log, lines } = keptLog();
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_GEOFEED: 'public' }, log);
    await t.server('fra1', { exit_ips: ['198.51.100.1'] });
    await t.server('zrh1', { exit_ips: ['198.51.100.2'] });
    await t.write(async (tx) => {
      for (const [ip, port_base] of [
        ['127.0.0.300', 7],
        ['a/b c', 8],
        ['2001:DB8:0::1', 9],
      ] as const) {
        await tx.run(
          `insert into exit_ips select id, $1, $2, 'unknown', 0 from servers where name = 'fra1'`,
          [ip, port_base],
        );
      }
      await tx.run(`update servers set hostname = 'Not a Hostname' where name = 'zrh1'`);
    });
  });
  afterAll(() => t.stop());
  const server = async (name: string) => (await t.operator.get(`/servers/${name}`)).body;
  const exits = async () => (await server('fra1')).exit_ips.map(({ ip }: { ip: string }) => ip);

  test('the geofeed leaves out and logs what is no address', async () => {
    for (const { status, text } of [
      await t.with().get('/geofeed.csv'),
      await t.operator.get('/geofeed.csv'),
    ]) {
      expect([status, text.trimEnd().split('\r\n').slice(2)]).toEqual([
        200,
        [
          '198.51.100.1/32,DE,,Frankfurt,',
          '198.51.100.2/32,DE,,Frankfurt,',
          '2001:db8::1/128,DE,,Frankfurt,',
        ],
      ]);
    }
    const told = lines.filter(({ msg }) => String(msg).includes('exitward exit remove'));
    const bad = { server: 'fra1', ip: '127.0.0.300' };
    expect(told).toContainEqual(expect.objectContaining(bad));
  });

  test('an inventory that was written is imported again, and changes nothing', async () => {
    const json = (await t.operator.get('/inventory')).body;
    expect((await t.operator.post('/inventory', json)).body).toMatchObject({ unchanged: 2 });
    const csv = (await t.operator.get('/inventory.csv')).text;
    const type = { 'content-type': 'text/csv' };
    expect((await t.operator.post('/inventory', csv, type)).body).toMatchObject({ unchanged: 2 });
    // On another server it is a new value.
    const [fra1, zrh1] = json.servers;
    const moved = { ...zrh1, exit_ips: [{ ip: '127.0.0.300', port_base: 1 }] };
    const fault = await t.operator.post('/inventory', { servers: [fra1, moved] });
    expect([fault.status, fault.body.code]).toEqual([400, 'inventory_invalid']);
  });

  test('a server with one takes other changes, and a hostname that is one', async () => {
    const hostname = 'Not a Hostname';
    for (const change of [{ title: 'Other' }, { title: 'Another', hostname }]) {
      expect((await t.operator.patch('/servers/zrh1', change)).status).toBe(200);
    }
    expect((await server('zrh1')).hostname).toBe(hostname);
    expect((await t.operator.patch('/servers/fra1', { hostname })).status).toBe(400);
    const good = await t.operator.patch('/servers/zrh1', { hostname: 'ZRH1.example.net' });
    expect(good.body.hostname).toBe('zrh1.example.net');
  });

  test('an exit IP is removed by what is stored, or by any spelling of the same', async () => {
    const remove = async (ip: string) =>
      (await t.operator.delete(`/servers/fra1/exits/${encodeURIComponent(ip)}`)).status;
    expect(await remove('127.0.0.301')).toBe(400);
    const moved = await t.operator.put('/servers/fra1/exits/2001:db8::1', { port_base: 10 });
    expect([moved.status, await exits()]).toEqual([
      200,
      ['198.51.100.1', '127.0.0.300', 'a/b c', '2001:DB8:0::1'],
    ]);
    expect(await remove('127.0.0.300')).toBe(204);
    expect(await remove('127.0.0.300')).toBe(400);
    expect(await remove('2001:db8:0:0::1')).toBe(204);
    expect(await remove('2001:db8::1')).toBe(404);
    expect(await exits()).toEqual(['198.51.100.1', 'a/b c']);
  });

  test('a manifest that leaves one out removes it', async () => {
    const { title, city, country, latitude, longitude, services, hostname } = await server('fra1');
    const fra1 = { name: 'fra1', title, city, country, latitude, longitude, services, hostname };
    const exit_ips = [{ ip: '198.51.100.1', port_base: 1 }];
    const { body } = await t.operator.put('/manifests/net', { servers: [{ ...fra1, exit_ips }] });
    expect(body.changes).toMatchObject([{ action: 'change', name: 'fra1', fields: ['exit_ips'] }]);
    expect(await exits()).toEqual(['198.51.100.1']);
  });
});
