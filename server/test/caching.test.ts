// ETags and conditions, and the cached responses: the same as fresh ones, and never stale, with two
// processes too.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changeAccount, requireAccount } from '../src/accounts/accounts.ts';
import { createApiToken, removeApiToken } from '../src/api_tokens/api_tokens.ts';
import { bumpVersion } from '../src/changes/changes.ts';
import {
  removeContractServer,
  setContractServer,
} from '../src/contract_servers/contract_servers.ts';
import { setGeoStatuses } from '../src/geo/geo.ts';
import { addExitIp, changeServer, removeExitIp, requireServer } from '../src/servers/servers.ts';
import { changeUser, raiseTokenVersion, requireUserNamed } from '../src/users/users.ts';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { basic, startTestApp, type TestApp } from './harness.ts';
import { TestNode } from './node.ts';
import { type RawAnswer, sendRaw } from './raw.ts';

const day = 86_400;

/** Everything that can be read; `{authlist}` stands for the variant's own path. */
const reads = [
  '',
  '/servers',
  '/servers?detail=location',
  '/contract',
  '/contract/servers',
  '/contract/servers?detail=usage,location,geostatus',
  '/contract/servers?server=fra1',
  '/contract/servers/fra1',
  '/contract/servers/fra1?detail=geostatus',
  '/contract/{authlist}',
  '/contract/{authlist}?ip=192.0.2.',
  '/contract/{authlist}?user=alice',
  '/contract/{authlist}/1',
  '/contract/overrides',
  '/contract/overrides?server=fra1',
  '/contract/overrides/1',
];
const targets = [
  ...reads.map(
    (path) => ({ variant: 'current', path: path.replace('{authlist}', 'ip-authlist') }) as const,
  ),
  ...reads.map(
    (path) => ({ variant: 'earlier', path: path.replace('{authlist}', 'whitelist') }) as const,
  ),
  { variant: 'current', path: '/users' } as const,
];

/** Header lines without those that differ from request to request. */
function settled({ headerLines }: RawAnswer): string[] {
  const lines: string[] = [];
  for (let at = 0; at < headerLines.length; at += 2) {
    const name = headerLines[at]?.toLowerCase();
    const differs = name === 'date' || name === 'x-request-id';
    lines.push(differs ? `${name}: …` : `${name}: ${headerLines[at + 1]}`);
  }
  return lines.sort();
}

const headerOf = (answer: RawAnswer, name: string) =>
  answer.headerLines[
    answer.headerLines.findIndex((line, at) => at % 2 === 0 && line.toLowerCase() === name) + 1
  ];

eachDatabase((database) => {
  /** Two processes' worth of servers on one database. */
  let a: TestApp;
  let b: TestApp;
  let acme: BuiltAccount;
  let node: TestNode;
  let names = 0;

  beforeAll(async () => {
    const url = await database.url();
    a = await startTestApp(url);
    b = await startTestApp(url, { EXITWARD_DATA_DIR: a.data_dir });
    await a.server('fra1');
    await a.server('nyc1');
    acme = await a.account('acme', { servers: ['fra1', 'nyc1'], detailed_billing: true });
    const client = a.as(acme);
    for (let at = 1; at <= 3; at++) {
      await client.post('/contract/ip-authlist', {
        ip: `192.0.2.${at}`,
        user: 'alice',
        expiry: a.now() + 1000 * day,
      });
      await client.post('/contract/overrides', override());
    }
    node = await a.node('fra1');
    await node.snapshot();
    await node.ack();
    await node.send('POST', '/health', {
      exit_ips: [{ ip: '198.51.100.1', status: 'ok', checked_at: a.now() }],
    });
  });
  afterAll(async () => {
    await b.stop();
    await a.stop();
  });

  const override = (more: object = {}) => ({
    server: 'fra1',
    hostname: `host${++names}.example.com`,
    ip: '192.0.2.80',
    expiry: a.now() + 1000 * day,
    ...more,
  });
  const raw = (
    app: TestApp,
    path: string,
    headers: string[] = [],
    variant: 'current' | 'earlier' = 'current',
    method = 'GET',
  ) =>
    sendRaw(app.base_url, {
      method,
      path: `/v0${path}`,
      headers: ['Authorization', basic(acme.api_token, variant), ...headers],
    });
  /** A weak tag is not for the cached responses: this goes through the router and the database. */
  const fresh = (app: TestApp, path: string, variant?: 'current' | 'earlier') =>
    raw(app, path, ['If-None-Match', 'W/"other"'], variant);
  const hits = async ({ running }: TestApp): Promise<number> => {
    const { values } = await running.ctx.metrics.cacheHits.get();
    return values.reduce((sum, { value }) => sum + value, 0);
  };

  it('a report of usage drops the responses that show usage, and no other', async () => {
    const paths = ['/contract/ip-authlist', '/contract/ip-authlist/1', '/servers', '/users'];
    const withoutUsage = [...paths, '/contract/overrides', '/contract/servers?detail=location'];
    const withUsage = ['/contract', '/contract/servers?detail=usage'];
    for (const path of [...withoutUsage, ...withUsage]) await raw(a, path);
    const rows = [{ account: acme.account.id, user: 1, at: a.now(), up: 5, down: 5 }];
    const { status } = await node.send('POST', '/usage', { boot: 'hits', seq: 1, rows });
    expect(status).toBe(200);
    const before = await hits(a);
    for (const path of withUsage) await raw(a, path);
    expect(await hits(a)).toBe(before);
    for (const path of [...withoutUsage, ...withUsage]) await raw(a, path);
    expect(await hits(a)).toBe(before + withoutUsage.length + withUsage.length);
  });

  describe.each(targets)('GET /v0$path ($variant variant)', ({ path, variant }) => {
    it('a cached response has the same bytes and headers as a fresh one', async () => {
      const slow = await fresh(a, path, variant);
      const before = await hits(a);
      const fast = await raw(a, path, [], variant);
      expect(await hits(a)).toBe(before + 1);
      expect(slow.status).toBe(200);
      expect([fast.status, fast.text]).toEqual([200, slow.text]);
      expect(settled(fast)).toEqual(settled(slow));
      expect(headerOf(fast, 'x-request-id')).not.toBe(headerOf(slow, 'x-request-id'));
    });

    it('a cached 304 has the same headers as a fresh one, and no body', async () => {
      const etag = headerOf(await raw(a, path, [], variant), 'etag') as string;
      const slow = await raw(a, path, ['If-None-Match', `W/${etag}`], variant);
      const before = await hits(a);
      const fast = await raw(a, path, ['If-None-Match', etag], variant);
      expect(await hits(a)).toBe(before + 1);
      expect([slow.status, slow.text, fast.status, fast.text]).toEqual([304, '', 304, '']);
      expect(settled(fast)).toEqual(settled(slow));
      expect(headerOf(fast, 'etag')).toBe(etag);
    });

    it('HEAD answers as GET does, without the body', async () => {
      const get = await raw(a, path, [], variant);
      const head = await raw(a, path, [], variant, 'HEAD');
      expect([head.status, head.text]).toEqual([200, '']);
      expect(settled(head)).toEqual(settled(get));
    });

    it('If-None-Match takes lists, weak tags and *', async () => {
      const etag = headerOf(await raw(a, path, [], variant), 'etag') as string;
      expect(etag).toMatch(/^"[^"]+"$/);
      const statuses: Array<[string, number]> = [
        [etag, 304],
        [`W/${etag}`, 304],
        [`"other", ${etag}`, 304],
        ['*', 304],
        ['"other"', 200],
        ['"other", W/"another"', 200],
        [etag.slice(1, -1), 200],
      ];
      for (const [tags, status] of statuses) {
        expect([tags, (await raw(a, path, ['If-None-Match', tags], variant)).status]).toEqual([
          tags,
          status,
        ]);
      }
    });
  });

  describe('If-Match', () => {
    const lists = [
      ['/contract/overrides', () => override(), { ip: '192.0.2.90' }],
      [
        '/contract/ip-authlist',
        () => ({ ip: `198.18.0.${++names}`, user: 'alice', expiry: a.now() + day }),
        { expiry: 1_800_100_000 },
      ],
    ] as const;

    it.each(lists)(
      '%s: PATCH and DELETE of an entry that has changed since get 412, and change nothing',
      async (list, make, changes) => {
        const client = a.as(acme);
        const made = await client.post(list, make());
        const path = made.headers.get('location') as string;
        const etag = made.headers.get('etag') as string;
        expect((await client.get(path)).headers.get('etag')).toBe(etag);
        for (const tags of ['"other"', 'W/"other"', etag.slice(1, -1)]) {
          const refused = await client.patch(path, changes, { 'if-match': tags });
          expect([refused.status, refused.body]).toEqual([412, { message: expect.any(String) }]);
          expect((await client.delete(path, { 'if-match': tags })).status).toBe(412);
          expect((await client.get(path)).body).toEqual(made.body);
        }
        // As a proxy that compresses passes the tag on.
        const changed = await client.patch(path, changes, { 'if-match': `"other", W/${etag}` });
        expect(changed.status).toBe(200);
        const after = changed.headers.get('etag') as string;
        expect((await client.get(path)).headers.get('etag')).toBe(after);
        expect((await client.delete(path, { 'if-match': etag })).status).toBe(412);
        expect((await client.delete(path, { 'if-match': after })).status).toBe(204);
        expect((await client.delete(path, { 'if-match': '*' })).status).toBe(404);
      },
    );

    it.each(lists)(
      '%s: DELETE of the collection is held to the ETag of the whole list',
      async (list, make) => {
        const other = await a.account(`match${++names}`, { servers: ['fra1'] });
        const client = a.as(other);
        await client.post(list, make());
        const etag = (await client.get(list)).headers.get('etag') as string;
        await client.post(list, make());
        expect((await client.delete(list, { 'if-match': etag })).status).toBe(412);
        expect((await client.get(list)).body).toHaveLength(2);
        const now = (await client.get(list)).headers.get('etag') as string;
        expect((await client.delete(list, { 'if-match': now })).status).toBe(204);
      },
    );

    it('GET with an If-Match of another version gets 412', async () => {
      expect((await a.as(acme).get('/contract', { 'if-match': '"other"' })).status).toBe(412);
      expect((await a.as(acme).get('/contract', { 'if-match': '*' })).status).toBe(200);
    });
  });

  describe('no answer is stale, on the server that made the change and on another on the same database', () => {
    interface Change {
      change: string;
      shownIn: string[];
      /** Makes a change that shows, another one each time, through one of the two servers. */
      make(via: TestApp): Promise<unknown>;
    }
    const inTurn = <T>(...values: T[]) => {
      let at = 0;
      return () => values[at++ % values.length] as T;
    };
    const later = (seconds: number) => {
      for (const app of [a, b]) app.clock.advance(seconds);
    };
    const account = (via: TestApp) => requireAccount(via.running.ctx.db, acme.account.id);
    const titles = inTurn('One', 'Two');
    const limits = inTurn(5_000_000, 6_000_000);
    const plans = inTurn('Small', 'Large');
    const actives = inTurn(false, true);
    const geo = inTurn('warn', 'ok');
    const health = inTurn('crit', 'warn');
    const nodeOf = (via: TestApp) => new TestNode(via.running.node_url, node.id, node.token);
    const acknowledge = async (via: TestApp) => {
      const entry = nodeOf(via);
      await entry.snapshot();
      expect(await entry.ack()).toBe(204);
    };
    let seq = 0;
    const report = (via: TestApp) =>
      nodeOf(via).send('POST', '/usage', {
        boot: 'caching',
        seq: ++seq,
        rows: [{ account: acme.account.id, user: 1, at: via.now(), up: 100, down: 10 }],
      });
    const withList = '/contract/ip-authlist';
    const overrides = '/contract/overrides';
    const usage = '/contract/servers?detail=usage';

    const changes: Change[] = [
      {
        change: 'an authlist entry is created',
        shownIn: [withList],
        make: (via) =>
          via.as(acme).post(withList, {
            ip: `198.18.1.${++names}`,
            user: 'alice',
            expiry: a.now() + 1000 * day,
          }),
      },
      {
        change: 'an authlist entry is changed',
        shownIn: [withList, `${withList}/1`, `${withList}?ip=192.0.2.1`],
        make: (via) =>
          via.as(acme).patch(`${withList}/1`, { expiry: a.now() + 900 * day + ++names }),
      },
      {
        change: 'an authlist entry is removed',
        shownIn: [withList],
        make: async (via) => {
          const [last] = (await via.as(acme).get(withList)).body.slice(-1);
          expect((await via.as(acme).delete(`${withList}/${last.id}`)).status).toBe(204);
        },
      },
      {
        change: 'an override is created',
        shownIn: [overrides],
        make: (via) => via.as(acme).post(overrides, override()),
      },
      {
        change: 'an override is changed',
        shownIn: [overrides, `${overrides}/1`],
        make: (via) =>
          via.as(acme).patch(`${overrides}/1`, { expiry: a.now() + 900 * day + ++names }),
      },
      {
        change: 'a node acknowledges, and a change makes the entry pending again',
        shownIn: [overrides, `${overrides}/1`, `${overrides}?server=fra1`],
        make: async (via) => {
          if ((await via.as(acme).get(`${overrides}/1`)).body.status === 'pending')
            return acknowledge(via);
          return via.as(acme).patch(`${overrides}/1`, { ip: '192.0.2.80' });
        },
      },
      {
        change: 'an override is removed',
        shownIn: [overrides],
        make: async (via) => {
          const [last] = (await via.as(acme).get(overrides)).body.slice(-1);
          expect((await via.as(acme).delete(`${overrides}/${last.id}`)).status).toBe(204);
        },
      },
      {
        change: 'a node reports health',
        shownIn: ['/contract/servers', '/contract/servers/fra1'],
        make: async (via) => {
          later(1);
          const exit_ips = [{ ip: '198.51.100.1', status: health(), checked_at: via.now() }];
          expect((await nodeOf(via).send('POST', '/health', { exit_ips })).status).toBe(200);
        },
      },
      {
        change: 'health is too old to be known',
        shownIn: ['/contract/servers', '/contract/servers/fra1'],
        make: async (via) => {
          if ((await via.as(acme).get('/contract/servers/fra1')).body.ips[0].status !== 'unknown')
            return later(900);
          return nodeOf(via).send('POST', '/health', {
            exit_ips: [{ ip: '198.51.100.1', status: 'ok', checked_at: via.now() }],
          });
        },
      },
      { change: 'a node reports usage', shownIn: ['/contract', usage], make: report },
      {
        change: 'an exit IP gets another geo status',
        shownIn: ['/contract/servers?detail=geostatus', '/contract/servers/fra1?detail=geostatus'],
        make: (via) =>
          via.write(async (tx) => {
            const status = { status: geo(), status_time: tx.now, country: 'DE', distance_km: null };
            await setGeoStatuses(tx, [{ ip: '198.51.100.1', provider: 'maxmind', ...status }]);
            await bumpVersion(tx, 0);
          }),
      },
      {
        change: 'a server changes',
        shownIn: ['/servers', '/contract/servers', '/contract/servers/fra1'],
        make: (via) =>
          via.write(async (tx) =>
            changeServer(tx, await requireServer(tx, 'fra1'), { title: titles() }),
          ),
      },
      {
        change: 'a server gets or loses an exit IP',
        shownIn: ['/servers', '/contract/servers?server=nyc1'],
        make: (via) =>
          via.write(async (tx) => {
            const server = await requireServer(tx, 'nyc1');
            const ip = '198.51.100.200';
            const has = await tx.one('select 1 as yes from exit_ips where ip = $1', [ip]);
            return has
              ? removeExitIp(tx, server, ip)
              : addExitIp(tx, server, { ip, port_base: 200 });
          }),
      },
      {
        change: 'a server joins the network',
        shownIn: ['/servers'],
        make: () => a.server(`new${++names}`),
      },
      {
        change: 'a server is taken off the contract, or added to it',
        shownIn: ['/contract/servers', '/contract/servers?server=nyc1'],
        make: (via) =>
          via.write(async (tx) => {
            const server = await requireServer(tx, 'nyc1');
            const on = await tx.one('select 1 as yes from contract_servers where server_id = $1', [
              server.id,
            ]);
            return on
              ? removeContractServer(tx, acme.account, server)
              : setContractServer(tx, acme.account, server, null);
          }),
      },
      {
        change: 'a contract server gets a limit of its own',
        shownIn: [usage],
        make: (via) =>
          via.write(async (tx) =>
            setContractServer(tx, acme.account, await requireServer(tx, 'fra1'), limits()),
          ),
      },
      {
        change: 'the contract changes',
        shownIn: ['/contract'],
        make: (via) =>
          via.write(async (tx) => changeAccount(tx, await account(via), { plan: plans() })),
      },
      {
        change: 'a user is made inactive, or active',
        shownIn: ['/users', withList, `${withList}/1`],
        make: (via) =>
          via.write(async (tx) =>
            changeUser(tx, await requireUserNamed(tx, acme.account.id, 'alice'), {
              active: actives(),
            }),
          ),
      },
      {
        change: 'token_version rises',
        shownIn: ['/users'],
        make: (via) =>
          via.write(async (tx) =>
            raiseTokenVersion(tx, await requireUserNamed(tx, acme.account.id, 'alice')),
          ),
      },
      {
        change: 'an authlist entry expires',
        shownIn: [withList, `${withList}?ip=198.18.2.1`],
        make: async (via) => {
          const there = (await via.as(acme).get(`${withList}?ip=198.18.2.1`)).body;
          if (there.length > 0) return later(50);
          const body = { ip: '198.18.2.1', user: 'alice', expiry: a.now() + 50 };
          return via.as(acme).post(withList, body);
        },
      },
      {
        change: 'an override expires, and is gone 30 days later, before any sweep',
        shownIn: [`${overrides}?ip=192.0.2.123`],
        make: async (via) => {
          const [entry] = (await via.as(acme).get(`${overrides}?ip=192.0.2.123`)).body;
          if (entry) return later(entry.status === 'pending' ? 50 : 30 * day);
          return via
            .as(acme)
            .post(overrides, override({ ip: '192.0.2.123', expiry: a.now() + 50 }));
        },
      },
      {
        change: 'the next period begins, and usage moves out of the window of 30 days',
        shownIn: [usage, '/contract'],
        make: async (via) => {
          const { period } = (await via.as(acme).get('/contract')).body;
          return period.usage > 0 ? later(31 * day) : report(via);
        },
      },
    ];

    it.each(changes)('$change', async ({ shownIn, make }) => {
      for (const via of [a, b, a, b]) {
        const before = new Map<string, string>();
        for (const app of [a, b]) {
          for (const path of shownIn) {
            await raw(app, path);
            const cached = await hits(app);
            before.set(path, (await raw(app, path)).text);
            expect(await hits(app)).toBe(cached + 1);
          }
        }
        await make(via);
        for (const app of [a, b]) {
          for (const path of shownIn) {
            const now = await raw(app, path);
            expect(now.status).toBe(200);
            expect([path, now.text]).not.toEqual([path, before.get(path)]);
            expect([path, now.text]).toEqual([path, (await fresh(app, path)).text]);
          }
        }
      }
    });

    it('all entries are removed', async () => {
      for (const list of [withList, overrides]) {
        for (const app of [a, b]) await raw(app, list);
        expect((await b.as(acme).delete(list)).status).toBe(204);
        for (const app of [a, b]) expect((await raw(app, list)).text).toBe('[]');
      }
    });

    it('a revoked API token gets 401 at once, and only that one', async () => {
      const { secrets } = a.running.ctx;
      for (const via of [a, b]) {
        const body = { name: `temporary${++names}` };
        const { token, text } = await a.write((tx) =>
          createApiToken(tx, secrets, true, acme.account, body),
        );
        const client = (app: TestApp) => app.as({ api_token: text });
        for (const app of [a, b, a, b])
          expect((await client(app).get('/contract')).status).toBe(200);
        await via.write((tx) => removeApiToken(tx, acme.account, token.id));
        for (const app of [a, b]) {
          expect((await client(app).get('/contract')).status).toBe(401);
          expect((await app.as(acme).get('/contract')).status).toBe(200);
        }
      }
    });

    it('an API token that expires gets 401 from that second on', async () => {
      const body = { name: `brief${++names}`, expiry: a.now() + 10 };
      const { text } = await a.write((tx) =>
        createApiToken(tx, a.running.ctx.secrets, true, acme.account, body),
      );
      const client = (app: TestApp) => app.as({ api_token: text });
      later(9);
      for (const app of [a, b, a, b]) expect((await client(app).get('/contract')).status).toBe(200);
      later(1);
      for (const app of [a, b]) expect((await client(app).get('/contract')).status).toBe(401);
    });

    it('a suspended account may not write from that moment on, and may again', async () => {
      for (const via of [a, b]) {
        for (const [suspended, status] of [
          [true, 403],
          [false, 201],
        ] as const) {
          for (const app of [a, b]) await app.as(acme).get(overrides);
          await via.write(async (tx) => changeAccount(tx, await account(via), { suspended }));
          for (const app of [a, b]) {
            expect((await app.as(acme).get(overrides)).status).toBe(200);
            expect((await app.as(acme).post(overrides, override())).status).toBe(status);
          }
        }
      }
    });

    it('an expired contract may not write from that second on', async () => {
      const brief = await a.account('brief', { servers: ['fra1'], expiry: a.now() + 10 });
      for (const app of [a, b])
        expect((await app.as(brief).post(overrides, override())).status).toBe(201);
      later(10);
      for (const app of [a, b])
        expect((await app.as(brief).post(overrides, override())).status).toBe(403);
    });

    it('maintenance stops cached responses too, and ends', async () => {
      const maintain = (via: TestApp, on: number) =>
        via.write(async (tx) => {
          await tx.run('update network set maintenance = $1', [on]);
          await bumpVersion(tx, 0);
        });
      for (const via of [a, b]) {
        for (const app of [a, b]) await raw(app, '/contract');
        await maintain(via, 1);
        for (const app of [a, b]) {
          expect((await raw(app, '/contract')).status).toBe(503);
          expect((await raw(app, '/users')).status).toBe(503);
        }
        await maintain(via, 0);
        for (const app of [a, b]) expect((await raw(app, '/contract')).status).toBe(200);
      }
    });

    it('under load, a client that was answered sees its own change in every later read', async () => {
      await Promise.all(
        Array.from({ length: 40 }, async (_, at) => {
          const { status, body } = await a.as(acme).post(overrides, override());
          expect(status).toBe(201);
          const listed = await (at % 2 ? a : b).as(acme).get(overrides);
          expect(listed.body.map((server: { id: number }) => server.id)).toContain(body.id);
        }),
      );
    });
  });
});
