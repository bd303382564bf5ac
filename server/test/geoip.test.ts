// Geo-IP databases: records of every shape, files that are read again, and files that are rejected.
import { renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { beforeEach, describe, expect, test } from 'vitest';
import { testFolder } from '../../test/test_folder.ts';
import { Geoip, readRecord } from '../src/values/geoip.ts';
import { keptLog } from './harness.ts';
import { mmdbFile } from './mmdb.ts';

const folder = testFolder('geoip');

let files = 0;
/** A new file with these bytes. */
function install(bytes: Buffer | string): string {
  const file = join(folder, `${++files}.mmdb`);
  writeFileSync(file, bytes);
  return file;
}
const quiet = pino({ level: 'silent' });
const open = (...sources: Array<[provider: string, file: string]>) =>
  Geoip.open(
    sources.map(([provider, file]) => ({ provider, file })),
    quiet,
  );

const frankfurt = { latitude: 50.1155, longitude: 8.6842 };
const nested = (country: string, more: object = {}) => ({
  continent: { code: 'EU', names: { en: 'Europe' } },
  country: { iso_code: country, geoname_id: 2921044n, is_in_european_union: true },
  ...more,
});
const country = (geoip: Geoip, ip: string, provider = 'one') => {
  const place = geoip.find(provider, ip);
  return place === 'unreadable' ? place : place?.country;
};

describe('a record is read by its shape', () => {
  const cases: Array<[what: string, record: unknown, found: unknown]> = [
    [
      'nested, with a place',
      nested('DE', { location: { ...frankfurt, accuracy_radius: 20n } }),
      frankfurt,
    ],
    ['nested, the country alone', nested('DE'), undefined],
    [
      'nested, the middle of the country',
      nested('DE', { location: { latitude: 51.2993, longitude: 9.491, accuracy_radius: 1000 } }),
      undefined,
    ],
    ['flat, with a place', { country_code: 'DE', city: 'Frankfurt', ...frankfurt }, frankfurt],
    ['flat, with a place but no city', { country_code: 'DE', ...frankfurt }, frankfurt],
    ['flat, whose city is empty', { country_code: 'DE', city: '', ...frankfurt }, undefined],
    ['flat, the country alone', { country_code: 'DE' }, undefined],
    ['flat, numbers as text', { country: 'DE', lat: '50.1155', lng: '8.6842' }, frankfurt],
    ['flat, a code beside a name', { country_code: 'DE', country: 'Germany' }, undefined],
    ['flat, a code in small letters', { country_code: 'de' }, undefined],
    ['a place that is none', { country_code: 'DE', latitude: 91, longitude: 8 }, undefined],
    ['half a place', { country_code: 'DE', latitude: 50 }, undefined],
  ];
  test.each(cases)('%s', (_what, record, place) => {
    expect(readRecord(record)).toEqual({ country: 'DE', place });
  });

  test.each([
    [null],
    ['DE'],
    [{}],
    [{ country_code: '' }],
    [{ country_code: 'ZZ' }],
    [{ country_code: 'XX' }],
    [{ country: 'Germany' }],
    [{ country: { names: { en: 'Germany' } } }],
    [{ registered_country: { iso_code: 'DE' } }],
    [{ autonomous_system_number: 3320 }],
  ])('%j names no country, and counts as no record', (record) => {
    expect(readRecord(record)).toBe(undefined);
  });
});

describe('databases', () => {
  test('IPv4 and IPv6 are found in one file, and what it does not hold is not', async () => {
    const geoip = await open([
      'one',
      install(
        mmdbFile({ '198.51.100.0/24': nested('DE'), '2001:db8:1::/48': { country_code: 'NL' } }),
      ),
    ]);
    const places = ['198.51.100.7', '2001:db8:1::7', '198.51.101.7', '2001:db8:2::7', '::1'];
    expect(places.map((ip) => country(geoip, ip))).toEqual([
      'DE',
      'NL',
      ...[1, 2, 3].map(() => undefined),
    ]);
    expect(geoip.find('other', '198.51.100.7')).toBe(undefined);
  });

  test('a file for IPv4 says nothing of an IPv6 address that begins with the same bits', async () => {
    const file = install(mmdbFile({ '32.1.0.0/16': { country_code: 'US' } }, { ip_version: 4 }));
    const geoip = await open(['one', file]);
    expect(country(geoip, '32.1.2.3')).toBe('US');
    expect(country(geoip, '2001:db8::1')).toBe(undefined);
  });

  test('a provider may have a file for each IP version; the first that knows the address speaks', async () => {
    const v4 = install(mmdbFile({ '198.51.100.0/24': { country_code: 'DE' } }, { ip_version: 4 }));
    const both = {
      '198.51.0.0/16': { country_code: 'FR' },
      '2001:db8::/32': { country_code: 'NL' },
    };
    const geoip = await open(['one', v4], ['one', install(mmdbFile(both))], ['two', v4]);
    expect(geoip.providers).toEqual(['one', 'two']);
    const addresses = ['198.51.100.1', '198.51.7.1', '2001:db8::1'];
    expect(addresses.map((ip) => country(geoip, ip))).toEqual(['DE', 'FR', 'NL']);
    expect(addresses.map((ip) => country(geoip, ip, 'two'))).toEqual(['DE', undefined, undefined]);
  });

  test('a file that cannot be used is refused at the start, each with setting, file and reason', async () => {
    const whole = mmdbFile({ '0.0.0.0/1': nested('DE') });
    const other = mmdbFile({ '0.0.0.0/1': nested('DE'), '198.51.100.0/24': nested('NL') });
    const gone = join(folder, 'none.mmdb');
    const bad: Array<[file: string, reason: string]> = [
      [gone, 'cannot be read (ENOENT)'],
      [folder, 'cannot be read (EISDIR)'],
      [install(''), 'is no MMDB file, or not a whole one'],
      [install('country,DE\n'), 'is no MMDB file, or not a whole one'],
      [install(gzipSync(whole)), 'is compressed; unpack it first'],
      [install(whole.subarray(0, -20)), 'is damaged ('],
      [install(whole.subarray(0, whole.length / 2)), 'is no MMDB file, or not a whole one'],
      // An update in place that stops half-way leaves: the new start, the old end.
      [install(Buffer.concat([other.subarray(0, 800), whole.subarray(800)])), 'is damaged ('],
      [
        install(mmdbFile({ '0.0.0.0/1': { asn: 3320 } }, { type: 'Test-ASN' })),
        'names no countries (it is of type Test-ASN)',
      ],
    ];
    const error = await open(
      ['good', install(whole)],
      ...bad.map(([file]): [string, string] => ['bad', file]),
    ).catch((thrown: Error) => thrown);
    const lines = (error as Error).message.split('\n');
    expect(lines).toEqual(
      bad.map(([file, reason]) =>
        expect.stringContaining(`EXITWARD_GEOIP: ${file} of bad ${reason}`),
      ),
    );
    for (const line of lines) expect(line).toMatch(/\.$/);
  });
});

describe('a file that changes while the server runs', () => {
  const german = mmdbFile({ '198.51.100.0/24': { country_code: 'DE' } });
  const dutch = mmdbFile(
    { '198.51.100.0/24': { country_code: 'NL' } },
    { built_at: 1_795_000_000 },
  );
  const { log, lines } = keptLog();
  let file: string;
  let geoip: Geoip;
  beforeEach(async () => {
    lines.length = 0;
    file = install(german);
    geoip = await Geoip.open([{ provider: 'one', file }], log);
  });
  const seen = () => country(geoip, '198.51.100.1');
  const fault = () => geoip.files()[0]?.fault;
  const rename = (bytes: Buffer) => renameSync(install(bytes), file);

  test('is taken when it is replaced, once it is at rest', async () => {
    const { generation } = geoip;
    rename(dutch);
    await geoip.refresh();
    expect([seen(), geoip.generation]).toEqual(['DE', generation]);
    await geoip.refresh();
    expect([seen(), geoip.generation]).toEqual(['NL', generation + 1]);
    await geoip.refresh();
    expect(geoip.generation).toBe(generation + 1);
    expect(geoip.files()).toEqual([
      { provider: 'one', file, type: 'Test-City', built_at: 1_795_000_000, fault: null },
    ]);
  });

  test('is taken when it is written in place, and at once when the operator asks', async () => {
    writeFileSync(file, dutch);
    await geoip.refresh({ at_once: true });
    expect(seen()).toBe('NL');
  });

  test('is not taken while it grows', async () => {
    for (const part of [0.3, 0.6, 0.9, 1]) {
      writeFileSync(file, dutch.subarray(0, dutch.length * part));
      await geoip.refresh();
      expect([seen(), fault()]).toEqual(['DE', null]);
    }
    await geoip.refresh();
    expect(seen()).toBe('NL');
  });

  test('keeps the last good one when it is damaged, says so once, and is taken when it is whole again', async () => {
    truncateSync(file, german.length - 30);
    for (let look = 0; look < 4; look++) await geoip.refresh();
    expect([seen(), fault()]).toEqual(['DE', expect.stringContaining('is damaged')]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: 50,
      msg: expect.stringContaining(`EXITWARD_GEOIP: ${file} of one is damaged`),
    });
    rename(dutch);
    await geoip.refresh();
    await geoip.refresh();
    expect([seen(), fault()]).toEqual(['NL', null]);
  });

  test('keeps the last good one when it is gone, and takes the same one again', async () => {
    renameSync(file, `${file}.away`);
    for (let look = 0; look < 3; look++) await geoip.refresh();
    expect([seen(), fault(), lines.length]).toEqual(['DE', 'cannot be read (ENOENT)', 1]);
    renameSync(`${file}.away`, file);
    await geoip.refresh();
    await geoip.refresh();
    expect([seen(), fault()]).toEqual(['DE', null]);
  });

  test('a damaged record says nothing of its address and all of itself', async () => {
    const whole = mmdbFile({
      '198.51.100.0/24': { country_code: 'DE' },
      '203.0.113.0/24': { country_code: 'NL' },
    });
    const at = whole.indexOf('country_code');
    // The second map's key becomes an extended type that does not exist.
    whole.writeUInt16BE(0x00ff, whole.indexOf('country_code', at + 1) - 1);
    rename(whole);
    await geoip.refresh({ at_once: true });
    expect([seen(), country(geoip, '203.0.113.9')]).toEqual(['DE', 'unreadable']);
    expect(fault()).toBe('holds a damaged record for 203.0.113.9');
  });
});
