// The kernel finds connections whose peer is gone, by probing silent ones.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { ownedBy } from '../../kit/src/owner.ts';
import { noticeGone } from '../src/embedded/gone.ts';

const own = ownedBy((error) => {
  throw error;
});
afterEach(() => {
  vi.useRealTimers();
});

/** Whether the kernel has a timer for the silence of the connection from this port. */
function isAsking(port: number): boolean {
  const from = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/self/net/tcp', 'latin1').split('\n');
  const fields = lines.map((line) => line.trim().split(/\s+/));
  return fields.some(
    ([, local = '', , , , timer = '']) => local.endsWith(from) && timer.startsWith('02:'),
  );
}

test('the kernel asks a silent peer once the connection has lasted for a minute', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  noticeGone(socket, own);
  vi.advanceTimersByTime(59_999);
  expect(isAsking(socket.localPort as number)).toBe(false);
  vi.advanceTimersByTime(1);
  expect(isAsking(socket.localPort as number)).toBe(true);
  socket.destroy();
  await once(socket, 'close');
  expect(vi.getTimerCount()).toBe(0);
  server.close();
});
