// Hostile clients, with TLS and without, and hostile origins against Squid and its deciders: none
// of them dies, nor holds up a victim.
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as t from '../../agent/test/proxy_world.ts';
import { deciderOf, type SquidNode, startSquidNode } from '../../agent/test/squid_node.ts';
import { Random } from '../../server/test/random.ts';
import { attacks, beside, carryOut, clientHello, hostileOrigin, runAll } from './attackers.ts';
import { hostileHandshake, hostileRequests, hostileTargets } from './hostile_bytes.ts';

const count = attacks;
/** Enough for Squid and its decider to read what was sent, and to answer. */
const patienceMs = 10;
const timeout = { timeout: 900_000 };
const sources = Array.from({ length: 16 }, (_, index) => `127.78.4.${10 + index}`);
const host = '127.0.0.1';
const offsets = [1, 2, 501, 502];

let node: SquidNode;
let origin: t.Origin;
let hostile: Server;
let random: Random;
let before: Array<number | undefined>;

/** Squid and its decider: who took the place of one that died has another number. */
const processes = () => node.squids().flatMap((squid) => [squid, deciderOf(squid)]);

beforeAll(async () => {
  random = Random.printed('hostile clients and origins of Squid');
  origin = await t.startOrigin();
  const entries = sources.map((ip, index) => t.authlistRecord(1, ip, 1, 10 + index));
  node = await startSquidNode({ records: [...t.usualRecords(), ...entries] });
  hostile = await hostileOrigin(t.originIp);
  before = processes();
  expect(before.length).toBeGreaterThanOrEqual(2);
});
afterAll(async () => {
  await node?.stop();
  await origin?.stop();
  hostile?.close();
});

/** A new connection for each question: Squid ends those that it does not like. */
const victims = [{ port: t.normalPort }, { port: t.tlsBase + 1, isSecure: true }].map(
  ({ port, isSecure }) =>
    async () => {
      const secure = isSecure ? { proxy_certificate: node.certificate } : {};
      const client = await t.Client.open({ port, from: t.sources[1], ...secure });
      try {
        const url = origin.url;
        expect((await client.ask(t.requestText('GET', url))).status).toBe(200);
      } finally {
        client.socket.destroy();
      }
    },
);

async function outlives(attack: (index: number) => Promise<unknown>): Promise<void> {
  await beside(victims, runAll(count, attack));
  for (const victim of victims) await victim();
  expect(processes()).toEqual(before);
  expect(node.engine.faults()).toEqual([]);
}

test(
  'no client ends Squid or a decider, or holds up another, whatever it sends',
  timeout,
  async () => {
    const own = hostileTargets(t.originIp, origin.port, t.privateIp);
    await outlives(() => {
      const from = random.one([...sources, t.sources[2]]);
      const target = { host, port: t.base + random.one(offsets), from, patience_ms: patienceMs };
      return carryOut(hostileRequests(random, own), target);
    });
  },
);

test('no client of TLS does, however its negotiation ends', timeout, async () => {
  const hello = await clientHello();
  const own = hostileTargets(t.originIp, origin.port, t.privateIp);
  await outlives((index) => {
    const port = t.tlsBase + random.one(offsets);
    const target = { host, port, from: random.one(sources), patience_ms: patienceMs };
    return index % 40 === 1
      ? carryOut(hostileRequests(random, own), { ...target, tls: true })
      : carryOut(hostileHandshake(random, hello), target);
  });
});

test('no origin does', timeout, async () => {
  const { port: at } = hostile.address() as AddressInfo;
  await outlives(() => {
    const url = `http://${t.originIp}:${at}/${random.between(0, 2 ** 31)}`;
    const request = `GET ${url} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`;
    const attack = { pieces: [Buffer.from(request)], ending: 'wait' } as const;
    const port = t.base + random.one(offsets);
    const target = { host, port, from: random.one(sources), patience_ms: patienceMs };
    return carryOut(attack, target);
  });
});
