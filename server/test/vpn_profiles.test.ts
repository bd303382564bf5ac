// VPN profiles: derived and never stored, for those who may connect, and the nodes of that server
// alone have the key.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedKey, vpnPassword } from '../../kit/src/vpn_password.ts';
import { eachDatabase } from './databases.ts';
import { keptLog, startTestApp, type TestApp } from './harness.ts';

interface ServerKey {
  vpn_key?: string;
  vpn_generation?: number;
}
type ProfileFile = Record<'format' | 'name' | 'encoding' | 'content', string>;

eachDatabase((database) => {
  let t: TestApp;
  const { log, lines } = keptLog();
  let keys: Record<string, string | undefined>;
  let account: number;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), {}, log);
    const services = {
      fra1: ['proxy', 'vpn-ikev2', 'vpn-ikev1'],
      ams1: ['vpn-ikev2'],
      lon1: ['proxy'],
      six1: ['vpn-ikev2'],
      off1: ['vpn-ikev2'],
      old1: ['vpn-l2tp'],
    };
    for (const [at, [name, offered]] of Object.entries(services).entries()) {
      const ip = name === 'six1' ? '2001:db8::1' : `198.18.3.${at + 1}`;
      const second = name === 'fra1' ? ['198.18.3.101', '2001:db8::2'] : [];
      await t.server(name, { exit_ips: [ip, ...second] });
      const changed = await t.operator.patch(`/servers/${name}`, { services: offered });
      expect(changed.status).toBe(200);
    }
    await t.account('acme', { servers: ['fra1', 'ams1', 'lon1', 'six1', 'old1'] });
    await t.account('bare', { servers: ['lon1'] });
    await t.operator.post('/accounts/bare/users', { name: 'bob', flags: { proxy: true } });
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
      const { files, ...values } = body;
      expect(values).toEqual({
        login: 'bob@acme',
        expiry: null,
        servers: [
          {
            server: 'fra1',
            services: ['vpn-ikev2', 'vpn-ikev1'],
            hostname: 'fra1.exitward.example',
            exit_ip: '198.18.3.1',
            exit_ips: ['198.18.3.1', '198.18.3.101'],
            password: vpnPassword(keys.fra1 as string, claims),
            shared_key: sharedKey(keys.fra1 as string),
          },
        ],
      });
      expect((await make('bob', { server: 'fra1' })).body).toEqual(body);
      await t.operator.send('POST', '/accounts/acme/users/bob/token_version');
      const [after] = (await make('bob', { server: 'fra1' })).body.servers;
      expect(after.password).not.toBe(values.servers[0].password);
    });

    test('has another password and shared key once the key of the server is renewed, or one of its nodes is revoked', async () => {
      const node = await t.node('fra1');
      const read = async () => {
        const records = await node.snapshot();
        const record = records.find(({ kind }) => kind === 'server');
        const { vpn_key = '', vpn_generation } = (record as { value: ServerKey }).value;
        const [profile] = (await make('bob', { server: 'fra1' })).body.servers;
        const { id: user, token_version } = await userOf('bob');
        const claims = { account, user, token_version, expiry: null };
        expect(profile).toMatchObject({
          password: vpnPassword(vpn_key, claims),
          shared_key: sharedKey(vpn_key),
        });
        return { vpn_key, vpn_generation };
      };
      const first = await read();
      expect((await t.operator.post('/servers/fra1/vpn_key', {})).status).toBe(200);
      const second = await read();
      const stolen = await t.node('fra1');
      expect((await t.operator.delete(`/nodes/${stolen.id}`)).status).toBe(204);
      const third = await read();
      keys.fra1 = third.vpn_key;
      expect(new Set([first, second, third].map(({ vpn_key }) => vpn_key)).size).toBe(3);
      expect([second, third].map(({ vpn_generation }) => vpn_generation)).toEqual(
        [1, 2].map((more) => (first.vpn_generation ?? 0) + more),
      );
      const { body } = await t.operator.get('/audit?action=server.renew_vpn_key');
      expect(JSON.stringify(body)).toContain('server.renew_vpn_key');
      expect(JSON.stringify(body)).not.toContain(third.vpn_key);
    });

    test('without a server is for all that are on the contract and have a VPN, with a password for each', async () => {
      const { body } = await make('bob', {});
      const servers = body.servers as Array<Record<string, string>>;
      expect(servers.map(({ server }) => server)).toEqual(['ams1', 'fra1', 'old1']);
      expect(new Set(servers.map(({ password }) => password)).size).toBe(3);
      for (const { server = '', ...values } of servers) {
        const [profile] = (await make('bob', { server })).body.servers;
        expect(profile).toEqual({ server, ...values });
      }
      const none = await t.operator.post('/accounts/bare/users/bob/vpn-profile', {});
      expect([none.status, none.body.field]).toEqual([409, 'server']);
    });

    test('has a shared key where IKEv1 or L2TP is served, and only there', async () => {
      const { body } = await make('bob', {});
      const shared = body.servers.map((server: { shared_key: string | null }) => server.shared_key);
      expect(shared).toEqual([null, sharedKey(keys.fra1 ?? ''), sharedKey(keys.old1 ?? '')]);
    });

    test('dials the requested exit; Windows the name of the server, except for another exit than its first', async () => {
      const windows = async (body: object) => {
        const made = (await make('bob', { server: 'fra1', ...body })).body;
        for (const { format, content } of made.files as ProfileFile[]) {
          const dialled = format === 'windows' ? '' : made.servers[0].exit_ip;
          expect(content, format).toContain(dialled);
        }
        return made.files.find(({ format }: ProfileFile) => format === 'windows').content;
      };
      expect(await windows({})).toContain("-ServerAddress 'fra1.exitward.example'");
      expect(await windows({ exit_ip: '198.18.3.101' })).toContain("-ServerAddress '198.18.3.101'");
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
      ['bob', { server: 'fra1', exit_ip: '198.18.3.2' }, 409, 'exit_ip'],
      ['bob', { server: 'fra1', exit_ip: '2001:db8::2' }, 409, 'exit_ip'],
      ['bob', { exit_ip: '198.18.3.1' }, 400, 'exit_ip'],
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
      expect(log.text).not.toContain(own.body.servers[0].password);
      await bob.post('/users/bob/vpn-profile', {});
      const [all] = (await t.operator.get('/audit?limit=1')).body;
      expect(all).toMatchObject({ action: 'vpn_profile.create', after: { server: null } });
      expect(own.headers.get('cache-control')).toBe('no-store');
      expect(JSON.stringify(lines)).not.toContain(own.body.servers[0].password);
    });

    test('has files for five systems, each with the server and the login, and a password only where it must', async () => {
      const { body } = await make('bob', { server: 'fra1' });
      const [{ hostname, password }] = body.servers;
      const files = body.files as ProfileFile[];
      expect(files.map(({ name }) => name)).toEqual([
        'exitward-fra1.mobileconfig',
        'exitward-fra1.ps1',
        'exitward-fra1.sswan',
        'exitward-fra1.sh',
        'exitward-fra1.conf',
      ]);
      for (const { format, encoding, content } of files) {
        expect(encoding).toBe('utf-8');
        expect(content, format).toContain('bob@acme');
        expect(content, format).toContain(hostname);
        const isAsked = ['windows', 'networkmanager'].includes(format);
        expect(content.includes(password), format).toBe(!isAsked);
      }
      expect(JSON.parse(files[2]?.content ?? '')).toMatchObject({
        type: 'ikev2-eap',
        remote: { addr: '198.18.3.1', id: hostname },
        local: { eap_id: 'bob@acme', password },
      });
      expect(JSON.stringify((await make('bob', { server: 'ams1' })).body)).not.toContain(password);
    });

    test('of all servers has them in one file for each system, except Android, which takes one server', async () => {
      const { files } = (await make('bob', {})).body as { files: ProfileFile[] };
      expect(files.map(({ name }) => name)).toEqual([
        'exitward.mobileconfig',
        'exitward.ps1',
        'exitward-ams1.sswan',
        'exitward-fra1.sswan',
        'exitward.sh',
        'exitward.conf',
      ]);
      for (const { format, content } of files.filter(({ format }) => format !== 'android')) {
        const named = ['ams1', 'fra1', 'old1'].filter((name) => content.includes(name));
        expect(named, format).toEqual([
          'ams1',
          'fra1',
          ...(format === 'strongswan' ? [] : ['old1']),
        ]);
      }
    });

    test('of a server with L2TP alone has the shared key in the files of those systems that dial it', async () => {
      const { servers, files } = (await make('bob', { server: 'old1' })).body;
      const { shared_key } = servers[0];
      const [apple, windows, networkmanager, ...others] = files as ProfileFile[];
      expect(others).toEqual([]);
      expect(apple?.content).toContain('<string>L2TP</string>');
      expect(apple?.content).toContain(Buffer.from(shared_key).toString('base64'));
      expect(windows?.content).toContain(`-TunnelType L2tp -L2tpPsk '${shared_key}'`);
      expect(networkmanager?.content).toContain(`ipsec-psk = ${shared_key}`);
    });
  });
});
