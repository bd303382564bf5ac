// Addresses and networks: one canonical spelling each, odd spellings rejected.

import { isIP } from 'node:net';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { canonicalAddress, parseNetworks } from '../src/address.ts';
import { groups, ipv4, ipv6, octets } from './random_addresses.ts';

/** All the ways to write one IPv6 address that the random choices lead to. */
const spellings = fc
  .record({
    eight: groups,
    upper: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    pad: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 8, maxLength: 8 }),
    dotted: fc.boolean(),
    zeros: fc.tuple(fc.nat(7), fc.integer({ min: 1, max: 8 })),
  })
  .map(({ eight, upper, pad, dotted, zeros: [from, length] }) => {
    const parts = eight.map((part, index) => {
      const hex = part.toString(16).padStart(pad[index] ?? 1, '0');
      return upper[index] ? hex.toUpperCase() : hex;
    });
    if (dotted) {
      const [high = 0, low = 0] = eight.slice(6);
      parts.splice(6, 2, `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`);
    }
    const to = Math.min(from + length, dotted ? 6 : 8);
    const compressible = to > from && eight.slice(from, to).every((part) => part === 0);
    const text = compressible
      ? `${parts.slice(0, from).join(':')}::${parts.slice(to).join(':')}`
      : parts.join(':');
    return { eight, text };
  });

/** The same by another hand: the URL standard's serialiser, which follows RFC 5952. */
function expected(eight: number[]): string {
  if (eight.slice(0, 6).join() === '0,0,0,0,0,65535') {
    const [high = 0, low = 0] = eight.slice(6);
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  const host = eight.map((part) => part.toString(16)).join(':');
  return new URL(`http://[${host}]`).hostname.slice(1, -1);
}

describe('canonicalAddress', () => {
  it('keeps a dotted quad as it is, as ipaddr.js would', () => {
    fc.assert(
      fc.property(ipv4, (ip) => {
        expect(canonicalAddress(ip)).toBe(ip);
        expect(ipaddr.IPv4.parse(ip).toString()).toBe(ip);
      }),
    );
  });

  it('gives all spellings of an IPv6 address its RFC 5952 form, mapped ones the IPv4 address', () => {
    fc.assert(
      fc.property(spellings, ({ eight, text }) => {
        expect(canonicalAddress(text)).toBe(expected(eight));
      }),
      { numRuns: tries(2000) },
    );
  });

  it('reads a mapped address in either notation as the IPv4 address', () => {
    fc.assert(
      fc.property(octets, ([a, b, c, d]) => {
        const ip = `${a}.${b}.${c}.${d}`;
        const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
        for (const start of ['::ffff:', '::FFFF:', '0:0:0:0:0:ffff:', '0000::ffff:']) {
          expect(canonicalAddress(start + ip)).toBe(ip);
          expect(canonicalAddress(start + hex)).toBe(ip);
        }
      }),
    );
  });

  it.each([
    ['::1.2.3.4', '::102:304'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
  ])('reads %s as %s', (text, ip) => {
    expect(canonicalAddress(text)).toBe(ip);
  });

  it('is its own canonical form', () => {
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6), (text) => {
        const ip = canonicalAddress(text) ?? '';
        expect(canonicalAddress(ip)).toBe(ip);
      }),
    );
  });

  it('takes nothing that node:net does not take, nor any zone', () => {
    const texts = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'0123456789abcfx:.%/ ') }),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const accepted = isIP(text) !== 0 && !text.includes('%');
        expect(canonicalAddress(text) !== undefined).toBe(accepted);
      }),
      { numRuns: tries(2000) },
    );
  });

  it('refuses an octet in octal, hexadecimal or with leading zeros', () => {
    fc.assert(
      fc.property(octets, fc.nat(3), (four, which) => {
        const written = (text: string) => four.with(which, text as never).join('.');
        const value = four[which] ?? 0;
        for (const odd of [`0${value}`, `00${value}`, `0x${value.toString(16)}`]) {
          expect(canonicalAddress(written(odd))).toBeUndefined();
          expect(canonicalAddress(`::ffff:${written(odd)}`)).toBeUndefined();
        }
        expect(canonicalAddress(written(String(value + 256)))).toBeUndefined();
      }),
    );
  });

  it('refuses an address with anything around it', () => {
    const extra = ['/32', '/0', '%eth0', '%1', ' ', '\n', '\0', ':80', '.', ',10.0.0.1', '\u00a0'];
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6), fc.constantFrom(...extra), (ip, more) => {
        expect(canonicalAddress(ip + more)).toBeUndefined();
        expect(canonicalAddress(` ${ip}`)).toBeUndefined();
        expect(canonicalAddress(`[${ip}]`)).toBeUndefined();
      }),
    );
  });

  it.each([
    '',
    '10.1',
    '10.1.2',
    '1',
    '167772161',
    '0x0a000001',
    '012.0.0.1',
    '1.2.3.4.5',
    '-1.2.3.4',
    '1..3.4',
    '１.2.3.4',
    '١.2.3.4',
    '1。2。3。4',
    ':',
    ':::',
    '::1::',
    '1:2:3:4:5:6:7',
    '12345::',
    '1:2:3:4:5:6:7:8:9',
    '::g',
    '1.2.3.4::',
    '::1.2.3',
    'fe80::1%eth0',
    'localhost',
  ])('refuses %j', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });
});

describe('a list of networks', () => {
  it('may be empty', () => {
    expect([parseNetworks(''), parseNetworks('  ')]).toEqual([[], []]);
  });

  it.each([
    ...[
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '10/8',
      '10.0.0.0/ 8',
      '10.0.0.0/255.0.0.0',
      '10.0.0/8',
      '010.0.0.0/8',
      '::/129',
    ],
    ...[
      '::ffff:10.0.0.0/104',
      '::ffff:10.0.0.0/8',
      '::ffff:10.0.0.1',
      'fe80::1%eth0/64',
      'fe80::%eth0/10',
      'example.com',
      '*',
      '10.0.0.0-10.0.0.9',
      '10.0.0.0/8;',
    ],
    ...['10.0.0.0/08x', '/8', '10.0.0.0 /8'],
  ])('names the part %j, which is none', (part) => {
    expect(() => parseNetworks(`192.168.0.0/16,${part}`)).toThrow(
      `${JSON.stringify(part)} is not a network; `,
    );
  });

  it('has no empty parts, and no host with a short prefix', () => {
    expect(() => parseNetworks('10.0.0.0/8,')).toThrow('"" is not a network');
    expect(() => parseNetworks('10.0.0.1/8')).toThrow(
      '"10.0.0.1/8" is a host inside a network; expected 10.0.0.0/8 or 10.0.0.1',
    );
  });
});
