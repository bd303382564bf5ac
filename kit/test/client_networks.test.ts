// Networks that one client may have all addresses of, and places that are shared by them.
import { expect, test } from 'vitest';
import { clientNetworks, Places } from '../src/client_networks.ts';

test.each([
  ['192.0.2.7', ['192.0.2.7']],
  ['::ffff:192.0.2.7', ['192.0.2.7']],
  ['2001:db8:1:2f3:3:4:5:6', ['2001:db8:1:2f3::/64', '2001:db8:1:200::/56', '2001:db8:1::/48']],
  ['2001:db8::1', ['2001:db8:0:0::/64', '2001:db8:0:0::/56', '2001:db8:0::/48']],
  ['2001:db8::1:2:3:4:5', ['2001:db8:0:1::/64', '2001:db8:0:0::/56', '2001:db8:0::/48']],
  ['::1', ['0:0:0:0::/64', '0:0:0:0::/56', '0:0:0::/48']],
  ['fe80::1%eth0', ['fe80:0:0:0::/64', 'fe80:0:0:0::/56', 'fe80:0:0::/48']],
])('%s is in %j', (address, names) => {
  expect(clientNetworks(address).map(({ name }) => name)).toEqual(names);
});

test('a network has its share of the places, a /56 twice and a /48 four times as many', () => {
  const places = new Places(100, 2);
  const client = () => ({ destroy: () => {} });
  const take = (address: string) => places.take(client(), address);
  expect([take('192.0.2.1'), take('192.0.2.1'), take('192.0.2.1')]).toEqual([true, true, false]);
  expect(take('192.0.2.2')).toBe(true);
  const countTaken = (addresses: string[]) => addresses.filter(take).length;
  const of = (count: number, address: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => address(n));
  expect(countTaken(of(20, (n) => `2001:db8:1:${n.toString(16)}::1`))).toBe(4);
  expect(countTaken(of(20, (n) => `2001:db8:2:${n.toString(16)}00::1`))).toBe(8);
  expect(countTaken(of(20, (n) => `2001:db8:${(n + 3).toString(16)}::1`))).toBe(20);
});

test('when all places are taken, the oldest of the network with the most gives way', () => {
  const places = new Places<{ destroy(): void }>(3, 2);
  const ended: string[] = [];
  const take = (name: string, address: string) => {
    const client = { destroy: () => ended.push(name) };
    return places.take(client, address) && client;
  };
  const alone = take('alone', '192.0.2.1');
  take('first', '192.0.2.2');
  take('second', '192.0.2.2');
  take('new', '192.0.2.3');
  expect(ended).toEqual(['first']);
  take('newer', '192.0.2.4');
  expect(ended).toEqual(['first', 'alone']);
  if (alone) places.leave(alone);
  take('newest', '192.0.2.5');
  expect(ended).toEqual(['first', 'alone', 'second']);
});
