// Erasure of a person: afterwards no byte that is stored names them, and the sums are what they
// were.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { TOTP, URI } from 'otpauth';
import { expect, test } from 'vitest';
import { pseudonymise } from '../src/changes/audit.ts';
import { revokeSessions } from '../src/sign_in/sign_in.ts';
import { recordUsage } from '../src/usage/usage.ts';
import { disableUser } from '../src/users/users.ts';
import { CommandLine } from './cli_process.ts';
import { eachDatabase } from './databases.ts';
import { type Answer, passwordOf, startTestApp, type TestApp } from './harness.ts';

const name = 'rosalind.quixote@example.org';
const displayName = 'Rosalind van Quixote';
const addresses = ['203.0.113.77', '203.0.113.78', '203.0.113.79'];
const personal = [name, displayName, ...addresses];

/** Every value of every table, as a dump would show it. */
async function dumpOf({ running: { ctx } }: TestApp): Promise<string> {
  const tables = await ctx.db.all<{ name: string }>(
    ctx.db.engine === 'sqlite'
      ? "select name from sqlite_master where type = 'table'"
      : "select tablename as name from pg_tables where schemaname = 'public'",
  );
  const all = await Promise.all(tables.map((table) => ctx.db.all(`select * from ${table.name}`)));
  return JSON.stringify(all);
}

/**
 * Every byte of the database's files, after the server has stopped; PostgreSQL's are its own
 * affair.
 */
function bytesOf({ running: { ctx } }: TestApp): string {
  if (ctx.db.engine !== 'sqlite') return '';
  const file = ctx.config.database_url.replace('sqlite:', '');
  const files = readdirSync(dirname(file)).filter((name) => name.startsWith(basename(file)));
  expect(files).toContain(basename(file));
  return files.map((name) => readFileSync(join(dirname(file), name), 'latin1')).join('');
}

const { paths } = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
) as { paths: Record<string, object> };

/** No node answers a question here; a sign-in link is for a setting of its own. */
const refusedHere = new Set(['post /servers/{server}/explain', 'post /session/link']);

const remaining = (text: string) => personal.filter((value) => text.includes(value));

eachDatabase((database) => {
  test('nothing that is stored names the person or an address of theirs, others are as they were, and sums stay', async () => {
    const t = await startTestApp(await database.url());
    await t.server('fra1');
    const acme = await t.account('acme', { servers: ['fra1'] });
    const account_id = acme.account.id;
    await t.user(acme, 'bob', { proxy: true });
    const users = '/accounts/acme/users';
    await t.operator.post(users, {
      name,
      display_name: displayName,
      flags: { proxy: true, admin: true },
    });
    const person = await t.signIn('acme', name);
    const add = (ip: string | undefined, user: string) =>
      t.as(acme).post('/contract/ip-authlist', { ip, user, expiry: t.now() + 86_400 });
    for (const ip of addresses.slice(0, 2)) expect((await add(ip, name)).status).toBe(201);
    expect((await add('203.0.113.99', 'bob')).status).toBe(201);
    // Entries of others that the person added stay, without saying so: on the lists, and among
    // those that can be restored.
    const later = { expiry: t.now() + 86_400, note: 'kept' };
    const byPerson: number[] = [];
    for (const ip of ['203.0.113.97', '203.0.113.98']) {
      const { body } = await person.post('/authlist', { ip, user: 'bob', ...later });
      byPerson.push(body.id);
      const entry = { server: 'fra1', hostname: `h${byPerson.length}.example`, ip: '192.0.2.1' };
      expect((await person.post('/overrides', { ...entry, ...later })).status).toBe(201);
    }
    await person.post('/authlist/remove', { ids: byPerson.slice(0, 1) });
    await person.post('/overrides/remove', { ids: [1] });
    await t.operator.delete('/accounts/acme/authlist');
    expect((await add(addresses[2], name)).status).toBe(201);
    await t.write((tx) =>
      recordUsage(
        tx,
        [{ account_id, server_id: 1, user_id: 3, hour: t.now(), up: 5, down: 6 }],
        () => acme.account.start,
      ),
    );
    const node = await t.node('fra1');
    const of = { at: t.now(), service: 'proxy', count: 1 };
    const bob = (await t.operator.get(`${users}/bob`)).body.id;
    const refusals = [
      ...addresses.map((source) => ({ ...of, source, reason: 'unknown_address' })),
      { ...of, source: '203.0.113.80', reason: 'no_proxy_flag', account: account_id, user: 3 },
      { ...of, source: '203.0.113.96', reason: 'no_proxy_flag', account: account_id, user: bob },
    ];
    expect((await node.send('POST', '/refusals', { boot: 'b', seq: 1, refusals })).status).toBe(
      204,
    );
    // Orders that name the person, or an address alone.
    for (const ended of [{ address: '203.0.113.99' }, { address: addresses[0] }, { user: name }]) {
      const { status } = await t.operator.post('/accounts/acme/connections/end', ended);
      expect(status).toBe(200);
    }
    const before = await dumpOf(t);
    expect(before).toContain('203.0.113.80');
    expect(remaining(before)).toEqual(personal);
    const { id } = (await t.operator.get(`${users}/${name}`)).body;

    const erased = await t.operator.post(`${users}/${name}/erase`, {});
    expect([erased.status, erased.body]).toEqual([200, { pseudonym: `erased-${id}` }]);

    const after = await dumpOf(t);
    expect(remaining(after)).toEqual([]);
    expect(after).not.toContain('203.0.113.80');
    expect(after).toContain('203.0.113.96');
    expect(after).toContain('203.0.113.99');
    for (const address of ['203.0.113.97', '203.0.113.98', 'h1.example', 'h2.example']) {
      expect(after).toContain(address);
    }
    expect((await t.operator.get('/accounts/acme/overrides')).body).toMatchObject([
      { hostname: 'h2.example', note: 'kept', added_by: `acme/erased-${id}` },
    ]);
    expect((await t.operator.get(`${users}/${name}`)).status).toBe(404);
    expect((await t.operator.get(`${users}/erased-${id}`)).body).toMatchObject({
      id,
      active: false,
      flags: { proxy: false, billing: false, admin: false },
      sign_in: { has_password: false, sessions: 0, last_sign_in_at: null },
    });
    const audit = (await t.operator.get('/audit?account=acme&limit=100')).body;
    const records = JSON.stringify(audit);
    expect(records).toContain('user.erase');
    expect(records).toContain(`acme/erased-${id}`);
    expect(records).toContain('203.0.113.99');
    const { rows } = (await t.operator.get('/accounts/acme/usage?by=day')).body;
    expect(rows.map(({ total }: { total: number }) => total)).toEqual([11]);

    // An undo brings back what is others' alone.
    const [removal] = (await t.operator.get('/accounts/acme/removals')).body;
    const { removal_id } = removal;
    const undone = await t.operator.post('/accounts/acme/authlist/restore', { removal_id });
    expect(undone.body).toMatchObject({ restored: 2, left_out: 2 });
    expect(remaining(await dumpOf(t))).toEqual([]);

    await t.running.stop();
    expect(remaining(bytesOf(t))).toEqual([]);
  });

  test('whatever a person can do in the console, and operators and a manifest about them, nothing names them afterwards', async () => {
    const t = await startTestApp(await database.url());
    for (const server of ['fra1', 'ams1', 'lon1']) {
      await t.server(server, { services: ['proxy', 'vpn-ikev2'] });
    }
    const acme = await t.account('acme', { servers: ['fra1'] });
    await t.user(acme, 'bob', { proxy: true });
    const flags = { proxy: true, billing: true, admin: true };
    const { plan, expiry: end, limit_bytes } = (await t.operator.get('/accounts/acme')).body;
    const declared = { name: 'acme', plan, expiry: end, limit_bytes };
    const users = [{ name, display_name: displayName, flags }];
    const manifest = () => t.operator.put('/manifests/net', { accounts: [{ ...declared, users }] });
    expect((await manifest()).status).toBe(200);
    const person = await t.signIn('acme', name);
    const password = passwordOf(name);
    const expiry = t.now() + 86_400;
    const entry = { ip: addresses[0], user: name, expiry };
    const override = { server: 'fra1', hostname: 'a.example', ip: '192.0.2.1', expiry };
    const created = async (list: string, body: object) => (await person.post(list, body)).body.id;
    const restore = async (list: string) => {
      const removals = (await person.get('/removals')).body as Array<Record<string, unknown>>;
      const removal = removals.find((row) => row.list === list);
      return person.post(`/${list}/restore`, { removal_id: removal?.removal_id });
    };
    const signIn = async () => {
      const browser = t.browser();
      const answer = await browser.post('/session', { account: 'acme', user: name, password });
      return { browser, answer };
    };
    const another = async () =>
      (await created('/users', { name: `u${expiry}${++others}` })) as number;
    let others = 0;
    const invited = async (user = name) =>
      (await t.operator.send('POST', `/accounts/acme/users/${user}/invite`)).body.code;
    let phone = new TOTP();
    const base = `/users/${name}`;

    /** Each request that changes something, as the person sends it. */
    const acts: Record<string, () => Promise<Answer>> = {
      'post /connections/end': () =>
        person.post('/connections/end', { user: name, address: addresses[0] }),
      'post /authlist': () => person.post('/authlist', entry),
      'post /authlist/add': () =>
        person.post('/authlist/add', { addresses: addresses[1], user: name, expiry }),
      'patch /authlist': async () => {
        const [{ id }] = (await person.get('/authlist')).body;
        return person.patch('/authlist', { entries: [{ id, expiry: expiry + 1 }] });
      },
      'patch /authlist/{id}': async () => {
        const [{ id }] = (await person.get('/authlist')).body;
        return person.patch(`/authlist/${id}`, { ip: addresses[2], note: displayName });
      },
      'delete /authlist/{id}': async () =>
        person.delete(`/authlist/${await created('/authlist', { ...entry, ip: '198.18.0.1' })}`),
      'post /authlist/remove': async () =>
        person.post('/authlist/remove', {
          ids: [await created('/authlist', { ...entry, user: 'bob', ip: '198.18.0.2' })],
        }),
      'delete /authlist': () => person.delete('/authlist'),
      'post /authlist/restore': () => restore('authlist'),
      'post /overrides': () => person.post('/overrides', override),
      'patch /overrides': async () => {
        const [{ id }] = (await person.get('/overrides')).body;
        return person.patch('/overrides', { entries: [{ id, expiry: expiry + 1 }] });
      },
      'patch /overrides/{id}': async () => {
        const [{ id }] = (await person.get('/overrides')).body;
        return person.patch(`/overrides/${id}`, { ip: '192.0.2.2' });
      },
      'delete /overrides/{id}': async () =>
        person.delete(
          `/overrides/${await created('/overrides', { ...override, hostname: 'b.example' })}`,
        ),
      'post /overrides/remove': async () =>
        person.post('/overrides/remove', {
          ids: [await created('/overrides', { ...override, hostname: 'c.example' })],
        }),
      'delete /overrides': () => person.delete('/overrides'),
      'post /overrides/restore': () => restore('overrides'),
      'post /proxy-tokens': () => person.post('/proxy-tokens', { user: name }),
      'post /users/{user}/vpn-profile': () => person.post(`${base}/vpn-profile`, {}),
      'post /users/{user}/token_version': () => person.send('POST', `${base}/token_version`),
      'patch /users/{user}': () => person.patch(base, { display_name: `${displayName} II` }),
      'patch /users': async () => {
        const { id } = (await person.get(base)).body;
        return person.patch('/users', { users: [{ id, flags }] });
      },
      'post /users': () => person.post('/users', { name: 'created' }),
      'post /users/{user}/invite': () => person.post('/users/created/invite', { password }),
      'post /invite': async () => t.browser().post('/invite', { code: await invited('created') }),
      'post /invite/accept': async () =>
        t.browser().post('/invite/accept', {
          code: await invited('created'),
          password: 'a long password of created',
        }),
      'post /users/end_sessions': async () =>
        person.post('/users/end_sessions', { ids: [await another()] }),
      'delete /users/{user}/sessions': () => person.delete('/users/created/sessions'),
      'delete /users/{user}/sign-in': () => person.delete('/users/created/sign-in'),
      'post /tokens': () => person.post('/tokens', { name: 'plain', password }),
      'post /tokens/{id}/view': async () =>
        person.post(`/tokens/${(await person.get('/tokens')).body.at(-1).id}/view`, { password }),
      'delete /tokens/{id}': async () =>
        person.delete(`/tokens/${(await person.get('/tokens')).body.at(-1).id}`),
      'post /tokens/remove': async () => {
        const id = await created('/tokens', { name: 'another', password });
        return person.post('/tokens/remove', { ids: [id] });
      },
      'put /servers/{server}': () => person.put('/servers/ams1', {}),
      'delete /servers/{server}': () => person.delete('/servers/ams1'),
      'post /servers/add': () => person.post('/servers/add', { servers: ['lon1'] }),
      'post /servers/remove': () => person.post('/servers/remove', { servers: ['lon1'] }),
      'post /servers/{server}/explain': () =>
        person.post('/servers/fra1/explain', {
          port: 10001,
          host: 'a.example',
          user: name,
          from: addresses[0],
        }),
      'post /session': async () => (await signIn()).answer,
      'post /session/link': async () =>
        t.browser().post('/session/link', { code: await invited() }),
      'delete /session': async () => (await signIn()).browser.delete('/session'),
      'delete /sessions/{id}': async () => {
        await signIn();
        const sessions = (await person.get('/sessions')).body as Array<{
          id: string;
          current: boolean;
        }>;
        return person.delete(`/sessions/${sessions.find(({ current }) => !current)?.id}`);
      },
      'delete /sessions': () => person.delete('/sessions'),
      'post /second-factor': async () => {
        const begun = await person.post('/second-factor', { password });
        phone = URI.parse(begun.body.url) as TOTP;
        return begun;
      },
      'put /second-factor': () =>
        person.put('/second-factor', { code: phone.generate({ timestamp: t.now() * 1000 }) }),
      'post /second-factor/remove': () => person.post('/second-factor/remove', { password }),
      'put /views': () =>
        person.put('/views', {
          page: `/users/${name}`,
          name: displayName,
          query: `search=${addresses[0]}`,
        }),
      'delete /views/{id}': async () => {
        const view = { page: '/users', name, query: `search=${addresses[1]}` };
        return person.delete(`/views/${(await person.put('/views', view)).body.id}`);
      },
      'put /password': () =>
        person.put('/password', { current_password: password, password: `${password} 2` }),
    };
    const writes = Object.entries(paths).flatMap(([path, item]) =>
      path.startsWith('/console/')
        ? Object.keys(item).map((method) => `${method} ${path.slice('/console'.length)}`)
        : [],
    );
    const changes = writes.filter((request) => !request.startsWith('get '));
    expect(Object.keys(acts).toSorted()).toEqual(changes.toSorted());
    for (const [request, act] of Object.entries(acts)) {
      const { status, text } = await act();
      if (!refusedHere.has(request)) expect(status, `${request}: ${text}`).toBeLessThan(300);
    }
    expect(remaining(await dumpOf(t))).toEqual(personal);

    expect((await t.operator.post(`/accounts/acme${base}/erase`, {})).status).toBe(200);
    expect(remaining(await dumpOf(t))).toEqual([]);
    await t.running.stop();
    expect(remaining(bytesOf(t))).toEqual([]);
  });

  test('one that was cut short is ended by the same request again, with the same pseudonym', async () => {
    const t = await startTestApp(await database.url());
    const acme = await t.account('acme', { servers: [] });
    const user = await t.user(acme, name, { proxy: true });
    const { id: account_id } = acme.account;
    const path = `/accounts/acme/users/${name}`;
    const pseudonym = `erased-${user.id}`;
    const of = { account_name: 'acme', user_id: user.id };
    const erased = { ...of, name, pseudonym, addresses: new Set<string>() };
    await t.write((tx) => disableUser(tx, user, revokeSessions));
    await t.write((tx) => pseudonymise(tx, account_id, 0, erased));
    expect(remaining(await dumpOf(t))).toEqual([name]);
    expect((await t.operator.get(path)).status).toBe(200);
    expect((await t.operator.post(`${path}/erase`, {})).body).toEqual({ pseudonym });
    expect(remaining(await dumpOf(t))).toEqual([]);
    await t.stop();
  });

  test('it is of this account alone, and does nothing when another user has the pseudonym', async () => {
    const t = await startTestApp(await database.url());
    const acme = await t.account('acme', { servers: [] });
    await t.user(acme, 'carol', { proxy: true });
    const other = await t.account('other', { servers: [] });
    await t.user(other, 'carol', { proxy: true });
    const { id } = (await t.operator.get('/accounts/acme/users/carol')).body;
    await t.operator.post('/accounts/acme/users', { name: `erased-${id}` });
    const refused = await t.operator.post('/accounts/acme/users/carol/erase', {});
    expect(refused.status).toBe(409);
    expect((await t.operator.get('/accounts/acme/users/carol')).body.active).toBe(true);
    // The other account's person of that name is another one.
    expect((await t.operator.post('/accounts/other/users/carol/erase', {})).status).toBe(200);
    expect((await t.operator.get('/accounts/acme/users/carol')).status).toBe(200);
    await t.stop();
  });
});

test('the command line erases a person on request, and says the pseudonym', async () => {
  const cli = new CommandLine();
  try {
    await cli.serve();
    const create = ['account', 'create', 'acme', '--plan', 'Team', '--expiry', '2030-01-01'];
    expect(await cli.run(...create, '--limit', '1TB')).toMatchObject({ code: 0 });
    expect(await cli.run('user', 'add', 'acme', 'rosalind')).toMatchObject({ code: 0 });
    const unasked = await cli.run('user', 'erase', 'acme', 'rosalind');
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    const erased = await cli.run('user', 'erase', 'acme', 'rosalind', '--yes');
    expect([erased.code, erased.stdout]).toEqual([0, expect.stringMatching(/erased-\d+/)]);
    const list = await cli.run('user', 'list', 'acme');
    expect(list.stdout).toMatch(/\terased-\d+\t/);
    expect(list.stdout).not.toContain('rosalind');
    const again = await cli.run('user', 'erase', 'acme', 'rosalind', '--yes');
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('rosalind')]);
  } finally {
    await cli.clean();
  }
});
