// Connections to destinations: an exit can have one from each of its ports to each destination, and
// reports the reason if no port is free.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ownedBy } from '../../kit/src/owner.ts';
import { dial } from '../src/embedded/dial.ts';
import { randomPort, readOutgoingPorts } from '../src/outgoing_ports.ts';
import { exits, originIp, otherOriginIp } from './proxy_world.ts';

const own = ownedBy((error) => {
  throw error;
});
// Below the kernel's own range, which other tests use.
const [first, last] = [19_500, 19_503];
const ports = { first, last, count: 4, isReserved: () => false };
const ip: string = exits[0];
const servers: Server[] = [];
const sockets: Socket[] = [];

async function listen(host: string, port = 0): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => undefined).resume());
  servers.push(server);
  await once(server.listen(port, host), 'listening');
  return (server.address() as AddressInfo).port;
}

/** The socket's own port, or why there is no connection. */
async function open(host: string, port: number, from = { ip, ports }): Promise<number | string> {
  const outcome = await dial(own, [host], port, from);
  if (!(outcome instanceof Socket)) return outcome;
  sockets.push(outcome);
  expect(outcome.localAddress).toBe(from.ip);
  return outcome.localPort as number;
}

let destinations: Array<[host: string, port: number]>;
beforeAll(async () => {
  const listening = Array.from({ length: 16 }, (_, index) => {
    const host = index % 2 === 0 ? originIp : otherOriginIp;
    return listen(host).then((port): [string, number] => [host, port]);
  });
  destinations = await Promise.all(listening);
});
afterEach(async () => {
  await Promise.all(
    sockets
      .splice(0)
      .filter((socket) => !socket.closed)
      .map((socket) => once(socket.resetAndDestroy(), 'close')),
  );
});
afterAll(() => {
  for (const server of servers) server.close();
});

describe('an exit with four ports', () => {
  test('has connections to 16 destinations at once, from its ports alone', async () => {
    const used = await Promise.all(destinations.map(([host, port]) => open(host, port)));
    for (const port of used) expect(port).toBeGreaterThanOrEqual(first);
    for (const port of used) expect(port).toBeLessThanOrEqual(last);
    expect(new Set(used).size).toBeLessThanOrEqual(4);
  });

  test('that were closed a moment ago, has new connections to other destinations', async () => {
    for (let round = 0; round < 3; round += 1) {
      for (const [host, port] of destinations.slice(round * 4, round * 4 + 4)) {
        expect(await open(host, port)).toEqual(expect.any(Number));
      }
      // From now on these ports are in TIME_WAIT.
      for (const socket of sockets.splice(0)) socket.end();
    }
  });

  test('is busy when each of them has a connection to this destination', async () => {
    const [[host, port], [otherHost, otherPort]] = destinations as [
      [string, number],
      [string, number],
    ];
    const used = new Set<number | string>();
    while (used.size < 4) used.add(await open(host, port));
    expect(await open(host, port)).toBe('exit_busy');
    expect(await open(otherHost, otherPort)).toEqual(expect.any(Number));
    const [one] = sockets as [Socket];
    const { localPort } = one;
    await once(one.resetAndDestroy(), 'close');
    expect(await open(host, port)).toBe(localPort);
  });

  test('leaves ports alone at which a program listens', async () => {
    for (let port = first; port < last; port += 1) await listen('0.0.0.0', port);
    const [[host, port], [otherHost, otherPort]] = destinations as [
      [string, number],
      [string, number],
    ];
    expect(await open(host, port)).toBe(last);
    expect(await open(otherHost, otherPort)).toBe(last);
    expect(await open(host, port)).toBe('exit_busy');
  });
});

test.each([
  ['an exit that is not on this machine', 'exit_unavailable', '192.0.2.1'],
  ['a destination that refuses', 'unreachable', ip],
])('%s is %s', async (_, reason, from) => {
  expect(await open(originIp, 1, { ip: from, ports })).toBe(reason);
});

test("the ports are the kernel's, without those that are reserved", () => {
  const { count, ...range } = readOutgoingPorts();
  expect(count).toBeGreaterThan(1000);
  expect(range.first).toBeLessThan(range.last);
  const odd = { first: 10, last: 13, count: 2, isReserved: (port: number) => port % 2 === 0 };
  const chosen = Array.from({ length: 100 }, () => randomPort(odd));
  expect([...new Set(chosen)].sort()).toEqual([11, 13]);
  expect(randomPort({ ...odd, count: 0, isReserved: () => true })).toBe(0);
});
