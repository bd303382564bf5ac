// The operator's side over HTTP: who may call, what each noun takes and refuses, and what the audit
// log keeps.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { heldCount } from '../src/changes/changes.ts';
import { errorCodes } from '../src/errors.ts';
import { newTokenText } from '../src/keys/token_text.ts';
import type { BuiltAccount } from './builders.ts';
import { readPages } from './client.ts';
import { eachDatabase } from './databases.ts';
import { type Answer, startTestApp, type TestApp, TestClient } from './harness.ts';

const day = 86_400;

eachDatabase((database) => {
  let t: TestApp;
  let acme: BuiltAccount;
  /** The text of every secret that an answer has shown so far. */
  const shown: string[] = [];

  beforeAll(async () => {
    t = await startTestApp(await database.url());
    await t.server('fra1', { exit_ips: ['198.51.100.1', '198.51.100.2'] });
    await t.server('lon1', { exit_ips: ['198.51.100.3'] });
    acme = await t.account('acme', { servers: ['fra1'], detailed_billing: true });
    shown.push(acme.api_token, t.admin_token);
  });
  afterAll(() => t?.stop());

  const bearer = (token: string) =>
    new TestClient(`${t.running.admin_url}/admin`, { authorization: `Bearer ${token}` });
  const newAccount = (name: string, more: object = {}) => ({
    name,
    plan: 'Team',
    expiry: t.now() + 100 * day,
    limit_bytes: 1_000_000,
    ...more,
  });
  const expectRefusal = (answer: Answer, status: number, says: RegExp) => {
    const { message, code, field, ...rest } = answer.body;
    expect([answer.status, message, rest]).toEqual([status, expect.stringMatching(says), {}]);
    // An error of /v0 has one member; its code is a header.
    expect(errorCodes).toContain(code ?? answer.headers.get('exitward-error'));
    if (field !== undefined) expect(message).toMatch(`${field}: `);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=UTF-8');
  };
  const newest = async () => (await t.operator.get('/audit?limit=1')).body[0];

  describe('who may call', () => {
    test.each([
      ['nothing', () => undefined],
      ['an API token', () => `Bearer ${acme.api_token}`],
      ['the operator token as Basic', () => `Basic ${btoa(`:${t.admin_token}`)}`],
      ['a token with another end', () => `Bearer ${t.admin_token.slice(0, -1)}!`],
      ['a well-formed token that nobody has', () => `Bearer ${newTokenText('ewo_')}`],
    ])('%s is answered 401 with the scheme that is expected', async (_, authorization) => {
      const value = authorization();
      const client = new TestClient(t.running.admin_url, value ? { authorization: value } : {});
      for (const path of ['/admin', '/admin/accounts', '/admin/nothing', '/admin/tokens/1']) {
        const answer = await client.get(path);
        expectRefusal(answer, 401, /operator token/);
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      }
    });

    test('a node token is answered 401', async () => {
      const node = await t.node('fra1');
      shown.push(node.token);
      expectRefusal(await bearer(node.token).get('/status'), 401, /not recognised/);
    });

    test('a revoked token stops at once', async () => {
      const made = await t.operator.post('/tokens', { name: 'passing' });
      expect(made.status).toBe(201);
      const passing = bearer(made.body.admin_token);
      expect((await passing.get('/status')).status).toBe(200);
      expect((await t.operator.delete(`/tokens/${made.body.id}`)).status).toBe(204);
      expectRefusal(await passing.get('/status'), 401, /not recognised/);
    });

    test('no answer may be kept on the way', async () => {
      expect((await t.operator.get('/accounts')).headers.get('cache-control')).toBe('no-store');
    });

    test('a path that does not exist is 404, another method 405 with those that are allowed', async () => {
      expectRefusal(await t.operator.get('/nothing'), 404, /nothing at GET/);
      expectRefusal(await t.operator.get('/servers/none'), 404, /no server named "none"\.$/);
      const elsewhere = await fetch(`${t.base_url}/admin/status`);
      expect([elsewhere.status, ((await elsewhere.json()) as { message: string }).message]).toEqual(
        [
          404,
          'There is nothing at GET /admin/status here: it is served on the listener for operators.',
        ],
      );
      const answer = await t.operator.delete('/accounts');
      expectRefusal(answer, 405, /GET, HEAD, PATCH, POST/);
      expect(answer.headers.get('allow')).toBe('GET, HEAD, PATCH, POST');
    });

    test('the operator API is not served to customers', async () => {
      const answer = await t.with(`Bearer ${t.admin_token}`).get('/admin/status');
      expect(answer.status).toBe(404);
    });
  });

  describe('accounts', () => {
    test('creating one answers it with an API token that works, and says where it is', async () => {
      const answer = await t.operator.post('/accounts', newAccount('fresh', { plan: 'Solo' }));
      expect(answer.status).toBe(201);
      expect(answer.headers.get('location')).toBe('/admin/accounts/fresh');
      expect(answer.body.account).toEqual((await t.operator.get('/accounts/fresh')).body);
      expect(answer.body.account).toMatchObject({
        name: 'fresh',
        plan: 'Solo',
        start: t.now(),
        limit_bytes: 1_000_000,
        period: { start: t.now(), usage: 0 },
        over_limit: false,
        on_limit: 'refuse',
        detailed_billing: false,
        suspended: false,
        port_scheme: 'default',
        token_lifetime_seconds: 365 * day,
      });
      shown.push(answer.body.api_token);
      const contract = await t.as(answer.body).get('/contract');
      expect(contract.body).toMatchObject({ name: 'fresh', plan: 'Solo' });
    });

    test.each<[string, object, number, RegExp]>([
      ['a name that is taken', { name: 'acme' }, 409, /name: .*"acme"/],
      ['a name that cannot stand in a path', { name: 'a/b' }, 400, /name/],
      ['no plan', { plan: undefined }, 400, /plan: is missing/],
      [
        'an expiry before the start',
        { start: 2_000_000_000, expiry: 1_900_000_000 },
        400,
        /expiry/,
      ],
      ['an expiry in milliseconds', { expiry: 1_900_000_000_000 }, 400, /expiry: .*milliseconds/],
      ['a start in milliseconds', { start: 1_700_000_000_000 }, 400, /start: .*milliseconds/],
      ['a limit in words', { limit_bytes: '1TB' }, 400, /limit_bytes: expected an integer/],
      ['a negative limit', { limit_bytes: -1 }, 400, /limit_bytes/],
      [
        'an unknown way at the limit',
        { on_limit: 'warn' },
        400,
        /on_limit: expected one of refuse, allow/,
      ],
      ['an unknown port scheme', { port_scheme: 'none' }, 409, /port_scheme: .*"none"/],
      ['a field that does not exist', { limit: 5 }, 400, /limit: is not a field/],
    ])('%s is refused, and the message names the field', async (_, more, status, says) => {
      expectRefusal(await t.operator.post('/accounts', newAccount('refused', more)), status, says);
      expect((await t.operator.get('/accounts/refused')).status).toBe(404);
    });

    test('a list comes in pages by name, each linking to the next', async () => {
      for (const name of ['page-a', 'page-b', 'page-c']) {
        const made = await t.operator.post('/accounts', newAccount(name));
        shown.push(made.body.api_token);
      }
      const pages = await readPages<{ name: string }>(t.operator, '/accounts?limit=2');
      for (const { body } of pages.answers) expect(body.length).toBeLessThanOrEqual(2);
      const names = pages.rows.map(({ name }) => name);
      expect(names).toEqual([...names].sort());
      expect(names).toEqual(expect.arrayContaining(['acme', 'page-a', 'page-b', 'page-c']));
      expect(new Set(names).size).toBe(names.length);
    });

    test.each(['0', '1001', '-1', '1.5', 'many', ''])('limit=%s is refused', async (limit) => {
      expectRefusal(
        await t.operator.get(`/accounts?limit=${limit}`),
        400,
        /limit: expected a whole/,
      );
    });

    test('each field of the contract can be changed alone', async () => {
      const changes = [
        { plan: 'Enterprise' },
        { expiry: t.now() + 200 * day },
        { limit_bytes: 5 },
        { detailed_billing: true },
        { suspended: true },
        { on_limit: 'allow' },
        { token_lifetime_seconds: 60 },
        { start: t.now() - 5 * day },
      ];
      for (const change of changes) {
        const answer = await t.operator.patch('/accounts/page-a', change);
        expect(answer.status).toBe(200);
        expect(answer.body).toMatchObject(change);
      }
      expect((await t.operator.get('/accounts/page-a')).body).toMatchObject(
        Object.assign({}, ...changes),
      );
    });

    test('a suspended contract takes no changes, and takes them again when that is lifted', async () => {
      const client = t.as(acme);
      const entry = { ip: '203.0.113.77', user: 'alice', expiry: t.now() + day };
      await t.operator.patch('/accounts/acme', { suspended: true });
      expect((await client.post('/contract/ip-authlist', entry)).status).toBe(403);
      await t.operator.patch('/accounts/acme', { suspended: false });
      expect((await client.post('/contract/ip-authlist', entry)).status).toBe(201);
    });

    test('a change of nothing, of the name, or of an account that is not there is refused', async () => {
      expectRefusal(await t.operator.patch('/accounts/acme', {}), 400, /changes nothing/);
      expectRefusal(await t.operator.patch('/accounts/acme', { name: 'b' }), 400, /name: is not/);
      // A missing record comes before a wrong body.
      expectRefusal(await t.operator.patch('/accounts/none', { a: 1 }), 404, /"none"/);
    });

    test('the port scheme stays while the account lists addresses, or a server does not listen on the new one', async () => {
      const bases = [{ base: 30_000, service: 'proxy' }];
      expect((await t.operator.post('/port_schemes', { name: 'thirty', bases })).status).toBe(201);
      const change = { port_scheme: 'thirty' };
      expectRefusal(await t.operator.patch('/accounts/acme', change), 409, /lists addresses/);
      const bolt = await t.account('bolt', { servers: ['lon1'] });
      shown.push(bolt.api_token);
      expectRefusal(await t.operator.patch('/accounts/bolt', change), 409, /lon1/);
      await t.operator.patch('/servers/lon1', { port_schemes: ['default', 'thirty'] });
      expect((await t.operator.patch('/accounts/bolt', change)).body).toMatchObject(change);
      const dropped = await t.operator.patch('/servers/lon1', { port_schemes: ['default'] });
      expectRefusal(dropped, 409, /port_schemes: thirty is used/);
    });
  });

  describe('API tokens of an account', () => {
    test('they are created, listed without their text, viewed, and revoked at once', async () => {
      const made = await t.operator.post('/accounts/acme/tokens', {
        name: 'watcher',
        read_only: true,
        expiry: t.now() + day,
      });
      expect(made.status).toBe(201);
      const { api_token, ...token } = made.body;
      shown.push(api_token);
      expect(made.headers.get('location')).toBe(`/admin/accounts/acme/tokens/${token.id}`);
      expect((await t.operator.get('/accounts/acme/tokens')).body).toContainEqual(token);
      const viewed = await t.operator.post(`/accounts/acme/tokens/${token.id}/view`, undefined);
      expect([viewed.status, viewed.body]).toEqual([200, { api_token }]);
      expect(await newest()).toMatchObject({ action: 'api_token.view', account: 'acme' });
      const watcher = t.as({ api_token });
      expect((await watcher.get('/contract')).status).toBe(200);
      expect((await watcher.delete('/contract/overrides')).status).toBe(403);
      expect((await t.operator.delete(`/accounts/acme/tokens/${token.id}`)).status).toBe(204);
      expect((await watcher.get('/contract')).status).toBe(401);
    });

    test.each<[string, object, number, RegExp]>([
      ['a name that the account has', { name: 'default' }, 409, /name: /],
      ['no name', {}, 400, /name: is missing/],
      ['an expiry in the past', { name: 'late', expiry: 1 }, 400, /expiry: .*not in the future/],
      [
        'read_only as a word',
        { name: 'odd', read_only: 'yes' },
        400,
        /read_only: expected a boolean/,
      ],
    ])('%s is refused', async (_, body, status, says) => {
      expectRefusal(await t.operator.post('/accounts/acme/tokens', body), status, says);
    });

    test('a token that is not there is 404, also with an id that is none', async () => {
      for (const id of ['99', '0', 'x', '1e1']) {
        expectRefusal(await t.operator.delete(`/accounts/acme/tokens/${id}`), 404, /no API token/);
        const viewed = await t.operator.post(`/accounts/acme/tokens/${id}/view`, undefined);
        expectRefusal(viewed, 404, /no API token/);
      }
    });
  });

  describe('users', () => {
    test('they are added, changed, never deleted, and their proxy tokens end together', async () => {
      const made = await t.operator.post('/accounts/acme/users', {
        name: 'bob',
        flags: { proxy: true },
      });
      expect([made.status, made.headers.get('location')]).toEqual([
        201,
        '/admin/accounts/acme/users/bob',
      ]);
      expect(made.body).toMatchObject({
        name: 'bob',
        display_name: 'bob',
        active: true,
        flags: { proxy: true, billing: false, admin: false },
        token_version: 1,
      });
      const path = '/accounts/acme/users/bob';
      const changed = await t.operator.patch(path, {
        display_name: 'Bob',
        flags: { billing: true },
      });
      expect(changed.body).toMatchObject({
        display_name: 'Bob',
        flags: { proxy: true, billing: true, admin: false },
      });
      const raised = await t.operator.post(`${path}/token_version`, undefined);
      expect([raised.status, raised.body.token_version]).toEqual([200, 2]);
      const ended = await t.operator.patch(path, { active: false });
      expect(ended.body.active).toBe(false);
      expect((await t.operator.get(path)).body).toEqual(ended.body);
      expect((await t.operator.get('/accounts/acme/users')).body).toContainEqual(ended.body);
      expect((await t.operator.delete(path)).status).toBe(405);
      const active = (await t.as(acme).get('/users')).body;
      expect(active.map((user: { name: string }) => user.name)).toEqual(['alice']);
    });

    test.each<[string, string, object, number, RegExp]>([
      ['a name that is taken', '', { name: 'alice' }, 409, /name: /],
      ['an unknown flag', '', { name: 'eve', flags: { root: true } }, 400, /flags.root/],
      ['a token_version', '/alice', { token_version: 9 }, 400, /token_version: is not a field/],
      ['a user who is not there', '/nobody', { active: false }, 404, /"nobody"/],
      ['nothing', '/alice', {}, 400, /changes nothing/],
    ])('%s is refused', async (_, path, body, status, says) => {
      const method = path === '' ? 'POST' : 'PATCH';
      const answer = await t.operator.send(method, `/accounts/acme/users${path}`, body);
      expectRefusal(answer, status, says);
    });
  });

  describe('servers and exit IPs', () => {
    const server = {
      name: 'ams1',
      hostname: 'AMS1.Exitward.Example.',
      title: 'Amsterdam',
      city: 'Amsterdam',
      country: 'NL',
      latitude: 52.37,
      longitude: 4.9,
      services: ['proxy'],
    };

    test('a removed server takes its custom DNS entries along, also from what the account holds', async () => {
      await t.server('gone1', { exit_ips: ['198.18.9.9'] });
      const { account, api_token } = await t.account('leaver', { servers: ['gone1'] });
      const entry = {
        server: 'gone1',
        hostname: 'a.example',
        ip: '203.0.113.9',
        expiry: t.now() + 60,
      };
      await t.as({ api_token }).post('/contract/overrides', entry);
      expect((await t.as({ api_token }).get('/contract/overrides')).body).toHaveLength(1);
      await t.operator.delete('/accounts/leaver/servers/gone1');
      expect((await t.operator.delete('/servers/gone1')).status).toBe(204);
      expect((await t.as({ api_token }).get('/contract/overrides')).body).toEqual([]);
      expect(await t.write((tx) => heldCount(tx, account.id, 'overrides'))).toBe(0);
    });

    test('a server is added, shown, changed and removed', async () => {
      const made = await t.operator.post('/servers', server);
      expect([made.status, made.headers.get('location')]).toEqual([201, '/admin/servers/ams1']);
      expect(made.body).toMatchObject({ ...server, hostname: 'ams1.exitward.example' });
      expect(made.body).toMatchObject({ port_schemes: ['default'], exit_ips: [], contracts: 0 });
      const changed = await t.operator.patch('/servers/ams1', { title: 'Amsterdam West' });
      expect(changed.body).toEqual({ ...made.body, title: 'Amsterdam West' });
      expect((await t.operator.get('/servers/ams1')).body).toEqual(changed.body);
      const { exit_ips: _, contracts: __, certificate_expiry: ___, ...listed } = changed.body;
      expect((await t.operator.get('/servers')).body).toContainEqual(listed);
      expect((await t.operator.delete('/servers/ams1')).status).toBe(204);
      expect((await t.operator.get('/servers/ams1')).status).toBe(404);
    });

    test.each<[string, object, number, RegExp]>([
      ['a name that is taken', { name: 'fra1' }, 409, /name, hostname/],
      ['a hostname that is taken', { hostname: 'fra1.exitward.example' }, 409, /name, hostname/],
      ['an address as hostname', { hostname: '192.0.2.1' }, 400, /hostname: .*IP address/],
      ['a country in lower case', { country: 'nl' }, 400, /country/],
      ['a country in full', { country: 'Netherlands' }, 400, /country/],
      ['a latitude beyond the pole', { latitude: 90.1 }, 400, /latitude: expected at most 90\./],
      [
        'a longitude beyond the date line',
        { longitude: -180.1 },
        400,
        /longitude: expected at least -180\./,
      ],
      ['no services', { services: [] }, 400, /services/],
      ['an unknown service', { services: ['ftp'] }, 400, /services.0: expected one of proxy/],
      ['a service twice', { services: ['proxy', 'proxy'] }, 400, /services/],
      ['an unknown port scheme', { port_schemes: ['none'] }, 409, /port_schemes: .*"none"/],
    ])('%s is refused', async (_, more, status, says) => {
      expectRefusal(await t.operator.post('/servers', { ...server, ...more }), status, says);
      expect((await t.operator.get('/servers/ams1')).status).toBe(404);
    });

    test('a server that is on a contract stays', async () => {
      expectRefusal(await t.operator.delete('/servers/fra1'), 409, /on 1 contract/);
    });

    test('an exit IP is added in any spelling, moved, and removed', async () => {
      const path = '/servers/lon1/exits';
      const added = await t.operator.put(`${path}/2001:DB8:0::7`, { port_base: 7 });
      expect(added.status).toBe(201);
      expect(added.headers.get('location')).toBe('/admin/servers/lon1/exits/2001:db8::7');
      const exit = {
        ...{ ip: '2001:db8::7', status: 'unknown', status_time: 0, confined: null },
        ...{ vpn: [], geostatus: [] },
      };
      expect(added.body.exit_ips).toContainEqual({ ...exit, port_base: 7 });
      const moved = await t.operator.put(`${path}/2001:db8::7`, { port_base: 8 });
      expect(moved.status).toBe(200);
      expect(moved.body.exit_ips).toContainEqual({ ...exit, port_base: 8 });
      expect((await t.operator.delete(`${path}/2001:db8::7`)).status).toBe(204);
      expectRefusal(await t.operator.delete(`${path}/2001:db8::7`), 404, /no exit IP/);
    });

    test.each<[string, string, object, number, RegExp]>([
      ['an address of another server', 'lon1/exits/198.51.100.1', { port_base: 9 }, 409, /ip/],
      ['a port base that is taken', 'fra1/exits/198.51.100.1', { port_base: 2 }, 409, /port_base/],
      [
        'a port base of 500',
        'lon1/exits/198.51.100.9',
        { port_base: 500 },
        400,
        /port_base: expected at most 499\./,
      ],
      ['no port base', 'lon1/exits/198.51.100.9', {}, 400, /port_base: is missing/],
      ['what is no address', 'lon1/exits/example.com', { port_base: 9 }, 400, /ip: "example.com"/],
      ['a network', 'lon1/exits/10.0.0.0%2F8', { port_base: 9 }, 400, /ip: "10.0.0.0\/8"/],
      ['a server that is not there', 'none/exits/198.51.100.9', {}, 404, /"none"/],
    ])('%s is refused', async (_, path, body, status, says) => {
      expectRefusal(await t.operator.put(`/servers/${path}`, body), status, says);
    });

    test('port schemes are listed; one whose bases share ports is refused', async () => {
      const listed = (await t.operator.get('/port_schemes')).body;
      expect(listed[0].bases).toEqual([
        { base: 10_000, service: 'proxy' },
        { base: 11_000, service: 'proxy' },
        { base: 12_000, service: 'proxy-https' },
      ]);
      const bases = (...ports: number[]) => ports.map((base) => ({ base, service: 'proxy' }));
      const post = (name: string, ports: number[]) =>
        t.operator.post('/port_schemes', { name, bases: bases(...ports) });
      expectRefusal(await post('close', [20_000, 20_999]), 400, /bases: .*1000 apart/);
      expectRefusal(await post('high', [64_537]), 400, /bases.0.base/);
      expectRefusal(await post('none', []), 400, /bases/);
      expectRefusal(await post('default', [20_000]), 409, /name: /);
      expect((await post('beside', [10_500])).status).toBe(201);
      const both = await t.operator.patch('/servers/fra1', { port_schemes: ['default', 'beside'] });
      expectRefusal(both, 409, /default and beside share ports/);
    });
  });

  describe('contract servers', () => {
    const path = '/accounts/acme/servers/lon1';

    test('a server is added to a contract, its own limit set, kept and lifted, and it is taken off', async () => {
      const added = await t.operator.put(path, { limit_bytes: 10 });
      expect([added.status, added.headers.get('location')]).toEqual([201, `/admin${path}`]);
      expect(added.body).toMatchObject({ server: 'lon1', limit_bytes: 10, over_limit: false });
      expect((await t.operator.put(path, {})).body.limit_bytes).toBe(10);
      const lifted = await t.operator.put(path, { limit_bytes: null });
      expect([lifted.status, lifted.body.limit_bytes]).toEqual([200, null]);
      expect((await t.operator.get('/accounts/acme/servers')).body).toContainEqual(lifted.body);
      expect((await t.as(acme).get('/contract/servers/lon1')).status).toBe(200);
      expect((await t.operator.delete(path)).status).toBe(204);
      expectRefusal(await t.operator.delete(path), 404, /not on the contract/);
      expect((await t.as(acme).get('/contract/servers/lon1')).status).toBe(403);
    });

    test('an unknown account or server is 404; a server off the port scheme 409', async () => {
      expectRefusal(
        await t.operator.put('/accounts/none/servers/lon1', {}),
        404,
        /account.*"none"/,
      );
      expectRefusal(await t.operator.put('/accounts/acme/servers/none', {}), 404, /server.*"none"/);
      expectRefusal(await t.operator.put('/accounts/bolt/servers/fra1', {}), 409, /port scheme/);
      expectRefusal(await t.operator.put(path, { limit_bytes: '5' }), 400, /limit_bytes/);
    });
  });

  describe('usage', () => {
    beforeAll(async () => {
      const node = await t.node('fra1', 'meter');
      shown.push(node.token);
      const users = (await t.operator.get('/accounts/acme/users')).body;
      const rows = users.map(({ id }: { id: number }, at: number) => ({
        account: acme.account.id,
        user: id,
        at: t.now() - at * day,
        up: 100 * (at + 1),
        down: 1000 * (at + 1),
      }));
      expect((await node.send('POST', '/usage', { boot: 'b', seq: 1, rows })).status).toBe(200);
    });

    test('is reported by hour, day, server and user, by their names, with the sums', async () => {
      const report = async (by: string) =>
        (await t.operator.get(`/accounts/acme/usage?by=${by}`)).body;
      const all = { up: 300, down: 3000, total: 3300 };
      expect(await report('server')).toMatchObject({ ...all, rows: [{ server: 'fra1', ...all }] });
      expect((await report('user')).rows).toEqual([
        { user: 'alice', up: 100, down: 1000, total: 1100 },
        { user: 'bob', up: 200, down: 2000, total: 2200 },
      ]);
      const hours = (await report('hour')).rows;
      expect(hours.map((row: { hour: number }) => row.hour % 3600)).toEqual([0, 0]);
      const days = await report('day');
      expect(days.rows.map((row: { day: number }) => row.day % day)).toEqual([0, 0]);
      expect(days).toMatchObject(all);
      expect((await t.operator.get('/accounts/acme/usage')).body).toEqual(days);
    });

    test('from counts from its full hour on, to before it', async () => {
      const since = await t.operator.get(`/accounts/acme/usage?from=${t.now() - 60}`);
      expect(since.body).toMatchObject({ up: 100, from: Math.floor((t.now() - 60) / 3600) * 3600 });
      const until = await t.operator.get(`/accounts/acme/usage?to=${t.now() - day / 2}`);
      expect(until.body).toMatchObject({ up: 200 });
    });

    test.each([
      ['from=5&to=5', /from: 5 is not before `to`/],
      ['from=x', /from: expected a whole number/],
      ['by=month', /by: expected one of hour, day, server, user/],
      ['since=1', /since: is not a query parameter/],
    ])('?%s is refused', async (query, says) => {
      expectRefusal(await t.operator.get(`/accounts/acme/usage?${query}`), 400, says);
    });

    test('of all accounts shows which are over the limit; a lowered limit acts at once', async () => {
      expect((await t.operator.get('/accounts/acme')).body).toMatchObject({
        period: { usage: 3300 },
        over_limit: false,
      });
      const limit_bytes = acme.account.limit_bytes;
      const lowered = await t.operator.patch('/accounts/acme', { limit_bytes: 3300 });
      expect(lowered.body.over_limit).toBe(true);
      const rows = (await t.operator.get('/usage?limit=1&after=abc')).body;
      expect(rows).toEqual([
        {
          account: 'acme',
          period: { start: expect.any(Number), end: expect.any(Number) },
          usage: 3300,
          limit: 3300,
          over_limit: true,
        },
      ]);
      await t.operator.patch('/accounts/acme', { limit_bytes });
    });

    test('keeps the start of the contract where it is', async () => {
      const answer = await t.operator.patch('/accounts/acme', { start: t.now() - day });
      expectRefusal(answer, 409, /start: the contract has usage/);
    });
  });

  describe('undo', () => {
    test('a "remove all" of either list is undone, once', async () => {
      const client = t.as(acme);
      const override = {
        server: 'fra1',
        hostname: 'a.example',
        ip: '192.0.2.1',
        expiry: t.now() + day,
      };
      await client.post('/contract/overrides', override);
      for (const [list, path] of [
        ['authlist', 'ip-authlist'],
        ['overrides', 'overrides'],
      ]) {
        const before = (await t.operator.get(`/accounts/acme/${list}`)).body;
        expect(before).toHaveLength(1);
        await client.delete(`/contract/${path}`);
        expect((await t.operator.get(`/accounts/acme/${list}`)).body).toEqual([]);
        const [removal] = (await t.operator.get('/accounts/acme/removals')).body;
        expect(removal).toMatchObject({ list, entries: 1, at: t.now() });
        const restore = `/accounts/acme/${list}/restore`;
        const body = { removal_id: removal.removal_id };
        const undone = await t.operator.post(restore, body);
        expect([undone.status, undone.body]).toEqual([200, { restored: 1, left_out: 0 }]);
        expect((await t.operator.get(`/accounts/acme/${list}`)).body).toEqual(before);
        expectRefusal(await t.operator.post(restore, body), 409, /removal_id: .*can be undone/);
      }
    });
  });

  describe('nodes', () => {
    test('an open invitation is listed without its code, and withdrawn; then its code stops working', async () => {
      const before = (await t.operator.get('/invites')).body.length;
      const invited = await t.operator.post('/invites', { server: 'lon1' });
      const open = await t.operator.get('/invites');
      expect(open.body).toHaveLength(before + 1);
      expect(open.text).not.toContain(invited.body.code);
      const mine = open.body.at(-1);
      expect(mine).toMatchObject({ server: 'lon1', expiry: invited.body.expiry });
      expect((await t.operator.delete(`/invites/${mine.id}`)).status).toBe(204);
      expectRefusal(await t.operator.delete(`/invites/${mine.id}`), 404, /no open invitation/);
      expect((await t.operator.get('/invites')).body).toHaveLength(before);
      const join = { code: invited.body.code, name: 'late', version: '1' };
      expect((await t.with().post('/node/join', join)).status).toBe(401);
    });

    test('an invitation lets one machine join; the list shows how far it lags; revoking ends it', async () => {
      const invited = await t.operator.post('/invites', { server: 'lon1', lifetime_seconds: 600 });
      expect(invited.status).toBe(201);
      const { code, expiry } = invited.body;
      shown.push(code);
      expect(expiry).toBe(t.now() + 600);
      const join = () =>
        fetch(`${t.running.node_url}/node/join`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ code, name: 'machine', version: '1.2.3' }),
        });
      const joined = (await (await join()).json()) as { node: number; token: string };
      shown.push(joined.token);
      expect((await join()).status).toBe(401);
      const nodeOf = async (id: number) =>
        (await t.operator.get('/nodes')).body.find((row: { id: number }) => row.id === id);
      expect(await nodeOf(joined.node)).toMatchObject({
        server: 'lon1',
        name: 'machine',
        version: '1.2.3',
        live: false,
        applied_revision: 0,
        lag: expect.any(Number),
      });
      const node = await t.node('lon1', 'second');
      shown.push(node.token);
      await node.snapshot();
      await node.ack();
      expect(await nodeOf(node.id)).toMatchObject({ live: true, lag: 0 });
      await t.operator.patch('/servers/lon1', { title: 'London' });
      await t.operator.patch('/servers/fra1', { title: 'Frankfurt' });
      expect((await nodeOf(node.id)).lag).toBe(1);
      expect((await t.operator.delete(`/nodes/${node.id}`)).status).toBe(204);
      expect(await node.ack()).toBe(401);
      expect(await nodeOf(node.id)).toBeUndefined();
      expectRefusal(await t.operator.delete(`/nodes/${node.id}`), 404, /no node/);
      expectRefusal(await t.operator.delete('/nodes/x'), 404, /no node x/);
    });

    test('the version of a node is that which its agent says when it acknowledges, and is behind where it is older than the server’s', async () => {
      const node = await t.node('lon1', 'upgraded');
      await node.snapshot();
      const { epoch, revision } = node;
      const acknowledge = async (agent: string | undefined) => {
        const headers: Record<string, string> = agent === undefined ? {} : { 'user-agent': agent };
        const { status } = await node.send('POST', '/acks', { epoch, revision }, headers);
        expect(status).toBe(204);
        const { version, is_behind } = (await t.operator.get(`/nodes/${node.id}`)).body;
        return [version, is_behind];
      };
      const { version } = (await t.operator.get('/status')).body;
      expect(await acknowledge('exitward-agent/0.0.9')).toEqual(['0.0.9', true]);
      expect(await acknowledge(`exitward-agent/${version}`)).toEqual([version, false]);
      expect(await acknowledge('exitward-agent/99.0.0-rc.1')).toEqual(['99.0.0-rc.1', false]);
      // Older agents say nothing; other text is not taken for a version.
      for (const other of [
        undefined,
        'curl/8',
        `exitward-agent/${'9'.repeat(65)}`,
        'exitward-agent/1 2',
      ]) {
        expect(await acknowledge(other)).toEqual(['99.0.0-rc.1', false]);
      }
      await t.operator.delete(`/nodes/${node.id}`);
    });

    test('an invitation for an unknown server, or for too long, is refused', async () => {
      expectRefusal(await t.operator.post('/invites', { server: 'none' }), 409, /server: .*"none"/);
      const long = { server: 'lon1', lifetime_seconds: 31 * day };
      expectRefusal(await t.operator.post('/invites', long), 400, /lifetime_seconds/);
    });
  });

  describe('the network', () => {
    test('maintenance answers 503 under /v0 and nowhere else, until it is over', async () => {
      expect((await t.operator.get('/maintenance')).body).toEqual({ on: false });
      expect((await t.operator.put('/maintenance', { on: true })).body).toEqual({ on: true });
      const answer = await t.as(acme).get('/contract');
      expectRefusal(answer, 503, /maintenance/);
      expect(answer.headers.get('retry-after')).toBe('60');
      expect((await t.operator.get('/status')).body.maintenance).toBe(true);
      await t.operator.put('/maintenance', { on: false });
      expect((await t.as(acme).get('/contract')).status).toBe(200);
      expectRefusal(await t.operator.put('/maintenance', { on: 1 }), 400, /on: expected a boolean/);
    });

    test('the status counts what there is', async () => {
      const { body } = await t.operator.get('/status');
      const nodes = (await t.operator.get('/nodes')).body as Array<{ live: boolean; lag: number }>;
      expect(body).toEqual({
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        now: t.now(),
        joining: { url: expect.any(String), obstacles: expect.any(Array) },
        maintenance: false,
        database: {
          engine: database.name === 'SQLite' ? 'sqlite' : 'postgres',
          schema: expect.any(Number),
          epoch: expect.stringMatching(/^[0-9a-f-]{36}$/),
          revision: expect.any(Number),
          answers: true,
          fault: null,
        },
        accounts: (await t.operator.get('/accounts?limit=1000')).body.length,
        servers: (await t.operator.get('/servers')).body.length,
        exits: { ok: 0, warn: 0, crit: 0, unknown: expect.any(Number) },
        has_users: true,
        has_usage: expect.any(Boolean),
        operator: 'first',
        may_find_connections: false,
        geoip: [],
        geofeed: null,
        tls: null,
        backups: null,
        nodes: {
          all: nodes.length,
          live: nodes.filter((node) => node.live).length,
          lagging: nodes.filter((node) => node.lag > 0).length,
        },
      });
    });

    test('the last operator token cannot be revoked, nor one that is not there', async () => {
      await t.running.ctx.lastUsed.write(t.running.ctx);
      const tokens = (await t.operator.get('/tokens')).body;
      expect(tokens).toEqual([
        {
          ...{ id: expect.any(Number), name: 'first', may_find_connections: false },
          ...{ created_at: t.now(), last_used_at: t.now() },
        },
      ]);
      expectRefusal(await t.operator.delete(`/tokens/${tokens[0].id}`), 409, /last operator token/);
      expectRefusal(await t.operator.delete('/tokens/99'), 404, /no such operator token/);
      expectRefusal(await t.operator.post('/tokens', { name: 'first' }), 409, /name: .*"first"/);
    });
  });

  describe('the audit log', () => {
    test('keeps every change by the operator: who, from where, by which request, what before and after', async () => {
      const account = newAccount('audited');
      const server = {
        name: 'aud1',
        hostname: 'aud1.example.net',
        title: 'A',
        city: 'A',
        country: 'NL',
        latitude: 0,
        longitude: 0,
        services: ['proxy'],
      };
      const changes: Array<[string, string, unknown, string, string | null]> = [
        ['POST', '/accounts', account, 'account.create', 'audited'],
        ['PATCH', '/accounts/audited', { plan: 'Solo' }, 'account.change', 'audited'],
        ['POST', '/accounts/audited/tokens', { name: 'x' }, 'api_token.create', 'audited'],
        ['POST', '/accounts/audited/tokens/2/view', undefined, 'api_token.view', 'audited'],
        ['DELETE', '/accounts/audited/tokens/2', undefined, 'api_token.remove', 'audited'],
        ['POST', '/accounts/audited/users', { name: 'u' }, 'user.create', 'audited'],
        ['PATCH', '/accounts/audited/users/u', { active: false }, 'user.change', 'audited'],
        [
          'POST',
          '/accounts/audited/users/u/token_version',
          undefined,
          'user.raise_token_version',
          'audited',
        ],
        ['POST', '/servers', server, 'server.create', null],
        ['PATCH', '/servers/aud1', { title: 'B' }, 'server.change', null],
        ['PUT', '/servers/aud1/exits/192.0.2.9', { port_base: 1 }, 'exit_ip.add', null],
        ['PUT', '/servers/aud1/exits/192.0.2.9', { port_base: 2 }, 'exit_ip.change', null],
        ['DELETE', '/servers/aud1/exits/192.0.2.9', undefined, 'exit_ip.remove', null],
        ['PUT', '/accounts/audited/servers/aud1', {}, 'contract_server.add', 'audited'],
        [
          'PUT',
          '/accounts/audited/servers/aud1',
          { limit_bytes: 5 },
          'contract_server.change',
          'audited',
        ],
        [
          'DELETE',
          '/accounts/audited/servers/aud1',
          undefined,
          'contract_server.remove',
          'audited',
        ],
        ['POST', '/invites', { server: 'aud1' }, 'node.invite', null],
        ['DELETE', '/servers/aud1', undefined, 'server.remove', null],
        [
          'POST',
          '/port_schemes',
          { name: 'aud', bases: [{ base: 50_000, service: 'proxy' }] },
          'port_scheme.create',
          null,
        ],
        ['PUT', '/maintenance', { on: true }, 'maintenance.on', null],
        ['PUT', '/maintenance', { on: false }, 'maintenance.off', null],
        ['POST', '/tokens', { name: 'aud' }, 'operator_token.create', null],
        [
          'POST',
          '/inventory',
          { servers: [{ ...server, exit_ips: [] }] },
          'inventory.import',
          null,
        ],
      ];
      for (const [method, path, body, action, of] of changes) {
        const answer = await t.operator.send(method, path, body);
        expect([method, path, answer.status]).toEqual([
          method,
          path,
          expect.toSatisfy((status) => status < 300),
        ]);
        shown.push(...(answer.text.match(/ew[aoi]_\w{36}/g) ?? []));
        expect(await newest()).toMatchObject({
          actor_kind: 'operator',
          actor: 'first',
          address: '127.0.0.1',
          request_id: answer.headers.get('x-request-id'),
          at: t.now(),
          action,
          account: of,
        });
      }
      const [imported, created] = (await t.operator.get('/audit?limit=2')).body;
      expect(imported.after).toMatchObject({ added: 1 });
      expect(created).toMatchObject({ action: 'server.create', target: 'aud1', before: null });
      const [last] = (await t.operator.get('/tokens')).body.slice(-1);
      await t.operator.delete(`/tokens/${last.id}`);
      expect(await newest()).toMatchObject({
        action: 'operator_token.remove',
        before: { name: 'aud' },
      });
    });

    test('keeps what was refused out', async () => {
      const before = await newest();
      await t.operator.post('/accounts', newAccount('acme'));
      await t.operator.patch('/accounts/acme', { port_scheme: 'none' });
      await t.operator.put('/maintenance', { on: false });
      expect(await newest()).toEqual(before);
    });

    test('comes in pages, newest first, of all or of one account', async () => {
      const { rows } = await readPages<{ id: string; at: number; account: string }>(
        t.operator,
        '/audit?account=audited&limit=3',
      );
      for (const { account } of rows) expect(account).toBe('audited');
      const ids = rows.map(({ id }) => id);
      const times = rows.map(({ at }) => at);
      expect(ids.length).toBeGreaterThan(8);
      expect(new Set(ids).size).toBe(ids.length);
      expect(times).toEqual([...times].sort((a, b) => b - a));
      expect((await t.operator.get('/audit?account=nobody')).body).toEqual([]);
      expectRefusal(await t.operator.get('/audit?before=0'), 400, /before/);
    });
  });

  describe('address claims and custom DNS entries', () => {
    const lists = (name: string, contract: object) => ({
      name,
      contract,
      /** An account with two entries on each list; then its contract changes. */
      make: async () => {
        const account = await t.account(name, { servers: ['fra1'] });
        const at = name.length;
        for (const host of [1, 2]) {
          const entry = { ip: `198.18.${at}.${host}`, expiry: t.now() + day };
          const authlist = await t.as(account).post('/contract/ip-authlist', {
            ...entry,
            user: 'alice',
          });
          const override = await t.as(account).post('/contract/overrides', {
            ...entry,
            server: 'fra1',
            hostname: `h${host}.example`,
          });
          expect([authlist.status, override.status]).toEqual([201, 201]);
        }
        expect((await t.operator.patch(`/accounts/${name}`, contract)).status).toBe(200);
        return account;
      },
    });

    test.each([
      lists('ended-open', { suspended: false }),
      lists('ended-suspended', { suspended: true }),
    ])(
      'one and all are ended for $name, audited, and all can be undone',
      async ({ name, make }) => {
        await make();
        for (const [list, action] of [
          ['authlist', 'authlist'],
          ['overrides', 'override'],
        ]) {
          const path = `/accounts/${name}/${list}`;
          const [, second] = (await t.operator.get(path)).body;
          expect((await t.operator.delete(`${path}/1`)).status).toBe(204);
          expect(await newest()).toMatchObject({
            action: `${action}.remove`,
            target: `${list}/1`,
            account: name,
            actor_kind: 'operator',
          });
          expectRefusal(await t.operator.delete(`${path}/1`), 404, /no such/);
          expectRefusal(await t.operator.delete(`${path}/x`), 404, /no such/);
          expect((await t.operator.get(path)).body).toEqual([second]);
          const cleared = await t.operator.delete(path);
          expect([cleared.status, cleared.body.entries]).toEqual([200, 1]);
          expect(await newest()).toMatchObject({
            action: `${action}.remove_all`,
            actor_kind: 'operator',
          });
          expect((await t.operator.get(path)).body).toEqual([]);
          const [{ removal_id }] = (await t.operator.get(`/accounts/${name}/removals`)).body;
          expect(cleared.body.removal_id).toBe(removal_id);
          expect((await t.operator.post(`${path}/restore`, { removal_id })).body).toEqual({
            restored: 1,
            left_out: 0,
          });
          expect((await t.operator.get(path)).body).toEqual([second]);
        }
        expectRefusal(await t.operator.delete('/accounts/nobody/authlist'), 404, /nobody/);
        expectRefusal(await t.operator.delete('/accounts/nobody/overrides/1'), 404, /nobody/);
      },
    );

    test('so they are once the contract has expired', async () => {
      const account = await t.account('ended-expired', { servers: ['fra1'] });
      const entry = { ip: '198.18.77.1', user: 'alice', expiry: t.now() + day };
      await t.as(account).post('/contract/ip-authlist', entry);
      await t.operator.patch('/accounts/ended-expired', { expiry: t.now() + 5 });
      t.clock.advance(5);
      expect((await t.as(account).delete('/contract/ip-authlist/1')).status).toBe(403);
      expect((await t.operator.delete('/accounts/ended-expired/authlist/1')).status).toBe(204);
      const { body } = await t.operator.get('/addresses?ip=198.18.77.1');
      expect(body.authlist).toEqual([]);
    });
  });

  test('no list, record or audit entry holds a secret, its hash or its sealed form', async () => {
    const paths = [
      '/status',
      '/maintenance',
      '/tokens',
      '/accounts?limit=1000',
      '/accounts/acme',
      '/usage',
      '/accounts/acme/tokens',
      '/accounts/acme/users',
      '/accounts/acme/servers',
      '/accounts/acme/usage',
      '/accounts/acme/authlist',
      '/accounts/acme/overrides',
      '/accounts/acme/removals',
      '/servers',
      '/servers/fra1',
      '/port_schemes',
      '/nodes',
      '/audit?limit=1000',
    ];
    expect(shown.length).toBeGreaterThan(12);
    const stored = [
      ...(await t.running.ctx.db.all<{ text: string }>('select hash as text from api_tokens')),
      ...(await t.running.ctx.db.all<{ text: string }>(
        'select sealed as text from api_tokens where sealed is not null',
      )),
      ...(await t.running.ctx.db.all<{ text: string }>('select hash as text from admin_tokens')),
      ...(await t.running.ctx.db.all<{ text: string }>('select hash as text from nodes')),
      ...(await t.running.ctx.db.all<{ text: string }>('select hash as text from node_invites')),
    ].map((row) => row.text);
    expect(stored.length).toBeGreaterThan(10);
    for (const path of paths) {
      const { status, text } = await t.operator.get(path);
      expect([path, status]).toEqual([path, 200]);
      expect([path, [...shown, ...stored].filter((secret) => text.includes(secret))]).toEqual([
        path,
        [],
      ]);
      expect([path, text.match(/ew[aoni]_\w{20,}/)]).toEqual([path, null]);
    }
  });
});
