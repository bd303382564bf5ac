// Addresses: one spelling of each, and none of the reserved ones is dialled.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as server from '../../server/src/values/address.ts';
import { tries } from '../../test/effort.ts';
import { canonicalAddress, mayDial, ownAddresses, parseNetworks } from '../src/address.ts';
import { seed } from './histories.ts';
import {
  boundsOf,
  isOnTheInternet,
  numberOf,
  publicAllTheSame,
  specialNetworks,
} from './special_networks.ts';

/** A number of 128 bits as eight groups, nothing cut short. */
const longText = (number: bigint) =>
  (number.toString(16).padStart(32, '0').match(/.{4}/g) ?? []).join(':');

describe('the canonical spelling', () => {
  test.each([
    ['192.0.2.10', '192.0.2.10'],
    ['0.0.0.0', '0.0.0.0'],
    ['::ffff:192.0.2.10', '192.0.2.10'],
    ['::FFFF:C000:020A', '192.0.2.10'],
    ['0:0:0:0:0:ffff:192.0.2.10', '192.0.2.10'],
    ['2001:DB8::0:10', '2001:db8::10'],
    ['2001:0db8:0000:0000:0000:0000:0000:0010', '2001:db8::10'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['::', '::'],
    ['::1', '::1'],
    ['::192.0.2.10', '::c000:20a'],
    ['64:ff9b::192.0.2.10', '64:ff9b::c000:20a'],
    ['::ffff:0:192.0.2.10', '::ffff:0:c000:20a'],
  ])('of %j is %j', (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical);
  });

  test.each([
    ...[
      '',
      ' ',
      '192.0.2.10 ',
      ' 192.0.2.10',
      '192.0.2.10\n',
      '192.0.2',
      '192.0.2.10.',
      '192.0.2.256',
    ],
    ...['192.0.2.010', '0300.0.2.10', '0xc0.0.2.10', '0xc000020a', '3221225994', '192.0.522'],
    ...[
      '192.0.2.10/32',
      '192.0.2.10:80',
      '192.0.2.-1',
      '１92.0.2.10',
      '192。0。2。10',
      '192.0.2.1e1',
    ],
    ...[
      'fe80::1%eth0',
      '::1%1',
      '[::1]',
      '::1/128',
      '2001:db8:::1',
      '2001:db8::1::2',
      '1:2:3:4:5:6:7',
    ],
    ...[
      '1:2:3:4:5:6:7:8:9',
      '2001:db8::00010',
      '2001:db8::g',
      '::ffff:192.0.2.010',
      '::ffff:192.0.2',
    ],
    ...['::ffff:0xc0.0.2.10', '::192.0.2.10.', 'localhost', 'example.com', 'a'.repeat(100_000)],
  ])('of %j there is none', (text) => {
    expect(canonicalAddress(text)).toBeUndefined();
  });

  test('is the same for every spelling, and the one that the control plane stores', () => {
    const ip = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4().map((one) => `::ffff:${one}`),
    );
    const property = fc.property(ip, (text) => {
      const number = numberOf(text.toLowerCase()) as bigint;
      const canonical = canonicalAddress(text) as string;
      expect(numberOf(canonical)).toBe(number);
      expect(canonicalAddress(canonical)).toBe(canonical);
      expect(canonicalAddress(text.toUpperCase())).toBe(canonical);
      expect(canonicalAddress(longText(number))).toBe(canonical);
      expect(server.canonicalAddress(text)).toBe(canonical);
    });
    fc.assert(property, { numRuns: tries(5000), seed });
  });

  test('is there for what the control plane takes for an address, and for nothing else', () => {
    const piece = fc.constantFrom(
      '0',
      '1',
      '192',
      '255',
      '256',
      '01',
      '0x1',
      'ffff',
      '.',
      ':',
      '::',
      '%',
    );
    const text = fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join(''));
    const property = fc.property(text, (one) => {
      expect(canonicalAddress(one)).toBe(server.canonicalAddress(one));
    });
    fc.assert(property, { numRuns: tries(5000), seed });
  });
});

describe('a node dials', () => {
  const text = (number: bigint) => canonicalAddress(longText(number)) as string;

  test.each(specialNetworks)('nothing in %s', (network) => {
    const [first, last] = boundsOf(network);
    const inside = fc.bigInt({ min: first, max: last });
    for (const one of [first, last]) expect(mayDial(text(one)), text(one)).toBe(false);
    const property = fc.property(inside, (one) => {
      expect(mayDial(text(one)), text(one)).toBe(false);
    });
    fc.assert(property, { numRuns: tries(50), seed });
  });

  test('what lies right before and after, unless that is reserved as well', () => {
    const edges = specialNetworks.flatMap((network) => {
      const [first, last] = boundsOf(network);
      return [first - 1n, last + 1n].filter((one) => one >= 0n && one < 1n << 128n).map(text);
    });
    const reached = edges.filter((ip) => mayDial(ip));
    expect(reached).toEqual(edges.filter(isOnTheInternet));
    expect(reached.length).toBeGreaterThan(25);
  });

  test('all that is on the Internet', () => {
    const internet = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4().map((ip) => `::ffff:${ip}`),
    );
    const property = fc.property(internet, (ip) => {
      expect(mayDial(ip)).toBe(isOnTheInternet(ip));
    });
    fc.assert(property, { numRuns: tries(5000), seed });
    for (const network of publicAllTheSame) expect(mayDial(text(boundsOf(network)[0]))).toBe(true);
    const known = [
      '8.8.8.8',
      '1.1.1.1',
      '2606:4700:4700::1111',
      '2a00:1450:4001::1',
      '2001:4860::8888',
    ];
    expect(known.filter((ip) => !mayDial(ip))).toEqual([]);
  });

  test('nothing that is no address', () => {
    const texts = [
      '',
      'example.com',
      'localhost',
      '8.8.8',
      '010.8.8.8',
      '[2600::1]',
      '2600::1%eth0',
    ];
    expect(texts.filter((one) => mayDial(one))).toEqual([]);
  });

  test('what its operator allows, in any spelling, and nothing beside it', () => {
    const allowed = parseNetworks('10.1.2.0/23, 127.0.0.1 ,fd00:1::/64, ::1');
    const reached = (ips: string[]) => ips.filter((ip) => mayDial(ip, allowed));
    const inside = ['10.1.2.0', '10.1.3.255', '::ffff:10.1.2.7', '127.0.0.1', 'fd00:1::7', '::1'];
    expect(reached(inside)).toEqual(inside);
    expect(reached(['10.1.1.255', '10.1.4.0', '127.0.0.2', 'fd00:1:0:1::', '::2', '::'])).toEqual(
      [],
    );
    // Neither kind is read as the other.
    expect(reached(['::10.1.2.7', '64:ff9b::10.1.2.7', '::127.0.0.1', '0.0.0.1'])).toEqual([]);
    const all = parseNetworks('0.0.0.0/0,::/0');
    expect(['0.0.0.0', '255.255.255.255', '::', 'ff02::1'].every((ip) => mayDial(ip, all))).toBe(
      true,
    );
  });
});

describe('a list of networks', () => {
  test('may be empty', () => {
    expect([parseNetworks(''), parseNetworks('  ')]).toEqual([[], []]);
  });

  test.each([
    ...[
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '10.0.0/8',
      '010.0.0.0/8',
      '::/129',
    ],
    ...[
      '::ffff:10.0.0.0/104',
      '::ffff:10.0.0.0/8',
      '::ffff:10.0.0.1',
      'fe80::1%eth0/64',
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

  test('has no empty parts', () => {
    expect(() => parseNetworks('10.0.0.0/8,')).toThrow('"" is not a network');
  });
});

test("the machine's own addresses are those of its interfaces, and are dialled only if allowed", () => {
  expect(ownAddresses()).toContain('127.0.0.1');
  const isOwn = (ip: string) => ip === '8.8.4.4';
  expect(mayDial('::ffff:8.8.4.4', [], isOwn)).toBe(false);
  expect(mayDial('8.8.4.5', [], isOwn)).toBe(true);
  expect(mayDial('8.8.4.4', parseNetworks('8.8.4.0/24'), isOwn)).toBe(true);
});
