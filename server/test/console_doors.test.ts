// The doors of the console: each route asks who is signed in, where the page is from, and what the
// person may do.
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDocument, type RegisteredRoute } from '../../scripts/openapi/document.ts';
import { addConsoleChecks, type ConsoleAccess, type Flag } from '../src/api/manage/checks.ts';
import type { Context } from '../src/context.ts';
import { eachDatabase } from './databases.ts';
import { type Browser, basic, passwordOf, startTestApp, type TestApp } from './harness.ts';

const { routes: all } = await makeDocument();
/** Every route of the console that does something; the others answer 405. */
const routes = all.filter(({ path, hidden }) => /^\/console(\/|$)/.test(path) && !hidden);
const isRead = ({ method }: RegisteredRoute) => method === 'get' || method === 'head';
const isOpen = ({ console }: RegisteredRoute) => console !== undefined && 'open' in console;
const flagsOf = (access: ConsoleAccess | undefined): readonly Flag[] =>
  access && 'may' in access ? access.may : [];
const isRecord = ({ console }: RegisteredRoute) =>
  console !== undefined && 'may' in console && console.record === true;

/** Below /console, with records that are there. */
const pathOf = ({ path }: RegisteredRoute) =>
  path
    .slice('/console'.length)
    .replace('{user}', 'alice')
    .replace('{server}', 'fra1')
    .replace(/\{\w+\}/, '1');

eachDatabase((database) => {
  let t: TestApp;
  let api_token: string;
  /** All flags; admin; billing; proxy; none. */
  const people = new Map<string, Browser>();
  beforeAll(async () => {
    t = await startTestApp(await database.url());
    await t.server('fra1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    api_token = acme.api_token;
    for (const flag of ['admin', 'billing', 'proxy'] as const) {
      await t.user(acme, flag, { [flag]: true });
    }
    await t.user(acme, 'nothing');
    for (const name of ['alice', 'admin', 'billing', 'proxy', 'nothing']) {
      people.set(name, await t.signIn('acme', name));
    }
    const expiry = t.now() + 86_400;
    const account = t.as(acme);
    await account.post('/contract/ip-authlist', { ip: '192.0.2.1', user: 'alice', expiry });
    const override = { server: 'fra1', hostname: 'a.example', ip: '203.0.113.7', expiry };
    await account.post('/contract/overrides', override);
    const view = { page: '/authlist', name: 'mine', query: 'q=a' };
    await people.get('alice')?.send('PUT', '/views', view);
  });
  afterAll(() => t.stop());

  const person = (name: string) => people.get(name) as Browser;
  /** `METHOD PATH STATUS` of those that do not answer as expected. */
  async function unlike(
    expected: number,
    of: RegisteredRoute[],
    send: (method: string, path: string) => Promise<{ status: number }>,
  ): Promise<string[]> {
    expect(of.length).toBeGreaterThan(0);
    const answers = await Promise.all(
      of.map(async (route) => {
        const { status } = await send(route.method.toUpperCase(), pathOf(route));
        return { status, line: `${route.method} ${route.path} ${status}` };
      }),
    );
    return answers.filter(({ status }) => status !== expected).map(({ line }) => line);
  }

  test('without a session every route answers 401, except those that lead to one', async () => {
    expect(routes.length).toBeGreaterThan(20);
    expect(
      routes
        .filter(isOpen)
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    ).toEqual([
      'get /console',
      'head /console',
      'post /console/invite',
      'post /console/invite/accept',
      'post /console/session',
      'post /console/session/link',
    ]);
    const closed = routes.filter((route) => !isOpen(route));
    expect(await unlike(401, closed, (method, path) => t.browser().send(method, path))).toEqual([]);
    for (const path of ['/nothing', '/%zz/nothing', '/session/nothing']) {
      const { status } = await t.browser().get(path);
      expect([path, status]).toEqual([path, path.includes('%zz') ? 400 : 401]);
    }
    expect((await person('alice').get('/nothing')).status).toBe(404);
    expect((await person('alice').patch('/session', {})).status).toBe(405);
  });

  const pages: Record<string, Record<string, string>> = {
    'a page of another site': { origin: 'https://evil.example' },
    'another scheme of this host': { origin: 'https://HOST' },
    'another port of this host': { origin: 'http://127.0.0.1:1' },
    'a page without an origin': { origin: 'null' },
    'nobody knows where': { origin: '' },
    'another site, as the browser says': { 'sec-fetch-site': 'cross-site' },
    'a sibling of this host, as the browser says': { 'sec-fetch-site': 'same-site' },
    'no page at all, as the browser says': { 'sec-fetch-site': 'none' },
  };
  describe.each(Object.entries(pages))('a change from %s', (_, page) => {
    test('is refused by every route, also by the open ones', async () => {
      const headers = Object.fromEntries(
        Object.entries(page).map(([name, value]) => [
          name,
          value.replace('HOST', new URL(t.base_url).host),
        ]),
      );
      const writes = routes.filter((route) => !isRead(route));
      const send = (method: string, path: string) =>
        person('alice').send(method, path, method === 'DELETE' ? undefined : {}, headers);
      expect(await unlike(403, writes, send)).toEqual([]);
      expect((await person('alice').get('/session', headers)).status).toBe(200);
    });
  });

  test('a change that does not say where it is from is refused', async () => {
    const writes = routes.filter((route) => !isRead(route));
    const cookie = person('alice').cookie;
    const send = (method: string, path: string) =>
      t.with().send(method, `/console${path}`, undefined, { cookie });
    expect(await unlike(403, writes, send)).toEqual([]);
  });

  test.each(['billing', 'proxy', 'nothing'])(
    'a person with the flag %s alone is refused what needs others',
    async (name) => {
      const refused = routes.filter(({ console }) => {
        const flags = flagsOf(console);
        return flags.length > 0 && !flags.includes(name as Flag);
      });
      const send = (method: string, path: string) =>
        person(name).send(method, path, method === 'GET' || method === 'HEAD' ? undefined : {});
      expect(await unlike(403, refused, send)).toEqual([]);
      const sample = await person(name).send('POST', '/users/alice/invite');
      expect(sample.body.message).toMatch(/^This needs the admin flag; ask an admin/);
    },
  );

  test('a method that a path does not know is 405 for everybody, of users that are there and of others', async () => {
    for (const name of ['admin', 'proxy', 'nothing']) {
      const { status, headers } = await person(name).send('PUT', '/users/alice/sign-in');
      expect([name, status, headers.get('allow')]).toEqual([name, 405, 'DELETE']);
    }
    expect((await person('proxy').send('PUT', '/users/nobody/sign-in')).status).toBe(405);
    expect((await person('admin').send('PUT', '/users/nobody/sign-in')).status).toBe(404);
  });

  test('a flag that is taken away is missing at the next request', async () => {
    await t.operator.patch('/accounts/acme/users/admin', { flags: { admin: false } });
    const invite = () =>
      person('admin').post('/users/alice/invite', { password: passwordOf('admin') });
    expect((await invite()).status).toBe(403);
    await t.operator.patch('/accounts/acme/users/admin', { flags: { admin: true } });
    expect((await invite()).status).toBe(201);
  });

  test('records of a suspended or expired contract are not changed, everything else goes on', async () => {
    const records = routes.filter(isRecord);
    const send = (method: string, path: string) =>
      person('alice').send(method, path, method === 'DELETE' ? undefined : {});
    await t.operator.patch('/accounts/acme', { suspended: true });
    if (records.length > 0) expect(await unlike(403, records, send)).toEqual([]);
    expect((await person('alice').get('/session')).body.writable).toBe(false);
    const password = passwordOf('alice');
    expect((await person('alice').post('/users/nothing/invite', { password })).status).toBe(201);
    await t.operator.patch('/accounts/acme', { suspended: false });
  });

  test('/v0, /admin and /node take no cookie for a token, and /console no token for a session', async () => {
    const { cookie } = person('alice');
    expect((await t.with().get('/v0/contract', { cookie })).status).toBe(401);
    expect((await t.with().get('/node/snapshot', { cookie })).status).toBe(401);
    const admin = await fetch(`${t.running.admin_url}/admin/status`, { headers: { cookie } });
    expect(admin.status).toBe(401);
    for (const authorization of [
      basic(api_token),
      basic(api_token, 'earlier'),
      `Bearer ${t.admin_token}`,
      `Bearer ${person('alice').token}`,
      basic(person('alice').token as string),
    ]) {
      expect((await t.with(authorization).get('/console/session')).status).toBe(401);
      expect((await t.with(authorization).get('/v0/contract', { cookie })).status).toBe(
        authorization.startsWith('Basic') &&
          !authorization.includes(basic(person('alice').token as string))
          ? 200
          : 401,
      );
    }
    // A cookie beside a token changes nothing on either side.
    const both = await person('alice').get('/session', { authorization: 'Bearer ewo_no' });
    expect(both.status).toBe(200);
  });

  test('a field that is given twice, and a NUL anywhere, is refused', async () => {
    const alice = person('alice');
    const refusals = [
      await alice.post('/users', '{"name":"once","name":"twice"}'),
      await alice.post('/users', '{"name":"nul","display_name":"a\\u0000b"}'),
      await alice.get('/users/a%00b'),
      await alice.get('/usage?user=%00'),
    ];
    expect(refusals.map(({ status, body }) => [status, body])).toEqual([
      [
        400,
        { code: 'invalid_field', field: 'name', message: expect.stringMatching(/given twice/) },
      ],
      [
        400,
        { code: 'invalid_field', field: 'display_name', message: expect.stringMatching(/NUL/) },
      ],
      [404, { code: 'not_found', message: 'There is nothing at this path.' }],
      [400, { code: 'bad_request', message: expect.stringMatching(/NUL/) }],
    ]);
  });

  test('a person sees nothing of another account', async () => {
    await t.account('globex');
    const other = await t.signIn('globex', 'alice');
    const password = passwordOf('alice');
    expect((await other.post('/users/nothing/invite', { password })).status).toBe(404);
    expect((await other.delete('/sessions/2')).status).toBe(404);
    expect((await other.get('/session')).body.account).toBe('globex');
  });

  test('a page that says it is of another session is refused by every route, by 409 and before all else', async () => {
    const { session_id } = (await person('alice').get('/session')).body;
    const closed = routes.filter((route) => !isOpen(route));
    // Sessions are counted in each account: the same number is another session elsewhere.
    for (const shown of [`acme/${session_id + 1}`, `globex/${session_id}`, `${session_id}`, '']) {
      const send = (method: string, path: string) =>
        person('alice').send(method, path, /^(GET|HEAD|DELETE)$/.test(method) ? undefined : {}, {
          'exitward-session': shown,
        });
      expect(await unlike(409, closed, send)).toEqual([]);
    }
    const as = (shown: string) => person('alice').get('/session', { 'exitward-session': shown });
    expect((await as(`globex/${session_id}`)).body.message).toBe(
      'This page was opened in another session; reload it.',
    );
    expect((await as(`acme/${session_id}`)).status).toBe(200);
    const nobody = await t.browser().get('/session', { 'exitward-session': `acme/${session_id}` });
    expect(nobody.status).toBe(401);
  });

  test('the listener of operators says what it is, and lets nobody sign in', async () => {
    const facts = async (base: string) =>
      ((await (await fetch(`${base}/console`)).json()) as { audiences: unknown }).audiences;
    expect(await facts(t.base_url)).toEqual({ account: true, operator: false });
    expect(await facts(t.running.admin_url)).toEqual({ account: false, operator: true });
    const body = JSON.stringify({ account: 'acme', user: 'alice', password: passwordOf('alice') });
    const { admin_url } = t.running;
    const answer = await fetch(`${admin_url}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: admin_url },
      body,
    });
    expect(answer.status).toBe(404);
  });
});

eachDatabase((database) => {
  test('a page under the public address may make changes, and nothing else that TLS says is this host', async () => {
    const t = await startTestApp(await database.url(), {
      EXITWARD_PUBLIC_URL: 'https://proxies.example/',
      EXITWARD_TLS_TERMINATED: 'yes',
    });
    await t.account('acme');
    const { code, url } = (await t.operator.send('POST', '/accounts/acme/users/alice/invite')).body;
    expect(url).toBe(`https://proxies.example/#/invite/${code}`);
    const look = async (origin: string) =>
      (await t.with().post('/console/invite', { code }, { origin })).status;
    expect(await look('https://proxies.example')).toBe(200);
    expect(await look(t.base_url.replace('http:', 'https:'))).toBe(200);
    expect(await look(t.base_url)).toBe(403);
    expect(await look('https://proxies.example.evil.example')).toBe(403);
    expect(await look('http://proxies.example')).toBe(403);
    await t.stop();
  });
});

test('a route of the console that does not say who may call it cannot be registered', () => {
  const app = Fastify();
  addConsoleChecks(app, {} as Context);
  const add = (url: string, config?: { console: ConsoleAccess }) => () =>
    app.get(url, { ...(config ? { config } : {}) }, async () => '');
  expect(add('/console/forgotten')).toThrow('/console/forgotten does not say who may call it');
  expect(add('/console')).toThrow();
  expect(add('/console/known', { console: { may: [] } })).not.toThrow();
  expect(add('/consoles')).not.toThrow();
});
