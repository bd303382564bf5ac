// Where an address or a network is used, in the whole network: on authlists, in custom DNS, as an
// exit IP.

import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { beforeAll, describe, expect, test } from 'vitest';
import { canonicalAddress, type Network } from '../../kit/src/address.ts';
import { tries } from '../../test/effort.ts';
import { textRanges } from '../src/db/address_ranges.ts';
import { addressInNetworks } from '../src/values/address.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';

const group = fc.oneof(fc.constant(0), fc.constant(0xffff), fc.integer({ min: 0, max: 0xffff }));
const bytesOf = (groups: number[]) => groups.flatMap((group) => [group >> 8, group & 255]);
const addresses = {
  4: fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 255 })), {
    minLength: 4,
    maxLength: 4,
  }),
  6: fc.array(group, { minLength: 8, maxLength: 8 }).map(bytesOf),
};
const textOf = (bytes: number[]) => canonicalAddress(ipaddr.fromByteArray(bytes).toString());

test.each([4, 6] as const)(
  'each address of an IPv%s network lies in one range of texts, and few others do',
  (version) => {
    const all = addresses[version];
    const least = version === 4 ? 8 : 16;
    fc.assert(
      fc.property(
        all,
        all,
        fc.integer({ min: least, max: version === 4 ? 32 : 128 }),
        (of, other, bits) => {
          const family = version === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
          const base = family.networkAddressFromCIDR(`${ipaddr.fromByteArray(of)}/${bits}`);
          const network: Network = [base, bits];
          const within = of.map((byte, at) => {
            const free = 2 ** Math.min(8, Math.max(0, 8 * (at + 1) - bits)) - 1;
            return (byte & ~free) | ((other[at] ?? 0) & free);
          });
          for (const bytes of [of, within, base.toByteArray()]) {
            const ip = textOf(bytes) ?? '';
            if (version === 6 && !ip.includes(':')) continue;
            expect(addressInNetworks(ip, [network])).toBe(true);
            const ranges = textRanges(network).filter(({ from, to }) => from <= ip && ip < to);
            expect(ranges.length, `${ip} of ${base}/${bits}`).toBe(1);
          }
        },
      ),
      { numRuns: tries(3000) },
    );
  },
);

eachApp((t) => {
  let acme: BuiltAccount;
  beforeAll(async () => {
    await t.server('fra1');
    acme = await t.account('acme', { servers: ['fra1'] });
  });

  const find = async (ip: string, more = '') => {
    const { status, body } = await t.operator.get(`/addresses?ip=${encodeURIComponent(ip)}${more}`);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  };
  const list = async (ip: string) => {
    const entry = { ip, user: 'alice', expiry: t.now() + 50 };
    const { body } = await t.as(acme).post('/contract/ip-authlist', entry);
    return { ...entry, id: body.id as number };
  };

  test('an address is found in any spelling, with its holder on each port scheme', async () => {
    const entry = await list('2001:db8::c1a1');
    expect((await find('2001:DB8:0::C1A1')).authlist).toEqual([
      { ...entry, port_scheme: 'default', account: 'acme', proof: 'unproven' },
    ]);
    expect((await find('2001:db8::c1a')).authlist).toEqual([]);
    await t.pass(50);
    expect((await find('2001:db8::c1a1')).authlist).toEqual([]);
  });

  test('a network shows its authlist entries, the custom DNS entries that point there, and its exits', async () => {
    for (const ip of ['203.0.112.255', '203.0.113.20', '203.0.113.3', '203.0.114.0'])
      await list(ip);
    const expiry = t.now() + 50;
    const override = { server: 'fra1', hostname: 'a.example', ip: '203.0.113.9', expiry };
    const { id } = (await t.as(acme).post('/contract/overrides', override)).body;
    const exit = { ip: '203.0.113.77', port_base: 499 };
    const added = await t.operator.put(`/servers/fra1/exits/${exit.ip}`, { port_base: 499 });
    expect(added.status, added.text).toBeLessThan(300);
    const matches = await find('203.0.113.0/24');
    const ips = matches.authlist.map(({ ip }: { ip: string }) => ip);
    expect(ips).toEqual(['203.0.113.3', '203.0.113.20']);
    expect(matches).toMatchObject({
      network: '203.0.113.0/24',
      overrides: [{ ...override, account: 'acme', id }],
      exits: [{ ...exit, server: 'fra1' }],
      more: [],
    });
    const whole = await find('203.0.0.0/8');
    expect(whole.authlist.length).toBe(4);
    await t.as(acme).delete(`/contract/overrides/${id}`);
    expect((await find('203.0.113.9')).overrides).toEqual([]);
    await t.as(acme).delete('/contract/ip-authlist');
    expect((await find('203.0.113.0/24')).authlist).toEqual([]);
  });

  test('of each list as many are shown as the limit says, and the lists that have more are named', async () => {
    const account_id = acme.account.id;
    const rows = Array.from({ length: 1201 }, (_, at) => ({
      ...{ account_id, id: 5000 + at, expiry: t.now() + 1000 },
      hostname: `h${at}.example`,
      // One address of very many entries, and many of one each.
      ip: at < 600 ? '10.9.0.1' : `10.9.${1 + (at >> 8)}.${at & 255}`,
    }));
    await t.write(async (tx) => {
      const overrides = rows.map((row) => ({ ...row, server_id: 1, revision: 1 }));
      await tx.insertMany('overrides', overrides);
    });
    expect(await find('10.9.0.0/16')).toMatchObject({ more: ['overrides'] });
    const { overrides, more } = await find('10.9.0.0/16', '&limit=1000');
    expect([overrides.length, more]).toEqual([1000, ['overrides']]);
    expect(new Set(overrides.map(({ id }: { id: number }) => id)).size).toBe(1000);
    const { overrides: ofOne } = await find('10.9.0.1', '&limit=1000');
    expect(ofOne.length).toBe(600);
    const rest = await find('10.9.4.0/24', '&limit=1000');
    expect(rest.overrides.length).toBe(rows.filter(({ ip }) => ip.startsWith('10.9.4.')).length);
  });

  describe('a request', () => {
    test.each([
      ['ip=2001:db8', 'ip'],
      ['ip=10.0.0.0/7', 'ip'],
      ['ip=2000::/15', 'ip'],
      ['ip=10.0.0.1/24', 'ip'],
      ['ip=10.0.0.0/33', 'ip'],
      ['ip=10.0.0.0/', 'ip'],
      ['ip=example.com', 'ip'],
      ['', 'ip'],
      ['ip=10.0.0.1&limit=0', 'limit'],
    ])('with %s is refused by its field', async (query, field) => {
      const { status, body } = await t.operator.get(`/addresses?${query}`);
      expect([status, body.field]).toEqual([400, field]);
    });
  });
});
