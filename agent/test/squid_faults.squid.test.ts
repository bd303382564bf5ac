// The Squid engine when something in or around it fails: no client gets more than it may, and Squid
// keeps running.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { bodyOf } from '../src/policy/denials.ts';
import * as t from './proxy_world.ts';
import { childrenOf, deciderOf, type SquidNode, startSquidNode } from './squid_node.ts';

let origin: t.Origin;
let node: SquidNode;
const normal = { port: t.normalPort };
const names: t.Names = new Map<string, () => string[] | Promise<string[]>>([
  ['www.example', () => [t.originIp]],
  ['own.example', () => ['9.9.9.11']],
  ['silent.example', () => new Promise<string[]>(() => {})],
]);
const onLoopback = (command: 'add' | 'delete', ip: string) =>
  execFileSync('ip', ['address', command, `${ip}/32`, 'dev', 'lo']);

beforeAll(async () => {
  onLoopback('add', '9.9.9.11');
  origin = await t.startOrigin();
  const records = [...t.usualRecords(), t.overrideRecord(1, 'www.example', t.otherOriginIp)];
  node = await startSquidNode({ records, names });
});
afterAll(async () => {
  await node?.stop();
  await origin?.stop();
  for (const ip of ['9.9.9.11', '9.9.9.12']) onLoopback('delete', ip);
});

const childOf = (squid: number | undefined, program: string) =>
  childrenOf(squid).find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(program));

const serves = async () =>
  (await t.ask(normal, 'GET', origin.url).catch(() => undefined))?.status === 200;
/** Resolves when Squid has read its configuration again after a change, and serves. */
async function untilRead(change: () => void, then = () => {}): Promise<void> {
  const [squid] = node.squids();
  const before = childrenOf(squid);
  change();
  await t.until(() => childrenOf(squid).some((child) => !before.includes(child)));
  then();
  await t.until(serves);
}

test('a custom DNS entry whose address cannot be put in place is refused, not passed over', async () => {
  const target = `www.example:${origin.port}`;
  const [squid] = node.squids();
  for (const method of ['GET', 'CONNECT']) {
    // A Squid whose helper dies before it ever responded gives up itself.
    const { at } = await t.see({ port: t.overridePort }, `http://${target}/`);
    expect(at).toBe(t.otherOriginIp);
    origin.dialled.clear();
    const script = childOf(squid, 'dial.sed') ?? 0;
    await t.halt(script);
    const answering = t.ask(
      { port: t.overridePort },
      method,
      method === 'GET' ? `http://${target}/` : target,
    );
    await sleep(300);
    process.kill(script, 'SIGKILL');
    const { status, headers } = await answering;
    expect([method, status, headers['x-exitward-reason']]).toEqual([method, 503, 'not_ready']);
    expect([...origin.dialled]).toEqual([]);
    await t.until(() => ![undefined, script].includes(childOf(squid, 'dial.sed')));
  }
  expect(node.squids()).toEqual([squid]);
});

test('a request whose decider dies is answered that the node is not ready', async () => {
  const [squid] = node.squids();
  for (const method of ['GET', 'CONNECT']) {
    const target = method === 'GET' ? origin.url : origin.to;
    // A Squid whose helper dies before it ever responded gives up itself.
    expect((await t.ask(normal, method, target)).status).toBe(200);
    const decider = deciderOf(squid) as number;
    await t.halt(decider);
    const answering = t.ask(normal, method, target);
    await sleep(300);
    process.kill(decider, 'SIGKILL');
    const { status, headers, body } = await answering;
    const reason = headers['x-exitward-reason'];
    expect([method, status, reason, body]).toEqual([method, 503, 'not_ready', bodyOf('not_ready')]);
    await t.until(() => ![undefined, decider].includes(deciderOf(squid)));
  }
  expect((await t.ask(normal, 'GET', origin.url)).headers['x-exitward-reason']).toBeUndefined();
  expect(node.squids()).toEqual([squid]);
});

deepTest.each(['GET', 'CONNECT'])(
  'a %s that Squid reads its configuration during is answered that the node is not ready',
  async (method) => {
    const [squid = 0] = node.squids();
    const answerOf = async (host: string, isAsked: () => Promise<unknown>, end: () => void) => {
      const target = `${host}:${origin.port}`;
      const answering = t.ask(normal, method, method === 'GET' ? `http://${target}/` : target);
      await isAsked();
      await untilRead(() => process.kill(squid, 'SIGHUP'), end);
      const { status, body } = await answering;
      return [status, body];
    };
    // Squid's own denial is 403; it is 503 if its last check of a request ended without a response.
    const unready = [expect.toBeOneOf([403, 503]), bodyOf('not_ready')];
    expect(await serves()).toBe(true);
    const decider = deciderOf(squid) as number;
    await t.halt(decider);
    const wake = () => process.kill(decider, 'SIGCONT');
    expect(await answerOf(t.originIp, () => sleep(300), wake)).toEqual(unready);
    const [asked, addresses] = [Promise.withResolvers<void>(), Promise.withResolvers<string[]>()];
    names.set(`${method}.late.example`.toLowerCase(), () => {
      asked.resolve();
      return addresses.promise;
    });
    const answerName = () => addresses.resolve([t.originIp]);
    const whenNamed = answerOf(`${method}.late.example`, () => asked.promise, answerName);
    expect(await whenNamed).toEqual(unready);
    expect(node.squids()).toEqual([squid]);
  },
);

test('a name whose servers are silent is given up in less time than people wait', async () => {
  const answering = t.ask(normal, 'GET', `http://silent.example:${origin.port}/`);
  // Five seconds, if the machine has nothing else to do.
  const outcome = await Promise.race([answering, sleep(8000)]);
  expect(outcome?.headers['x-exitward-reason']).toBe('unresolved');
});

test('no address of the machine is a destination, also one that came later', async () => {
  origin.dialled.clear();
  const reasonFor = async (host: string) =>
    (await t.ask(normal, 'GET', `http://${host}:${origin.port}/`)).headers['x-exitward-reason'];
  expect(await reasonFor('9.9.9.11')).toBe('destination_refused');
  expect(await reasonFor('own.example')).toBe('destination_refused');
  expect([...origin.dialled]).toEqual([]);
  await untilRead(() => onLoopback('add', '9.9.9.12'));
  expect(await reasonFor('9.9.9.12')).toBe('destination_refused');
});

test('no connection to an origin serves two requests: they may be of two accounts', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
  });
  await once(server.listen(0, t.originIp), 'listening');
  const { port } = server.address() as AddressInfo;
  for (const from of t.sources.slice(0, 2)) {
    expect((await t.ask({ ...normal, from }, 'GET', `http://${t.originIp}:${port}/`)).status).toBe(
      200,
    );
  }
  server.close();
  expect(connections).toBe(2);
});

deepTest('failures are explained in words, as far as Squid knows', async () => {
  const cutting = createServer((socket) => socket.on('error', () => {}).end());
  await once(cutting.listen(0, t.originIp), 'listening');
  const { port } = cutting.address() as AddressInfo;
  const failing = [
    ['unresolved', 502, 'unknown.example:8080'],
    ['unreachable', 503, `${t.originIp}:81`],
    ['no_answer', 502, `${t.originIp}:${port}`],
  ] as const;
  for (const [word, status, target] of failing) {
    const answer = await t.ask(normal, 'GET', `http://${target}/`);
    expect([answer.status, answer.headers['x-exitward-reason']]).toEqual([status, word]);
    expect(answer.body).toContain(`(${word}).\n`);
  }
  cutting.close();
  // No header can be added to responses to CONNECT, so the text is read.
  const connected = await t.ask(normal, 'CONNECT', `${t.originIp}:81`);
  expect(connected.body).toContain('(unreachable).\n');
});

deepTest('a tunnel ends as a whole when its client ends its side', async () => {
  let text = '';
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        text += chunk;
      });
    socket.on('end', () => socket.end('the rest'));
  });
  await once(server.listen(0, t.originIp), 'listening');
  const { port } = server.address() as AddressInfo;
  const client = await t.openTunnel(normal, `${t.originIp}:${port}`);
  const { received } = client;
  client.socket.end('question');
  await client.ended();
  await t.until(() => text === 'question');
  expect(client.received).toBe(received);
  server.close();
});

deepTest('with the disk full the log loses lines, and no connection ends', async () => {
  const [squid = 0] = node.squids();
  const log = join(node.dir, 'squid/0/logs/meter.log');
  const tunnel = await t.openTunnel(normal, origin.to);
  rmSync(log);
  symlinkSync('/dev/full', log);
  const decider = deciderOf(squid);
  process.kill(squid, 'SIGUSR1');
  await t.until(() => ![undefined, decider].includes(deciderOf(squid)));
  for (let remaining = 5; remaining > 0; remaining--) {
    const { status, headers } = await t.ask(normal, 'GET', origin.url);
    expect([status, headers['x-exitward-reason']]).toEqual([200, undefined]);
    await sleep(300);
  }
  expect((await tunnel.ask('GET / HTTP/1.1\r\nHost: x\r\n\r\n')).status).toBe(200);
  tunnel.socket.destroy();
  expect(node.squids()).toEqual([squid]);
});

// This comes last, since it takes the deciders from Squid.
deepTest('the last words of a Squid that dies are in the fault, and no older ones', async () => {
  const [squid] = node.squids();
  const log = join(node.dir, 'squid/0/logs/cache.log');
  const words = () => t.messagesOf(node.engine).join('\n');
  process.kill(squid as number, 'SIGKILL');
  await t.until(() => words() !== '');
  expect(words()).toBe(`Squid 0 does not run: see ${log}.`);
  await t.until(() => deciderOf(node.squids()[0]) !== undefined && words() === '');

  writeFileSync(join(node.dir, 'squid/0/rules.json'), 'none');
  process.kill(deciderOf(node.squids()[0]) as number, 'SIGKILL');
  await t.until(() => words().includes('Squid 0 does not run'));
  expect(words()).toMatch(/^Squid 0 does not run: .*helpers are crashing too rapidly/m);
});
