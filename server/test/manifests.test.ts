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

const apply = async (t: TestApp, body: object, query = '') => {
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
          const plan = await apply(t, wanted, '?dry_run=true');
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
        { action: 'adopt', kind: 'account', name: 'acme', fields: [] },
        { action: 'create', kind: 'contract_server', name: 'acme/fra1', fields: [] },
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

    test('a value that cannot be is refused before anything is written, by a dry run as well', async () => {
      const t = await startTestApp(await database.url());
      const good = { ...place, name: 'a1', country: 'DE', hostname: 'a1.example.net' };
      const acme = { name: 'acme', plan: 'P', expiry, limit_bytes: 1000 };
      const exit_ips = [
        { ip: '192.0.2.1', port_base: 1 },
        { ip: '127.0.0.300', port_base: 2 },
      ];
      const faults: Array<[field: string, body: object]> = [
        ['servers/1/exit_ips/1', { servers: [good, { ...good, name: 'b1', exit_ips }] }],
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
