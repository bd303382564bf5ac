// The routes that people and operators share: one answer for both, and the differences between
// them.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeDocument } from '../../scripts/openapi/document.ts';
import { eachApp } from './apps.ts';
import { type Answer, type Browser, passwordOf } from './harness.ts';

const { routes } = await makeDocument();

test('every route of an account is there for both, except a few that only one of them can need', () => {
  const under = (prefix: string) =>
    routes
      .filter(({ path, hidden, method }) => path.startsWith(prefix) && !hidden && method !== 'head')
      .map(({ method, path }) => `${method} ${path.slice(prefix.length)}`);
  const [people, operators] = [under('/console/'), under('/admin/accounts/{account}/')];
  const onlyPeople = people.filter((route) => !operators.includes(route));
  expect(
    onlyPeople.filter(
      (route) => !/^\w+ (session|sessions|password|second-factor|invite|views)\b/.test(route),
    ),
  ).toEqual(['get address', 'post proxy-tokens', 'get events']);
  expect(operators.filter((route) => !people.includes(route))).toEqual([
    'post users/{user}/sign-in-link',
    'post users/{user}/erase',
  ]);
});

eachApp((t) => {
  let alice: Browser;
  beforeAll(async () => {
    await t.server('fra1');
    await t.server('ams1');
    await t.account('acme', { servers: ['fra1'] });
    alice = await t.signIn('acme', 'alice');
    const expiry = t.now() + 1000;
    await alice.post('/authlist', { ip: '198.18.3.1', user: 'alice', expiry });
    await alice.post('/overrides', {
      server: 'fra1',
      hostname: 'a.example',
      ip: '192.0.2.1',
      expiry,
    });
  });

  const operator = {
    get: (path: string) => t.operator.get(`/accounts/acme${path}`),
    send: (method: string, path: string, body?: unknown) =>
      t.operator.send(method, `/accounts/acme${path}`, body),
  };

  test.each([
    '/contract',
    '/servers',
    '/network',
    '/users',
    '/users/alice',
    '/tokens',
    '/authlist',
    '/overrides',
    '/overrides/1',
    '/removals',
    '/usage',
  ])('an admin and an operator read the same at %s', async (path) => {
    const [seen, same] = [await alice.get(path), await operator.get(path)];
    expect([seen.status, same.status]).toEqual([200, 200]);
    expect(same.body).toEqual(seen.body);
  });

  test('one custom DNS entry shows which nodes have applied it, to its admin too', async () => {
    const node = await t.node('fra1');
    const { body } = await alice.get('/overrides/1');
    expect(body).toMatchObject({ id: 1, status: 'pending', on_contract: true });
    expect(body.nodes).toEqual([
      {
        id: node.id,
        name: expect.any(String),
        live: expect.any(Boolean),
        applied: false,
      },
    ]);
    expect((await alice.get('/overrides/7')).status).toBe(404);
  });

  test('the audit log shows an operator the addresses of operators, and a person not', async () => {
    await operator.send('POST', '/users/alice/token_version');
    const newest = ({ body }: Answer) => body[0];
    const seen = newest(await alice.get('/audit?limit=1'));
    expect(seen).toMatchObject({ action: 'user.raise_token_version', address: '' });
    const { address } = newest(await operator.get('/audit?limit=1'));
    expect(address).toBe('127.0.0.1');
    const link = (await operator.get('/audit?limit=1')).headers.get('link');
    expect(link).toMatch(
      /^<\/admin\/accounts\/acme\/audit\?limit=1&before=[\w-]{22}>; rel="next"$/,
    );
  });

  test('the id of a record of another account names nothing, to people and operators', async () => {
    await t.account('globex', { servers: ['fra1'] });
    const other = await t.signIn('globex', 'alice');
    await operator.send('POST', '/tokens', { name: 'second' });
    const records = () =>
      Promise.all(
        ['/authlist', '/overrides', '/tokens'].map(async (path) => (await operator.get(path)).body),
      );
    const before = await records();
    const expiry = t.now() + 2000;
    for (const [method, path, body] of [
      ['PATCH', '/authlist/1', { expiry }],
      ['DELETE', '/authlist/1'],
      ['GET', '/overrides/1'],
      ['PATCH', '/overrides/1', { expiry }],
      ['DELETE', '/overrides/1'],
      ['DELETE', '/tokens/2'],
      ['POST', '/tokens/2/view', { password: passwordOf('alice') }],
    ] as Array<[string, string, object?]>) {
      const seen = await other.send(method, path, body);
      const same = await t.operator.send(method, `/accounts/globex${path}`, body);
      expect([path, seen.body.code, same.body.code]).toEqual([path, 'not_found', 'not_found']);
    }
    expect(await records()).toEqual(before);
  });

  describe('on a suspended contract', () => {
    beforeAll(() => t.operator.patch('/accounts/acme', { suspended: true }));
    afterAll(() => t.operator.patch('/accounts/acme', { suspended: false }));

    const bodies: Record<string, [method: string, path: string, body: () => object, says: number]> =
      {
        'an authlist entry is added': [
          'POST',
          '/authlist',
          () => ({ ip: '198.18.3.2', user: 'alice', expiry: t.now() + 1000 }),
          201,
        ],
        'an authlist entry is changed': ['PATCH', '/authlist/1', () => ({ ip: '198.18.3.3' }), 200],
        'a custom DNS entry is added': [
          'POST',
          '/overrides',
          () => ({
            server: 'fra1',
            hostname: 'b.example',
            ip: '192.0.2.2',
            expiry: t.now() + 1000,
          }),
          201,
        ],
        'a custom DNS entry is changed': [
          'PATCH',
          '/overrides/1',
          () => ({ ip: '192.0.2.3' }),
          200,
        ],
        'a server is added': ['PUT', '/servers/ams1', () => ({}), 201],
        'a server is taken off': ['DELETE', '/servers/ams1', () => ({}), 204],
      };
    test.each(Object.entries(bodies))(
      '%s by the operator, and not by an admin',
      async (_, [method, path, body, status]) => {
        const refused = await alice.send(method, path, body());
        expect([refused.status, refused.body.code]).toEqual([403, 'contract_suspended']);
        const done = await operator.send(method, path, body());
        expect(done.status).toBe(status);
        if (status === 201) {
          expect(done.headers.get('location')).toMatch(
            /^\/admin\/accounts\/acme\/(authlist|overrides|servers)\/\w+$/,
          );
        }
        const [{ actor_kind, account }] = (await operator.get('/audit?limit=1')).body;
        expect([actor_kind, account]).toEqual(['operator', 'acme']);
      },
    );
  });

  test('an operator ends the sessions of a user, and takes the last admin the flag', async () => {
    const browser = await t.signIn('acme', 'alice');
    expect((await operator.send('DELETE', '/users/alice/sessions')).status).toBe(204);
    const ended = await browser.get('/session');
    expect([ended.status, ended.body.code]).toEqual([401, 'session_ended']);
    const again = await t.signIn('acme', 'alice');
    const refused = await again.patch('/users/alice', { flags: { admin: false } });
    expect([refused.status, refused.body.code]).toEqual([409, 'last_admin']);
    expect((await operator.send('PATCH', '/users/alice', { flags: { admin: false } })).status).toBe(
      200,
    );
    expect((await again.get('/users/alice')).status).toBe(200);
    expect((await again.get('/users/nobody')).body).toMatchObject({
      code: 'flag_needed',
      field: 'user',
    });
  });

  test('an account that is not there is 404, before the body is looked at', async () => {
    for (const [method, path] of [
      ['POST', '/authlist'],
      ['PATCH', '/overrides/1'],
      ['GET', '/contract'],
    ] as const) {
      const body = method === 'GET' ? undefined : { nonsense: true };
      const { status } = await t.operator.send(method, `/accounts/nobody${path}`, body);
      expect([path, status]).toEqual([path, 404]);
    }
  });

  test('an operator names the address of an authlist entry; a person may leave out their own', async () => {
    const body = { user: 'alice', expiry: t.now() + 1000 };
    const rejected = await operator.send('POST', '/authlist', body);
    expect(rejected.status).toBe(400);
    expect(rejected.body).toMatchObject({ code: 'invalid_field', field: 'ip' });
    const person = await t.signIn('acme', 'alice');
    expect((await person.post('/authlist', body)).status).toBe(201);
  });
});
