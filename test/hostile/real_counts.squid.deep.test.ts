// One account's idle tunnels, as many as a machine's descriptors allow, and then idle connections
// of nobody, against Squid with the caps of its own choice.
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { connectionCaps } from '../../agent/src/connection_caps.ts';
import * as t from '../../agent/test/proxy_world.ts';
import { type SquidNode, startSquidNode } from '../../agent/test/squid_node.ts';
import { effort } from '../effort.ts';

const caps = connectionCaps({});
const atOnce = 100;
/** Every so often the victim asks. */
const beside = 500;
/** More than may wait, so that the oldest must be closed. */
const idleConnections = effort === 'deep' ? 10_000 : Math.min(10_000, caps.waiting + 1000);

let node: SquidNode;
let origin: t.Origin;
let probe: { password: string; host: string; port: number };
const open = new Set<Socket>();

beforeAll(async () => {
  origin = await t.startOrigin();
  probe = { password: 'secret', host: t.originIp, port: origin.port };
  node = await startSquidNode({ records: t.usualRecords(), rules: { probe } });
});
afterEach(() => {
  for (const socket of open) socket.destroy();
  open.clear();
});
afterAll(async () => {
  await node.stop();
  await origin.stop();
});

const url = () => origin.url;
const victim: t.Through = { port: t.normalPort, from: t.sources[1] as string };
const alice: t.Through = { port: t.normalPort, from: t.sources[0] as string };
const bob = (): t.Through => ({
  port: t.normalPort,
  from: '127.79.4.1',
  authorization: t.basic(t.tokenOf(1, { user: 2 }), 'bob'),
});
const check = () => ({ port: t.normalPort, authorization: t.basic('secret', '-probe') });

/**
 * Opens so many tunnels of a user of account 1; answers how often each status came, with the victim
 * asked beside it.
 */
async function tunnels(count: number, through: t.Through): Promise<Record<string, number>> {
  const statuses: Record<string, number> = {};
  for (let n = 0; n < count; n += atOnce) {
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count - n) }, async () => {
        const client = await t.Client.open(through);
        open.add(client.socket);
        const request = t.requestText('CONNECT', origin.to, through);
        const { status } = await client.ask(request);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }),
    );
    if (n % beside === 0) expect((await t.ask(victim, 'GET', url())).status).toBe(200);
  }
  return statuses;
}

test('one account holds as many idle tunnels as it may, gets the reason, and shuts nobody out', async () => {
  const before = node.squids();
  // Those of the victim and of the checks are counted as any others: a few more or less may be let
  // in.
  const ofAlice = await tunnels(caps.user + 100, alice);
  expect(ofAlice[200]).toBeGreaterThan(caps.user - 20);
  expect(ofAlice[200]).toBeLessThanOrEqual(caps.user);
  expect(ofAlice[429]).toBeGreaterThanOrEqual(100);
  const ofBob = await tunnels(caps.user + 100, bob());
  expect(ofBob[429]).toBeGreaterThanOrEqual(100);
  expect((ofAlice[200] ?? 0) + (ofBob[200] ?? 0)).toBeLessThanOrEqual(caps.account);
  expect((await t.ask(victim, 'GET', url())).status).toBe(200);
  expect((await t.ask(check(), 'GET', url())).status).toBe(200);
  expect(await node.engine.poll(undefined)).toBeDefined();
  expect(node.squids()).toEqual(before);
  expect(node.engine.faults()).toEqual([]);
}, 240_000);

test(`${idleConnections} idle connections from unknown addresses neither end Squid nor lock out other clients`, async () => {
  const before = node.squids();
  const idle = async (n: number) => {
    const localAddress = `127.79.${5 + (n % 11)}.${1 + (n % 250)}`;
    const socket = connect({ host: '127.0.0.1', port: t.normalPort, localAddress });
    open.add(socket);
    await new Promise<void>((resolve) => {
      socket.once('connect', resolve);
      socket.on('error', () => {});
      socket.once('end', () => socket.destroy());
      socket.once('close', () => {
        open.delete(socket);
        resolve();
      });
      socket.resume();
    });
  };
  for (let n = 0; n < idleConnections; n += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, index) => idle(n + index)));
    // The agent looks once a second.
    if (n % beside === 0) {
      await node.engine.poll(undefined);
      expect((await t.ask(victim, 'GET', url())).status).toBe(200);
    }
  }
  await t.until(async () => {
    await node.engine.poll(undefined);
    return open.size <= caps.waiting;
  });
  expect((await t.ask(check(), 'GET', url())).status).toBe(200);
  expect(node.squids()).toEqual(before);
  expect(node.engine.faults()).toEqual([]);
}, 240_000);
