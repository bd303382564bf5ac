// The operator's view: a request id on every answer and in the log, metrics on their own listener,
// the rate limit.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eachDatabase } from './databases.ts';
import { basic, keptLog, startTestApp, type TestApp } from './harness.ts';

/** The answer of the server at `url` to these bytes, until it closes the connection. */
async function sendBytes(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let heard = '';
  socket.setEncoding('utf8').on('data', (text) => {
    heard += text;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return heard;
}

/** How many responses came out of the cache. */
async function hitsOf({ running }: TestApp): Promise<number> {
  const { values } = await running.ctx.metrics.cacheHits.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

eachDatabase((database) => {
  const { log, lines } = keptLog();
  let t: TestApp;
  let account: Awaited<ReturnType<TestApp['account']>>;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_LOG_REQUESTS: 'changes' }, log);
    await t.server('fra1');
    account = await t.account('acme', { servers: ['fra1'] });
  });
  afterAll(() => t.stop());

  const metrics = async () => (await fetch(t.running.metrics_url as string)).text();
  /** The value of a sample, 0 when it is not there. */
  const sample = (text: string, name: string, labels: Record<string, string | number> = {}) => {
    const line = text
      .split('\n')
      .find(
        (line) =>
          (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) &&
          Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`)),
      );
    return line ? Number(line.slice(line.lastIndexOf(' ') + 1)) : 0;
  };

  describe('x-request-id', () => {
    test('is on every kind of answer, and never twice the same', async () => {
      const good = { authorization: basic(account.api_token) };
      const kinds: Array<[number, string, string, Record<string, string>?, string?]> = [
        [200, 'GET', '/v0/contract', good],
        // Kept bytes, and the same unchanged.
        [200, 'GET', '/v0/contract', good],
        [200, 'HEAD', '/v0/contract', good],
        [401, 'GET', '/v0/contract'],
        [401, 'GET', '/v0/%zz'],
        [404, 'GET', '/v0/nothing', good],
        [404, 'GET', '/nothing'],
        [405, 'PUT', '/v0/contract', good],
        [
          400,
          'POST',
          '/v0/contract/ip-authlist',
          { ...good, 'content-type': 'application/json' },
          '{',
        ],
        [400, 'POST', '/v0/contract/ip-authlist', { ...good, 'content-type': 'text/plain' }, 'x'],
        [400, 'GET', '/v0/contract/servers?detail=x', good],
        [400, 'GET', '/v0/%zz', good],
        [200, 'GET', '/healthz'],
        [200, 'GET', '/readyz'],
        [200, 'GET', '/docs'],
        [401, 'GET', '/node/snapshot'],
      ];
      const seen = new Set<string>();
      for (const [status, method, path, headers, body] of kinds) {
        const base = path.startsWith('/node') ? t.running.node_url : t.base_url;
        const answer = await fetch(base + path, {
          method,
          headers: headers ?? {},
          ...(body ? { body } : {}),
        });
        await answer.text();
        expect([path, answer.status]).toEqual([path, status]);
        const id = answer.headers.get('x-request-id');
        expect([path, id]).toEqual([path, expect.stringMatching(/^[\w-]{8,}$/)]);
        seen.add(id as string);
      }
      expect(seen.size).toBe(kinds.length);

      const { etag } = Object.fromEntries((await t.as(account).get('/contract')).headers);
      const unchanged = await t.as(account).get('/contract', { 'if-none-match': etag as string });
      expect(unchanged.status).toBe(304);
      expect(unchanged.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    });

    test.each([
      ['400', 'NOT HTTP AT ALL\r\n\r\n'],
      ['400', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n'],
      ['400', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
      ['431', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ])('is on the %s of what is not valid HTTP', async (status, bytes) => {
      lines.length = 0;
      const answer = await sendBytes(t.base_url, bytes);
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(answer.toLowerCase()).toContain('application/json');
      expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
        message: expect.any(String),
      });
      const id = /^x-request-id: (\S+)/im.exec(answer)?.[1];
      expect(id).toMatch(/^[\da-f-]{36}$/);
      expect(lines).toContainEqual(
        expect.objectContaining({ request_id: id, status: Number(status) }),
      );
    });

    test('is not taken from the client', async () => {
      const answer = await t.as(account).get('/users', { 'x-request-id': 'chosen' });
      expect(answer.headers.get('x-request-id')).not.toBe('chosen');
    });
  });

  describe('the log', () => {
    /** A server that logs all requests, with an account, and its log from then on. */
    async function loggingAll() {
      const lines = keptLog();
      const env = { EXITWARD_LOG_REQUESTS: 'all' };
      const all = await startTestApp(await database.url(), env, lines.log);
      const { api_token } = await all.account('acme');
      lines.lines.length = 0;
      return { all, api_token, lines };
    }

    test('records each change and each refusal: who, what, how long, and the id of the answer', async () => {
      lines.length = 0;
      const body = { ip: '192.0.2.1', user: 'alice', expiry: t.now() + 1000 };
      const created = await t.as(account).post('/contract/ip-authlist', body);
      const refused = await t.as(account).post('/contract/ip-authlist', body);
      await t.as(account).get('/contract/ip-authlist');
      await expect.poll(() => lines.filter(({ msg }) => msg === 'request')).toHaveLength(2);
      expect(lines).toMatchObject([
        {
          msg: 'request',
          request_id: created.headers.get('x-request-id'),
          method: 'POST',
          route: '/v0/contract/ip-authlist',
          status: 201,
          account: 'acme',
          address: '127.0.0.1',
          milliseconds: expect.any(Number),
        },
        { msg: 'request', request_id: refused.headers.get('x-request-id'), status: 409 },
      ]);
    });

    test('records every request when that is configured, cached responses too', async () => {
      const { all, api_token, lines } = await loggingAll();
      const ids: unknown[] = [];
      for (let times = 0; times < 3; times += 1) {
        const answer = await all.as({ api_token }).get('/contract');
        ids.push(answer.headers.get('x-request-id'));
      }
      await expect.poll(() => lines.lines.map(({ request_id }) => request_id)).toEqual(ids);
      expect(await hitsOf(all)).toBe(2);
      await all.stop();
    });

    test.each([
      ['no proxy', {}, '127.0.0.1'],
      ['a trusted proxy', { 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7'],
      ['a chain of them', { 'x-forwarded-for': '198.51.100.9, 203.0.113.7' }, '203.0.113.7'],
      ['one that passes on no address', { 'x-forwarded-for': 'unknown' }, '127.0.0.1'],
    ])('a cached response is logged as a fresh one is: %s', async (_, headers, address) => {
      const lines = keptLog();
      const all = await startTestApp(
        await database.url(),
        { EXITWARD_LOG_REQUESTS: 'all', EXITWARD_TRUSTED_PROXIES: '127.0.0.1' },
        lines.log,
      );
      const { api_token } = await all.account('acme');
      lines.lines.length = 0;
      for (let times = 0; times < 2; times += 1) await all.as({ api_token }).get('/users', headers);
      await expect.poll(() => lines.lines.length).toBe(2);
      expect(await hitsOf(all)).toBe(1);
      const [fresh, cached] = lines.lines;
      const differs = { request_id: '', milliseconds: 0, time: 0 };
      expect({ ...cached, ...differs }).toEqual({ ...fresh, ...differs });
      expect(cached).toMatchObject({ address, account: 'acme', status: 200, method: 'GET' });
      await all.stop();
    });

    const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
    const span = '00f067aa0ba902b7';
    test.each([
      ['is valid', `00-${trace_id}-${span}-01`, trace_id],
      ['has flags of a later level', `00-${trace_id}-${span}-ff`, trace_id],
      ['is of a later version', `cc-${trace_id}-${span}-01`, trace_id],
      ['is of a later version, with more behind', `cc-${trace_id}-${span}-01-more.x`, trace_id],
      [
        'is of a later version, with more that is none',
        `cc-${trace_id}-${span}-01.more`,
        undefined,
      ],
      ['is of this version, with more behind', `00-${trace_id}-${span}-01-more`, undefined],
      ['is of the version that is none', `ff-${trace_id}-${span}-01`, undefined],
      ['has upper-case digits', `00-${trace_id.toUpperCase()}-${span}-01`, undefined],
      ['has no trace', `00-${'0'.repeat(32)}-${span}-01`, undefined],
      ['has no span', `00-${trace_id}-${'0'.repeat(16)}-01`, undefined],
      ['is too short', `00-${trace_id.slice(1)}-${span}-01`, undefined],
      ['has no flags', `00-${trace_id}-${span}`, undefined],
      ['is long', `00-${trace_id}-${span}-01${'x'.repeat(10_000)}`, undefined],
      ['comes twice', `00-${trace_id}-${span}-01, 00-${trace_id}-${span}-01`, undefined],
      ['is something else', '$' + '{jndi:ldap://x}', undefined],
    ])(
      'names the trace of a request whose traceparent %s, or none',
      async (_, traceparent, logged) => {
        lines.length = 0;
        const missing = await t.as(account).get('/users/nobody', { traceparent });
        expect(missing.status).toBe(404);
        await expect.poll(() => lines.filter(({ msg }) => msg === 'request')).toHaveLength(1);
        expect(lines.find(({ msg }) => msg === 'request')?.trace_id).toBe(logged);
        expect(JSON.stringify(lines)).not.toContain('jndi');
      },
    );

    test('names the trace of a cached response, and of an error, as of any request', async () => {
      const traceparent = `00-${trace_id}-${span}-01`;
      const { all, api_token, lines } = await loggingAll();
      for (let times = 0; times < 2; times += 1) {
        await all.as({ api_token }).get('/contract', { traceparent });
      }
      await expect
        .poll(() => lines.lines.map((line) => line.trace_id))
        .toEqual([trace_id, trace_id]);
      expect(await hitsOf(all)).toBe(1);
      await all.running.ctx.db.script(['alter table users rename to users_away']);
      await all.as({ api_token }).get('/users', { traceparent });
      await all.running.ctx.db.script(['alter table users_away rename to users']);
      expect(lines.lines).toContainEqual(
        expect.objectContaining({ level: 50, trace_id, request_id: expect.any(String) }),
      );
      await all.stop();
    });

    test('records the cause of a 500 under the id that the client has, and shows the client nothing of it', async () => {
      lines.length = 0;
      const { db } = t.running.ctx;
      await db.script(['alter table users rename to users_away']);
      const answer = await t.as(account).get('/users');
      await db.script(['alter table users_away rename to users']);
      expect(answer.status).toBe(500);
      expect(answer.body.message).not.toMatch(/users|table|relation|sql/i);
      expect(lines).toContainEqual(
        expect.objectContaining({
          level: 50,
          request_id: answer.headers.get('x-request-id'),
          err: expect.objectContaining({ message: expect.stringMatching(/users/) }),
        }),
      );
      expect((await t.as(account).get('/users')).status).toBe(200);
    });
  });

  describe('the metrics', () => {
    test('count requests by route, method and status, those answered with a cached response too', async () => {
      const before = await metrics();
      const { etag } = Object.fromEntries((await t.as(account).get('/contract/servers')).headers);
      for (let times = 0; times < 5; times += 1) await t.as(account).get('/contract/servers');
      for (let times = 0; times < 3; times += 1) {
        await t.as(account).get('/contract/servers', { 'if-none-match': etag as string });
      }
      await t.as(account).get('/contract/servers/nowhere');
      await t.with().get('/v0/contract/servers');
      const after = await metrics();
      const grown = (name: string, labels: Record<string, string | number>) =>
        sample(after, name, labels) - sample(before, name, labels);
      const route = '/v0/contract/servers';
      const requests = 'exitward_http_requests_total';
      expect(grown(requests, { route, method: 'GET', status: 200 })).toBe(6);
      expect(grown(requests, { route, method: 'GET', status: 304 })).toBe(3);
      expect(grown(requests, { route, method: 'GET', status: 401 })).toBe(1);
      expect(grown(requests, { route: `${route}/:server`, status: 404 })).toBe(1);
      expect(grown('exitward_cache_hits_total', { status: 200 })).toBe(5);
      expect(grown('exitward_cache_hits_total', { status: 304 })).toBe(3);
      expect(sample(after, 'exitward_http_request_seconds_count', { route })).toBeGreaterThan(0);
    });

    test('count groups of writes and the actions in them', async () => {
      const before = await metrics();
      await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          t.as(account).post('/contract/ip-authlist', {
            ip: `10.9.9.${at}`,
            user: 'alice',
            expiry: t.now() + 1000,
          }),
        ),
      );
      const after = await metrics();
      const grown = (name: string) => sample(after, name) - sample(before, name);
      expect(grown('exitward_database_actions_total')).toBeGreaterThanOrEqual(20);
      expect(grown('exitward_database_group_seconds_count')).toBeGreaterThan(0);
      expect(grown('exitward_database_group_seconds_count')).toBeLessThan(20);
    });

    test('show how far each node lags, and that its stream is open', async () => {
      const node = await t.node('fra1');
      await node.start();
      const labels = { server: 'fra1', node: node.id };
      expect(sample(await metrics(), 'exitward_node_lag_revisions', labels)).toBe(0);
      expect(sample(await metrics(), 'exitward_node_streams')).toBe(1);
      for (let at = 0; at < 3; at += 1) {
        const body = { ip: `10.9.8.${at}`, user: 'alice', expiry: t.now() + 1000 };
        await t.as(account).post('/contract/ip-authlist', body);
      }
      await node.until(() => node.heard('authlist').length === 3);
      expect(sample(await metrics(), 'exitward_node_lag_revisions', labels)).toBe(3);
      await node.ack();
      expect(sample(await metrics(), 'exitward_node_lag_revisions', labels)).toBe(0);
      await t.operator.delete(`/nodes/${node.id}`);
      expect(await metrics()).not.toContain(`node="${node.id}"`);
      await expect.poll(async () => sample(await metrics(), 'exitward_node_streams')).toBe(0);
      node.stop();
    });

    test('show whether each node is there, the disk, the program, and the accounts that are named', async () => {
      const named = await startTestApp(await database.url(), {
        EXITWARD_METRICS_ACCOUNTS: 'acme, nobody,acme',
      });
      await named.server('fra1');
      await named.account('acme', { servers: ['fra1'] });
      await named.account('globex');
      const node = await named.node('fra1');
      await node.start();
      const read = async () => (await fetch(named.running.metrics_url as string)).text();
      const labels = { server: 'fra1', node: node.id };
      const first = await read();
      expect(sample(first, 'exitward_node_live', labels)).toBe(1);
      expect(sample(first, 'exitward_node_seen_timestamp_seconds', labels)).toBe(named.now());
      expect(sample(first, 'exitward_disk_free_bytes')).toBeGreaterThan(0);
      expect(sample(first, 'exitward_disk_size_bytes')).toBeGreaterThan(
        sample(first, 'exitward_disk_free_bytes'),
      );
      expect(first).toMatch(/^exitward_build_info\{version="\d+\.\d+\.\d+",node_version="v\d+/m);
      const acme = { account: 'acme' };
      const { limit_bytes } = (await named.operator.get('/accounts/acme')).body;
      expect(sample(first, 'exitward_account_usage_bytes', acme)).toBe(0);
      expect(sample(first, 'exitward_account_limit_bytes', acme)).toBe(limit_bytes);
      expect(sample(first, 'exitward_account_suspended', acme)).toBe(0);
      expect(sample(first, 'exitward_account_period_end_timestamp_seconds', acme)).toBeGreaterThan(
        named.now(),
      );
      expect(first).not.toMatch(/globex|nobody/);
      await named.operator.patch('/accounts/acme', { suspended: true });
      node.stop();
      await named.pass(120);
      const later = await read();
      expect(sample(later, 'exitward_node_live', labels)).toBe(0);
      expect(later).toContain('exitward_node_live{');
      expect(sample(later, 'exitward_account_suspended', acme)).toBe(1);
      await named.stop();
    });

    test('are on their own listener alone, which answers nothing else', async () => {
      for (const url of [t.base_url, t.running.admin_url, t.running.node_url]) {
        expect((await fetch(`${url}/metrics`)).status).toBe(404);
      }
      const own = new URL(t.running.metrics_url as string).origin;
      expect((await fetch(`${own}/metrics`)).headers.get('content-type')).toMatch(
        /^text\/plain; version=/,
      );
      for (const path of ['/', '/v0', '/healthz', '/metrics/x', '/admin/status']) {
        expect((await fetch(own + path)).status).toBe(404);
      }
      const head = await fetch(`${own}/metrics`, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
      expect(Number(head.headers.get('content-length'))).toBeGreaterThan(1000);
      expect((await fetch(`${own}/metrics`, { method: 'POST' })).status).toBe(404);
    });

    test('can be turned off', async () => {
      const quiet = await startTestApp(await database.url(), { EXITWARD_METRICS_LISTEN: 'off' });
      expect(quiet.running.metrics_url).toBe(undefined);
      await quiet.stop();
    });
  });

  test('the rate limit: 429 with RateLimit headers past it, for cached responses too, by token and minute', async () => {
    const limited = await startTestApp(await database.url(), {
      EXITWARD_RATE_LIMIT_PER_MINUTE: '5',
    });
    const { api_token } = await limited.account('acme');
    const other = await limited.account('globex');
    limited.clock.seconds -= limited.clock.seconds % 60;
    limited.clock.advance(10);
    const lines = [];
    const limits = [];
    for (let times = 0; times < 7; times += 1) {
      const { status, headers } = await limited.as({ api_token }).get('/contract');
      lines.push([
        status,
        headers.get('ratelimit-limit'),
        headers.get('ratelimit-remaining'),
        headers.get('ratelimit-reset'),
        headers.get('retry-after'),
      ]);
      limits.push([headers.get('ratelimit-policy'), headers.get('ratelimit')]);
    }
    expect(limits).toEqual(
      [4, 3, 2, 1, 0, 0, 0].map((remaining) => ['"token";q=5;w=60', `"token";r=${remaining};t=50`]),
    );
    expect(lines).toEqual([
      [200, '5', '4', '50', null],
      [200, '5', '3', '50', null],
      [200, '5', '2', '50', null],
      [200, '5', '1', '50', null],
      [200, '5', '0', '50', null],
      [429, '5', '0', '50', '50'],
      [429, '5', '0', '50', '50'],
    ]);
    const refused = await limited.as({ api_token }).get('/contract');
    expect(refused.body).toEqual({ message: expect.stringMatching(/too many requests/i) });
    expect(refused.headers.get('exitward-error')).toBe('rate_limited');
    expect(await hitsOf(limited)).toBe(4);
    expect((await limited.as(other).get('/contract')).status).toBe(200);
    limited.clock.advance(50);
    expect((await limited.as({ api_token }).get('/contract')).status).toBe(200);
    await limited.stop();
  });

  test('without a limit there are no RateLimit headers', async () => {
    const { headers } = await t.as(account).get('/contract');
    expect(Array.from(headers.keys()).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
  });
});
