// What connections are counted with, and how many requests may wait on one.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from 'vitest';
import { Connections, networkOf } from '../src/http/connections.ts';

test('an address of IPv4 is a network, and so is a /64 of IPv6', () => {
  expect(networkOf('203.0.113.7')).toBe('203.0.113.7');
  expect(networkOf('::ffff:203.0.113.7')).toBe('203.0.113.7');
  expect(networkOf('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::');
  expect(networkOf('2001:db8:1:2:ffff::1')).toBe('2001:db8:1:2::');
  expect(networkOf('2001:db8:1:3::1')).not.toBe('2001:db8:1:2::');
  expect(networkOf('fe80::1%eth0')).toBe('fe80::');
});

/** A server whose responses wait until the test lets them go. */
async function guarded(limits: Partial<ConstructorParameters<typeof Connections>[0]> = {}) {
  const connections = new Connections({
    most: 64,
    most_per_address: undefined,
    unread_seconds: 30,
    trusted_proxies: [],
    ...limits,
  });
  const begun: ServerResponse[] = [];
  const server = createServer((request, response) => {
    connections.of(request.socket)?.take(request, response, () => begun.push(response));
  });
  connections.guard(server, false);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const open = (bytes: string) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('error', () => {});
    return socket.resume();
  };
  const stop = async () => {
    server.close();
    connections.cut(server);
    connections.close();
    await once(server, 'close');
  };
  return { connections, begun, open, stop };
}

test('of the requests on a connection one is in work, and a client that sends very many is cut off', async () => {
  const { connections, begun, open, stop } = await guarded();
  const few = open('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3));
  await expect.poll(() => begun.length).toBe(1);
  const many = open('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2000));
  await once(many, 'close');
  expect(begun).toHaveLength(2);
  for (const next of [2, 3]) {
    begun.at(next === 2 ? 0 : -1)?.end('done');
    await expect.poll(() => begun.length).toBe(next + 1);
  }
  expect(connections.size).toBe(1);
  few.destroy();
  await stop();
});

test('past the bound the oldest without a response gives way, and those with a request in work do not', async () => {
  const { connections, begun, open, stop } = await guarded({ most: 16 });
  // Of 16 places 2 are for operators and 4 for nodes.
  const busy = Array.from({ length: 5 }, () => open('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
  await expect.poll(() => begun.length).toBe(5);
  const idle = Array.from({ length: 5 }, () => open('GET /'));
  await expect.poll(() => connections.size).toBe(10);
  const ended = once(idle[0] as (typeof idle)[0], 'close');
  open('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await ended;
  await expect.poll(() => begun.length).toBe(6);
  expect(busy.some(({ closed }) => closed)).toBe(false);
  expect(connections.size).toBe(10);
  await stop();
});
