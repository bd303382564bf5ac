// Lists and closes thousands of connections of real sockets, IPv4 and IPv6: exactly the named ones,
// in a few calls of `ss`. The kernel refuses a filter that is too long.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionName, killSockets, listSockets } from '../src/squid/sockets.ts';

const each = 1500;
let server: Server;
let port: number;
const clients = new Map<string, Socket>();

beforeAll(async () => {
  server = createServer((socket) => socket.on('error', () => {}));
  // For both families, like Squid.
  server.listen(0, '::', 4096);
  await once(server, 'listening');
  ({ port } = server.address() as { port: number });
  for (const host of ['127.0.0.1', '::1']) {
    for (let count = 0; count < each; count += 1) {
      const socket = connect({ host, port });
      socket.on('error', () => {});
      await once(socket, 'connect');
      clients.set(connectionName(host, socket.localPort ?? 0, port), socket);
    }
  }
});
afterAll(() => {
  for (const socket of clients.values()) socket.destroy();
  server?.close();
});

test('thousands of connections are listed, and those that are named are closed', async () => {
  const listed = (await listSockets([port])).map(({ connection }) => connection);
  expect(new Set(listed)).toEqual(new Set(clients.keys()));
  const named = listed.filter((_, at) => at % 4 > 0);
  const closed = named.map(
    (name) => new Promise<void>((resolve) => clients.get(name)?.once('close', () => resolve())),
  );
  await killSockets(named);
  await Promise.all(closed);
  const remaining = (await listSockets([port])).map(({ connection }) => connection);
  expect(new Set(remaining)).toEqual(new Set(listed.filter((_, at) => at % 4 === 0)));
});
