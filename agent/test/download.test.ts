// A tunnel's bytes from the destination to the client: complete, in order, with little memory, and
// no faster than the client reads.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, expect, test } from 'vitest';
import { ownedBy } from '../../kit/src/owner.ts';
import { connectFor } from '../src/embedded/download.ts';
import { until } from './proxy_world.ts';

const own = ownedBy((error) => {
  throw error;
});
const pieceBytes = 65_536;
const servers: Server[] = [];
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => {
  for (const server of servers) server.close();
});

async function listen(): Promise<Server> {
  const server = createServer({ allowHalfOpen: true });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

/** Both ends of a new connection. */
async function pairOf(server: Server, open: (port: number) => Socket): Promise<[Socket, Socket]> {
  const accepted = once(server, 'connection');
  const socket = open((server.address() as AddressInfo).port);
  await once(socket, 'connect');
  const [other] = (await accepted) as [Socket];
  sockets.push(socket, other);
  return [socket, other];
}

const [proxy, destination] = await Promise.all([listen(), listen()]);

/** The client's socket, the proxy's socket for the client, and the destination's. */
async function openTunnel(
  connectClient = (port: number) => connect({ port, host: '127.0.0.1' }),
): Promise<{ client: Socket; proxySide: Socket; sender: Socket }> {
  const [client, proxySide] = await pairOf(proxy, connectClient);
  const [passing, sender] = await pairOf(destination, (port) =>
    connectFor(proxySide, own, { port, host: '127.0.0.1' }),
  );
  passing.once('end', () => proxySide.end());
  passing.resume();
  return { client, proxySide, sender };
}

/** More than the kernel's buffers hold, and no two pieces of them alike. */
const someBytes = (length = 10_000_000) => Buffer.alloc(length, randomBytes(10_007));

test('a long download takes no memory for each read', async () => {
  let received = 0;
  let largest = 0;
  const before = process.memoryUsage().arrayBuffers;
  const callback = (length: number) => {
    received += length;
    largest = Math.max(largest, process.memoryUsage().arrayBuffers);
    return true;
  };
  const onread = { buffer: Buffer.allocUnsafe(pieceBytes), callback };
  const { sender } = await openTunnel((port) => connect({ port, host: '127.0.0.1', onread }));
  const piece = Buffer.alloc(1_000_000);
  const count = 24;
  for (let sent = 0; sent < count; sent++) {
    if (!sender.write(piece)) await once(sender, 'drain');
  }
  await until(() => received === count * piece.length);
  expect(largest - before).toBeLessThan(4_000_000);
});

test('bytes of tunnels arrive whole and in order, though clients read late', async () => {
  const texts = Array.from({ length: 3 }, () => someBytes());
  const tunnels: Array<Awaited<ReturnType<typeof openTunnel>>> = [];
  for (const _ of texts) tunnels.push(await openTunnel());
  for (const [tunnel, { sender }] of tunnels.entries()) sender.end(texts[tunnel] as Buffer);
  // All wait for their clients. First one half of the clients reads, then the other.
  await until(() => tunnels.every(({ proxySide }) => proxySide.writableLength > 0));
  for (const isEven of [false, true]) {
    const readers = tunnels.filter((_, tunnel) => (tunnel % 2 === 0) === isEven);
    const received = await Promise.all(readers.map(({ client }) => client.toArray()));
    const wanted = texts.filter((_, tunnel) => (tunnel % 2 === 0) === isEven);
    const areSame = received.map((chunks, at) =>
      Buffer.concat(chunks).equals(wanted[at] as Buffer),
    );
    expect(areSame).not.toContain(false);
  }
});

test('one piece waits for a client that does not read, and the destination waits', async () => {
  const { client, proxySide, sender } = await openTunnel();
  const text = someBytes(40_000_000);
  sender.end(text);
  await until(() => proxySide.writableLength > 0 && sender.writableLength > 0);
  for (let turn = 0; turn < 50; turn++) {
    expect(proxySide.writableLength).toBeLessThanOrEqual(pieceBytes);
    await new Promise(setImmediate);
  }
  expect(sender.writableLength).toBeGreaterThan(0);
  expect(Buffer.concat(await client.toArray()).equals(text)).toBe(true);
});
