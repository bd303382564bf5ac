// Values from before they were checked, put into the database past the verbs: readable ones go on,
// and they can be removed.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordChange } from '../src/changes/changes.ts';
import { requireServer, serverChanged } from '../src/servers/servers.ts';
import { eachDatabase } from './databases.ts';
import { keptLog, startTestApp, type TestApp } from './harness.ts';
import type { NodeRecord, TestNode } from './node.ts';
import { until } from './waiting.ts';

/** The part of a server's record that the test reads. */
interface Server {
  services: unknown;
  port_schemes: Array<{ bases: unknown }>;
}

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
          `insert into exit_ips (server_id, ip, port_base, status, status_time) select id, $1, $2, 'unknown', 0 from servers where name = 'fra1'`,
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
    const warnings = lines.filter(({ msg }) => String(msg).includes('exitward exit remove'));
    const bad = { server: 'fra1', ip: '127.0.0.300' };
    expect(warnings).toContainEqual(expect.objectContaining(bad));
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

  test('a column that should hold JSON: other servers hear of revocations, its nodes of what it holds, and it can be corrected', async () => {
    const [acme, both] = [await t.account('acme', { servers: ['zrh1'] }), ['fra1', 'zrh1']];
    const odd = { name: 'odd', bases: [{ base: 20_000, service: 'proxy' }] };
    expect((await t.operator.post('/port_schemes', odd)).status).toBe(201);
    const schemes = { port_schemes: ['default', 'odd'] };
    expect((await t.operator.patch('/servers/fra1', schemes)).status).toBe(200);
    const nodes = await Promise.all(both.map((name) => t.node(name)));
    for (const node of nodes) {
      await node.snapshot();
      await node.follow();
    }
    const stored = [
      ['servers', 'services', 'fra1', ['', 'proxy', 'null', '5', '{}', '["proxy", 7]']],
      ['port_schemes', 'bases', 'odd', ['', 'null', '{"base":1}', '[null, {"base":"1"}]']],
    ] as const;
    let address = 0;
    for (const [table, column, name, texts] of stored) {
      for (const text of texts) {
        const about = `${column} ${text}`;
        const ip = `203.0.113.${++address}`;
        const entry = { user: 'alice', ip, expiry: t.now() + 600 };
        const { id } = (await t.as(acme).post('/contract/ip-authlist', entry)).body;
        await t.write(async (tx) => {
          await tx.run(`update ${table} set ${column} = $1 where name = $2`, [text, name]);
          await serverChanged(tx, (await requireServer(tx, 'fra1')).id);
        });
        await t.as(acme).delete(`/contract/ip-authlist/${id}`);
        const [fra, zrh] = nodes as [TestNode, TestNode];
        await zrh.until(() =>
          zrh.heard('authlist').some((record) => record.id === id && !record.value),
        );
        const raw = text === '' || text === 'proxy' ? text : JSON.parse(text);
        const shown = (record: NodeRecord | undefined) => {
          const value = record?.value as Server | undefined;
          return column === 'services' ? value?.services : value?.port_schemes[1]?.bases;
        };
        expect(shown((await fra.snapshot())[0]), about).toEqual(raw);
        await fra.until(() => fra.heard('server').length >= address);
        expect(shown(fra.heard('server').at(-1)), about).toEqual(raw);
        for (const path of [
          ...['/servers', '/servers/fra1', '/servers?limit=9', '/inventory', '/inventory.csv'],
          ...['/port_schemes', '/accounts', '/accounts/acme/servers', '/geofeed.csv'],
        ]) {
          expect((await t.operator.get(path)).status, `${about} ${path}`).toBe(200);
        }
        expect((await t.as(acme).get('/servers')).status, about).toBe(200);
      }
    }
    const services = ['proxy'];
    const mended = await t.operator.patch('/servers/fra1', { services });
    expect([mended.status, mended.body.services]).toEqual([200, services]);
    const bases = (await t.operator.patch('/port_schemes/odd', { bases: odd.bases })).body;
    expect(bases).toMatchObject(odd);
    await t.operator.delete('/accounts/acme/servers/zrh1');
    await t.operator.patch('/servers/fra1', { port_schemes: ['default'] });
  });

  test('a whole number that no number of JavaScript holds: nodes hear of all other changes, and of it', async () => {
    const acme = await t.account('beta', { servers: ['zrh1'] });
    const add = async (ip: string) => {
      const entry = { user: 'alice', ip, expiry: t.now() + 600 };
      return (await t.as(acme).post('/contract/ip-authlist', entry)).body.id as number;
    };
    const [odd, gone] = [await add('203.0.113.101'), await add('203.0.113.102')];
    const node = await t.node('zrh1');
    await node.snapshot();
    await node.follow();
    await t.write(async (tx) => {
      const account_id = acme.account.id;
      const sql = 'update authlist set expiry = $1 where account_id = $2 and id = $3';
      await tx.run(sql, [2n ** 60n, account_id, odd]);
      await recordChange(tx, { kind: 'authlist', account_id, record_id: odd });
    });
    await t.as(acme).delete(`/contract/ip-authlist/${gone}`);
    await node.until(() =>
      node.heard('authlist').some((record) => record.id === gone && !record.value),
    );
    const value = { expiry: 2 ** 60 };
    expect(node.heard('authlist')[0]).toMatchObject({ id: odd, value });
    const entries = (await node.snapshot()).filter(({ kind }) => kind === 'authlist');
    expect(entries).toMatchObject([{ id: odd, value }]);
    expect((await t.operator.get('/accounts/beta/authlist')).status).toBe(200);
    expect((await t.as(acme).delete(`/contract/ip-authlist/${odd}`)).status).toBe(204);
    await t.operator.delete('/accounts/beta/servers/zrh1');
  });

  test('a change that cannot be read at all ends the access that it is about, and holds up no other', async () => {
    const acme = await t.account('gamma', { servers: ['zrh1'] });
    const add = async (ip: string) => {
      const entry = { user: 'alice', ip, expiry: t.now() + 600 };
      return (await t.as(acme).post('/contract/ip-authlist', entry)).body.id as number;
    };
    const gone = await add('203.0.113.111');
    const node = await t.node('zrh1');
    await node.snapshot();
    await node.follow();
    const override = {
      server: 'zrh1',
      hostname: 'a.example',
      ip: '192.0.2.9',
      expiry: t.now() + 600,
    };
    const { id } = (await t.as(acme).post('/contract/overrides', override)).body;
    await node.until(() => node.heard('override').length === 1);
    const account_id = acme.account.id;
    const late = await t.node('zrh1', 'late');
    await late.snapshot();
    const rename = (from: string, to: string) =>
      t.running.ctx.db.script([`alter table ${from} rename to ${to}`]);
    await rename('overrides', 'overrides_away');
    await t.write((tx) => recordChange(tx, { kind: 'override', account_id, record_id: id }));
    await t.as(acme).delete(`/contract/ip-authlist/${gone}`);
    await node.until(() => node.heard('authlist').some((record) => record.id === gone));
    // One that reads the change later: its stream is cut once.
    await late.follow();
    await until(() => late.ended);
    await late.follow();
    await late.until(() => late.heard('authlist').some((record) => record.id === gone));
    await rename('overrides_away', 'overrides');
    expect(late.heard('override').at(-1)?.value).toBe(null);
    expect(node.heard('override').at(-1)).toEqual({
      kind: 'override',
      account: account_id,
      id,
      value: null,
    });
    const about = { revision: expect.any(Number), kind: 'override', account_id, record_id: id };
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, ...about }));
    node.stop();
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
