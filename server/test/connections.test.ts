// The count of connections, and how many requests may wait on one.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Downloads } from '../src/bounds/downloads.ts';
import { Connections } from '../src/http/connections.ts';

/** A server whose responses wait until the test lets them go. */
async function guarded(
  limits: Partial<ConstructorParameters<typeof Connections>[0]> = {},
  begin?: (request: IncomingMessage, response: ServerResponse) => void,
  servesOperators = false,
) {
  const usual = { max: 64, max_per_address: undefined, unread_seconds: 30, trusted_proxies: [] };
  const connections = new Connections({ ...usual, ...limits }, pino({ level: 'silent' }));
  const begun: ServerResponse[] = [];
  const server = createServer((request, response) => {
    connections.of(request.socket)?.take(request, response, () => {
      begun.push(response);
      begin?.(request, response);
    });
  });
  connections.guard(server, servesOperators);
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
  return { connections, begun, open, stop, server };
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
  const { connections, begun, open, stop } = await guarded({ max: 16 });
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

test("apart from the operators' places, an address on loopback has as many connections as any other", async () => {
  const limits = { max: 64, max_per_address: 4 };
  const { connections, open, stop } = await guarded(limits, undefined, true);
  const sockets = Array.from({ length: 40 }, () => open('GET /'));
  let closed = 0;
  for (const socket of sockets) socket.once('close', () => (closed += 1));
  // Of 64 places 8 are for operators.
  await expect.poll(() => closed).toBe(sockets.length - 8 - 4);
  expect(connections.size).toBe(8 + 4);
  await stop();
});

test('a request that has its response before its body gets no second one', async () => {
  const { begun, connections, open, stop } = await guarded({}, (_, response) => {
    response.end('refused');
  });
  const client = open('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1');
  let received = '';
  client.on('data', (bytes) => {
    received += bytes;
  });
  await expect.poll(() => received).toContain('refused');
  const [{ req }] = begun as [ServerResponse];
  connections.of(req.socket)?.refuse('HTTP/1.1 408 Request Timeout\r\n\r\n');
  await once(client, 'close');
  expect(received.match(/HTTP/g)).toHaveLength(1);
  await stop();
});

test('a client that sends one request behind another has them all answered, whatever their bodies and responses', async () => {
  const long = 'x'.repeat(20_000);
  const { open, stop } = await guarded({}, (request, response) => {
    request.resume().on('end', () => response.end(`${long}\n`));
  });
  // As long as requests are that carry a token.
  const headers = `Host: a\r\nAuthorization: Basic ${'a'.repeat(60)}\r\n`;
  const get = `GET / HTTP/1.1\r\n${headers}\r\n`;
  const post = `POST / HTTP/1.1\r\n${headers}Content-Length: 100\r\n\r\n${'b'.repeat(100)}`;
  const answered: number[] = [];
  for (const bytes of [get.repeat(600), post.repeat(600)]) {
    // A few at a time, as a client does that goes on sending while it reads.
    const socket = open(bytes);
    for (let more = 0; more < 4; more += 1) socket.write(bytes);
    let lines = 0;
    socket.on('data', (chunk: Buffer) => {
      lines += chunk.toString().split('x\n').length - 1;
      if (lines >= 3000) socket.destroy();
    });
    await once(socket, 'close');
    answered.push(lines);
  }
  expect(answered).toEqual([3000, 3000]);
  await stop();
});

test('a body that is still on its way behind many requests is read when its turn has come', async () => {
  const { begun, open, stop } = await guarded({}, (request, response) => {
    request.resume().on('end', () => response.end('x'));
  });
  const gets = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(30);
  const socket = open(`${gets}POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na`);
  await expect.poll(() => begun.length).toBe(31);
  socket.write('b');
  await expect.poll(() => begun.at(-1)?.writableEnded).toBe(true);
  await stop();
});

test('a new connection has a moment for its first request, and is cut as unused after that alone', async () => {
  const { connections, begun, open, stop, server } = await guarded();
  const busy = open('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect.poll(() => begun.length).toBe(1);
  const unused = open('');
  await expect.poll(() => connections.size).toBe(2);
  connections.cutUnused(server);
  expect(connections.size).toBe(2);
  const cut = once(unused, 'close');
  const looking = setInterval(() => connections.cutUnused(server), 50);
  await cut;
  clearInterval(looking);
  await expect.poll(() => connections.size).toBe(1);
  expect(busy.closed).toBe(false);
  await stop();
});

test('a customer with a /56 or a /48 of IPv6 has no more connections by having many /64', async () => {
  const { connections, open, stop, server } = await guarded({ max: 640, max_per_address: 2 });
  let next = '';
  server.prependListener('connection', (socket) =>
    Object.defineProperty(socket, 'remoteAddress', { value: next }),
  );
  const opened = async (addresses: string[]) => {
    const before = connections.size;
    for (const address of addresses) {
      next = address;
      await Promise.all([once(server, 'connection'), once(open(''), 'connect')]);
    }
    return connections.size - before;
  };
  const of = (address: (n: string) => string) =>
    Array.from({ length: 20 }, (_, n) => address((n + 16).toString(16)));
  expect(await opened(of((n) => `2001:db8:1:${n}::1`))).toBe(4);
  expect(await opened(of((n) => `2001:db8:2:${n}00::1`))).toBe(8);
  expect(await opened(of((n) => `2001:db8:${n}::1`))).toBe(20);
  await stop();
});

test('a download whose client does not read is ended', async () => {
  const downloads = new Downloads(640, pino({ level: 'silent' }), 200);
  const server = createServer((_, response) => {
    downloads.begin(response, '192.0.2.1');
    response.write(Buffer.alloc(20_000_000));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  const begin = () => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'),
    );
    socket.on('error', () => {});
    return socket;
  };
  const unread = begin();
  const [ended] = await once(server, 'connection');
  await once(ended, 'close');
  unread.destroy();
  server.close();
});
