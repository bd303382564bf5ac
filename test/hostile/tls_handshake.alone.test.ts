// Clients that never finish to negotiate TLS: without credentials, and for as long as they like.
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedNode, startEmbeddedNode } from '../../agent/test/embedded_node.ts';
import * as t from '../../agent/test/proxy_world.ts';
import { beside, clientHello, Unowned } from './attackers.ts';

let node: EmbeddedNode;
let origin: t.Origin;

beforeAll(async () => {
  origin = await t.startOrigin();
  node = await startEmbeddedNode({ records: t.usualRecords() }, { handshake_ms: 2000 });
});
afterAll(async () => {
  await node?.stop();
  await origin?.stop();
});

test('a negotiation that times out frees its descriptor, also of a client that is gone', async () => {
  const unowned = new Unowned();
  const hello = await clientHello();
  const starts = [Buffer.alloc(0), hello.subarray(0, 5), hello.subarray(0, 100), hello];
  const sockets = starts.flatMap((bytes) =>
    Array.from({ length: 10 }, (_, index): Socket => {
      const socket = connect({ port: t.tlsBase + 1, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => {});
      socket.resume();
      // Half of them say that they send no more; their end of the connection stays open for the
      // other's.
      if (index % 2 === 0) socket.end(bytes);
      else socket.write(bytes);
      return socket;
    }),
  );
  // Each end is heard when the other side has closed: none of these does by itself.
  const ends = sockets.map((socket) => new Promise((resolve) => socket.once('end', resolve)));
  const closes = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
  const over = Promise.all(sockets.map((_, index) => Promise.race([ends[index], closes[index]])));
  const through = { port: t.tlsBase + 1, proxy_certificate: node.certificate };
  const victim = async () => {
    const seen = await t.see(through, origin.url);
    expect(seen.at).toBe(t.originIp);
  };
  await beside([victim], over);
  expect(unowned.end()).toEqual([]);
  for (const socket of sockets) socket.destroy();
});

test('a client that leaves in the middle of the handshake has no place any more', async () => {
  const settings = { EXITWARD_AGENT_PORT_SHIFT: '10000' };
  const patient = await startEmbeddedNode(
    { records: t.usualRecords(), settings },
    { handshake_ms: 3_600_000 },
  );
  const hello = await clientHello();
  for (const bytes of [Buffer.alloc(0), hello.subarray(0, 5), hello.subarray(0, 100)]) {
    const port = t.tlsBase + 1 + 10_000;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {});
    socket.resume().end(bytes);
    await Promise.race(
      ['end', 'close'].map((event) => new Promise((on) => socket.once(event, on))),
    );
    socket.destroy();
  }
  await patient.stop();
});
