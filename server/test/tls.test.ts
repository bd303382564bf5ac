// TLS: a certificate from files, loaded again when they change, without a connection being lost.
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { type Agent, Agent as HttpsAgent, request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createCertificate } from '../../agent/test/node_records.ts';
import { freePorts } from '../../test/authority.ts';
import type { Config } from '../src/config.ts';
import { ServedCertificate } from '../src/tls/certificate.ts';
import { newCertificate } from './certificate.ts';
import { keptLog, startTestApp, type TestApp } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-tls-'));
const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };

function install({ cert, key }: { cert: string; key: string }): void {
  writeFileSync(files.key, key);
  writeFileSync(files.cert, cert);
}

const { log, lines } = keptLog();
let t: TestApp;
beforeAll(async () => {
  install(newCertificate('first'));
  const env = {
    // With a certificate it may listen beyond loopback.
    EXITWARD_LISTEN: '0.0.0.0:0',
    EXITWARD_TLS_CERT: files.cert,
    EXITWARD_TLS_KEY: files.key,
  };
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`, env, log);
});
afterAll(async () => {
  await t.stop();
  rmSync(folder, { recursive: true, force: true });
});

const port = () => Number(new URL(t.base_url).port);

/** Whom the certificate names that a new connection is shown. */
async function shown(): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port: port(), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { CN } = socket.getPeerCertificate().subject;
  socket.end();
  return String(CN);
}

/** The status of GET /healthz by this agent, and the port that it came from. */
function get(agent: Agent): Promise<{ status: number; from: number | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: port(), path: '/healthz', agent });
    sent.on('error', reject).on('response', (response) => {
      const from = response.socket.localPort;
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, from }));
    });
    sent.end();
  });
}

test('every listener that other machines reach speaks TLS with the certificate of the files', async () => {
  expect(t.base_url).toMatch(/^https:/);
  expect(t.running.node_url).toMatch(/^https:/);
  const first = newCertificate('first');
  install(first);
  await vi.waitFor(async () => {
    const agent = new HttpsAgent({ ca: first.cert, keepAlive: false });
    expect((await get(agent)).status).toBe(200);
  }, 90_000);
});

test('a client that speaks no TLS is answered nothing', async () => {
  const socket = connect(port(), '127.0.0.1');
  let heard = '';
  socket.on('data', (bytes) => {
    heard += bytes.toString('latin1');
  });
  socket.on('error', () => {});
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'close');
  expect(heard).not.toContain('HTTP/1.1 200');
});

test('a renewed certificate is shown to new connections, and open ones go on', async () => {
  const agent = new HttpsAgent({ rejectUnauthorized: false, keepAlive: true, maxSockets: 1 });
  const before = await get(agent);
  install(newCertificate('second'));
  await vi.waitFor(async () => expect(await shown()).toBe('second'), 90_000);
  const after = await get(agent);
  expect(after).toEqual(before);
  agent.destroy();
});

test('a new certificate that is broken leaves the old one in place, until a good one comes', async () => {
  const refused = expect.objectContaining({
    msg: 'the new TLS certificate is not usable; the old one stays',
  });
  lines.length = 0;
  writeFileSync(files.cert, 'this is no certificate');
  await vi.waitFor(() => expect(lines).toContainEqual(refused), 90_000);
  expect(await shown()).toBe('second');
  // Not even to be looked at: it leads to itself.
  lines.length = 0;
  rmSync(files.cert);
  symlinkSync(files.cert, files.cert);
  await vi.waitFor(() => expect(lines).toContainEqual(refused), 90_000);
  expect(await shown()).toBe('second');
  rmSync(files.cert);
  install(newCertificate('third'));
  await vi.waitFor(async () => expect(await shown()).toBe('third'), 90_000);
});

test('an RSA certificate with an EC key is refused at the start, and leaves a good pair in place', async () => {
  const { cert } = createCertificate('localhost', 'rsa');
  const good = newCertificate('fourth');
  install({ cert, key: good.key });
  await vi.waitFor(async () => {
    const { tls } = (await t.operator.get('/status')).body;
    expect(tls.last_error).toMatch(/are no pair: the key is not that of the certificate\.$/);
  }, 90_000);
  expect(await shown()).toBe('third');
  const start = startTestApp(`sqlite:${join(folder, 'refused.db')}`, {
    EXITWARD_TLS_CERT: files.cert,
    EXITWARD_TLS_KEY: files.key,
  });
  await expect(start).rejects.toThrow(/are no pair: the key is not that of the certificate\.$/);
  install(good);
  await vi.waitFor(async () => expect(await shown()).toBe('fourth'), 90_000);
});

test('clients that would reject the certificate are a warning, which leaves it in use', async () => {
  const certificate = { cert_file: files.cert, key_file: files.key };
  const config = { tls: certificate, acme: undefined, public_url: 'https://control.example' };
  const served = ServedCertificate.open(config as Config, t.clock, log) as ServedCertificate;
  onTestFinished(() => served.stop());
  served.showOn([]);
  await vi.waitFor(() => {
    expect(served.status().rejection).toBe(
      'Clients that verify the certificate reject it: it is signed by itself.',
    );
  }, 90_000);
  expect(served.status()).toMatchObject({ names: ['127.0.0.1', 'localhost'], last_error: null });
});

test("the operators' own listener speaks plain HTTP on loopback, and TLS where other machines reach it", async () => {
  expect(t.running.admin_url).toMatch(/^http:\/\/127\.0\.0\.1:/);
  expect((await t.operator.get('/status')).status).toBe(200);
  const start = (env: Record<string, string>) =>
    startTestApp(`sqlite:${join(folder, `${env.EXITWARD_ADMIN_LISTEN}.db`)}`, {
      EXITWARD_TLS_CERT: files.cert,
      EXITWARD_TLS_KEY: files.key,
      ...env,
    });
  const open = await start({ EXITWARD_ADMIN_LISTEN: '0.0.0.0:0' });
  expect(open.running.admin_url).toMatch(/^https:/);
  await open.stop();
  const [port] = await freePorts(1);
  const both = { EXITWARD_LISTEN: `127.0.0.1:${port}`, EXITWARD_ADMIN_LISTEN: `127.0.0.1:${port}` };
  const shared = await start(both);
  expect(shared.running.admin_url).toMatch(/^https:/);
  expect(shared.running.admin_url).toBe(shared.base_url);
  await shared.stop();
});

test('a certificate that has expired does not replace a good one', async () => {
  lines.length = 0;
  install(newCertificate('past', { ends: '300101000000Z' }));
  const before = t.clock.seconds;
  await vi.waitFor(async () => expect(await shown()).toBe('past'), 90_000);
  t.clock.seconds = Date.UTC(2031, 0, 1) / 1000;
  install(newCertificate('good'));
  await vi.waitFor(async () => expect(await shown()).toBe('good'), 90_000);
  install(newCertificate('expired', { ends: '300101000000Z' }));
  const refused = expect.objectContaining({
    msg: 'the new TLS certificate is not usable; the old one stays',
  });
  await vi.waitFor(() => expect(lines).toContainEqual(refused), 90_000);
  expect(await shown()).toBe('good');
  const { tls } = (await t.operator.get('/status')).body;
  expect(tls).toMatchObject({ source: 'file', names: ['127.0.0.1', 'localhost'] });
  expect(tls.last_error).toMatch(/is not valid now, by the clock of this machine\.$/);
  t.clock.seconds = before;
});

test('the end of the certificate is a metric', async () => {
  const text = await (await fetch(t.running.metrics_url as string)).text();
  const ends = Date.UTC(2049, 11, 31, 23, 59, 59) / 1000;
  expect(text).toMatch(new RegExp(`^exitward_certificate_expiry_seconds ${ends}$`, 'm'));
});

test('a server that stops waits for requests, not for connections on which none has come', async () => {
  const own = await startTestApp(`sqlite:${join(folder, 'stops.db')}`, {
    EXITWARD_TLS_CERT: files.cert,
    EXITWARD_TLS_KEY: files.key,
    EXITWARD_STOP_SECONDS: '300',
  });
  const within = { signal: AbortSignal.timeout(60_000) };
  const open = async (url: string) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const openTls = async () => {
    const socket = connectTls({ socket: await open(own.base_url), rejectUnauthorized: false });
    await once(
      socket.on('error', () => {}),
      'secureConnect',
    );
    return socket;
  };
  const plain = own.running.admin_url;
  const unneeded = [await openTls(), await open(own.base_url), await open(plain)];
  const begun = [await openTls(), await open(plain)];
  for (const socket of begun) socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n');

  const stopped = own.stop();
  await Promise.all(unneeded.map((socket) => once(socket.resume(), 'close', within)));
  for (const socket of begun) {
    socket.write('\r\n');
    expect(String((await once(socket, 'data', within))[0])).toMatch(/^HTTP\/1\.1 200 /);
  }
  await stopped;
});
