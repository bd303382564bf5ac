// The owner of callbacks: an exception or a rejection ends the connection that it works for, and is
// logged; the process goes on.
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { ownedByConnection, ownedByLog } from '../../kit/src/owner.ts';
import { Connections } from '../src/http/connections.ts';

const errors: unknown[] = [];
const log = { error: ({ err }: { err: unknown }) => void errors.push(err) } as never;
afterEach(() => errors.splice(0));

const failures: Array<[string, (error: Error) => unknown]> = [
  ['throws', (error) => raise(error)],
  ['rejects', (error) => Promise.reject(error)],
];

function raise(error: Error): never {
  throw error;
}

test.each(failures)(
  'work for a connection that %s ends that connection, and is logged once',
  async (_, fail) => {
    let ended = 0;
    const own = ownedByConnection(log, { destroy: () => (ended += 1) });
    const error = new Error('unforeseen');
    const source = new EventEmitter().on(
      'event',
      own(() => fail(error)),
    );
    source.emit('event');
    await sleep(0);
    expect([ended, errors]).toEqual([1, [error]]);
  },
);

test.each(failures)(
  'work for nobody alone that %s is logged, and done again the next time',
  async (_, fail) => {
    const own = ownedByLog(log);
    let times = 0;
    const error = new Error('unforeseen');
    const timer = setInterval(
      own(() => {
        times += 1;
        return fail(error);
      }),
      1,
    );
    await expect.poll(() => times).toBeGreaterThan(2);
    clearInterval(timer);
    expect(errors.length).toBeGreaterThan(2);
  },
);

test('what fails while a connection is taken ends that one, and the next is served', async () => {
  const usual = { max: 64, max_per_address: undefined, unread_seconds: 30, trusted_proxies: [] };
  const connections = new Connections(usual, log);
  const server = createServer((_request, response) => response.end('served'));
  const error = new Error('unforeseen');
  let isFirst = true;
  server.prependListener('connection', () => {
    if (!isFirst) return;
    isFirst = false;
    throw error;
  });
  connections.guard(server, false);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = async () => {
    let heard = '';
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    // Reset or ended: with an error, `once` would reject.
    await new Promise((done) => socket.on('close', done));
    return heard;
  };
  expect(await ask()).toBe('');
  expect(await ask()).toMatch(/served$/);
  expect(errors).toEqual([error]);
  connections.close();
  server.close();
});
