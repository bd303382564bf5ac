// Every route asks who is calling, however its path is spelled: nothing is open but what says so.
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDocument, type RegisteredRoute } from '../../scripts/openapi/document.ts';
import { effort } from '../../test/effort.ts';
import { newSeed } from '../../test/seed.ts';
import { eachDatabase } from './databases.ts';
import { basic, keptLog, startTestApp, type TestApp } from './harness.ts';
import { Random } from './random.ts';
import { sendRaw } from './raw.ts';

const random = new Random(newSeed());

/**
 * Ways to write a path that the router takes for the same one. All routes have one router: unless a
 * run is deep, each path is tried as it is, and one in four in each other way.
 */
const spellings: Record<string, (path: string) => string> = {
  'as it is': (path) => path,
  'with an escaped letter': (path) => `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
  'with every letter of the prefix escaped': (path) =>
    path.replace(
      /^\/(\w+)/,
      (_, prefix: string) =>
        `/${[...prefix].map((letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`).join('')}`,
    ),
  'with an origin': (path) => `http://anyone.example${path}`,
  'with a query': (path) => `${path}?a=b`,
};

/**
 * Open to anyone: health for the machines, documentation for people, joining by a one-time code and
 * the programs for it, one's own address, signing in.
 */
const open = [
  '/healthz',
  '/readyz',
  '/docs',
  '/docs/openapi.json',
  '/docs/reference.js',
  '/node/join',
  '/node/echo',
  '/node/install.sh',
  '/node/packages/{file}',
  '/console',
  '/console/session/link',
  '/console/invite',
  '/console/invite/accept',
  'post /console/session',
];
/** The files of the console hold nothing of anybody's. */
const isPage = (path: string) =>
  /^\/(assets\/\{name\}|[\w.-]+\.(js|css|svg|md|woff2))?$/.test(path);

/** Many requests follow each other on few connections. */
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });

function statusOf(base: string, method: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    const request = http.request({ agent, hostname, port, method, path }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    request.on('error', (error) => reject(new Error(`${method} ${path}`, { cause: error })));
    request.end();
  });
}

eachDatabase((database) => {
  describe('without a token', () => {
    let t: TestApp;
    let routes: RegisteredRoute[];
    beforeAll(async () => {
      t = await startTestApp(await database.url());
      await t.server('fra1');
      await t.account('acme', { servers: ['fra1'] });
      ({ routes } = await makeDocument());
    });
    afterAll(() => t.stop());

    test.each(Object.entries(spellings))('every path %s answers 401', async (name, spell) => {
      const closed = routes.filter(
        ({ method, path }) =>
          !isPage(path) && !open.includes(path) && !open.includes(`${method} ${path}`),
      );
      expect(closed.length).toBeGreaterThan(150);
      const tried = closed.filter(
        () => name === 'as it is' || effort === 'deep' || random.between(1, 4) === 1,
      );
      const answers = await Promise.all(
        tried.map(async ({ method, path }) => {
          const base = path.startsWith('/admin') ? t.running.admin_url : t.base_url;
          const real = path
            .replace('{account}', 'acme')
            .replace('{server}', 'fra1')
            .replace(/\{\w+\}/, '1');
          return `${method} ${path} ${await statusOf(base, method.toUpperCase(), spell(real))}`;
        }),
      );
      const others = answers.filter((answer) => !answer.endsWith(' 401'));
      expect(others, others.join('\n')).toEqual([]);
    });

    test('a path under /v0 or /admin that does not exist, or is broken, answers 401 too', async () => {
      for (const path of [
        '/v0/nothing',
        '/%760/nothing',
        '/v0/%zz',
        '/v0?x',
        'http://a.example/v0/nothing',
      ]) {
        expect(await statusOf(t.base_url, 'GET', path), path).toBe(401);
      }
      for (const path of ['/admin/nothing', '/%61dmin/nothing', '/admin']) {
        expect(await statusOf(t.running.admin_url, 'GET', path), path).toBe(401);
      }
    });
  });

  test('a method that no route has is named as it was sent, at each door and in the log', async () => {
    const { log, lines } = keptLog();
    const t = await startTestApp(await database.url(), {}, log);
    await t.server('fra1');
    const { api_token } = await t.account('acme', { servers: ['fra1'] });
    const { token } = await t.node('fra1');
    const { cookie } = await t.signIn('acme', 'alice');
    lines.length = 0;
    for (const [base, path, headers] of [
      [t.base_url, '/v0/contract', ['Authorization', basic(api_token)]],
      [t.base_url, '/v0/nothing', ['Authorization', basic(api_token)]],
      [t.base_url, '/console/users', ['Cookie', cookie]],
      [t.base_url, '/healthz', []],
      [t.running.admin_url, '/admin/accounts', ['Authorization', `Bearer ${t.admin_token}`]],
      [t.running.node_url, '/node/usage', ['Authorization', `Bearer ${token}`]],
    ] as Array<[string, string, string[]]>) {
      const { text } = await sendRaw(base, { method: 'PROPFIND', path, headers });
      expect([path, text]).toEqual([path, expect.stringContaining('PROPFIND')]);
    }
    await expect.poll(() => lines.length).toBe(6);
    expect(lines.map(({ method }) => method)).toEqual(Array(6).fill('PROPFIND'));
    await t.stop();
  });
});
