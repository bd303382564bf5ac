// Connections to the metrics of server and agent that are silent, or send too much: another address
// is still served.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { type Metrics as AgentMetrics, serveMetrics } from '../../agent/src/metrics.ts';
import { metricsListener } from '../../kit/src/metrics_listener.ts';
import { Metrics, metricsServer } from '../../server/src/observed/metrics.ts';

const silent = (port: number, localAddress: string) =>
  Array.from({ length: 20 }, () =>
    connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {}),
  );

/** From each of ten addresses as many connections as it may have, and more. */
async function expectServed(url: string): Promise<void> {
  const port = Number(new URL(url).port);
  const sockets = Array.from({ length: 10 }, (_, n) => silent(port, `127.0.0.${n + 2}`)).flat();
  let closed = 0;
  for (const socket of sockets) socket.once('close', () => (closed += 1));
  await expect.poll(() => closed, { timeout: 20_000 }).toBe(sockets.length - 64);
  expect((await fetch(url)).status).toBe(200);
  for (const socket of sockets) socket.destroy();
}

test("silent connections to the server's metrics leave a place to another address", async () => {
  const server = metricsServer(new Metrics(), async () => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await expectServed(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
  server.closeAllConnections();
  server.close();
});

test("silent connections to the agent's metrics leave a place to another address", async () => {
  const stop = new AbortController();
  const metrics = { text: async () => '', registry: { contentType: 'text/plain' } };
  let ended: Promise<void> | undefined;
  const url = await new Promise<string>((listening, reject) => {
    const at = { host: '127.0.0.1', port: 0 };
    ended = serveMetrics(metrics as unknown as AgentMetrics, at, stop.signal, listening);
    ended.catch(reject);
  });
  await expectServed(url);
  stop.abort();
  await ended;
});

test('of the requests that a connection sends without waiting, one is read', async () => {
  let reads = 0;
  const server = metricsListener('text/plain', async () => {
    reads += 1;
    await new Promise(setImmediate);
    return '';
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const greedy = connect(port, '127.0.0.1').on('error', () => {});
  greedy.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1000));
  await new Promise((closed) => greedy.once('close', closed));
  expect(reads).toBeLessThanOrEqual(1);
  expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(200);
  server.close();
});
