// One principle for each kind of refusal: 401, 404, 405, 403, 400, 409, in this order, on every
// route that there is.
import { METHODS } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { changeAccount } from '../src/accounts/accounts.ts';
import { createApiToken } from '../src/api_tokens/api_tokens.ts';
import { createApp, type Parts } from '../src/app.ts';
import { bumpVersion } from '../src/changes/changes.ts';
import { errorCodes } from '../src/errors.ts';
import { newTokenText } from '../src/keys/token_text.ts';
import { Metrics } from '../src/observed/metrics.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { type Answer, basic, startTestApp, type TestApp, type TestClient } from './harness.ts';
import { sendRaw } from './raw.ts';

interface Route {
  method: string;
  url: string;
}

/** Every route of the app, as the app itself lists them; not those that only answer 405. */
async function routesOf(t: TestApp, parts: Partial<Parts>): Promise<Route[]> {
  const routes: Route[] = [];
  const all = { customers: false, operators: false, nodes: false, ...parts };
  const ctx = { ...t.running.ctx, metrics: new Metrics() };
  const app = await createApp(ctx, all, {
    prepare: async (raw) => {
      raw.addHook('onRoute', ({ method, url, config }) => {
        if (config?.allow) return;
        for (const verb of [method].flat()) routes.push({ method: verb, url });
      });
    },
  });
  await app.close();
  return routes;
}

const pathOf = ({ url }: Route) => url.replace(':server', 'fra1').replaceAll(/:\w+/g, '1');
const encode = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

eachApp((t, database) => {
  let acme: BuiltAccount;
  let suspended: BuiltAccount;
  let expired: BuiltAccount;
  let readOnly: BuiltAccount;
  let current: TestClient;
  let earlier: TestClient;
  let routes: Route[];

  beforeAll(async () => {
    await t.server('fra1');
    await t.server('lon1');
    acme = await t.account('acme', { servers: ['fra1'] });
    suspended = await t.account('suspended', { servers: ['fra1'] });
    expired = await t.account('expired', { servers: ['fra1'], expiry: t.now() + 1 });
    t.clock.advance(1);
    await t.write(async (tx) => {
      await changeAccount(tx, suspended.account, { suspended: true });
      const body = { name: 'watcher', read_only: true };
      const { text } = await createApiToken(tx, t.running.ctx.secrets, true, acme.account, body);
      readOnly = { ...acme, api_token: text };
    });
    current = t.as(acme);
    earlier = t.as(acme, 'earlier');
    await current.post('/contract/overrides', overrideBody('taken.example.com'));
    await current.post('/contract/ip-authlist', entryBody('203.0.113.1'));
    routes = (await routesOf(t, { customers: true })).filter(({ url }) => url.startsWith('/v0'));
  });

  const overrideBody = (hostname: string, more: object = {}) => ({
    server: 'fra1',
    hostname,
    ip: '192.0.2.1',
    expiry: t.now() + 1000,
    ...more,
  });
  const entryBody = (ip: string, more: object = {}) => ({
    ip,
    user: 'alice',
    expiry: t.now() + 1000,
    ...more,
  });
  const expectRefusal = (answer: Answer, status: number, says: RegExp = /./) => {
    expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
    expect(answer.body).toEqual({ message: expect.stringMatching(says) });
    expect(errorCodes).toContain(answer.headers.get('exitward-error'));
    expect(answer.headers.get('content-type')).toBe('application/json; charset=UTF-8');
    expect(answer.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  };

  it('the walk knows every route of the account API', () => {
    const paths = new Set(routes.map(({ method, url }) => `${method} ${url}`));
    for (const url of [
      'GET /v0',
      'GET /v0/servers',
      'GET /v0/contract',
      'GET /v0/contract/servers',
      'GET /v0/contract/servers/:server',
      'GET /v0/users',
      'POST /v0/users/token',
      ...['ip-authlist', 'whitelist', 'overrides'].flatMap((list) => [
        `GET /v0/contract/${list}`,
        `HEAD /v0/contract/${list}`,
        `POST /v0/contract/${list}`,
        `DELETE /v0/contract/${list}`,
        `GET /v0/contract/${list}/:id`,
        `PATCH /v0/contract/${list}/:id`,
        `DELETE /v0/contract/${list}/:id`,
      ]),
    ]) {
      expect(paths).toContain(url);
    }
    expect(routes.every(({ url }) => url === '/v0' || url.startsWith('/v0/'))).toBe(true);
  });

  describe('401: no or unknown API token', () => {
    const credentials: Array<[string, (token: string) => string | undefined]> = [
      ['no credentials', () => undefined],
      ['an empty header', () => ''],
      ['a token that nobody has', () => basic(newTokenText('ewa_'))],
      ['a token that nobody has, as the username', () => basic(newTokenText('ewa_'), 'earlier')],
      ['a token with its last character changed', (token) => basic(`${token.slice(0, -1)}~`)],
      ['both halves filled', (token) => encode(`${token}:${token}`)],
      ['a name beside the token', (token) => encode(`acme:${token}`)],
      ['both halves empty', () => encode(':')],
      ['a pair without a colon', (token) => encode(token)],
      ['what is not base64', () => 'Basic !!!'],
      ['the token as a Bearer', (token) => `Bearer ${token}`],
      ['a token of another kind', () => basic(newTokenText('ewn_'))],
      ['the operator token', () => basic(t.admin_token)],
    ];
    it.each(credentials)('%s gets 401 on every route', async (_, of) => {
      const authorization = of(acme.api_token);
      for (const route of routes) {
        const answer = await t.with(authorization).send(route.method, pathOf(route));
        expect([route, answer.status]).toEqual([route, 401]);
        expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
        if (route.method === 'HEAD') continue;
        expect(answer.body).toEqual({ message: expect.stringMatching(/obtain an API token/i) });
      }
    });

    it.each([
      '/v0/',
      '/v0/nothing',
      '/v0?x=1',
      '/v0/%',
      '/v0/contract/ip-authlist/',
      `/v0/contract/overrides/${'9'.repeat(600)}`,
    ])('401 comes before 404 and 405: %s', async (path) => {
      for (const method of ['GET', 'PUT', 'PROPFIND']) {
        expect([method, (await t.with().send(method, path)).status]).toEqual([method, 401]);
      }
    });

    it('401 comes before 400 and before the body is read', async () => {
      expect((await t.with().post('/v0/contract/overrides', '{')).status).toBe(401);
      const headers = { 'sec-fetch-site': 'cross-site' };
      expect((await t.with().post('/v0/contract/overrides', {}, headers)).status).toBe(401);
    });

    it('no spelling of a path leads past the check', async () => {
      const base = t.base_url;
      const paths = [
        ...['/v0/contract', '/v0/servers', '/v0'].flatMap((path) => [
          `http://exitward.example${path}`,
          `https://exitward.example${path}`,
          path.replace('v0', '%760'),
          path.replace('v0', 'v%30'),
          path.replace('/v0', '//v0'),
          path.replace('/v0', '/./v0'),
          path.replace('/v0', '/x/../v0'),
          path.replace('v0', 'V0'),
          path.replace('v0', 'v0;x=1'),
          `${path}#fragment`,
          `${path};x`,
          `${path}%2f`,
          `${path}//`,
        ]),
        '/v0%2Fcontract',
        '/v0%3Fx',
      ];
      for (const path of paths) {
        const { status, text } = await sendRaw(base, { path });
        expect([path, status]).toEqual([path, status === 404 ? 404 : 401]);
        // A 404 without a token is none of /v0: its body has a code.
        expect(JSON.parse(text)).toEqual({
          message: expect.any(String),
          ...(status === 404 ? { code: 'not_found' } : {}),
        });
      }
    });

    it('nothing of the node or the operator interface answers without its own token, however it is spelled', async () => {
      const served = [
        [t.running.node_url, '/node', await routesOf(t, { nodes: true })],
        [t.running.admin_url, '/admin', await routesOf(t, { operators: true })],
      ] as const;
      for (const [url, prefix, all] of served) {
        const guarded = all.filter(
          ({ url: path }) =>
            path.startsWith(prefix) && !/^\/node\/(join|echo|install\.sh|packages\/.*)$/.test(path),
        );
        expect(guarded.length).toBeGreaterThan(prefix === '/node' ? 4 : 0);
        for (const route of guarded) {
          const path = pathOf(route);
          const spellings = [
            path,
            `http://exitward.example${path}`,
            `/%${path.charCodeAt(1).toString(16)}${path.slice(2)}`,
          ];
          for (const spelling of spellings) {
            for (const headers of [
              [],
              ['Authorization', basic(acme.api_token)],
              ['Authorization', `Bearer ${acme.api_token}`],
            ]) {
              const { status } = await sendRaw(url, {
                method: route.method,
                path: spelling,
                headers,
              });
              expect([route.method, spelling, status]).toEqual([
                route.method,
                spelling,
                status === 404 && spelling !== path ? 404 : 401,
              ]);
            }
          }
        }
      }
    });
  });

  describe('404: the path is not one of this variant, or names a record that is not there', () => {
    it.each([
      '/nothing',
      '/contract/',
      '/contracts',
      '/contract/ip-authlist/1/x',
      '/users/alice',
      '/servers/fra1',
    ])('an unknown path: %s', async (path) => {
      for (const client of [current, earlier]) expectRefusal(await client.get(path), 404);
    });

    it.each([
      '0',
      '2',
      '01',
      '1.0',
      '-1',
      '1e0',
      'x',
      '',
      '9007199254740993',
      '99999999999999999999',
      '%00',
    ])('an id that names no entry of the account: "%s"', async (id) => {
      for (const list of ['overrides', 'ip-authlist']) {
        expectRefusal(await current.get(`/contract/${list}/${id}`), 404);
        expectRefusal(await current.delete(`/contract/${list}/${id}`), 404);
        expectRefusal(await current.patch(`/contract/${list}/${id}`, {}), 404);
      }
      expect((await current.get('/contract/overrides/1')).status).toBe(200);
    });

    it('a path of the other variant, and the message names the right path and the right half', async () => {
      for (const route of routes) {
        const other = /whitelist/.test(route.url)
          ? current
          : /ip-authlist|users/.test(route.url)
            ? earlier
            : undefined;
        if (!other || route.method === 'HEAD') continue;
        const answer = await other.send(route.method, pathOf(route).slice(3));
        expectRefusal(
          answer,
          404,
          other === current
            ? /ip-authlist.*username, with an empty password/
            : /password, with an empty username/,
        );
        if (/ip-authlist/.test(route.url))
          expect(answer.body.message).toContain('/v0/contract/whitelist');
      }
    });

    it('a server that the network does not have', async () => {
      expectRefusal(await current.get('/contract/servers/xyz9'), 404);
    });

    it('404 comes before 405: a method that no entry has, on an entry that is not there', async () => {
      for (const path of [
        '/contract/overrides/999',
        '/contract/ip-authlist/999',
        '/contract/servers/xyz9',
      ]) {
        expectRefusal(await current.put(path, {}), 404);
      }
      expectRefusal(await current.put('/contract/whitelist', {}), 404);
    });

    it('404 comes before 403: a write that the token may not do, on an entry that is not there', async () => {
      for (const account of [readOnly, suspended, expired]) {
        expectRefusal(await t.as(account).delete('/contract/overrides/999'), 404);
        expectRefusal(await t.as(account).patch('/contract/ip-authlist/999', {}), 404);
      }
    });

    it('404 comes before 400: a request that is wrong itself, on an entry that is not there', async () => {
      for (const list of ['overrides', 'ip-authlist']) {
        expectRefusal(await current.patch(`/contract/${list}/999`, '{'), 404);
        expectRefusal(await current.delete(`/contract/${list}/999?all=1`), 404);
        expectRefusal(await current.get(`/contract/${list}/999?all=1`), 404);
      }
      expectRefusal(await current.get('/contract/servers/xyz9?detail=all'), 404);
    });
  });

  describe('405: the path exists, the method does not', () => {
    it('every other method of every path gets 405, and Allow lists those that there are', async () => {
      const byPath = Map.groupBy(routes, ({ url }) => url);
      for (const [url, there] of byPath) {
        const client = /whitelist/.test(url) ? earlier : current;
        const allowed = there.map(({ method }) => method).sort();
        for (const method of [
          'HEAD',
          'GET',
          'POST',
          'PUT',
          'PATCH',
          'DELETE',
          'OPTIONS',
          'PROPFIND',
        ]) {
          if (allowed.includes(method)) continue;
          const answer = await client.send(method, pathOf({ method, url }).slice(3));
          expect([method, url, answer.status]).toEqual([method, url, 405]);
          expect(answer.headers.get('allow')).toBe(allowed.join(', '));
          if (method !== 'HEAD') expect(answer.body.message).toContain(allowed.join(', '));
        }
      }
    });

    it('no method of HTTP is answered otherwise', async () => {
      // CONNECT is for proxies, and fetch sends no TRACE; the parser leaves a few to extensions.
      for (const method of METHODS.filter(
        (verb) => !['CONNECT', 'GET', 'HEAD', 'DELETE', 'POST'].includes(verb),
      )) {
        const { status } = await sendRaw(t.base_url, {
          method,
          path: '/v0/contract/overrides',
          headers: ['Authorization', basic(acme.api_token)],
        });
        expect([method, status]).toEqual([method, 405]);
      }
    });

    it('an error to HEAD has the length of the one to GET, and no body', async () => {
      const token = ['Authorization', basic(acme.api_token)];
      for (const [path, headers, status] of [
        ['/v0/contract', [], 401],
        ['/v0/nothing', token, 404],
        ['/v0/contract/overrides/99', token, 404],
        ['/v0/users/token', token, 405],
        ['/v0/contract?x=1', token, 400],
        ['/v0/contract', [...token, 'If-Match', '"x"'], 412],
        ['/console/account', [], 401],
        ['/node/changes', [], 401],
        ['/nothing', [], 404],
      ] as const) {
        const [get, head] = await Promise.all(
          ['GET', 'HEAD'].map((method) =>
            sendRaw(t.base_url, { method, path, headers: [...headers] }),
          ),
        );
        const facts = (answer = get) => {
          const at = answer?.headerLines.findIndex((name) => /^content-length$/i.test(name)) ?? -1;
          return [path, answer?.status, at < 0 ? 'none' : answer?.headerLines[at + 1]];
        };
        expect(facts(get)).toEqual([path, status, String(get?.bytes.length)]);
        expect([facts(head), head?.text]).toEqual([facts(get), '']);
      }
    });

    it('HEAD works wherever GET does', () => {
      const of = (method: string) =>
        routes.filter((route) => route.method === method).map(({ url }) => url);
      expect(of('HEAD').sort()).toEqual(of('GET').sort());
    });

    it('405 comes before 403 and 400', async () => {
      for (const account of [readOnly, suspended, expired]) {
        expectRefusal(await t.as(account).put('/contract/overrides', '{'), 405);
      }
      expectRefusal(await current.put('/contract/servers/lon1', '{'), 405);
    });
  });

  describe('403: the client is known and may not do this', () => {
    it('a server of the network that is not on the contract', async () => {
      for (const client of [current, earlier]) {
        expectRefusal(await client.get('/contract/servers/lon1'), 403, /not on your contract/);
      }
    });

    it.each([
      ['a read-only API token', () => readOnly, /read-only/],
      ['a suspended contract', () => suspended, /suspended/],
      ['an expired contract', () => expired, /expired/],
    ] as const)('%s: every write is refused, reads stay open', async (_, of, says) => {
      const account = of();
      const client = t.as(account);
      const there = readOnly === account ? '1' : undefined;
      for (const route of routes) {
        if (/whitelist/.test(route.url) || (route.url.includes(':id') && !there)) continue;
        const answer = await client.send(route.method, pathOf(route).slice(3));
        if (route.method === 'GET' || route.method === 'HEAD')
          expect([route, answer.status]).toEqual([route, 200]);
        else expectRefusal(answer, 403, says);
      }
      expectRefusal(await t.as(account, 'earlier').delete('/contract/whitelist'), 403, says);
    });

    it('403 comes before 400 and 409', async () => {
      for (const account of [readOnly, suspended, expired]) {
        expectRefusal(await t.as(account).post('/contract/overrides', '{'), 403);
        expectRefusal(
          await t.as(account).post('/contract/overrides', 'x', { 'content-type': 'text/plain' }),
          403,
        );
        expectRefusal(await t.as(account).post('/users/token', { user: 'nobody' }), 403);
        expectRefusal(await t.as(account).delete('/contract/overrides?all'), 403);
      }
      expectRefusal(await current.get('/contract/servers/lon1?detail=all'), 403);
    });

    it('a web page of another site may not write with credentials that a browser remembered', async () => {
      const headers = { 'sec-fetch-site': 'cross-site' };
      expectRefusal(await current.delete('/contract/overrides/1', headers), 403);
      expect((await current.get('/contract/overrides/1', headers)).status).toBe(200);
    });
  });

  describe('400: the request itself is wrong', () => {
    const post = (body: unknown, headers?: Record<string, string>) =>
      current.post('/contract/overrides', body, headers);

    it.each([
      ['no body', undefined, /body/i],
      ['an empty body', '', /empty/],
      ['malformed JSON', '{"server":', /JSON/],
      ['text behind the JSON', '{} {}', /JSON/],
      ['a byte order mark', '\ufeff{}', /byte order mark/],
      [
        'bytes that are not UTF-8',
        Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
        /UTF-8/,
      ],
      ['an array', '[]', /object/],
      ['null', 'null', /object/],
      ['a string', '"x"', /object/],
      ['a field given twice', '{"server":"a","server":"b"}', /server: given twice/],
      [
        'a field given twice, once in escapes',
        '{"server":"a","\\u0073erver":"b"}',
        /server: given twice/,
      ],
      ['__proto__', '{"__proto__":{"server":"fra1"}}', /__proto__/],
      ['400 KB of nested arrays', '['.repeat(30_000) + ']'.repeat(30_000), /./],
      ['17 levels', `{"server":${'['.repeat(16)}${']'.repeat(16)}}`, /16 levels/],
      ['more than 64 KiB', JSON.stringify({ server: 'x'.repeat(64 * 1024) }), /64 KiB/],
      ['NUL in a string', '{"server":"a\\u0000b"}', /server/],
      ['half a surrogate pair', '{"server":"\\ud800"}', /server/],
      ['a number that would be rounded', '{"expiry":9007199254740993}', /expiry/],
    ] as const)('%s', async (_, body, says) => {
      expectRefusal(await post(body), 400, says);
    });

    it.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      '',
    ])('Content-Type "%s"', async (type) => {
      expectRefusal(
        await post(JSON.stringify(overrideBody('type.example.com')), { 'content-type': type }),
        400,
        /application\/json/,
      );
    });

    it('Content-Type: application/json with any charset parameter in UTF-8 is taken', async () => {
      const headers = { 'content-type': 'Application/JSON; charset=utf-8' };
      const { status, body } = await post(overrideBody('charset.example.com'), headers);
      expect(status).toBe(201);
      await current.delete(`/contract/overrides/${body.id}`);
    });

    const wrong: Array<[string, string, unknown, RegExp]> = [
      ['an integer', 'server', 5, /^server: expected a string/],
      ['null', 'server', null, /^server: expected a string/],
      ['empty', 'server', '', /^server:/],
      ['an array', 'hostname', ['a.example.com'], /^hostname: expected a string/],
      ['a wildcard', 'hostname', '*.example.com', /^hostname:.*wildcard/],
      ['localhost', 'hostname', 'localhost', /^hostname:/],
      ['an address', 'hostname', '192.0.2.1', /^hostname:.*IP address/],
      ['an empty label', 'hostname', 'a..example.com', /^hostname:.*empty label/],
      ['254 characters', 'hostname', `${'a.'.repeat(126)}ab`, /^hostname:.*253/],
      ['a prefix', 'ip', '192.0.2.0/24', /^ip:.*not an IP address/],
      ['a zone', 'ip', 'fe80::1%eth0', /^ip:/],
      ['octal', 'ip', '192.0.2.010', /^ip:/],
      ['a short form', 'ip', '127.1', /^ip:/],
      ['unspecified', 'ip', '0.0.0.0', /^ip:.*unspecified/],
      ['multicast', 'ip', 'ff02::1', /^ip:.*multicast/],
      ['broadcast', 'ip', '255.255.255.255', /^ip:.*broadcast/],
      ['a boolean', 'ip', true, /^ip: expected a string/],
      ['digits in quotes', 'expiry', '1900000000', /^expiry: expected an integer/],
      ['true', 'expiry', true, /^expiry: expected an integer/],
      ['null', 'expiry', null, /^expiry: expected an integer/],
      ['a fraction', 'expiry', 1_900_000_000.5, /^expiry: expected an integer/],
      ['negative', 'expiry', -1, /^expiry:/],
      ['now', 'expiry', 1_800_000_001, /^expiry:.*not in the future/],
      ['the past', 'expiry', 0, /^expiry:.*not in the future/],
      [
        'milliseconds',
        'expiry',
        1_800_000_500_000,
        /^expiry:.*looks like milliseconds.*1800000500/,
      ],
      [
        'more than ten years away',
        'expiry',
        1_800_000_001 + 10 * 365.25 * 86_400 + 1,
        /^expiry:.*10 years/,
      ],
    ];
    it.each(wrong)(
      '%s as %s is refused, on POST and PATCH; the message names the field',
      async (_, field, value, says) => {
        expectRefusal(await post(overrideBody('wrong.example.com', { [field]: value })), 400, says);
        expectRefusal(await current.patch('/contract/overrides/1', { [field]: value }), 400, says);
        if (field === 'ip' || field === 'expiry') {
          expectRefusal(
            await current.post(
              '/contract/ip-authlist',
              entryBody('203.0.113.9', { [field]: value }),
            ),
            400,
            says,
          );
          expectRefusal(
            await current.patch('/contract/ip-authlist/1', { [field]: value }),
            400,
            says,
          );
        }
      },
    );

    it('the tenth year is the last', async () => {
      const expiry = t.now() + 10 * 365.25 * 86_400;
      const { status, body } = await post(overrideBody('last.example.com', { expiry }));
      expect(status).toBe(201);
      await current.delete(`/contract/overrides/${body.id}`);
    });

    it('an unknown field is refused, so that expire for expiry does not pass silently', async () => {
      const { expiry, ...rest } = overrideBody('unknown.example.com');
      expectRefusal(await post({ ...rest, expire: expiry }), 400, /expir/);
      expectRefusal(
        await post({ ...rest, expiry, expire: expiry }),
        400,
        /^expire: is not a field/,
      );
      expectRefusal(
        await current.patch('/contract/overrides/1', { expire: expiry }),
        400,
        /^expire: is not a field/,
      );
      expectRefusal(
        await current.patch('/contract/ip-authlist/1', { expire: expiry }),
        400,
        /^expire: is not a field/,
      );
      expectRefusal(
        await current.post('/users/token', { user: 'alice', expiry: 5 }),
        400,
        /^expiry: is not a field/,
      );
    });

    it('read-only fields of the record are taken by PATCH and ignored, and refused by POST', async () => {
      const ip = '192.0.2.77';
      expect(
        (await current.patch('/contract/overrides/1', { id: 99, status: 'active', ip })).body,
      ).toMatchObject({ id: 1, ip, status: 'pending' });
      expect(
        (
          await current.patch('/contract/ip-authlist/1', {
            id: 99,
            user_active: false,
            user: 'alice',
          })
        ).body,
      ).toMatchObject({ id: 1, user_active: true });
      expectRefusal(
        await post(overrideBody('id.example.com', { id: 5 })),
        400,
        /^id: is not a field/,
      );
      expectRefusal(
        await current.patch('/contract/overrides/1', { user_active: true }),
        400,
        /^user_active/,
      );
    });

    it.each([{}, { id: 1 }])('PATCH with nothing to change: %o', async (body) => {
      expectRefusal(await current.patch('/contract/overrides/1', body), 400, /changes nothing/);
      expectRefusal(await current.patch('/contract/ip-authlist/1', body), 400, /changes nothing/);
    });

    it.each([
      ['user', {}, /^user: is missing/],
      ['user', { user: true }, /^user: expected/],
      ['user', { user: 1.5 }, /^user: expected/],
      ['user', { user: 0 }, /^user:/],
      ['expire', { user: 'alice', expire: '60' }, /^expire: expected an integer/],
      ['expire', { user: 'alice', expire: 0 }, /^expire:/],
      ['expire', { user: 'alice', expire: 10 * 365.25 * 86_400 + 1 }, /^expire:/],
    ])('POST /v0/users/token refuses %s in %o', async (_, body, says) => {
      expectRefusal(await current.post('/users/token', body), 400, says);
    });

    it.each([
      '/servers?detail=usage',
      '/servers?detail=location,location,x',
      '/servers?server=fra1',
      '/contract?detail=usage',
      '/contract/servers?detail=',
      '/contract/servers?detail=Location',
      '/contract/servers?detail=location,',
      '/contract/servers?server=',
      '/contract/servers?servers=fra1',
      '/contract/servers?detail=usage&detail=location',
      '/contract/servers/fra1?server=fra1',
      '/contract/ip-authlist?ip=',
      '/contract/ip-authlist?user=',
      '/contract/ip-authlist?user=alice,,bob',
      '/contract/ip-authlist?users=alice',
      '/contract/overrides?ip=192.0.2',
      '/contract/overrides?hostname=a',
      '/contract/overrides/1?x=1',
      '/users?x=1',
      '?x=1',
    ])('a query that is not one of the route: %s', async (path) => {
      expectRefusal(await current.get(path), 400);
    });

    it('DELETE on a collection refuses any query string: filters do not narrow it', async () => {
      for (const list of ['overrides', 'ip-authlist']) {
        const before = (await current.get(`/contract/${list}`)).body;
        for (const query of ['?ip=203.0.113.1', '?user=alice', '?x', '?id=1']) {
          expectRefusal(await current.delete(`/contract/${list}${query}`), 400);
        }
        expect((await current.get(`/contract/${list}`)).body).toEqual(before);
      }
    });

    it('two Host headers, also where the answer is at hand', async () => {
      const headers = [
        'Authorization',
        basic(acme.api_token),
        'Host',
        'a.example',
        'Host',
        'b.example',
      ];
      await current.get('/contract');
      expect((await sendRaw(t.base_url, { path: '/v0/contract', headers })).status).toBe(400);
    });

    it('400 comes before 409', async () => {
      expectRefusal(await post(overrideBody('taken.example.com', { ip: 'x' })), 400);
      expectRefusal(await post(overrideBody('taken.example.com', { expiry: 1 })), 400);
      expectRefusal(await post(overrideBody('new.example.com', { server: 'xyz9', ip: 'x' })), 400);
      expectRefusal(
        await current.post('/contract/ip-authlist', entryBody('x', { user: 'nobody' })),
        400,
      );
      expectRefusal(
        await current.patch('/contract/overrides/1', { server: 'lon1', hostname: '*' }),
        400,
      );
      expectRefusal(await current.post('/users/token', { user: 'nobody', expire: 0 }), 400);
    });
  });

  describe('409: well formed, but it does not fit the records', () => {
    it.each([
      ['a server that is not on the contract', 'lon1'],
      ['a server that does not exist', 'xyz9'],
    ])('an override on %s', async (_, server) => {
      expectRefusal(
        await current.post('/contract/overrides', overrideBody('new.example.com', { server })),
        409,
        /not added to the account/,
      );
      expectRefusal(
        await current.patch('/contract/overrides/1', { server }),
        409,
        /No changes were made/,
      );
    });

    it('a user who is not part of the account', async () => {
      expectRefusal(
        await current.post('/contract/ip-authlist', entryBody('203.0.113.9', { user: 'nobody' })),
        409,
        /not part of the account/,
      );
      expectRefusal(
        await current.patch('/contract/ip-authlist/1', { user: 'nobody' }),
        409,
        /not part of the account/,
      );
      expectRefusal(
        await current.post('/users/token', { user: 'nobody' }),
        409,
        /not a user of the account/,
      );
    });
  });

  describe("the operator's settings", () => {
    it.each(['current', 'earlier'] as const)(
      'EXITWARD_VARIANTS=%s: a token in the other half gets 401, which names the right one',
      async (variant) => {
        const other = variant === 'current' ? 'earlier' : 'current';
        const app = await startTestApp(await database.url(), { EXITWARD_VARIANTS: variant });
        const account = await app.account('acme');
        expect((await app.as(account, variant).get('/contract')).status).toBe(200);
        for (const path of ['/contract', '/nothing']) {
          const answer = await app.as(account, other).get(path);
          expectRefusal(answer, 401, variant === 'current' ? /as the password/ : /as the username/);
        }
        await app.stop();
      },
    );

    it('EXITWARD_RATE_LIMIT_PER_MINUTE: 429 past it, RateLimit headers on every answer, cached ones too', async () => {
      const app = await startTestApp(await database.url(), { EXITWARD_RATE_LIMIT_PER_MINUTE: '3' });
      const [first, other] = [await app.account('one'), await app.account('two')];
      app.clock.advance(20 - (app.now() % 60));
      for (const remaining of [2, 1, 0]) {
        const { status, headers } = await app.as(first).get('/contract');
        const shown = ['limit', 'remaining', 'reset'].map((name) =>
          headers.get(`ratelimit-${name}`),
        );
        expect([status, ...shown]).toEqual([200, '3', String(remaining), '40']);
      }
      const refused = await app.as(first).get('/contract');
      expectRefusal(refused, 429);
      expect(refused.headers.get('retry-after')).toBe('40');
      expect((await app.as(other).get('/contract')).status).toBe(200);
      app.clock.advance(40);
      expect((await app.as(first).get('/contract')).status).toBe(200);
      await app.stop();
    });
  });

  describe('503: maintenance', () => {
    it('every request with a token gets 503 with Retry-After, whatever else is wrong with it; without a token 401', async () => {
      const maintain = (on: number) =>
        t.write(async (tx) => {
          await tx.run('update network set maintenance = $1', [on]);
          await bumpVersion(tx, 0);
        });
      await maintain(1);
      for (const path of [
        '/contract',
        '/nothing',
        '/contract/overrides?x',
        '/contract/servers/lon1',
      ]) {
        const answer = await current.get(path);
        expectRefusal(answer, 503, /maintenance/);
        expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      }
      expectRefusal(await current.delete('/contract/overrides'), 503);
      expectRefusal(await t.with().get('/v0/contract'), 401);
      await maintain(0);
      expect((await current.get('/contract')).status).toBe(200);
      expect((await current.get('/contract/overrides/1')).status).toBe(200);
    });
  });
});
