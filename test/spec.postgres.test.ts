// The contract, walked in the spec's own order: each row of each of its tables is a test, on both
// databases.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Variant } from '../server/src/api/account/session.ts';
import { bumpVersion } from '../server/src/changes/changes.ts';
import { addExitIp, requireServer } from '../server/src/servers/servers.ts';
import { findUserNamed, raiseTokenVersion } from '../server/src/users/users.ts';
import { eachDatabase } from '../server/test/databases.ts';
import { type Answer, basic, type TestClient } from '../server/test/harness.ts';
import { describeEndpoints } from './spec/endpoints.ts';
import { resources } from './spec/resources.ts';
import {
  authlistPath,
  buildWorld,
  claimsOf,
  day,
  later,
  variants,
  type World,
} from './spec/world.ts';

const json = 'application/json; charset=UTF-8';

eachDatabase((database) => {
  let world: World;
  let current: TestClient;
  let earlier: TestClient;
  beforeAll(async () => {
    world = await buildWorld(await database.url());
    current = world.as('current');
    earlier = world.as('earlier');
  });
  afterAll(async () => {
    world.node.stop();
    await world.t.stop();
  });

  const list: World['list'] = (...of) => world.list(...of);
  const override: World['override'] = (...of) => world.override(...of);
  const statusOf = async (id: number) => (await current.get(`/contract/overrides/${id}`)).body;

  describe('Conventions', () => {
    it('every path starts with /v0', async () => {
      const token = basic(world.acme.api_token);
      expect((await world.t.with(token).get('/v0/servers')).status).toBe(200);
      expect((await world.t.with(token).get('/servers')).status).toBe(404);
    });

    it('all bodies are JSON with Content-Type: application/json; charset=UTF-8', async () => {
      for (const answer of [
        await current.get('/contract'),
        await list('current'),
        await current.get('/nothing'),
        await world.t.with().get('/v0'),
      ]) {
        expect(answer.headers.get('content-type')).toBe(json);
        expect(answer.body).toBeTypeOf('object');
      }
    });
  });

  describe('Behaviour of the service', () => {
    it('1. lists every server of the network, including servers not added to the account', async () => {
      const hostnames = (await current.get('/servers')).body.map(
        (entry: Answer['body']) => entry.hostname,
      );
      expect(hostnames).toEqual([
        'fra1.exitward.example',
        'lon1.exitward.example',
        'nyc1.exitward.example',
      ]);
    });

    it('2. shows a summary of the contract, including network-wide usage', async () => {
      expect((await current.get('/contract')).body.period.usage).toBe(350);
    });

    it('3. lists the servers added to the contract, each with its exit IPs and their health', async () => {
      const servers = (await current.get('/contract/servers')).body;
      expect(servers.map((server: Answer['body']) => server.server)).toEqual(['fra1', 'nyc1']);
      expect(servers[0].ips.map((ip: Answer['body']) => ip.status)).toEqual([
        'ok',
        'warn',
        'crit',
        'unknown',
      ]);
    });

    it('4. lists the users of the contract and creates proxy access tokens for them', async () => {
      expect((await current.get('/users')).body).toHaveLength(2);
      expect((await current.post('/users/token', { user: 'alice' })).body.token).toMatch(/^ewt_/);
    });

    it('5. assigns connections from a listed address to the named user', async () => {
      const { body: entry } = await list('current');
      const alice = (await current.get('/users')).body[0];
      expect(await world.node.snapshot()).toContainEqual({
        kind: 'authlist',
        account: world.acme.account.id,
        id: entry.id,
        value: { ip: entry.ip, user: alice.id, expiry: later },
      });
    });

    it('6. gives a server the hostnames to resolve for clients on the override port', async () => {
      const { body: entry } = await override();
      expect(await world.node.snapshot()).toContainEqual({
        kind: 'override',
        account: world.acme.account.id,
        id: entry.id,
        value: { hostname: entry.hostname, ip: '192.0.2.80', expiry: later },
      });
    });
  });

  describe('Resources and their fields', () => {
    describe.each(resources)('$resource', ({ read, rows, detail, only }) => {
      const shown = only ? [only] : variants;
      it.each(rows)('$field is $type: $notes', async ({ field, type, value, earlier: other }) => {
        for (const variant of shown) {
          const record = await read(world, variant, detail ?? '');
          const expected = variant === 'earlier' && other !== undefined ? other : value;
          if (expected === null) {
            expect(record).not.toHaveProperty(field);
            continue;
          }
          expect(
            isOfType[type]?.(record[field]),
            `${field}: ${JSON.stringify(record[field])}`,
          ).toBe(true);
          expect(record[field]).toEqual(expected);
        }
      });

      it('has no other fields', async () => {
        for (const variant of shown) {
          const present = rows.filter(
            (row) => !(variant === 'earlier' && row.earlier === null) && row.value !== null,
          );
          const record = await read(world, variant, detail ?? '');
          expect(Object.keys(record).sort()).toEqual(present.map((row) => row.field).sort());
        }
      });

      const onRequest = rows.filter((row) => row.when);
      if (onRequest.length > 0) {
        it.each(onRequest)('$field is present only with detail=$when', async ({ field, when }) => {
          for (const variant of shown) {
            const others = (detail ?? '')
              .split(',')
              .filter((word) => word !== when)
              .join(',');
            expect(await read(world, variant, when ?? '')).toHaveProperty(field);
            expect(await read(world, variant, others)).not.toHaveProperty(field);
            expect(await read(world, variant, '')).not.toHaveProperty(field);
          }
        });
      }
    });

    it('the port base 4 leads to the ports 10004, 11004 and 12004', async () => {
      const [server] = await world.node.snapshot();
      const { port_schemes, exit_ips } = (server as Answer['body']).value;
      const exit = exit_ips.find((exit_ip: Answer['body']) => exit_ip.ip === '198.51.100.4');
      const ports = port_schemes[0].bases.map((base: Answer['body']) => base.base + exit.port_base);
      expect(ports).toEqual([10_004, 11_004, 12_004]);
    });

    it('listing a user without proxy privileges gives that user no access', async () => {
      const { body: entry } = await list('current', { user: 'bob' });
      expect(entry).toMatchObject({ user: 'bob', user_active: false });
      const records = await world.node.snapshot();
      expect(records.find(({ kind, id }) => kind === 'user' && id === 2)?.value).toMatchObject({
        name: 'bob',
        proxy: false,
      });
    });

    it('raising token_version invalidates all earlier tokens of that user: nodes get the new one', async () => {
      const before = claimsOf((await current.post('/users/token', { user: 'alice' })).body.token);
      await world.t.write(async (tx) => {
        const user = await findUserNamed(tx, world.acme.account.id, 'alice');
        if (user) await raiseTokenVersion(tx, user);
      });
      const after = (await current.get('/users')).body[0].token_version;
      expect(after).toBeGreaterThan(before[4] as number);
      const records = await world.node.snapshot();
      expect(
        records.find(({ kind, id, account }) => kind === 'user' && id === 1 && account === 1)
          ?.value,
      ).toMatchObject({ token_version: after });
    });
  });

  describe('States and transitions', () => {
    const reach = async (state: string): Promise<number> => {
      const { body } = await override({ expiry: world.t.now() + 100 });
      if (state === 'active' || state === 'expiring') {
        await world.node.until((node) => node.revision > 0);
        await world.node.snapshot();
        expect(await world.node.ack()).toBe(204);
      }
      if (state === 'expiring' || state === 'expired') await world.t.pass(100);
      expect(await statusOf(body.id)).toMatchObject({ status: state });
      return body.id;
    };

    it('(none) -> pending: POST /v0/contract/overrides accepted; the answer carries the new entry and a Location header', async () => {
      const { status, body, headers } = await override();
      expect([status, body.status]).toEqual([201, 'pending']);
      expect(headers.get('location')).toBe(`/contract/overrides/${body.id}`);
      expect(await statusOf(body.id)).toEqual(body);
    });

    it.each(['pending', 'active', 'expiring', 'expired'])(
      '%s -> pending: PATCH /v0/contract/overrides/{id} accepted; the answer carries the complete modified entry',
      async (state) => {
        const id = await reach(state);
        const before = await statusOf(id);
        const { status, body } = await current.patch(`/contract/overrides/${id}`, {
          ip: '192.0.2.81',
          expiry: later,
        });
        expect(status).toBe(200);
        expect(body).toEqual({ ...before, ip: '192.0.2.81', expiry: later, status: 'pending' });
        expect(await statusOf(id)).toEqual(body);
      },
    );

    it('expiring and expired entries stay in list answers for 30 days', async () => {
      const ids = [await reach('expiring'), await reach('expired')];
      const listed = async () =>
        (await current.get('/contract/overrides')).body
          .map((entry: Answer['body']) => entry.id)
          .filter((id: number) => ids.includes(id));
      expect(await listed()).toEqual(ids);
      await world.t.pass(30 * day - 101);
      expect(await listed()).toEqual(ids);
      await world.t.pass(101);
      expect(await listed()).toEqual([]);
    });
  });

  describe('Endpoints', () => describeEndpoints(() => world));

  describe('Authentication', () => {
    const { from } = Buffer;
    const send = (user: string, password: string) =>
      world.t.with(`Basic ${from(`${user}:${password}`).toString('base64')}`).get('/v0');

    it('1. every request carries HTTP Basic credentials', async () => {
      for (const authorization of [undefined, `Bearer ${world.acme.api_token}`]) {
        const { status, headers } = await world.t.with(authorization).get('/v0');
        expect(status).toBe(401);
        expect(headers.get('www-authenticate')).toMatch(/^Basic /);
      }
    });

    it('2. an API token is created with the account', async () => {
      const made = await world.t.account('fresh');
      expect(made.api_token).toMatch(/^ewa_[0-9A-Za-z]{36}$/);
      expect((await world.t.as(made).get('')).status).toBe(200);
    });

    it('3. current variant: the API token is the password and the username is empty', async () => {
      expect((await send('', world.acme.api_token)).body.variant).toBe('current');
    });

    it('4. earlier variant: the API token is the username and the password is empty', async () => {
      expect((await send(world.acme.api_token, '')).body.variant).toBe('earlier');
    });

    it('5. a request whose token is not recognised gets 401', async () => {
      expect((await send('', `${world.acme.api_token.slice(0, -1)}-`)).status).toBe(401);
      expect((await send('somebody', '')).status).toBe(401);
    });

    it('6. a request whose token is valid but lacks access to the resource gets 403', async () => {
      expect((await current.get('/contract/servers/lon1')).status).toBe(403);
    });

    it('7. proxy access tokens are separate from the API token', async () => {
      const { body } = await current.post('/users/token', { user: 'alice' });
      expect((await send('', body.token)).status).toBe(401);
    });
  });

  describe('Events', () => {
    it('not shown: no path of events exists', async () => {
      expect((await current.get('/events')).status).toBe(404);
    });
  });

  describe('Errors', () => {
    const expectError = ({ status, body, headers }: Answer, wanted: number, says: RegExp) => {
      expect(status).toBe(wanted);
      expect(body).toEqual({ message: expect.stringMatching(says) });
      expect(headers.get('content-type')).toBe(json);
      expect(headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    };

    it('400 Bad Request: the request was not understood', async () => {
      expectError(await current.post('/contract/overrides', '{'), 400, /JSON/);
    });

    it('401 Unauthorized: the message asks the client to obtain an API token', async () => {
      expectError(await world.t.with().get('/v0/servers'), 401, /obtain an API token/i);
    });

    it('403 Forbidden: the token is valid but has no access to the resource', async () => {
      expectError(await current.get('/contract/servers/lon1'), 403, /not on your contract/);
    });

    it('404 Not Found: the resource does not exist', async () => {
      expectError(await current.get('/contract/overrides/999999'), 404, /no such/i);
    });

    it('405 Method Not Allowed: the method is not valid for the resource', async () => {
      const answer = await current.put('/contract/overrides', {});
      expectError(answer, 405, /PUT/);
      expect(answer.headers.get('allow')).toBe('DELETE, GET, HEAD, POST');
    });

    it('409 Conflict: the hostname is already overridden on the requested server', async () => {
      const { body } = await override();
      expectError(await override({ hostname: body.hostname }), 409, /already overridden on fra1/);
    });

    it('409 Conflict: the IP address is already on the authlist', async () => {
      const { body } = await list('current');
      expectError(await list('current', { ip: body.ip }), 409, /already on the authlist/);
    });

    it('409 Conflict: the authlist user is not part of the account', async () => {
      expectError(await list('current', { user: 'mallory' }), 409, /not part of the account/);
    });

    it('409 Conflict: a custom DNS modification targets a server that is not on the account', async () => {
      const { body } = await override();
      const answer = await current.patch(`/contract/overrides/${body.id}`, { server: 'lon1' });
      expectError(answer, 409, /no changes were made/i);
    });

    it('500 Internal Server Error: a problem on the service side; it has been logged', async () => {
      const rename = (table: string, name: string) =>
        world.t.write(async (tx) => {
          await tx.run(`alter table ${table} rename to ${name}`);
          await bumpVersion(tx, 0);
        });
      await rename('exit_ips', 'mislaid');
      expectError(await current.get('/servers'), 500, /logged/);
      await rename('mislaid', 'exit_ips');
      expect((await current.get('/servers')).status).toBe(200);
    });

    it('503 Service Unavailable: the service is down for maintenance', async () => {
      const maintain = (on: number) =>
        world.t.write(async (tx) => {
          await tx.run('update network set maintenance = $1', [on]);
          await bumpVersion(tx, 0);
        });
      await maintain(1);
      const answer = await current.get('/contract');
      expectError(answer, 503, /maintenance/);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      await maintain(0);
      expect((await current.get('/contract')).status).toBe(200);
    });
  });

  describe('Limits', () => {
    it('override port offset: 500 leads to a port that no exit IP has as its normal one', async () => {
      const add = (port_base: number) =>
        world.t.write(async (tx) =>
          addExitIp(tx, await requireServer(tx, 'lon1'), {
            ip: `198.51.100.${port_base % 256}`,
            port_base,
          }),
        );
      await add(499);
      await expect(add(500)).rejects.toThrow();
    });

    it('retention of expiring and expired custom DNS entries: 30 days', async () => {
      const { body } = await override({ expiry: world.t.now() + 10 });
      await world.t.pass(10 + 30 * day - 1);
      expect((await statusOf(body.id)).status).toBe('expired');
      await world.t.pass(1);
      expect((await current.get(`/contract/overrides/${body.id}`)).status).toBe(404);
    });

    it('default proxy access token lifetime: the contract default', async () => {
      const brief = await world.t.account('brief', { token_lifetime_seconds: 3600 });
      const { body } = await world.t.as(brief).post('/users/token', { user: 'alice' });
      expect(claimsOf(body.token)[5]).toBe(world.t.now() + 3600);
    });

    it('usage window last_30_days: 30 days, in whole hours and the running one', async () => {
      const node = await world.t.node('nyc1');
      const usage = async () =>
        (await current.get('/contract/servers/nyc1?detail=usage')).body.usage;
      const { last_30_days } = await usage();
      const rows = [{ account: world.acme.account.id, user: 1, at: world.t.now(), up: 7, down: 0 }];
      await node.send('POST', '/usage', { boot: 'b', seq: 1, rows });
      await world.t.pass(30 * day);
      expect((await usage()).last_30_days).toBe(7);
      expect(last_30_days).toBe(0);
      await world.t.pass(3600);
      expect((await usage()).last_30_days).toBe(0);
    });

    it('bandwidth units (usage fields): bytes', async () => {
      const node = await world.t.node('nyc1', 'second');
      const before = (await current.get('/contract')).body.period.usage;
      const rows = [{ account: world.acme.account.id, user: 1, at: world.t.now(), up: 3, down: 4 }];
      await node.send('POST', '/usage', { boot: 'b', seq: 1, rows });
      expect((await current.get('/contract')).body.period.usage).toBe(before + 7);
    });

    it('rate limits (not shown): none unless the operator sets one', async () => {
      const answers = await Promise.all(
        Array.from({ length: 200 }, () => current.get('/contract')),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(answers[0]?.headers.get('ratelimit-limit')).toBe(null);
    });
  });

  describe('Versioning', () => {
    it('the version is a path prefix: every path starts with /v0', async () => {
      const token = basic(world.acme.api_token);
      expect((await world.t.with(token).get('/v1/contract')).status).toBe(404);
    });

    it('Basic auth: token as password with empty username / token as username with empty password', async () => {
      expect((await current.get('')).body.variant).toBe('current');
      expect((await earlier.get('')).body.variant).toBe('earlier');
    });

    it('title on server records: present / absent', async () => {
      for (const path of ['/servers', '/contract/servers']) {
        expect((await current.get(path)).body[0].title).toBe('Frankfurt');
        expect((await earlier.get(path)).body[0]).not.toHaveProperty('title');
      }
      expect((await earlier.get('/contract/servers/fra1')).body).not.toHaveProperty('title');
    });

    it('services values: proxy, proxy-https, vpn-ikev1, vpn-ikev2, vpn-l2tp / proxy, vpn', async () => {
      for (const path of ['/servers', '/contract/servers']) {
        expect((await current.get(path)).body[0].services).toEqual([
          'proxy',
          'proxy-https',
          'vpn-ikev1',
          'vpn-ikev2',
          'vpn-l2tp',
        ]);
        expect((await earlier.get(path)).body[0].services).toEqual(['proxy', 'vpn']);
      }
    });

    it('IP authentication list path: /v0/contract/ip-authlist / /v0/contract/whitelist', async () => {
      for (const [variant, other] of [
        ['current', 'earlier'],
        ['earlier', 'current'],
      ] as const) {
        expect((await world.as(variant).get(authlistPath[variant])).status).toBe(200);
        const { status, body } = await world.as(variant).get(authlistPath[other]);
        expect(status).toBe(404);
        expect(body.message).toContain(`/v0${authlistPath[variant]}`);
      }
    });

    it('users and token endpoints: present / absent', async () => {
      expect((await current.get('/users')).status).toBe(200);
      expect((await earlier.get('/users')).status).toBe(404);
      expect((await current.post('/users/token', { user: 'alice' })).status).toBe(200);
      expect((await earlier.post('/users/token', { user: 'alice' })).status).toBe(404);
    });

    it('usage.limit: per server when detailed billing applies, else network limit / server limit for the account', async () => {
      const limits = async (variant: Variant, account = world.acme) =>
        (await world.as(variant, account).get('/contract/servers?detail=usage')).body.map(
          (server: Answer['body']) => server.usage.limit,
        );
      expect(await limits('current')).toEqual([400_000, 1_000_000]);
      expect(await limits('earlier')).toEqual([400_000, 1_000_000]);
      expect(await limits('current', world.flat)).toEqual([1_000_000, 1_000_000]);
      expect(await limits('earlier', world.flat)).toEqual([400_000, 1_000_000]);
    });
  });
});

/** The spec's types, as JSON carries them. */
const isOfType: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  integer: (value) => Number.isSafeInteger(value),
  float: (value) => typeof value === 'number' && Number.isFinite(value),
  boolean: (value) => typeof value === 'boolean',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'array of string': (value) =>
    Array.isArray(value) && value.every((text) => typeof text === 'string'),
  'array of IP detail': (value) => Array.isArray(value) && value.every((ip) => 'port_base' in ip),
};
