// A request in the coding `identity`, which Squid takes off with its length: the bytes behind it
// are a request, and judged as one.
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as t from '../../agent/test/proxy_world.ts';
import { type SquidNode, startSquidNode } from '../../agent/test/squid_node.ts';

let node: SquidNode;
let origin: t.Origin;

beforeAll(async () => {
  origin = await t.startOrigin();
  node = await startSquidNode({ records: t.usualRecords() });
});
afterAll(async () => {
  await node?.stop();
  await origin?.stop();
});

test('what a coding hides from Squid goes to no origin that the policy refuses', async () => {
  const client = await t.Client.open({ port: t.normalPort });
  const hidden = t.requestText('GET', `http://${t.privateIp}:${origin.port}/`);
  const url = origin.url;
  const head = `POST ${url} HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: identity\r\n`;
  client.write(`${head}Content-Length: ${hidden.length}\r\n\r\n${hidden}`);
  expect(t.read(await client.answer()).body_bytes).toBe(0);
  const { status, headers } = await client.answer();
  expect([status, headers['x-exitward-reason']]).toEqual([403, 'destination_refused']);
  expect(origin.dialled).toEqual(new Set([t.originIp]));
  client.socket.destroy();
});
