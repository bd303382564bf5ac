// VPN profiles: derived and never stored, for those who may connect, and the nodes of that server alone have the key.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedKey, vpnPassword } from '../src/vpn_password.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

eachDatabase((database) => {
  let t: TestApp;
  let keys: Record<string, string | undefined>;
  let account: number;
  beforeAll(async () => {
    t = await startTestApp(await database.url());
    const services = {
      fra1: ['proxy', 'vpn-ikev2', 'vpn-ikev1'],
      ams1: ['vpn-ikev2'],
      lon1: ['proxy'],
      six1: ['vpn-ikev2'],
      off1: ['vpn-ikev2'],
    };
    for (const [at, [name, offered]] of Object.entries(services).entries()) {
      const ip = name === 'six1' ? '2001:db8::1' : `198.18.3.${at + 1}`;
      await t.server(name, { exit_ips: [ip] });
      const changed = await t.operator.patch(`/servers/${name}`, { services: offered });
      expect(changed.status).toBe(200);
    }
    await t.account('acme', { servers: ['fra1', 'ams1', 'lon1', 'six1'] });
    for (const [name, flags] of Object.entries({
      alice: { proxy: true, admin: true },
      bob: { proxy: true },
      carol: { billing: true },
    })) {
      await t.operator.post('/accounts/acme/users', { name, flags });
    }
    keys = {};
    for (const name of Object.keys(services)) {
      const records = await (await t.node(name)).snapshot();
      const record = records.find(({ kind }) => kind === 'server');
      account ??= (records.find(({ kind }) => kind === 'contract') as { account: number }).account;
      keys[name] = (record as { value: { vpn_key?: string } }).value.vpn_key;
    }
  });
  afterAll(() => t.stop());

  const path = (user: string) => `/accounts/acme/users/${user}/vpn-profile`;
  const make = (user: string, body: object) => t.operator.send('POST', path(user), body);
  const userOf = async (name: string) => {
    const { body } = await t.operator.get(`/accounts/acme/users/${name}`);
    return body as { id: number; token_version: number };
  };

  describe('a VPN profile', () => {
    test('is for the key that the nodes of the server have: another for each, and none without a VPN', () => {
      expect(keys.fra1).toMatch(/^[\w-]{43}$/);
      expect(keys.ams1).toMatch(/^[\w-]{43}$/);
      expect(keys.fra1).not.toBe(keys.ams1);
      expect(keys.lon1).toBeUndefined();
    });

    test('has the password that the node derives, the same each time, until the token version is raised', async () => {
      const { status, body } = await make('bob', { server: 'fra1' });
      expect(status).toBe(201);
      const { id: user, token_version } = await userOf('bob');
      const claims = { account, user, token_version, expiry: null };
      expect(body).toMatchObject({
        server: 'fra1',
        services: ['vpn-ikev2', 'vpn-ikev1'],
        exit_ips: ['198.18.3.1'],
        login: 'bob@acme',
        password: vpnPassword(keys.fra1 as string, claims),
        shared_key: sharedKey(keys.fra1 as string),
        expiry: null,
      });
      expect((await make('bob', { server: 'fra1' })).body).toEqual(body);
      const other = (await make('bob', { server: 'ams1' })).body;
      expect(other.password).not.toBe(body.password);
      expect(other.shared_key).toBeNull();
      await t.operator.send('POST', '/accounts/acme/users/bob/token_version');
      expect((await make('bob', { server: 'fra1' })).body.password).not.toBe(body.password);
    });

    test('with a lifetime names its end in the login, in whole minutes', async () => {
      const { body } = await make('bob', { server: 'fra1', lifetime_seconds: 90 });
      const minutes = Math.ceil((t.now() + 90) / 60);
      expect(body).toMatchObject({
        login: `bob@acme~${minutes.toString(36)}`,
        expiry: minutes * 60,
      });
    });

    test.each([
      ['carol', { server: 'fra1' }, 409, 'user'],
      ['nobody', { server: 'fra1' }, 404, undefined],
      ['bob', { server: 'lon1' }, 409, 'server'],
      ['bob', { server: 'six1' }, 409, 'server'],
      ['bob', { server: 'off1' }, 409, 'server'],
      ['bob', { server: 'none' }, 409, 'server'],
      ['bob', {}, 400, 'server'],
      ['bob', { server: 'fra1', lifetime_seconds: 5 }, 400, 'lifetime_seconds'],
    ])(
      'of %s with %j is refused with %d, and the field at fault',
      async (user, body, status, field) => {
        const refused = await make(user, body);
        expect([refused.status, refused.body.field]).toEqual([status, field]);
      },
    );

    test('is made by people for themselves, by admins for others, and is in the audit log without the password', async () => {
      const [alice, bob] = [await t.signIn('acme', 'alice'), await t.signIn('acme', 'bob')];
      const own = await bob.post('/users/bob/vpn-profile', { server: 'fra1' });
      expect(own.status).toBe(201);
      expect((await bob.post('/users/alice/vpn-profile', { server: 'fra1' })).status).toBe(403);
      expect((await alice.post('/users/bob/vpn-profile', { server: 'fra1' })).body).toEqual(
        own.body,
      );
      const log = await t.operator.get('/audit?limit=3');
      expect(log.body[0]).toMatchObject({ action: 'vpn_profile.create', target: 'bob' });
      expect(log.text).toContain('fra1');
      expect(log.text).not.toContain(own.body.password);
    });

    test('has files for five systems, each with the server and the login, and a password only where it must', async () => {
      const { body } = await make('bob', { server: 'fra1' });
      const files = body.files as Array<{ format: string; name: string; content: string }>;
      expect(files.map(({ name }) => name)).toEqual([
        'exitward-fra1.mobileconfig',
        'exitward-fra1.ps1',
        'exitward-fra1.sswan',
        'exitward-fra1.sh',
        'exitward-fra1.conf',
      ]);
      for (const { format, content } of files) {
        expect(content, format).toContain('bob@acme');
        expect(content, format).toContain(body.hostname);
        const isAsked = ['windows', 'networkmanager'].includes(format);
        expect(content.includes(body.password), format).toBe(!isAsked);
      }
      expect(JSON.parse(files[2]?.content ?? '')).toMatchObject({
        type: 'ikev2-eap',
        remote: { addr: '198.18.3.1', id: body.hostname },
        local: { eap_id: 'bob@acme', password: body.password },
      });
      expect(JSON.stringify((await make('bob', { server: 'ams1' })).body)).not.toContain(
        body.password,
      );
    });
  });
});
