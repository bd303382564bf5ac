// Servers of the network and of a contract: what each variant shows, limits, health that grows old,
// geo status.
import { beforeAll, describe, expect, it } from 'vitest';
import type { Variant } from '../src/api/account/session.ts';
import { bumpVersion } from '../src/changes/changes.ts';
import { setContractServer } from '../src/contract_servers/contract_servers.ts';
import { setGeoStatuses } from '../src/geo/geo.ts';
import { recordHealth, requireServer, type Service } from '../src/servers/servers.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { startTestApp } from './harness.ts';

eachApp((t, database) => {
  let acme: BuiltAccount;
  let names = 0;

  beforeAll(async () => {
    await t.server('fra1', { exit_ips: ['192.0.2.1', '192.0.2.2'] });
    await t.server('ams2', {
      title: 'Amsterdam',
      city: 'Amsterdam',
      country: 'NL',
      latitude: 52.37,
      longitude: 4.9,
    });
    await t.server('lon1', { exit_ips: [] });
    acme = await t.account('acme', { servers: ['fra1', 'ams2'] });
  });

  const get = async (path: string, variant: Variant = 'current', of = acme) =>
    (await t.as(of, variant).get(path)).body;
  const named = (records: Array<{ server: string }>) => records.map(({ server }) => server);

  describe('GET /v0/servers', () => {
    it('shows every server, by name, with the number of its exit IPs, to every account alike', async () => {
      const other = await t.account('other');
      const shown = await get('/servers');
      expect(
        shown.map((server: { hostname: string; ip_count: number }) => [
          server.hostname,
          server.ip_count,
        ]),
      ).toEqual([
        ['ams2.exitward.example', 1],
        ['fra1.exitward.example', 2],
        ['lon1.exitward.example', 0],
      ]);
      expect(await get('/servers', 'current', other)).toEqual(shown);
    });

    it('detail=location adds the location, in both variants', async () => {
      for (const variant of ['current', 'earlier'] as const) {
        const [first] = await get('/servers?detail=location', variant);
        expect(first.location).toEqual({
          city: 'Amsterdam',
          country: 'NL',
          latitude: 52.37,
          longitude: 4.9,
        });
        expect((await get('/servers', variant))[0]).not.toHaveProperty('location');
      }
    });
  });

  describe('services', () => {
    it.each<[Service[], string[]]>([
      [['proxy'], ['proxy']],
      [['proxy-https'], ['proxy']],
      [['proxy', 'proxy-https'], ['proxy']],
      [['vpn-ikev1', 'vpn-ikev2', 'vpn-l2tp'], ['vpn']],
      [
        ['proxy-https', 'vpn-l2tp'],
        ['proxy', 'vpn'],
      ],
      [[], []],
    ])('%j show as %j in the earlier variant', async (services, earlier) => {
      const server = `svc${++names}`;
      await t.server(server, { services });
      const account = await t.account(`svc${names}`, { servers: [server] });
      expect((await get('/contract/servers', 'current', account))[0].services).toEqual(services);
      expect((await get('/contract/servers', 'earlier', account))[0].services).toEqual(earlier);
      const ofNetwork = (await get('/servers', 'earlier')).find((row: { hostname: string }) =>
        row.hostname.startsWith(`${server}.`),
      );
      expect(ofNetwork.services).toEqual(earlier);
    });
  });

  describe('GET /v0/contract/servers', () => {
    it('shows the servers of this contract alone, by name', async () => {
      expect(named(await get('/contract/servers'))).toEqual(['ams2', 'fra1']);
      const none = await t.account(`none${++names}`);
      expect(await get('/contract/servers', 'current', none)).toEqual([]);
    });

    it.each([
      ['fra1', ['fra1']],
      ['fra1,ams2', ['ams2', 'fra1']],
      ['fra1,fra1', ['fra1']],
      ['fra1,lon1', ['fra1']],
      ['lon1', []],
      ['unknown', []],
      ['FRA1', []],
      ['fra1%2Cams2', ['ams2', 'fra1']],
    ])('server=%s restricts to %j', async (server, expected) => {
      expect(named(await get(`/contract/servers?server=${server}`))).toEqual(expected);
    });

    it.each([
      '',
      '?detail=usage',
      '?detail=location',
      '?detail=geostatus',
      '?detail=usage,location,geostatus',
      '?detail=usage,usage',
    ])('one server and the list show the same record: %s', async (query) => {
      for (const variant of ['current', 'earlier'] as const) {
        const all = await get(`/contract/servers${query}`, variant);
        for (const [at, server] of ['ams2', 'fra1'].entries()) {
          expect(await get(`/contract/servers/${server}${query}`, variant)).toEqual(all[at]);
          const filter = `${query ? `${query}&` : '?'}server=${server}`;
          expect(await get(`/contract/servers${filter}`, variant)).toEqual([all[at]]);
        }
      }
    });

    it('exit IPs come in the order of their port bases', async () => {
      const { ips } = await get('/contract/servers/fra1');
      expect(ips.map(({ ip, port_base }: Record<string, unknown>) => [ip, port_base])).toEqual([
        ['192.0.2.1', 1],
        ['192.0.2.2', 2],
      ]);
    });
  });

  describe('usage.limit', () => {
    it.each([
      // detailed billing, own limit, current variant, earlier variant
      [true, 5_000, 5_000, 5_000],
      [true, null, 9_000, 9_000],
      [true, 0, 0, 0],
      [false, 5_000, 9_000, 5_000],
      [false, null, 9_000, 9_000],
    ])(
      'detailed billing %s, own limit %s: current shows %s, earlier %s',
      async (detailed_billing, own, current, earlier) => {
        const account = await t.account(`limits${++names}`, {
          servers: ['fra1'],
          detailed_billing,
          limit_bytes: 9_000,
        });
        await t.write(async (tx) =>
          setContractServer(tx, account.account, await requireServer(tx, 'fra1'), own),
        );
        const limit = async (variant: Variant) =>
          (await get('/contract/servers/fra1?detail=usage', variant, account)).usage.limit;
        expect([await limit('current'), await limit('earlier')]).toEqual([current, earlier]);
      },
    );
  });

  describe('usage', () => {
    it("is the account's own on that server, and nobody else's", async () => {
      const [first, other] = [
        await t.account(`use${++names}`, { servers: ['fra1', 'ams2'] }),
        await t.account(`use${++names}`, { servers: ['fra1'] }),
      ];
      const node = await t.node('fra1', `meter${names}`);
      const row = { user: 1, at: t.now(), up: 1, down: 2 };
      await node.send('POST', '/usage', {
        boot: 'b',
        seq: 1,
        rows: [{ ...row, account: first.account.id }],
      });
      const usage = async (of: BuiltAccount) =>
        (await get('/contract/servers?detail=usage', 'current', of)).map(
          ({ usage: { current, last_30_days } }: { usage: Record<string, number> }) => [
            current,
            last_30_days,
          ],
        );
      expect(await usage(first)).toEqual([
        [0, 0],
        [3, 3],
      ]);
      expect(await usage(other)).toEqual([[0, 0]]);
    });
  });

  describe('health', () => {
    const report = (ip: string, status: 'ok' | 'warn' | 'crit' | 'unknown', status_time: number) =>
      t.write(async (tx) =>
        recordHealth(tx, (await requireServer(tx, 'fra1')).id, [{ ip, status, status_time }]),
      );
    const shown = async () => {
      const [{ status, status_time }] = (await get('/contract/servers/fra1')).ips;
      return [status, status_time];
    };

    it('never checked: unknown, and the time of the last check is 0', async () => {
      expect(await shown()).toEqual(['unknown', 0]);
    });

    it.each(['ok', 'warn', 'crit', 'unknown'] as const)(
      '%s is shown with the time of the check',
      async (status) => {
        t.clock.advance(10);
        await report('192.0.2.1', status, t.now());
        expect(await shown()).toEqual([status, t.now()]);
      },
    );

    it('no report for 15 minutes: unknown, with the time of the last check, in that second', async () => {
      await report('192.0.2.1', 'ok', t.now());
      const checked = t.now();
      t.clock.advance(899);
      expect(await shown()).toEqual(['ok', checked]);
      t.clock.advance(1);
      expect(await shown()).toEqual(['unknown', checked]);
    });

    it('a report that comes in late does not undo a newer one', async () => {
      t.clock.advance(100);
      await report('192.0.2.1', 'crit', t.now());
      await report('192.0.2.1', 'ok', t.now() - 50);
      expect(await shown()).toEqual(['crit', t.now()]);
    });

    it('the operator sets how old is too old', async () => {
      const app = await startTestApp(await database.url(), { EXITWARD_HEALTH_STALE_SECONDS: '10' });
      await app.server('fra1', { exit_ips: ['192.0.2.1'] });
      const client = app.as(await app.account('acme', { servers: ['fra1'] }));
      await app.write(async (tx) =>
        recordHealth(tx, (await requireServer(tx, 'fra1')).id, [
          { ip: '192.0.2.1', status: 'ok', status_time: tx.now },
        ]),
      );
      const status = async () => (await client.get('/contract/servers/fra1')).body.ips[0].status;
      app.clock.advance(9);
      expect(await status()).toBe('ok');
      app.clock.advance(1);
      expect(await status()).toBe('unknown');
      await app.stop();
    });
  });

  describe('geostatus', () => {
    it('has one property for each provider that has a record of the address, and none otherwise', async () => {
      await t.write(async (tx) => {
        for (const [provider, status] of [
          ['maxmind', 'ok'],
          ['dbip', 'crit'],
        ] as const) {
          await setGeoStatuses(tx, [
            {
              ip: '192.0.2.2',
              provider,
              status,
              status_time: 1_799_999_000,
              country: 'DE',
              distance_km: 10,
            },
          ]);
        }
        await bumpVersion(tx, 0);
      });
      const { ips } = await get('/contract/servers/fra1?detail=geostatus');
      expect(ips.map(({ geostatus }: { geostatus: object }) => geostatus)).toEqual([
        {},
        {
          dbip: { status: 'crit', status_time: 1_799_999_000 },
          maxmind: { status: 'ok', status_time: 1_799_999_000 },
        },
      ]);
      expect((await get('/contract/servers/fra1')).ips[1]).not.toHaveProperty('geostatus');
    });
  });
});
