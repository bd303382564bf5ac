// The console's pages as browsers get them: what their headers rule out.
import { writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/test_folder.ts';
import { newCertificate } from './certificate.ts';
import { startTestApp } from './harness.ts';

const folder = testFolder('pages');
let servers = 0;

/** The headers of `/` on a server with these settings, whether or not the console was built. */
async function headersOf(env: Record<string, string>): Promise<IncomingHttpHeaders> {
  const t = await startTestApp(`sqlite:${join(folder, `${++servers}.db`)}`, env);
  const { href, protocol } = new URL('/', t.base_url);
  try {
    if (protocol === 'http:') return Object.fromEntries((await fetch(href)).headers);
    return await new Promise((resolve, reject) => {
      const sent = request(href, { rejectUnauthorized: false, agent: false });
      sent.on('error', reject).on('response', (response) => {
        response.resume().on('end', () => resolve(response.headers));
      });
      sent.end();
    });
  } finally {
    await t.stop();
  }
}

test('a page makes no script of text, loads nothing from elsewhere, and is in no frame', async () => {
  const headers = await headersOf({});
  const policy = String(headers['content-security-policy']).split('; ');
  expect(policy).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]),
  );
  expect(policy.join()).not.toMatch(/unsafe|https?:|\*/);
});

test('a browser that asks for a page without # is led to it; programs and paths of an API are not', async () => {
  const t = await startTestApp(`sqlite:${join(folder, `${++servers}.db`)}`);
  const answerOf = async (path: string, accept: string, method = 'GET') => {
    const headers = { accept };
    const answer = await fetch(t.base_url + path, { method, headers, redirect: 'manual' });
    return [answer.status, answer.headers.get('location')];
  };
  const html = 'text/html,application/xhtml+xml,*/*;q=0.8';
  try {
    expect(await answerOf('/servers?days=7', html)).toEqual([302, '/#/servers?days=7']);
    expect(await answerOf('//other.example/x', html)).toEqual([302, '/#//other.example/x']);
    expect(await answerOf('/console', html)).toEqual([302, '/']);
    expect(await answerOf('/console/', html)).toEqual([302, '/']);
    expect(await answerOf('/docs/', html)).toEqual([302, '/docs']);
    expect(await answerOf('/console', '*/*')).toEqual([200, null]);
    expect(await answerOf('/servers', '*/*')).toEqual([404, null]);
    expect(await answerOf('/servers', html, 'POST')).toEqual([404, null]);
    expect(await answerOf('/docs/none', html)).toEqual([404, null]);
    expect(await answerOf('/v0/servers', html)).toEqual([401, null]);
  } finally {
    await t.stop();
  }
});

test('a server with a certificate keeps browsers to TLS for a year; one without leaves that to its proxy', async () => {
  const { cert, key } = newCertificate('console');
  const files = { EXITWARD_TLS_CERT: join(folder, 'cert'), EXITWARD_TLS_KEY: join(folder, 'key') };
  writeFileSync(files.EXITWARD_TLS_CERT, cert);
  writeFileSync(files.EXITWARD_TLS_KEY, key);
  const strict = async (env: Record<string, string>) =>
    (await headersOf(env))['strict-transport-security'];
  expect(await strict(files)).toBe('max-age=31536000');
  expect(await strict({ EXITWARD_TLS_TERMINATED: 'yes' })).toBeUndefined();
  expect(await strict({})).toBeUndefined();
});
