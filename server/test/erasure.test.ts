// Erasure of a person: afterwards no byte that is stored names them, and the sums are what they
// were.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { pseudonymise } from '../src/changes/audit.ts';
import { revokeSessions } from '../src/sign_in/sign_in.ts';
import { recordUsage } from '../src/usage/usage.ts';
import { disableUser } from '../src/users/users.ts';
import { CommandLine } from './cli_process.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

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
    const before = await dumpOf(t);
    expect(remaining(before)).toEqual(personal);
    const { id } = (await t.operator.get(`${users}/${name}`)).body;

    const erased = await t.operator.post(`${users}/${name}/erase`, {});
    expect([erased.status, erased.body]).toEqual([200, { pseudonym: `erased-${id}` }]);

    const after = await dumpOf(t);
    expect(remaining(after)).toEqual([]);
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

  test('one that was cut short is ended by the same request again, with the same pseudonym', async () => {
    const t = await startTestApp(await database.url());
    const acme = await t.account('acme', { servers: [] });
    const user = await t.user(acme, name, { proxy: true });
    const { id: account_id } = acme.account;
    const path = `/accounts/acme/users/${name}`;
    const pseudonym = `erased-${user.id}`;
    const erased = { account_name: 'acme', user_id: user.id, name, pseudonym };
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
