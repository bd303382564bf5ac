// The spec's tables of endpoints: each row is a test, in each variant that has it.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, basic, type TestClient } from '../../server/test/harness.ts';
import {
  authlistPath,
  claimsOf,
  day,
  freshIp,
  freshName,
  later,
  variants,
  type World,
} from './world.ts';

export function describeEndpoints(worldOf: () => World): void {
  let world: World;
  let current: TestClient;
  let earlier: TestClient;
  beforeAll(() => {
    world = worldOf();
    current = world.as('current');
    earlier = world.as('earlier');
  });
  const list: World['list'] = (...of) => world.list(...of);

  it('lists answer a JSON array, and an empty result is 200 with []', async () => {
    for (const variant of variants) {
      const client = world.as(variant, world.flat);
      for (const path of [
        authlistPath[variant],
        '/contract/overrides',
        '/contract/servers?server=none',
      ]) {
        const { status, text } = await client.get(path);
        expect([status, text]).toEqual([200, '[]']);
      }
    }
  });

  it('a successful DELETE answers 204 with an empty body', async () => {
    const { status, text, headers } = await current.delete(
      (await list('current')).headers.get('location') ?? '',
    );
    expect([status, text, headers.get('content-type')]).toEqual([204, '', null]);
  });

  describe('Root', () => {
    it('GET /v0 checks credentials (its body, not shown: name, variant, version and links)', async () => {
      expect((await earlier.get('')).body).toMatchObject({ name: 'acme', variant: 'earlier' });
      const { status, body } = await current.get('');
      expect(status).toBe(200);
      expect(body).toMatchObject({ name: 'acme', variant: 'current', version: 'v0' });
      const token = body.links.token;
      for (const path of Object.values<string>(body.links).filter((link) => link !== token)) {
        const answer = await world.t.with(basic(world.acme.api_token)).get(path);
        expect([path, answer.status]).toEqual([path, 200]);
      }
    });
  });

  describe('Network servers', () => {
    it('GET /v0/servers answers 200 and an array of network server records', async () => {
      const { status, body } = await current.get('/servers');
      expect([status, body.length]).toEqual([200, 3]);
    });

    it('GET /v0/servers takes detail=location, and no other word', async () => {
      const { body } = await current.get('/servers?detail=location');
      expect(body.every((server: Answer['body']) => server.location.city === 'Frankfurt')).toBe(
        true,
      );
      expect((await current.get('/servers?detail=usage')).status).toBe(400);
    });
  });

  describe('Contract', () => {
    it('GET /v0/contract answers 200 and the contract record', async () => {
      for (const client of [current, earlier]) {
        expect(await client.get('/contract')).toMatchObject({
          status: 200,
          body: { name: 'acme' },
        });
      }
    });
  });

  describe('Contract servers', () => {
    const subsets = [
      'location',
      'geostatus',
      'usage',
      'location,geostatus',
      'usage,location',
      'geostatus,usage,location',
    ];
    it.each(subsets)('GET /v0/contract/servers takes detail=%s', async (detail) => {
      for (const client of [current, earlier]) {
        const { status, body } = await client.get(`/contract/servers?detail=${detail}`);
        expect([status, body.length]).toEqual([200, 2]);
        for (const word of ['location', 'usage']) {
          expect(word in body[0]).toBe(detail.includes(word));
        }
        expect('geostatus' in body[0].ips[0]).toBe(detail.includes('geostatus'));
      }
    });

    it('GET /v0/contract/servers?server= restricts the result to the named servers', async () => {
      const named = async (server: string) =>
        (await current.get(`/contract/servers?server=${server}`)).body.map(
          (entry: Answer['body']) => entry.server,
        );
      expect(await named('nyc1')).toEqual(['nyc1']);
      expect(await named('nyc1,fra1')).toEqual(['fra1', 'nyc1']);
      expect(await named('lon1,fra1')).toEqual(['fra1']);
    });

    it('GET /v0/contract/servers/{server-name} answers 200 and one contract server record', async () => {
      for (const client of [current, earlier]) {
        const [first] = (await client.get('/contract/servers')).body;
        expect(await client.get('/contract/servers/fra1')).toMatchObject({
          status: 200,
          body: first,
        });
      }
    });

    it('GET /v0/contract/servers/{server-name} takes detail as the list does', async () => {
      const query = '?detail=usage,location,geostatus';
      const [, second] = (await current.get(`/contract/servers${query}`)).body;
      expect((await current.get(`/contract/servers/nyc1${query}`)).body).toEqual(second);
    });
  });

  describe('Users and proxy access tokens (current variant)', () => {
    it('GET /v0/users answers 200 and the active users of the contract, with their permissions', async () => {
      const { status, body } = await current.get('/users');
      expect(status).toBe(200);
      expect(
        body.map(({ name, active, flags }: Answer['body']) => ({ name, active, ...flags })),
      ).toEqual([
        { name: 'alice', active: true, proxy: true, billing: true, admin: true },
        { name: 'bob', active: true, proxy: false, billing: true, admin: false },
      ]);
    });

    it.each([
      ['a user name', 'alice'],
      ['a user id', 1],
    ])('POST /v0/users/token takes %s and answers 200 with the token', async (_, user) => {
      const { status, body } = await current.post('/users/token', { user });
      expect(status).toBe(200);
      expect(body).toEqual({ token: expect.any(String) });
    });

    it('POST /v0/users/token requires user', async () => {
      expect(await current.post('/users/token', {})).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining('user') },
      });
    });

    it('POST /v0/users/token requires that the user has the proxy flag', async () => {
      expect((await current.post('/users/token', { user: 'bob' })).status).toBe(409);
    });

    it('POST /v0/users/token takes expire, the lifetime in seconds', async () => {
      const { body } = await current.post('/users/token', { user: 'alice', expire: 60 });
      expect(claimsOf(body.token)[5]).toBe(world.t.now() + 60);
    });

    it('without expire the contract default lifetime applies, one year', async () => {
      const { body } = await current.post('/users/token', { user: 'alice' });
      expect(claimsOf(body.token)[5]).toBe(world.t.now() + 365 * day);
    });
  });

  describe.each(variants)('IP authlist (%s variant)', (variant) => {
    const path = authlistPath[variant];
    const client = () => world.as(variant);

    it(`GET /v0${path} answers 200 and an array of authlist entries`, async () => {
      const { body: entry } = await list(variant);
      const { status, body } = await client().get(path);
      expect(status).toBe(200);
      expect(body).toContainEqual(entry);
    });

    it(`GET /v0${path}?ip= restricts to a full or partial address`, async () => {
      const { body: entry } = await list(variant, { ip: `192.0.2.${variant.length}` });
      const { body: other } = await list(variant, { ip: `192.0.2.1${variant.length}` });
      const matches = async (ip: string) => (await client().get(`${path}?ip=${ip}`)).body;
      expect(await matches(entry.ip)).toEqual([entry]);
      expect(await matches('192.0.2.')).toEqual([entry, other]);
      expect(await matches('192.0.3.')).toEqual([]);
      await client().delete(`${path}/${entry.id}`);
      await client().delete(`${path}/${other.id}`);
    });

    it(`GET /v0${path}?user= restricts to comma-separated users of the account`, async () => {
      const { body: bobs } = await list(variant, { user: 'bob' });
      const { body } = await client().get(`${path}?user=bob,carol`);
      expect(body).toContainEqual(bobs);
      expect(body.every((entry: Answer['body']) => entry.user === 'bob')).toBe(true);
      const all = (await client().get(path)).body;
      expect((await client().get(`${path}?user=bob,alice`)).body).toEqual(all);
    });

    it(`POST /v0${path} answers 201, the new entry and a relative Location`, async () => {
      const ip = freshIp();
      const { status, body, headers } = await list(variant, { ip });
      expect(status).toBe(201);
      expect(body).toEqual({ id: body.id, ip, user: 'alice', user_active: true, expiry: later });
      expect(headers.get('location')).toBe(`${path}/${body.id}`);
    });

    it(`POST /v0${path} without ip lists the address that the request comes from`, async () => {
      const { status, body } = await client().post(path, { user: 'alice', expiry: later });
      expect([status, body.ip]).toEqual([201, '127.0.0.1']);
      await client().delete(`${path}/${body.id}`);
    });

    it.each(['user', 'expiry'])(`POST /v0${path} requires %s`, async (field) => {
      expect(await list(variant, { [field]: undefined })).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining(field) },
      });
    });

    it(`GET /v0${path}/{id} answers 200 and one entry`, async () => {
      const { body: entry } = await list(variant);
      expect(await client().get(`${path}/${entry.id}`)).toMatchObject({
        status: 200,
        body: entry,
      });
    });

    it(`PATCH /v0${path}/{id} answers 200 and the complete modified entry`, async () => {
      const { body: entry } = await list(variant);
      const changes = { ip: freshIp(), user: 'bob', expiry: later + 5 };
      const { status, body } = await client().patch(`${path}/${entry.id}`, changes);
      expect(status).toBe(200);
      expect(body).toEqual({ id: entry.id, ...changes, user_active: false });
      expect((await client().get(`${path}/${entry.id}`)).body).toEqual(body);
    });

    it.each([
      { ip: '192.0.2.200' },
      { user: 'bob' },
      { expiry: later + 9 },
      { ip: '192.0.2.201', expiry: later + 9 },
    ])(`PATCH /v0${path}/{id} takes a part of the fields (not shown): %o`, async (changes) => {
      const { body: entry } = await list(variant);
      const { status, body } = await client().patch(`${path}/${entry.id}`, changes);
      expect([status, body]).toEqual([
        200,
        { ...entry, ...changes, user_active: !('user' in changes) },
      ]);
      await client().delete(`${path}/${entry.id}`);
    });

    it(`DELETE /v0${path}/{id} answers 204 and removes that entry alone`, async () => {
      const { body: entry } = await list(variant);
      const { body: other } = await list(variant);
      expect((await client().delete(`${path}/${entry.id}`)).status).toBe(204);
      expect((await client().get(`${path}/${entry.id}`)).status).toBe(404);
      expect((await client().get(`${path}/${other.id}`)).status).toBe(200);
    });

    it('POST answers 409 when the IP address is already on the list', async () => {
      const { body: entry } = await list(variant);
      expect((await list(variant, { ip: entry.ip })).status).toBe(409);
    });

    it('POST answers 409 when the user is not part of the account', async () => {
      expect((await list(variant, { user: 'nobody' })).status).toBe(409);
    });

    it(`DELETE /v0${path} answers 204 and removes all entries of the account`, async () => {
      await list(variant);
      expect((await client().delete(path)).status).toBe(204);
      expect((await client().get(path)).text).toBe('[]');
    });
  });

  describe.each(variants)('Custom DNS entries (%s variant)', (variant) => {
    const path = '/contract/overrides';
    const client = () => world.as(variant);
    const make = (body?: object) => world.override(body, variant);

    it('GET /v0/contract/overrides answers 200 and an array, including expired and expiring entries', async () => {
      const { body: entry } = await make({ expiry: world.t.now() + 50 });
      await world.t.pass(50);
      const { status, body } = await client().get(path);
      expect(status).toBe(200);
      expect(body).toContainEqual({ ...entry, status: 'expired' });
    });

    it('GET /v0/contract/overrides?ip= restricts to entries for that address', async () => {
      const { body: entry } = await make({ ip: `2001:db8::${variant.length}` });
      expect((await client().get(`${path}?ip=2001:DB8:0::${variant.length}`)).body).toEqual([
        entry,
      ]);
    });

    it('GET /v0/contract/overrides?server= restricts to comma-separated servers', async () => {
      const { body: entry } = await make({ server: 'nyc1' });
      const { body } = await client().get(`${path}?server=nyc1,lon1`);
      expect(body).toContainEqual(entry);
      expect(body.every((entry: Answer['body']) => entry.server === 'nyc1')).toBe(true);
      const all = (await client().get(path)).body;
      expect((await client().get(`${path}?server=nyc1,fra1`)).body).toEqual(all);
    });

    it('POST /v0/contract/overrides answers 201, the new entry with status pending, and a relative Location', async () => {
      const sent = { server: 'fra1', hostname: freshName(), ip: '192.0.2.80', expiry: later };
      const { status, body, headers } = await make(sent);
      expect(status).toBe(201);
      expect(body).toEqual({ id: body.id, ...sent, status: 'pending' });
      expect(headers.get('location')).toBe(`/contract/overrides/${body.id}`);
    });

    it.each(['server', 'hostname', 'ip', 'expiry'])(
      'POST /v0/contract/overrides requires %s',
      async (field) => {
        expect(await make({ [field]: undefined })).toMatchObject({
          status: 400,
          body: { message: expect.stringContaining(field) },
        });
      },
    );

    it('GET /v0/contract/overrides/{id} answers 200 and one entry', async () => {
      const { body: entry } = await make();
      expect(await client().get(`${path}/${entry.id}`)).toMatchObject({
        status: 200,
        body: entry,
      });
    });

    it('PATCH /v0/contract/overrides/{id} answers 200 and the complete modified entry', async () => {
      const { body: entry } = await make();
      const changes = {
        server: 'nyc1',
        hostname: freshName(),
        ip: '192.0.2.90',
        expiry: later + 1,
      };
      const { status, body } = await client().patch(`${path}/${entry.id}`, changes);
      expect([status, body]).toEqual([200, { id: entry.id, ...changes, status: 'pending' }]);
      expect((await client().get(`${path}/${entry.id}`)).body).toEqual(body);
    });

    it.each([
      { server: 'nyc1' },
      { hostname: 'part.example.com' },
      { ip: '192.0.2.91' },
      { ip: '192.0.2.92', expiry: later + 2 },
    ])(
      'PATCH /v0/contract/overrides/{id} takes a part of the fields (not shown): %o',
      async (changes) => {
        const { body: entry } = await make();
        const { status, body } = await client().patch(`${path}/${entry.id}`, changes);
        expect([status, body]).toEqual([200, { ...entry, ...changes }]);
        await client().delete(`${path}/${entry.id}`);
      },
    );

    it('DELETE /v0/contract/overrides/{id} answers 204 and removes that entry alone', async () => {
      const [first, other] = [(await make()).body, (await make()).body];
      expect((await client().delete(`${path}/${first.id}`)).status).toBe(204);
      expect((await client().get(`${path}/${first.id}`)).status).toBe(404);
      expect((await client().get(`${path}/${other.id}`)).status).toBe(200);
    });

    it('POST answers 409 when the server and hostname combination already exists', async () => {
      const { body: entry } = await make();
      expect((await make({ hostname: entry.hostname })).status).toBe(409);
      expect((await make({ hostname: entry.hostname, server: 'nyc1' })).status).toBe(201);
    });

    it('PATCH answers 409 and says that no changes were made when the server is not added to the account', async () => {
      const { body: entry } = await make();
      const { status, body } = await client().patch(`${path}/${entry.id}`, { server: 'lon1' });
      expect(status).toBe(409);
      expect(body.message).toMatch(/no changes were made/i);
      expect((await client().get(`${path}/${entry.id}`)).body).toEqual(entry);
    });

    it('DELETE /v0/contract/overrides answers 204 and removes all entries of the account', async () => {
      await make();
      expect((await client().delete(path)).status).toBe(204);
      expect((await client().get(path)).text).toBe('[]');
    });
  });
}
