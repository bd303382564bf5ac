// ACME against a real certificate authority: the first certificate, its renewal without a restart,
// and each way in which it fails.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Authority, startAuthority } from '../../test/authority.ts';
import { deepDescribe, deepTest } from '../../test/deep_test.ts';
import type { CertificateStatus } from '../src/tls/certificate.ts';
import { newCertificate } from './certificate.ts';
import { keptLog, startTestApp, type TestApp } from './harness.ts';

let authority: Authority;
beforeAll(async () => {
  authority = await startAuthority();
});
afterAll(() => authority.stop());

const name = 'proxies.example';
const day = 86_400;
const realNow = () => Math.floor(Date.now() / 1000);

let folder: string;
let t: TestApp;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'exitward-acme-'));
  authority.requests.length = 0;
});
afterEach(async () => {
  await t.running.stop();
  authority.refuse = () => undefined;
  authority.date = undefined;
  await authority.resolve(name, '127.0.0.1');
  rmSync(folder, { recursive: true, force: true });
});

const { log, lines } = keptLog();

async function start(env: Record<string, string> = {}): Promise<void> {
  const settings = {
    EXITWARD_LISTEN: `127.0.0.1:${authority.tls_port}`,
    EXITWARD_PUBLIC_URL: `https://${name}`,
    EXITWARD_DATA_DIR: folder,
    EXITWARD_ACME: 'operator@proxies.example',
    EXITWARD_ACME_DIRECTORY: authority.directory_url,
    ...env,
  };
  lines.length = 0;
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`, settings, log, realNow());
}

const status = async (): Promise<CertificateStatus> =>
  (await t.operator.get('/status')).body.tls as CertificateStatus;

/** The certificate that a new connection is shown. */
async function shown(): Promise<PeerCertificate> {
  const to = { host: '127.0.0.1', port: authority.tls_port, servername: name };
  const socket = connect({ ...to, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  const certificate = socket.getPeerCertificate();
  socket.destroy();
  return certificate;
}

async function untilIssued(): Promise<CertificateStatus> {
  return vi.waitFor(
    async () => {
      const challenges = await status();
      expect(challenges).toMatchObject({ source: 'acme', last_error: null });
      return challenges;
    },
    { timeout: 90_000, interval: 100 },
  );
}

async function untilFailed(code: string): Promise<CertificateStatus> {
  return vi.waitFor(
    async () => {
      const challenges = await status();
      expect([challenges.last_error_code, challenges.last_error]).toEqual([
        code,
        expect.any(String),
      ]);
      return challenges;
    },
    { timeout: 90_000, interval: 100 },
  );
}

const orders = () => authority.requests.filter((path) => path.startsWith('/order-plz')).length;

describe('a certificate by ACME', () => {
  test('is there within seconds, by tls-alpn-01 on the listener itself', async () => {
    await start();
    const { names, not_after, next_try } = await untilIssued();
    expect(names).toEqual([name]);
    const life = not_after - t.now();
    expect(next_try).toBeGreaterThan(t.now() + life * 0.61);
    expect(next_try).toBeLessThanOrEqual(t.now() + Math.ceil(life * 0.67));
    await vi.waitFor(async () => {
      const { subjectaltname, issuer } = await shown();
      expect(subjectaltname).toBe(`DNS:${name}`);
      expect(issuer.CN).toMatch(/Pebble/);
    }, 90_000);
  });

  deepTest('is there by http-01, too, on a listener that is open for the check alone', async () => {
    const listen = `127.0.0.1:${authority.http_port}`;
    const more = { EXITWARD_ACME_CHALLENGE: 'http-01', EXITWARD_ACME_LISTEN: listen };
    await start({ ...more, EXITWARD_LISTEN: '127.0.0.1:0' });
    expect((await untilIssued()).names).toEqual([name]);
    await expect(fetch(`http://${listen}/`)).rejects.toThrow('fetch failed');
  });

  deepTest('is for every name that is set', async () => {
    await start({ EXITWARD_ACME_NAMES: `${name}, nodes.example` });
    expect((await untilIssued()).names).toEqual([name, 'nodes.example']);
  });

  deepTest('is awaited by a server that serves already, with one that signs itself', async () => {
    authority.refuse = () => ({ status: 503 });
    await start();
    expect((await untilFailed('unreachable')).source).toBe('self_signed');
    expect((await shown()).issuer.CN).toBe('Exitward');
    expect((await t.operator.get('/accounts')).status).toBe(200);
  });

  test('is renewed at two thirds of its life and shown without a restart; open connections go on', async () => {
    await start();
    const first = await untilIssued();
    await vi.waitFor(async () => expect((await shown()).issuer.CN).toMatch(/Pebble/), 90_000);
    const before = await shown();
    const open = connect({
      port: authority.tls_port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
    });
    await once(open, 'secureConnect');
    const answered = async () => {
      open.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      const [heard] = (await once(open, 'data')) as [Buffer];
      return heard.toString();
    };
    // Its first request has ten seconds to arrive; between two there may be more.
    expect(await answered()).toContain('HTTP/1.1 200');
    authority.requests.length = 0;
    const later = async (seconds: number) => {
      t.clock.advance(seconds);
      authority.date = new Date(t.now() * 1000);
      await new Promise((done) => setTimeout(done, 2500));
    };
    await later((first.next_try ?? 0) - t.now() - 60);
    expect(authority.requests).toEqual([]);
    await later(120);
    await vi.waitFor(
      async () => expect((await shown()).serialNumber).not.toBe(before.serialNumber),
      90_000,
    );
    // It was old when it was issued, by this clock.
    await new Promise((done) => setTimeout(done, 2500));
    expect(orders()).toBe(1);
    expect(await answered()).toContain('HTTP/1.1 200');
    open.destroy();
  });

  test('stays across a restart, and nothing is asked for', async () => {
    await start();
    const first = await untilIssued();
    await t.running.stop();
    authority.requests.length = 0;
    await start();
    // Whether clients accept it is judged a moment later.
    const { rejection: _, ...certificate } = await status();
    expect(first).toMatchObject(certificate);
    expect((await shown()).issuer.CN).toMatch(/Pebble/);
    expect(authority.requests).toEqual([]);
  });

  test("is kept with its key and that of the account in files that are their owner's alone, and in no log", async () => {
    await start();
    await untilIssued();
    for (const file of ['certificate.pem', 'acme.json']) {
      expect(statSync(join(folder, 'tls', file)).mode & 0o777).toBe(0o600);
    }
    const [, secret] =
      /PRIVATE KEY-----\n(\S{40})/.exec(
        readFileSync(join(folder, 'tls/certificate.pem'), 'utf8'),
      ) ?? [];
    const account = JSON.parse(readFileSync(join(folder, 'tls/acme.json'), 'utf8'));
    const { key } = account.accounts[authority.directory_url] as { key: string };
    const written = JSON.stringify([lines, (await t.operator.get('/status')).body]);
    for (const secretText of [secret, key.split('\n')[1]]) {
      expect(secretText).toMatch(/\w/);
      expect(written).not.toContain(secretText);
    }
  });

  deepTest(
    'is that of a second process, too, which is given its file, also when it is renewed',
    async () => {
      await start();
      const { not_after } = await untilIssued();
      const first = t;
      authority.requests.length = 0;
      const file = join(folder, 'tls/certificate.pem');
      const files = { EXITWARD_ACME: '', EXITWARD_TLS_CERT: file, EXITWARD_TLS_KEY: file };
      await start({ ...files, EXITWARD_LISTEN: '127.0.0.1:0' });
      expect(await status()).toMatchObject({ source: 'file', names: [name], not_after });
      first.clock.advance(Math.floor((not_after - first.now()) * 0.7));
      authority.date = new Date(first.now() * 1000);
      await vi.waitFor(async () => expect((await status()).not_after).not.toBe(not_after), 90_000);
      await vi.waitFor(async () => {
        const { tls } = (await first.operator.get('/status')).body;
        expect(tls.not_after).toBe((await status()).not_after);
      }, 90_000);
      expect(orders()).toBe(1);
      await first.running.stop();
    },
  );
});

deepDescribe('a new certificate that ends before the one in use', () => {
  const certificateFile = () => join(folder, 'tls/certificate.pem');

  /** Puts a certificate in use that ends after all that pebble issues: `of` this directory. */
  function use(of: string, wanted: Parameters<typeof newCertificate>[1]): string {
    mkdirSync(join(folder, 'tls'), { mode: 0o700 });
    const { cert, key } = newCertificate('in use', { hostname: name, issuer: 'Other', ...wanted });
    writeFileSync(certificateFile(), `${cert}${key}`, { mode: 0o600 });
    const state = { accounts: {}, issued_by: of, failures: 0, next_try: 0 };
    writeFileSync(join(folder, 'tls/acme.json'), JSON.stringify(state), { mode: 0o600 });
    return cert;
  }

  test.each([
    ['of another directory', () => 'https://other.example/directory', {}],
    ['for another name', () => authority.directory_url, { hostname: 'other.example' }],
    ['that signs itself', () => authority.directory_url, { issuer: 'in use' }],
  ])('replaces one %s', async (_, of, wanted) => {
    const before = use(of(), wanted);
    await start();
    const issued = { source: 'acme', names: [name], last_error: null };
    await vi.waitFor(async () => expect(await status()).toMatchObject(issued), 90_000);
    expect(orders()).toBe(1);
    expect(readFileSync(certificateFile(), 'utf8')).not.toContain(before);
    const { issued_by } = JSON.parse(readFileSync(join(folder, 'tls/acme.json'), 'utf8'));
    expect(issued_by).toBe(authority.directory_url);
  });

  test('does not replace one of the same directory for the same names', async () => {
    // Two thirds of its life are over.
    const before = use(authority.directory_url, { begins: '600101000000Z' });
    await start();
    const { last_error } = await untilFailed('authority');
    expect(last_error).toMatch(/issued a certificate that ends at \S+, before the one in use/);
    expect(readFileSync(certificateFile(), 'utf8')).toContain(before);
    expect((await shown()).subject.CN).toBe('in use');
  });
});

describe('a failure is one sentence in the status and the log, and the next try is not soon', () => {
  const problem = (type: string, status: number, more: object = {}) => ({
    status,
    body: { type: `urn:ietf:params:acme:error:${type}`, detail: 'by the test', ...more },
  });
  const said = () => lines.map(({ msg }) => String(msg)).filter((msg) => msg.startsWith('No new'));

  test('the rate limit, whose time is kept to, also across a restart', async () => {
    const limited = { ...problem('rateLimited', 429), headers: { 'retry-after': '7200' } };
    authority.refuse = (path) => (path === '/order-plz' ? limited : undefined);
    await start();
    const { last_error, next_try } = await untilFailed('rate_limited');
    expect(last_error).toMatch(/takes no more requests for now \(rate limit\): "by the test"\.$/);
    expect(next_try).toBe(t.now() + 7200);
    expect(said()).toHaveLength(1);
    await t.running.stop();
    authority.refuse = () => undefined;
    authority.requests.length = 0;
    await start();
    t.clock.seconds = (next_try ?? 0) - 60;
    await new Promise((done) => setTimeout(done, 2500));
    expect(authority.requests).toEqual([]);
    t.clock.advance(120);
    authority.date = new Date(t.now() * 1000);
    await untilIssued();
  });

  deepTest('a name that does not lead here', async () => {
    await authority.resolve(name, '127.0.0.9');
    await start();
    const { last_error } = await untilFailed('unauthorized');
    expect(last_error).toContain(
      `looked for ${name} on TCP port 443 and did not find the answer of this machine; the name must lead to this machine alone: "Failed to connect`,
    );
    expect(said()[0]).toMatch(/The next try is at 20\d\d-/);
  });

  deepTest('a name that leads to another machine', async () => {
    await authority.resolve(name, '127.0.0.9');
    const other = createServer((socket) =>
      socket.on('data', () => socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')),
    );
    other.listen(authority.http_port, '127.0.0.9');
    await once(other, 'listening');
    const listen = `127.0.0.1:${authority.http_port}`;
    await start({ EXITWARD_ACME_CHALLENGE: 'http-01', EXITWARD_ACME_LISTEN: listen });
    const { last_error } = await untilFailed('unauthorized');
    other.close();
    expect(last_error).toContain(`looked for ${name} on TCP port 80 and did not find`);
  });

  deepTest.each([
    ['dns', 'dns', `finds no address for ${name} in the DNS`],
    ['connection', 'connection', `does not reach ${name} on TCP port 443 for its check`],
    ['tls', 'connection', `does not reach ${name} on TCP port 443`],
    ['caa', 'names', `The CAA records of ${name} do not allow`],
  ])('a check that fails by the problem %s', async (type, code, sentence) => {
    const error = problem(type, 403).body;
    const challenges = [{ type: 'tls-alpn-01', url: authority.directory_url, token: 'x', error }];
    const identifier = { value: name };
    let attempts = 0;
    authority.refuse = (path) => {
      if (path === '/dir' && attempts > 0) return { status: 200, body: {} };
      if (!path.startsWith('/authZ/')) return undefined;
      attempts += 1;
      const status = attempts === 1 ? 'pending' : 'invalid';
      return { status: 200, body: { status: status, identifier, challenges } };
    };
    await start();
    expect((await untilFailed(code)).last_error).toContain(sentence);
  });

  deepTest('a port for the check that another program has', async () => {
    const listen = `127.0.0.1:${authority.http_port}`;
    const other = createServer().listen(authority.http_port, '127.0.0.1');
    await once(other, 'listening');
    await start({ EXITWARD_ACME_CHALLENGE: 'http-01', EXITWARD_ACME_LISTEN: listen });
    const { last_error } = await untilFailed('listener');
    other.close();
    expect(last_error).toContain('the port is in use');
  });

  deepTest.each([
    [7200, '120 minutes behind'],
    [-7200, '120 minutes ahead of'],
  ])('a clock that is wrong by %i seconds, before anything is ordered', async (seconds, how) => {
    authority.date = new Date(Date.now() + seconds * 1000);
    await start();
    const { last_error } = await untilFailed('clock');
    expect(last_error).toContain(`The clock of this machine is ${how}`);
    expect(orders()).toBe(0);
  });

  deepTest('a directory that is not there', async () => {
    await start({ EXITWARD_ACME_DIRECTORY: 'https://127.0.0.1:1024/directory' });
    const { last_error } = await untilFailed('unreachable');
    expect(last_error).toBe(
      '127.0.0.1:1024 cannot be reached: the connection was refused (ECONNREFUSED).',
    );
  });

  deepTest('a directory that is no such thing', async () => {
    authority.refuse = () => ({ status: 200, body: { hello: 'world' } });
    await start();
    const { last_error } = await untilFailed('unreachable');
    expect(last_error).toContain('not as the directory of a certificate authority does');
  });

  deepTest('new terms of service', async () => {
    const instance = 'https://ca.example/agree';
    authority.refuse = (path) =>
      path === '/order-plz' ? problem('userActionRequired', 403, { instance }) : undefined;
    await start();
    const { last_error } = await untilFailed('terms');
    expect(last_error).toContain(`to be agreed to at ${instance}`);
  });

  deepTest('an account that is deactivated', async () => {
    authority.refuse = (path) => (path === '/order-plz' ? problem('unauthorized', 403) : undefined);
    await start();
    const { last_error } = await untilFailed('account');
    expect(last_error).toContain('does not accept the account, which may be deactivated');
  });

  deepTest('a name that the authority does not take', async () => {
    authority.refuse = (path) =>
      path === '/order-plz' ? problem('rejectedIdentifier', 400) : undefined;
    await start();
    expect((await untilFailed('names')).last_error).toContain('gives no certificate for');
  });

  test('a certificate that is not for the key: the one in use stays', async () => {
    await start();
    const { next_try } = await untilIssued();
    const text = readFileSync(join(folder, 'tls/certificate.pem'), 'utf8');
    authority.refuse = (path) =>
      path.startsWith('/certZ/') ? { status: 200, body: { not: 'a certificate' } } : undefined;
    t.clock.seconds = (next_try ?? 0) + 60;
    authority.date = new Date(t.now() * 1000);
    const { last_error, source } = await untilFailed('authority');
    expect(last_error).toContain('issued a certificate that cannot be used');
    expect(source).toBe('acme');
    expect(readFileSync(join(folder, 'tls/certificate.pem'), 'utf8')).toBe(text);
  });

  deepTest('four tries at most in the first hour, and then one in six hours', async () => {
    await authority.resolve(name, undefined);
    await start();
    await untilFailed('unauthorized');
    const pass = async (seconds: number, steps: number) => {
      for (let step = 0; step < steps; step++) {
        const { next_try } = await status();
        const count = said().length;
        t.clock.advance(seconds / steps);
        authority.date = new Date(t.now() * 1000);
        if (t.now() < (next_try ?? 0)) continue;
        await vi.waitFor(() => expect(said().length).toBeGreaterThan(count), 90_000);
      }
    };
    await pass(3600, 60);
    expect(said()).toHaveLength(4);
    await pass(2 * day, 48);
    expect(said().length).toBeGreaterThanOrEqual(4 + 5);
    expect(said().length).toBeLessThanOrEqual(4 + 9);
    expect(orders()).toBe(said().length);
    await authority.resolve(name, '127.0.0.1');
    t.clock.advance(8 * 3600);
    authority.date = new Date(t.now() * 1000);
    await untilIssued();
  });

  deepTest('a try that ended with its process counts as one', async () => {
    await start();
    await untilIssued();
    await t.running.stop();
    const waiting = Promise.withResolvers<void>();
    authority.refuse = (path) => {
      if (path === '/order-plz') waiting.resolve();
      return undefined;
    };
    const other = { EXITWARD_ACME_NAMES: 'other.example' };
    await start(other);
    await waiting.promise;
    await t.running.stop();
    authority.requests.length = 0;
    await start(other);
    await new Promise((done) => setTimeout(done, 2500));
    expect(authority.requests).toEqual([]);
    expect((await status()).next_try).toBeGreaterThan(t.now());
  });

  test('a file of ACME that is damaged costs the account, not the start', async () => {
    await start();
    await untilIssued();
    await t.running.stop();
    writeFileSync(join(folder, 'tls/acme.json'), '{"accounts":');
    await start();
    await untilIssued();
  });
});
