// Hostile clients, with TLS and without, and hostile origins against the embedded engine: none ends
// it, nor holds up a victim.
import type { AddressInfo, Server } from 'node:net';
import pino from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type EmbeddedNode, startEmbeddedNode } from '../../agent/test/embedded_node.ts';
import * as t from '../../agent/test/proxy_world.ts';
import { Random } from '../../server/test/random.ts';
import {
  attacks,
  beside,
  carryOut,
  clientHello,
  hostileOrigin,
  runAll,
  Unowned,
} from './attackers.ts';
import { hostileHandshake, hostileRequests, hostileTargets } from './hostile_bytes.ts';

/** Enough that no address runs out of ports; each is on the authlist of account 1. */
const sources = Array.from({ length: 16 }, (_, index) => `127.78.4.${10 + index}`);
const host = '127.0.0.1';
/** Seconds on a quiet machine; a busy one is waited for. */
const timeout = { timeout: 900_000 };
/** Behind the base of a service: both exits, without custom DNS and with it. */
const offsets = [1, 2, 501, 502];

let node: EmbeddedNode;
let origin: t.Origin;
let hostile: Server;
let random: Random;
/** Errors that the engine logged: even one that its owner has caught is a fault. */
let errors: unknown[];
let unowned: Unowned;
let victims: Array<() => Promise<void>>;
const clients: t.Client[] = [];

beforeAll(async () => {
  random = Random.printed('hostile clients and origins');
  origin = await t.startOrigin();
  const entries = sources.map((ip, index) => t.authlistRecord(1, ip, 1, 10 + index));
  const log = pino({ level: 'error' }, { write: (line: string) => void errors.push(line) });
  node = await startEmbeddedNode(
    { records: [...t.usualRecords(), ...entries] },
    { log, handshake_ms: 2000 },
  );
  hostile = await hostileOrigin(t.originIp);
  const url = origin.url;
  const through = { port: t.normalPort, from: t.sources[1] };
  const secure = { port: t.tlsBase + 1, from: t.sources[1], proxy_certificate: node.certificate };
  for (const options of [through, secure]) clients.push(await t.Client.open(options));
  victims = clients.map((client) => async () => {
    const { status } = await client.ask(t.requestText('GET', url));
    expect(status).toBe(200);
  });
});
beforeEach(() => {
  errors = [];
  unowned = new Unowned();
  return () => {
    const heard = unowned.end();
    expect(heard).toEqual([]);
    expect(errors).toEqual([]);
  };
});
afterAll(async () => {
  for (const { socket } of clients) socket.destroy();
  await node?.stop();
  await origin?.stop();
  hostile?.close();
});

test('no client ends the engine, or holds up another, whatever it sends', timeout, async () => {
  const own = hostileTargets(t.originIp, origin.port, t.privateIp);
  const attack = () => {
    const port = t.base + random.one(offsets);
    const from = random.one([...sources, t.sources[2]]);
    return carryOut(hostileRequests(random, own), { host, port, from });
  };
  await beside(victims, runAll(attacks, attack));
});

test('no client of TLS does, however its negotiation ends', timeout, async () => {
  const hello = await clientHello();
  const own = hostileTargets(t.originIp, origin.port, t.privateIp);
  const attack = (index: number) => {
    const target = { host, port: t.tlsBase + random.one(offsets), from: random.one(sources) };
    return index % 40 === 1
      ? carryOut(hostileRequests(random, own), { ...target, tls: true })
      : carryOut(hostileHandshake(random, hello), { ...target, isPatient: index % 2000 === 0 });
  };
  await beside(victims, runAll(attacks, attack));
});

test('no origin does, and nothing but clean HTTP of it reaches a client', timeout, async () => {
  const { port: at } = hostile.address() as AddressInfo;
  const fetchOnce = async () => {
    const port = t.base + random.one(offsets);
    const url = `http://${t.originIp}:${at}/${random.between(0, 2 ** 31)}`;
    const method = random.one(['GET', 'GET', 'GET', 'HEAD']);
    const request = `${method} ${url} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`;
    const attack = { pieces: [Buffer.from(request)], ending: 'wait' } as const;
    const heard = await carryOut(attack, { host, port, from: random.one(sources) });
    const [head = ''] = heard.split('\r\n\r\n');
    if (heard !== '')
      expect(head).toMatch(/^HTTP\/1\.1 (?!101)[1-9]\d\d [\t\r\n\x20-\x7e\x80-\xff]*$/);
  };
  await beside(victims, runAll(attacks, fetchOnce));
});
