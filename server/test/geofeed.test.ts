// The geofeed (RFC 8805), for the operator and for everybody, and the command line of all that is
// geo.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { CachedGeofeed } from '../src/geofeed/geofeed.ts';
import { changeServer, recordHealth, requireServer } from '../src/servers/servers.ts';
import { CommandLine } from './cli_process.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';
import { mmdbFile } from './mmdb.ts';

const head =
  '# Where the exit IPs of this network are (RFC 8805).\r\n# ip_prefix,alpha2code,region,city,postal_code\r\n';

eachDatabase((database) => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_GEOFEED: 'public' });
    await t.server('fra1', {
      city: 'Frankfurt am Main',
      exit_ips: ['198.51.100.10', '2001:db8::a', '198.51.100.9', '9.9.9.9', '2001:db8::9:1'],
    });
    await t.server('was1', { city: 'Washington, D.C. #1', country: 'US', exit_ips: ['192.0.2.1'] });
    await t.server('zrh1', { city: 'Zürich', country: 'CH', exit_ips: ['192.0.2.2'] });
    await t.server('odd1', { city: '#,\n"', country: 'CH', exit_ips: ['192.0.2.3'] });
  });
  afterAll(() => t.stop());
  const feed = () => t.with().get('/geofeed.csv');

  test('has a line for each exit IP, IPv4 before IPv6 and by number, each with five fields', async () => {
    const { status, headers, text } = await t.operator.get('/geofeed.csv');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(text).toBe(
      `${head}${[
        '9.9.9.9/32,DE,,Frankfurt am Main,',
        '192.0.2.1/32,US,,Washington D.C. 1,',
        '192.0.2.2/32,CH,,Zürich,',
        '192.0.2.3/32,CH,,,',
        '198.51.100.9/32,DE,,Frankfurt am Main,',
        '198.51.100.10/32,DE,,Frankfurt am Main,',
        '2001:db8::a/128,DE,,Frankfurt am Main,',
        '2001:db8::9:1/128,DE,,Frankfurt am Main,',
        '',
      ].join('\r\n')}`,
    );
  });

  test('is the same for everybody, without a token, and may be kept for a while', async () => {
    const { status, headers, text } = await feed();
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(text).toBe((await t.operator.get('/geofeed.csv')).text);
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    expect(headers.get('vary')).toBe(null);
    const etag = headers.get('etag') as string;
    const again = await t.with().get('/geofeed.csv', { 'if-none-match': etag });
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
    expect((await t.with().send('HEAD', '/geofeed.csv')).headers.get('etag')).toBe(etag);
    expect((await t.with().post('/geofeed.csv', {})).status).toBe(405);
  });

  test('the operator’s needs a token', async () => {
    const url = `${t.running.admin_url}/admin/geofeed.csv`;
    expect((await fetch(url)).status).toBe(401);
  });

  test('shows a change at once, and is not generated again for anything else', async () => {
    const { ctx } = t.running;
    const cached = new CachedGeofeed(ctx.db, ctx.versions, ctx.log);
    const first = await cached.current();
    const healthy = { ip: '9.9.9.9', status: 'ok' as const, status_time: t.now() };
    await t.write(async (tx) => {
      const { id } = await requireServer(tx, 'fra1');
      expect(await recordHealth(tx, id, [healthy])).toBe(1);
    });
    expect(await cached.current()).toBe(first);
    const { headers } = await feed();
    await t.write(async (tx) =>
      changeServer(tx, await requireServer(tx, 'zrh1'), { city: 'Genève' }),
    );
    const after = await feed();
    expect(after.text).toContain('192.0.2.2/32,CH,,Genève,\r\n');
    expect(after.headers.get('etag')).not.toBe(headers.get('etag'));
    expect((await cached.current()).etag).toBe(after.headers.get('etag'));
  });

  test('is not public unless the operator says so', async () => {
    const off = await startTestApp(await database.url());
    expect((await off.with().get('/geofeed.csv')).status).toBe(404);
    expect((await off.operator.get('/geofeed.csv')).text).toBe(head);
    expect((await off.operator.get('/status')).body.geofeed).toBe(null);
    const { public_url } = t.running.ctx.config;
    expect((await t.operator.get('/status')).body.geofeed).toBe(`${public_url}/geofeed.csv`);
    await off.stop();
  });
});

describe('the command line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'exitward-geofeed-'));
  const file = join(folder, 'city.mmdb');
  const far = { country_code: 'DE', city: 'Berlin', latitude: 52.52, longitude: 13.405 };
  writeFileSync(
    file,
    mmdbFile({ '198.51.100.1/32': far, '198.51.100.2/32': { country_code: 'FR' } }),
  );
  const cli = new CommandLine({ EXITWARD_GEOIP: `city=${file}` });
  beforeAll(async () => {
    await cli.serve();
    const place = ['--country', 'DE', '--latitude', '50.1155', '--longitude', '8.6842'];
    for (const [name, ip] of [
      ['fra2', '198.51.100.1'],
      ['fra1', '198.51.100.2'],
    ] as const) {
      const words = ['--hostname', `${name}.example.net`, '--title', 'Frankfurt'];
      const more = ['--city', 'Frankfurt', '--services', 'proxy', ...place];
      await cli.run('server', 'add', name, ...words, ...more);
      await cli.run('exit', 'add', name, ip, '--port-base', '1');
    }
  });
  afterAll(async () => {
    await cli.clean();
    rmSync(folder, { recursive: true, force: true });
  });

  test('geo check counts, geo list shows country and distance by server', async () => {
    const check = await cli.run('geo', 'check');
    expect([check.code, check.stdout]).toEqual([0, 'city\t0\t1\t1\t0\t0\n']);
    expect(check.stderr).toMatch(/^Looked up 2 exit IPs; \d statuses were written\.\n$/);
    const list = await cli.run('geo', 'list');
    expect(list.stdout.replace(/\d{10}/g, 'TIME')).toBe(
      'fra1\t198.51.100.2\tcity\tcrit\tFR\t\tTIME\nfra2\t198.51.100.1\tcity\twarn\tDE\t423.1\tTIME\n',
    );
    const selected = await cli.run('geo', 'list', '--server', 'fra2', '--status', 'warn', '--json');
    expect(JSON.parse(selected.stdout)).toEqual([
      expect.objectContaining({ ip: '198.51.100.1', distance_km: 423.1 }),
    ]);
    expect((await cli.run('geo', 'list', '--status', 'far')).code).toBe(2);
  });

  test('geo feed prints the geofeed to the last byte', async () => {
    const { code, stdout, stderr } = await cli.run('geo', 'feed');
    expect([code, stderr, stdout]).toEqual([
      0,
      '',
      `${head}198.51.100.1/32,DE,,Frankfurt,\r\n198.51.100.2/32,DE,,Frankfurt,\r\n`,
    ]);
  });

  test('status shows the databases', async () => {
    const { stdout } = await cli.run('status');
    expect(stdout).toContain(`city\t${file}\tTest-City\t1790000000\t\n`);
  });

  deepTest('a server does not start with a file that it cannot use, and says which', async () => {
    const other = new CommandLine({ EXITWARD_GEOIP: `city=${folder}/none.mmdb` });
    await expect(other.serve()).rejects.toThrow(
      `EXITWARD_GEOIP: ${folder}/none.mmdb of city cannot be read (ENOENT).\n`,
    );
    await other.clean();
  });
});
