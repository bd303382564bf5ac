// Addresses that a node dials: none of the reserved ones, and not its own.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalAddress, parseNetworks } from '../../kit/src/address.ts';
import { tries } from '../../test/effort.ts';
import { mayDial, ownAddresses } from '../src/address.ts';
import { seed } from './histories.ts';
import {
  boundsOf,
  isOnTheInternet,
  publicAllTheSame,
  specialNetworks,
} from './special_networks.ts';

/** A number of 128 bits as eight groups, without abbreviation. */
const longText = (number: bigint) =>
  (number.toString(16).padStart(32, '0').match(/.{4}/g) ?? []).join(':');

describe('a node dials', () => {
  const text = (number: bigint) => canonicalAddress(longText(number)) as string;

  test.each(specialNetworks)('nothing in %s', (network) => {
    const [first, last] = boundsOf(network);
    const inside = fc.bigInt({ min: first, max: last });
    for (const bound of [first, last]) expect(mayDial(text(bound)), text(bound)).toBe(false);
    const property = fc.property(inside, (value) => {
      expect(mayDial(text(value)), text(value)).toBe(false);
    });
    fc.assert(property, { numRuns: tries(50), seed });
  });

  test('what lies right before and after, unless that is reserved as well', () => {
    const edges = specialNetworks.flatMap((network) => {
      const [first, last] = boundsOf(network);
      return [first - 1n, last + 1n].filter((value) => value >= 0n && value < 1n << 128n).map(text);
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
    const shared = [
      '8.8.8.8',
      '1.1.1.1',
      '2606:4700:4700::1111',
      '2a00:1450:4001::1',
      '2001:4860::8888',
    ];
    expect(shared.filter((ip) => !mayDial(ip))).toEqual([]);
  });

  test('nothing that is not an address', () => {
    const texts = [
      '',
      'example.com',
      'localhost',
      '8.8.8',
      '010.8.8.8',
      '[2600::1]',
      '2600::1%eth0',
    ];
    expect(texts.filter((text) => mayDial(text))).toEqual([]);
  });

  test('addresses that its operator allows, in any spelling, and no others', () => {
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

test("the machine's own addresses are those of its interfaces, and are dialled only if allowed", () => {
  expect(ownAddresses()).toContain('127.0.0.1');
  const isOwn = (ip: string) => ip === '8.8.4.4';
  expect(mayDial('::ffff:8.8.4.4', [], isOwn)).toBe(false);
  expect(mayDial('8.8.4.5', [], isOwn)).toBe(true);
  expect(mayDial('8.8.4.4', parseNetworks('8.8.4.0/24'), isOwn)).toBe(true);
});
