// Addresses of clients: special ranges recognised, networks searched.

import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { canonicalAddress, parseNetworks } from '../../kit/src/address.ts';
import { ipv4, ipv6, octets } from '../../kit/test/random_addresses.ts';
import { tries } from '../../test/effort.ts';
import { addressInNetworks, parseAddress } from '../src/values/address.ts';

const any = { addresses: 'any' } as const;
const open = { addresses: 'public' } as const;

describe('parseAddress', () => {
  it('names the field and what it expected', () => {
    expect(() => parseAddress('ip', '10.1', any)).toThrow(
      'ip: "10.1" is not an IP address; expected one IPv4 or IPv6 address such as 203.0.113.7',
    );
    expect(() => parseAddress('ip', '::', any)).toThrow(
      'ip: :: is an unspecified, multicast or broadcast address; expected the address of one host',
    );
    expect(() => parseAddress('ip', '::ffff:10.0.0.1', open)).toThrow(
      'ip: 10.0.0.1 is a private or reserved address; expected one that is routed on the public Internet',
    );
    expect(() => parseAddress('ip', 'x', any)).toThrow(expect.objectContaining({ status: 400 }));
  });

  it('refuses exactly the unspecified, multicast and broadcast ranges when any address will do', () => {
    const edges = fc.constantFrom(
      ...['0.0.0.0', '0.255.255.255', '1.0.0.0', '223.255.255.255', '224.0.0.0', '239.255.255.255'],
      ...[
        '240.0.0.0',
        '255.255.255.254',
        '255.255.255.255',
        '::',
        '::1',
        'ff::',
        'feff::',
        'ff00::',
      ],
      ...[
        'ffff::',
        'fff::',
        '::ffff:0.0.0.0',
        '::ffff:224.0.0.1',
        '2.0.0.1',
        '22.0.0.1',
        '23.1.1.1',
      ],
    );
    fc.assert(
      fc.property(fc.oneof(edges, ipv4, ipv6), (text) => {
        const ip = canonicalAddress(text) ?? '';
        const refused = /^(?:unspecified|multicast|broadcast)$/.test(ipaddr.parse(ip).range());
        if (refused) expect(() => parseAddress('ip', text, any)).toThrow('expected the address of');
        else expect(parseAddress('ip', text, any)).toBe(ip);
      }),
      { numRuns: tries(2000) },
    );
  });

  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '100.63.255.255',
    '100.128.0.0',
    '172.32.0.1',
    '2606:4700::1111',
    '2a00:1450:4001::1',
    '::ffff:8.8.8.8',
  ])('takes %s as public', (ip) => {
    expect(parseAddress('ip', ip, open)).toBe(canonicalAddress(ip));
  });

  it.each([
    '127.0.0.1',
    '127.255.0.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.7',
    '198.18.0.1',
    '192.0.0.8',
    '240.0.0.1',
    '192.88.99.1',
    '::1',
    'fe80::1',
    'fc00::1',
    'fd12::1',
    'fec0::1',
    '2001:db8::1',
    '3fff::1',
    '2001::1',
    '2002:808:808::1',
    '64:ff9b::808:808',
    '64:ff9b:1::1',
    '100::1',
    '::8.8.8.8',
    '4000::1',
    '1::1',
    '5f00::1',
    '::ffff:192.168.0.1',
    '::ffff:0:808:808',
  ])('refuses %s when only public ones will do, and takes it otherwise', (ip) => {
    expect(() => parseAddress('ip', ip, open)).toThrow('ip: ');
    expect(parseAddress('ip', ip, any)).toBe(canonicalAddress(ip));
  });
});

describe('networks', () => {
  it('finds an address, in any spelling, by its leading bits', () => {
    fc.assert(
      fc.property(octets, octets, fc.integer({ min: 0, max: 32 }), (base, other, bits) => {
        const number = (four: number[]) => four.reduce((sum, part) => sum * 256 + part, 0);
        const size = 2 ** (32 - bits);
        const start = Math.floor(number(base) / size) * size;
        const dotted = (n: number) =>
          [n / 2 ** 24, n / 2 ** 16, n / 256, n].map((x) => Math.floor(x) % 256).join('.');
        const networks = parseNetworks(`${dotted(start)}/${bits}`);
        const inside = number(other) >= start && number(other) < start + size;
        expect(addressInNetworks(other.join('.'), networks)).toBe(inside);
        expect(addressInNetworks(`::ffff:${other.join('.')}`, networks)).toBe(inside);
        expect(addressInNetworks(base.join('.'), networks)).toBe(true);
      }),
    );
  });

  it('reads a list with blanks, bare addresses and both families', () => {
    const networks = parseNetworks(' 10.0.0.0/8, 192.0.2.7 ,2001:DB8::/32,::1');
    const inside = ['10.255.0.1', '192.0.2.7', '2001:db8:ffff::1', '::1', '0:0:0:0:0:0:0:1'];
    const outside = [
      '11.0.0.1',
      '192.0.2.8',
      '2001:db9::1',
      '::2',
      '::a00:1',
      'fe80::1%eth0',
      'x',
      '',
    ];
    expect(inside.filter((ip) => !addressInNetworks(ip, networks))).toEqual([]);
    expect(outside.filter((ip) => addressInNetworks(ip, networks))).toEqual([]);
  });

  it('holds nothing when empty', () => {
    expect(parseNetworks('  ')).toEqual([]);
    expect(addressInNetworks('127.0.0.1', [])).toBe(false);
  });
});
