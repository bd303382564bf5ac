// Connections that send little or nothing useful: each ends, none locks anybody out, and the server
// can still be stopped.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Environment } from '../../kit/src/settings.ts';
import { newCertificate } from '../../server/test/certificate.ts';
import { ServerProcess } from '../../server/test/server_process.ts';
import { until } from '../../server/test/waiting.ts';
import { deepTest } from '../deep_test.ts';
import { descriptorsOf, heardOn, heldByServer, holding, newAccount } from './held_process.ts';

/** A request, and a handshake, has little time. */
const soon = () => ServerProcess.settings({ EXITWARD_REQUEST_SECONDS: '2' });

function withTls(settings: Environment): Environment {
  const file = (name: string) => join(settings.EXITWARD_DATA_DIR as string, name);
  const { cert, key } = newCertificate('server');
  writeFileSync(file('cert'), cert);
  writeFileSync(file('key'), key, { mode: 0o600 });
  return { ...settings, EXITWARD_TLS_CERT: file('cert'), EXITWARD_TLS_KEY: file('key') };
}

const postWithoutEnd = (authorization: string) =>
  `POST /v0/contract/ip-authlist HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;

let server: ServerProcess;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.remove();
});

/** So many connections at once, which stay open as far as it is up to them. */
async function hold(count: number, bytes: string, from?: string): Promise<Socket[]> {
  const held = await Promise.all(
    Array.from({ length: count }, () => holding(server.base_url, bytes, from)),
  );
  sockets.push(...held);
  return held;
}

const endOf = (held: Socket[]) => until(() => heldByServer(server.base_url, held) === 0, 60);

test('1,030 connections of 5 bytes lock nobody out of a server with 1,024 descriptors, and end', async () => {
  server = await ServerProcess.start(soon(), { descriptors: 1024 });
  const authorization = await newAccount(server, 'victim');
  const held = await hold(1030, 'GET /');
  expect(heldByServer(server.base_url, held)).toBeGreaterThan(500);
  const response = await fetch(`${server.base_url}/v0`, { headers: { authorization } });
  expect(response.status).toBe(200);
  expect((await server.operator.get('/accounts/victim')).status).toBe(200);
  // The refusals are not read, and no side closes.
  await endOf(held);
  expect((await server.end()).code).toBe(0);
});

test('headers and a body that never come are 408, and their connections are closed', async () => {
  server = await ServerProcess.start(soon());
  const authorization = await newAccount(server, 'slow');
  const [headers] = await hold(1, 'GET /healthz HTTP/1.1\r\nHo');
  const [body] = await hold(1, postWithoutEnd(authorization));
  for (const socket of [headers, body]) {
    expect(await heardOn(socket as Socket)).toMatch(/^HTTP\/1\.1 408 .*: request_timeout/s);
  }
});

deepTest(
  'TLS handshakes that never come end, those of clients that have gone too, and the server stops',
  async () => {
    server = await ServerProcess.start(withTls(soon()));
    const before = descriptorsOf(server);
    const silent = await hold(20, '');
    const begun = await hold(20, '\x16\x03\x01\x00\xa5\x01');
    for (const socket of await hold(20, '\x16\x03\x01\x00\xa5\x01')) socket.destroy();
    await endOf([...silent, ...begun]);
    await until(() => descriptorsOf(server) <= before);
    expect((await server.end()).code).toBe(0);
  },
);

deepTest('a server stops though handshakes are under way', async () => {
  server = await ServerProcess.start(
    withTls(ServerProcess.settings({ EXITWARD_STOP_SECONDS: '1' })),
  );
  await hold(20, '\x16\x03\x01\x00\xa5\x01');
  expect((await server.end()).code).toBe(0);
});

test('one address has its share; past it, its own idle connections give way, and other addresses come in', async () => {
  const mostOfAll = {
    EXITWARD_MAX_CONNECTIONS: '128',
    EXITWARD_MAX_CONNECTIONS_PER_ADDRESS: '20',
    EXITWARD_REQUEST_SECONDS: '600',
  };
  server = await ServerProcess.start(ServerProcess.settings(mostOfAll));
  const held = await hold(100, '', '127.0.0.2');
  await until(() => heldByServer(server.base_url, held) <= 20);
  const [other] = await hold(1, 'GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  expect(await heardOn(other as Socket)).toMatch(/^HTTP\/1\.1 200 /);
});

test('an operator on loopback gets in beside a listener whose connections are all in work', async () => {
  const settings = { EXITWARD_MAX_CONNECTIONS: '64', EXITWARD_REQUEST_SECONDS: '600' };
  server = await ServerProcess.start(ServerProcess.settings(settings));
  const authorization = await newAccount(server, 'busy');
  // Bodies that are on their way keep a request in work.
  const held = await hold(80, postWithoutEnd(authorization));
  await until(() => heldByServer(server.base_url, held) <= 40);
  expect((await server.operator.get('/accounts/busy')).status).toBe(200);
});

deepTest('bytes that are no request do not replace the response before them', async () => {
  server = await ServerProcess.start(ServerProcess.settings());
  const authorization = await newAccount(server, 'acme');
  const get = `GET /v0/contract HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n\r\n`;
  const [socket] = await hold(1, `${get}${get}this is no HTTP\r\n\r\n`);
  const heard = await heardOn(socket as Socket);
  const statuses = ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400'];
  expect(heard.match(/HTTP\/1\.1 \d+/g)).toEqual(statuses);
  expect(heard.match(/"name":"acme"/g)).toHaveLength(2);
});

deepTest(
  'a body that its client cuts off is a 400 in the log at debug, not a fault of the server',
  async () => {
    server = await ServerProcess.start(ServerProcess.settings({ EXITWARD_LOG_LEVEL: 'debug' }));
    const authorization = await newAccount(server, 'acme');
    const [ended, reset] = await hold(
      2,
      `POST /v0/contract/ip-authlist HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n{`,
    );
    // The server asks for the body: the request is in work.
    for (const socket of [ended, reset]) await once((socket as Socket).resume(), 'data');
    ended?.end();
    reset?.resetAndDestroy();
    const cut = () => server.log.filter(({ msg }) => msg.startsWith('the request ended'));
    await until(() => cut().length === 2);
    for (const line of cut())
      expect(line).toMatchObject({ level: 20, status: 400, method: 'POST' });
    expect(server.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  },
);
