// Hostile clients, with TLS and without, at the server's own listener: none ends it, nor holds up a
// victim.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { newCertificate } from '../../server/test/certificate.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import { basic, keptLog, startTestApp, type TestApp } from '../../server/test/harness.ts';
import { Random } from '../../server/test/random.ts';
import { attacks, beside, carryOut, clientHello, runAll, Unowned } from './attackers.ts';
import { hostileHandshake, hostileRequests } from './hostile_bytes.ts';

const targets = [
  ...['/v0', '/v0', '/v0/overrides', '/v0/authlist/', '/v0/%', '/v0/\xff', '/v0/..', '*', '/', ''],
  ...['/healthz', '/console/session', '/admin/accounts', '/node/stream?since=x:1', '/node/usage'],
  ...['http://a.example/v0', 'http://[/', 'a.example:443', '//', '/docs/', `/${'a'.repeat(2000)}`],
];
/** Seconds on a quiet machine; a busy one is waited for. */
const timeout = { timeout: 900_000 };

eachDatabase((database) => {
  const { log, lines } = keptLog();
  let folder: string;
  let t: TestApp;
  let authorization: string;
  let random: Random;
  let unowned: Unowned;

  const start = async (env: Record<string, string>) => {
    t = await startTestApp(await database.url(), env, log);
    await t.server('fra1');
    authorization = basic((await t.account('acme', { servers: ['fra1'] })).api_token);
  };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'exitward-hostile-'));
    random = Random.printed('hostile clients of the server');
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeEach(() => {
    lines.length = 0;
    unowned = new Unowned();
  });
  afterEach(async () => {
    await t.stop();
    expect(unowned.end()).toEqual([]);
    expect(lines.filter(({ msg }) => `${msg}`.includes('unforeseen'))).toEqual([]);
  });
  const at = (tls: boolean) => ({ host: '127.0.0.1', port: Number(new URL(t.base_url).port), tls });
  const requests = () => hostileRequests(random, targets, `Authorization: ${authorization}`);

  test('no client ends the server, or holds up another, whatever it sends', timeout, async () => {
    await start({});
    const victim = async () => expect((await t.with(authorization).get('/v0')).status).toBe(200);
    await beside(
      [victim],
      runAll(attacks / 2, () => carryOut(requests(), at(false))),
    );
  });

  test('no client of TLS does, however its negotiation ends', timeout, async () => {
    const { cert, key } = newCertificate('server.test');
    const files = { EXITWARD_TLS_CERT: join(folder, 'crt'), EXITWARD_TLS_KEY: join(folder, 'key') };
    writeFileSync(files.EXITWARD_TLS_CERT, cert);
    writeFileSync(files.EXITWARD_TLS_KEY, key);
    await start(files);
    const hello = await clientHello();
    const attack = (index: number) =>
      index % 40 === 0
        ? carryOut(requests(), at(true))
        : carryOut(hostileHandshake(random, hello), at(false));
    const victim = () =>
      new Promise<void>((resolve, reject) => {
        const options = { headers: { authorization }, ca: cert, agent: false };
        const asking = request(`${t.base_url}/v0`, options, (response) => {
          response.resume().on('end', () => {
            if (response.statusCode === 200) resolve();
            else reject(new Error(`${response.statusCode}`));
          });
        });
        asking.on('error', reject).end();
      });
    await beside([victim], runAll(attacks / 2, attack));
  });
});
