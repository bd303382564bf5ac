// /admin/manifests: what a document declares becomes so, what it owned goes, and nothing else is
// touched.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

const expiry = 2_000_000_000;
const place = { title: 'T', city: 'C', latitude: 1, longitude: 2, services: ['proxy'] };

const names = ['a1', 'b1', 'c1'];
const subset = <T>(arbitrary: fc.Arbitrary<T>, by: (value: T) => string) =>
  fc.uniqueArray(arbitrary, { maxLength: 3, selector: by });
const server = fc.record({
  name: fc.constantFrom(...names),
  country: fc.constantFrom('DE', 'NL'),
});
const user = fc.record({
  name: fc.constantFrom('u1', 'u2', 'u3'),
  display_name: fc.constantFrom('One', 'Two'),
  flags: fc.record({ proxy: fc.boolean(), admin: fc.boolean() }),
  active: fc.boolean(),
});
const account = fc.record({
  name: fc.constantFrom('x', 'y', 'z'),
  plan: fc.constantFrom('P', 'Q'),
  limit_bytes: fc.constantFrom(1000, 2000),
  suspended: fc.boolean(),
  users: subset(user, ({ name }) => name),
  on: fc.subarray(names),
  limit: fc.constantFrom(null, 500),
});
/** A network: contracts name servers that there are. */
const network = fc
  .record({
    servers: subset(server, ({ name }) => name),
    accounts: subset(account, ({ name }) => name),
  })
  .map(({ servers, accounts }) => ({
    servers: servers.map((server) => ({
      ...{ ...place, ...server, hostname: `${server.name}.example.net` },
      exit_ips: [{ ip: `192.0.2.${names.indexOf(server.name) + 1}`, port_base: 1 }],
    })),
    accounts: accounts.map(({ on, limit, ...account }) => ({
      ...{ ...account, expiry },
      servers: on
        .filter((name) => servers.some((server) => server.name === name))
        .map((name) => ({ name, limit_bytes: limit })),
    })),
  }));

const apply = async (t: TestApp, body: object, query = '?remove_all=true') => {
  const answer = await t.operator.put(`/manifests/net${query}`, body);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body.changes as Array<{ action: string; kind: string; name: string }>;
};

eachDatabase((database) => {
  describe('manifests', () => {
    test('from any network to any other: the plan is what is done, then nothing is left to do', async () => {
      const t = await startTestApp(await database.url());
      await t.server('own1');
      await t.account('foreign', { servers: ['own1'] });
      const foreign = async () => [
        (await t.operator.get('/accounts/foreign')).body,
        (await t.operator.get('/accounts/foreign/users')).body,
        (await t.operator.get('/servers/own1')).body,
      ];
      const before = await foreign();
      await fc.assert(
        fc.asyncProperty(network, async (wanted) => {
          const plan = await apply(t, wanted, '?dry_run=true&remove_all=true');
          expect(await apply(t, wanted)).toEqual(plan);
          expect(await apply(t, wanted)).toEqual([]);
          for (const { name, users, servers } of wanted.accounts) {
            const seen = (await t.operator.get(`/accounts/${name}/users`)).body;
            for (const user of users) {
              expect(seen).toContainEqual(
                expect.objectContaining({ name: user.name, active: user.active }),
              );
            }
            const declared = new Set(users.map((user) => user.name));
            for (const server of seen)
              if (!declared.has(server.name)) expect(server.active).toBe(false);
            const on = (await t.operator.get(`/accounts/${name}/servers`)).body;
            const short = (list: Array<{ server?: string; name?: string; limit_bytes: unknown }>) =>
              list.map((row) => `${row.server ?? row.name} ${row.limit_bytes}`).sort();
            expect(short(on)).toEqual(short(servers));
          }
          const all = (await t.operator.get('/servers')).body as Array<{ name: string }>;
          expect(all.map(({ name }) => name).sort()).toEqual(
            ['own1', ...wanted.servers.map(({ name }) => name)].sort(),
          );
          expect(await foreign()).toEqual(before);
        }),
        { numRuns: tries(12) },
      );
      await t.stop();
    });

    test('a record that is there is taken over, and one of another manifest is refused', async () => {
      const t = await startTestApp(await database.url());
      await t.server('fra1');
      const acme = { name: 'acme', plan: 'P', expiry, limit_bytes: 1000 };
      await t.operator.post('/accounts', { ...acme, on_limit: 'allow' });
      const wanted = { accounts: [{ ...acme, servers: [{ name: 'fra1' }] }] };
      expect(await apply(t, wanted)).toEqual([
        { action: 'adopt', kind: 'account', name: 'acme', fields: [], differences: [] },
        ...[{ action: 'create', kind: 'contract_server', name: 'acme/fra1' }].map((step) => ({
          ...{ ...step, fields: [], differences: [] },
        })),
      ]);
      const other = await t.operator.put('/manifests/other', wanted);
      expect([other.status, other.body.field]).toEqual([409, 'accounts/0']);
      expect(await apply(t, {})).toMatchObject([
        { action: 'remove', kind: 'contract_server', name: 'acme/fra1' },
        { action: 'remove', kind: 'account', name: 'acme' },
      ]);
      const { body } = await t.operator.get('/accounts/acme');
      expect([body.suspended, body.on_limit]).toEqual([true, 'allow']);
      expect((await t.operator.get('/servers/fra1')).status).toBe(200);
      await t.stop();
    });

    test('a plan that was shown is carried out only while it is still the plan', async () => {
      const t = await startTestApp(await database.url());
      const acme = { name: 'acme', plan: 'P', expiry, limit_bytes: 1000 };
      const wanted = { accounts: [acme] };
      const shown = (await t.operator.put('/manifests/net?dry_run=true', wanted)).body;
      await t.operator.post('/accounts', { ...acme, plan: 'Q' });
      const version = `?version=${shown.version}`;
      const late = await t.operator.put(`/manifests/net${version}`, wanted);
      expect([late.status, late.body.code]).toEqual([412, 'precondition_failed']);
      expect((await t.operator.get('/accounts/acme')).body.plan).toBe('Q');
      const now = (await t.operator.put('/manifests/net?dry_run=true', wanted)).body;
      expect(now.changes).toMatchObject([{ action: 'change', name: 'acme', fields: ['plan'] }]);
      expect(await apply(t, wanted, `?version=${now.version}`)).toEqual(now.changes);
      await t.stop();
    });

    test('a file says the same in any spelling: nothing is to be done again', async () => {
      const t = await startTestApp(await database.url());
      const server = { ...place, name: 'a1', country: 'DE', hostname: 'K1.Example.net.' };
      const exit_ips = [
        { ip: '2001:DB8:0::1', port_base: 1 },
        { ip: '::ffff:198.51.100.99', port_base: 2 },
      ];
      const wanted = { servers: [{ ...server, exit_ips }] };
      expect(await apply(t, wanted)).toMatchObject([{ action: 'create', name: 'a1' }]);
      expect(await apply(t, wanted)).toEqual([]);
      const { body } = await t.operator.get('/servers/a1');
      expect([body.hostname, body.exit_ips.map(({ ip }: { ip: string }) => ip)]).toEqual([
        'k1.example.net',
        ['2001:db8::1', '198.51.100.99'],
      ]);
      const again = { ip: '2001:db8::0001', port_base: 3 };
      const twice = { servers: [{ ...server, exit_ips: [...exit_ips, again] }] };
      for (const query of ['', '?dry_run=true']) {
        const answer = await t.operator.put(`/manifests/net${query}`, twice);
        expect([answer.status, answer.body.field]).toEqual([409, 'servers/0/exit_ips/2']);
      }
      const other = { ...server, name: 'b1', exit_ips: [] };
      const conflict = await t.operator.put('/manifests/net', { servers: [server, other] });
      expect([conflict.status, conflict.body.field]).toEqual([409, 'servers/1']);
      await t.stop();
    });

    test('a manifest is read up to 8 MiB', async () => {
      const t = await startTestApp(await database.url());
      const users = Array.from({ length: 2000 }, (_, index) => ({
        ...{ name: `user${index}`, display_name: `User ${index}` },
      }));
      const accounts = [{ name: 'x', plan: 5, limit_bytes: 1000, expiry, users }];
      const { body } = await t.operator.put('/manifests/net', { accounts });
      expect(body).toMatchObject({ code: 'invalid_field', field: 'accounts.0.plan' });
      await t.stop();
    });

    test('a value that cannot be is refused before anything is written, by a dry run as well', async () => {
      const t = await startTestApp(await database.url());
      const good = { ...place, name: 'a1', country: 'DE', hostname: 'a1.example.net' };
      const acme = { name: 'acme', plan: 'P', expiry, limit_bytes: 1000 };
      const exit_ips = [
        { ip: '192.0.2.1', port_base: 1 },
        { ip: '127.0.0.300', port_base: 2 },
      ];
      const faults: Array<[field: string, body: object]> = [
        ['servers/1/exit_ips/1/ip', { servers: [good, { ...good, name: 'b1', exit_ips }] }],
        ['servers/1/hostname', { servers: [good, { ...good, name: 'b1', hostname: 'a b' }] }],
        [
          'accounts/1/expiry',
          { servers: [good], accounts: [acme, { ...acme, name: 'b', expiry: expiry * 1000 }] },
        ],
      ];
      for (const [field, body] of faults) {
        for (const query of ['?dry_run=true', '']) {
          const answer = await t.operator.put(`/manifests/net${query}`, body);
          expect([answer.status, answer.body.field]).toEqual([400, field]);
        }
      }
      expect((await t.operator.get('/servers')).body).toEqual([]);
      await t.stop();
    });

    test('a field that the file does not have stays as it is: suspended accounts, inactive users, flags', async () => {
      const t = await startTestApp(await database.url());
      const alice = { name: 'alice', display_name: 'Alice', flags: { proxy: true } };
      const acme = { name: 'acme', plan: 'P', expiry, limit_bytes: 1000 };
      const wanted = (plan: string) => ({ accounts: [{ ...acme, plan, users: [alice] }] });
      await apply(t, wanted('P'));
      await t.operator.patch('/accounts/acme', { suspended: true });
      const change = { active: false, flags: { billing: true } };
      await t.operator.patch('/accounts/acme/users/alice', change);
      expect(await apply(t, wanted('P'))).toEqual([]);
      expect(await apply(t, wanted('Q'))).toMatchObject([{ name: 'acme', fields: ['plan'] }]);
      const renamed = { ...wanted('Q').accounts[0], users: [{ ...alice, display_name: 'A' }] };
      expect(await apply(t, { accounts: [renamed] })).toMatchObject([
        { name: 'acme/alice', fields: ['display_name'] },
      ]);
      expect((await t.operator.get('/accounts/acme')).body.suspended).toBe(true);
      const [user] = (await t.operator.get('/accounts/acme/users')).body;
      const flags = { proxy: true, billing: true, admin: false };
      expect(user).toMatchObject({ display_name: 'A', active: false, flags });
      await t.stop();
    });

    const good = { ...place, name: 'b1', country: 'DE', hostname: 'b1.example.net' };
    const acme = { name: 'acme', plan: 'P', expiry, limit_bytes: 1000 };
    test.each<[of: string, field: string, body: object]>([
      [
        'a taken exit IP',
        'servers/0/exit_ips/0',
        { servers: [{ ...good, exit_ips: [{ ip: '192.0.2.1', port_base: 1 }] }] },
      ],
      ['a taken hostname', 'servers/0', { servers: [{ ...good, hostname: 'a1.example.net' }] }],
      [
        'a port base that is given twice',
        'servers/0/exit_ips/1',
        {
          servers: [
            { ...good, exit_ips: [1, 2].map((at) => ({ ip: `192.0.2.1${at}`, port_base: 1 })) },
          ],
        },
      ],
      [
        'an unknown port scheme of a server',
        'servers/0/port_schemes',
        { servers: [{ ...good, port_schemes: ['nowhere'] }] },
      ],
      [
        'an unknown port scheme of an account',
        'accounts/0/port_scheme',
        { accounts: [{ ...acme, port_scheme: 'nowhere' }] },
      ],
      [
        'an unknown server',
        'accounts/0/servers/0',
        { accounts: [{ ...acme, servers: [{ name: 'nowhere' }] }] },
      ],
      [
        'a contract that ends before it starts',
        'accounts/0/expiry',
        { accounts: [{ ...acme, start: expiry + 1 }] },
      ],
      ['a word of paths as a name', 'servers/0/name', { servers: [{ ...good, name: 'places' }] }],
      ['a server that has a contract and goes', '', { accounts: [acme] }],
    ])('a dry run refuses %s as the act does, and changes nothing', async (_, field, body) => {
      const t = await startTestApp(await database.url());
      await t.server('a1', { exit_ips: ['192.0.2.1'] });
      await t.operator.patch('/servers/a1', { hostname: 'a1.example.net' });
      await apply(t, { servers: [{ ...good, name: 'own1', hostname: 'own1.example.net' }] });
      await t.account('foreign', { servers: field === '' ? ['own1'] : [] });
      const { revision } = (await t.operator.get('/status')).body;
      const answers = [];
      for (const query of ['?dry_run=true', '']) {
        const { status, body: error } = await t.operator.put(`/manifests/net${query}`, body);
        answers.push(error);
        expect([status >= 400 && status < 500, error.field ?? '']).toEqual([true, field]);
      }
      expect(answers[0]).toEqual(answers[1]);
      expect((await t.operator.get('/status')).body.revision).toBe(revision);
      await t.stop();
    });

    test('all faults are reported at once, each with its field, and those that follow from others are not', async () => {
      const t = await startTestApp(await database.url());
      const body = {
        servers: [
          { ...good, name: 'c1', hostname: 'a b' },
          { ...good, exit_ips: [{ ip: '127.0.0.300', port_base: 1 }] },
        ],
        accounts: [
          { ...acme, start: expiry + 1, users: [{ name: 'alice' }], servers: [{ name: 'c1' }] },
          { ...acme, name: 'umbrella', servers: [{ name: 'c1' }, { name: 'nowhere' }] },
        ],
      };
      for (const query of ['?dry_run=true', '']) {
        const { status, body: error } = await t.operator.put(`/manifests/net${query}`, body);
        expect([status, error.field]).toEqual([400, undefined]);
        expect(error.faults.map((fault: { field: string }) => fault.field)).toEqual([
          'servers/0/hostname',
          'servers/1/exit_ips/0/ip',
          'accounts/0/expiry',
          'accounts/1/servers/1',
        ]);
        for (const { message } of error.faults) expect(error.message).toContain(`\n- ${message}`);
      }
      expect((await t.operator.get('/accounts')).body).toEqual([]);
      await t.stop();
    });

    test('one record has all its faults reported at once, those of its schema and its own rules', async () => {
      const t = await startTestApp(await database.url());
      await t.server('a1', { exit_ips: ['192.0.2.1'] });
      const exits = ['127.0.0.300', 'x'].map((ip, port_base) => ({ ip, port_base }));
      const inUse = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((ip, at) => ({
        ...{ ip, port_base: at === 0 ? 0 : 1 },
      }));
      const { city: _, ...placeless } = good;
      const user = { name: 'alice', display_name: ' ', flags: { proxy: 1 }, activ: true };
      const body = {
        servers: [
          { ...good, hostname: 'a b', title: ' ', country: 'UK', exit_ips: exits },
          { ...good, name: 'c1', port_schemes: ['nowhere'], city: ' ' },
          { ...placeless, name: 'd1', latitude: 91, services: ['x', 'proxy'], titel: 'T' },
          { ...good, name: 'e1', hostname: 'e1.example.net', exit_ips: inUse },
          7,
        ],
        accounts: [
          { ...acme, plan: ' ', port_scheme: 'nowhere', expiry: expiry * 1000 },
          { ...acme, name: 'b', limit_bytes: 'x', start: expiry + 1, users: [user] },
          { ...acme, name: 'c', servers: [{ name: 'd1' }, { name: 'e f', limit_bytes: -1 }] },
        ],
      };
      for (const query of ['?dry_run=true', '']) {
        const { status, body: error } = await t.operator.put(`/manifests/net${query}`, body);
        const fields = error.faults.map(({ field }: { field: string }) =>
          field.replaceAll('.', '/'),
        );
        expect([status, fields.sort()]).toEqual([
          400,
          [
            'servers/0/hostname',
            'servers/0/title',
            'servers/0/country',
            'servers/0/exit_ips/0/ip',
            'servers/0/exit_ips/1/ip',
            'servers/1/port_schemes',
            'servers/1/city',
            'servers/2/city',
            'servers/2/latitude',
            'servers/2/services/0',
            'servers/2/titel',
            'servers/3/exit_ips/0',
            'servers/3/exit_ips/2',
            'servers/4',
            'accounts/0/plan',
            'accounts/0/port_scheme',
            'accounts/0/expiry',
            'accounts/1/limit_bytes',
            'accounts/1/expiry',
            'accounts/1/users/0/display_name',
            'accounts/1/users/0/flags/proxy',
            'accounts/1/users/0/activ',
            'accounts/2/servers/1/name',
            'accounts/2/servers/1/limit_bytes',
          ].sort(),
        ]);
      }
      expect((await t.operator.get('/accounts')).body).toEqual([]);
      await t.stop();
    });

    test('of more than a hundred faults the first hundred are listed', async () => {
      const t = await startTestApp(await database.url());
      const servers = Array.from({ length: 5000 }, () => 7);
      const { status, body } = await t.operator.put('/manifests/net', { servers });
      expect([status, body.faults.length]).toEqual([400, 100]);
      await t.stop();
    });

    test('exit IPs, hostnames and port bases move between servers, and a server gets another name', async () => {
      const t = await startTestApp(await database.url());
      const on = (name: string, host: string, ips: string[]) => ({
        ...{ ...good, name, hostname: `${host}.example.net` },
        exit_ips: ips.map((ip, port_base) => ({ ip, port_base })),
      });
      const seen = async () => {
        const names = (await t.operator.get('/servers')).body.map(
          (one: { name: string }) => one.name,
        );
        const rows = [];
        for (const name of names.sort()) {
          const { hostname, exit_ips } = (await t.operator.get(`/servers/${name}`)).body;
          const ips = exit_ips.toSorted(
            (a: { port_base: number }, b: { port_base: number }) => a.port_base - b.port_base,
          );
          rows.push([
            name,
            hostname.replace('.example.net', ''),
            ...ips.map(({ ip }: { ip: string }) => ip),
          ]);
        }
        return rows;
      };
      await apply(t, {
        servers: [on('a1', 'x', ['192.0.2.1', '192.0.2.2']), on('b1', 'y', ['192.0.2.3'])],
      });
      const swapped = [on('a1', 'y', ['192.0.2.3', '192.0.2.1']), on('b1', 'x', ['192.0.2.2'])];
      const plan = await apply(t, { servers: swapped }, '?dry_run=true');
      expect(plan).toMatchObject([
        { action: 'change', name: 'a1', fields: ['hostname', 'exit_ips'] },
        { action: 'change', name: 'b1', fields: ['hostname', 'exit_ips'] },
      ]);
      expect(await apply(t, { servers: swapped })).toEqual(plan);
      expect(await seen()).toEqual([
        ['a1', 'y', '192.0.2.3', '192.0.2.1'],
        ['b1', 'x', '192.0.2.2'],
      ]);
      expect(await apply(t, { servers: swapped })).toEqual([]);
      const renamed = [on('c1', 'y', ['192.0.2.3']), on('b1', 'x', ['192.0.2.2'])];
      await apply(t, { servers: renamed });
      expect(await seen()).toEqual([
        ['b1', 'x', '192.0.2.2'],
        ['c1', 'y', '192.0.2.3'],
      ]);
      await t.stop();
    });

    test('a manifest without records removes all that it owned only when that is said', async () => {
      const t = await startTestApp(await database.url());
      await apply(t, { servers: [good] });
      for (const query of ['?dry_run=true', '']) {
        const { status, body } = await t.operator.put(`/manifests/net${query}`, { servers: [] });
        expect([status, body.message]).toEqual([409, expect.stringContaining('--remove-all')]);
      }
      expect(await apply(t, {})).toMatchObject([{ action: 'remove', name: 'b1' }]);
      expect((await t.operator.put('/manifests/net', {})).status).toBe(200);
      await t.stop();
    });

    test('with any fault nothing is changed, and the error names where it is', async () => {
      const t = await startTestApp(await database.url());
      const acme = { name: 'acme', plan: 'P', expiry, limit_bytes: 1000 };
      const wanted = { accounts: [{ ...acme, servers: [{ name: 'nowhere' }] }] };
      const answer = await t.operator.put('/manifests/net', wanted);
      expect([answer.status, answer.body.field]).toEqual([404, 'accounts/0/servers/0']);
      expect((await t.operator.get('/accounts')).body).toEqual([]);
      await t.stop();
    });
  });
});
