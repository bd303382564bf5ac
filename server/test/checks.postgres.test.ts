// A PostgreSQL server that cannot be relied on is refused, one that can is left as its operator set
// it, another one begins a new history.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { systemClock } from '../src/clock.ts';
import type { Actor, Database } from '../src/db/database.ts';
import { migrate } from '../src/db/migrate.ts';
import { openDatabase } from '../src/db/open.ts';
import { checkServer } from '../src/db/postgres_checks.ts';
import { connectionSettings, newClient } from '../src/db/postgres_connection.ts';
import { databaseUrl, runStatement } from './postgres.ts';

const actor: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };
const administrator = inject('postgresUrl');
const names: string[] = [];
const open: Database[] = [];
let url: string;

async function createDatabase(template: string): Promise<string> {
  const name = `exitward_test_${randomBytes(8).toString('hex')}`;
  await runStatement(administrator, `create database ${name} template ${template}`);
  names.push(name);
  return databaseUrl(administrator, name);
}

const nameOf = (database: string) => new URL(database).pathname.slice(1);
const set = (setting: string) => runStatement(url, `alter database ${nameOf(url)} set ${setting}`);

async function opened(database = url): Promise<Database> {
  const db = await openDatabase(database, { clock: systemClock });
  open.push(db);
  return db;
}

beforeAll(async () => {
  url = await createDatabase(inject('postgresTemplate'));
});
afterAll(async () => {
  for (const db of open) await db.close().catch(() => {});
  for (const name of names) {
    await runStatement(administrator, `drop database if exists ${name} with (force)`);
  }
});

test('a server that takes no writes is refused', async () => {
  await set('default_transaction_read_only = on');
  await expect(opened()).rejects.toThrow(
    'The PostgreSQL server takes no writes (transaction_read_only is on); EXITWARD_DATABASE_URL must lead to the primary.',
  );
  await runStatement(
    administrator,
    `alter database ${nameOf(url)} reset default_transaction_read_only`,
  );
});

test('a server whose advisory lock does not exclude is refused', async () => {
  // As with a system that takes the call and does nothing: its own function stands before
  // PostgreSQL's.
  await runStatement(
    url,
    `create schema no_locks;
     create function no_locks.pg_advisory_xact_lock(bigint) returns void language sql as ''`,
  );
  await set('search_path = no_locks, pg_catalog, public');
  await expect(opened()).rejects.toThrow(
    'The PostgreSQL server gives an advisory lock to two connections at once; EXITWARD_DATABASE_URL must lead to one server, the primary.',
  );
  await set('search_path = public');
  await opened();
});

test('a server whose notifications do not arrive is refused', async () => {
  await runStatement(
    url,
    `create schema no_notify;
     create function no_notify.pg_notify(text, text) returns void language sql as ''`,
  );
  await set('search_path = no_notify, pg_catalog, public');
  const clients = [1, 2].map(() => newClient(connectionSettings(url)));
  const [first, other] = clients as [(typeof clients)[0], (typeof clients)[0]];
  await Promise.all(clients.map((client) => client.connect()));
  await expect(checkServer(first, other, { notify_seconds: 0.2 })).rejects.toThrow(
    /^A notification of the PostgreSQL server did not arrive within 0\.2 s; .*a pooler in session mode\.$/,
  );
  await set('search_path = public');
  await Promise.all(clients.map((client) => client.end()));
});

test('a database that cannot keep every text is refused, and one in which the role has no rights', async () => {
  const random = randomBytes(8).toString('hex');
  const [latin, weak, few] = [`exitward_latin_${random}`, `weak-${random}`, `few_${random}`];
  names.push(latin);
  await runStatement(
    administrator,
    `create database ${latin} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`,
  );
  const name = nameOf(await createDatabase('template0'));
  const open = (role?: string, database = name) => {
    const to = new URL(databaseUrl(administrator, database));
    if (role) [to.username, to.password] = [role, 'secret'];
    return opened(to.href);
  };
  await expect(open(undefined, latin)).rejects.toThrow(
    /^The database exitward_latin_\w+ has the encoding LATIN1; expected UTF8: /,
  );
  await runStatement(administrator, `create role "${weak}" login password 'secret'`);
  await runStatement(
    administrator,
    `create role ${few} login password 'secret' connection limit 3`,
  );
  await expect(open(weak)).rejects.toThrow(
    `make it the owner: alter database "${name}" owner to "${weak}".`,
  );
  await runStatement(administrator, `alter database ${name} owner to "${weak}"`);
  await (await open(weak)).close();
  await runStatement(administrator, `alter database ${name} owner to ${few}`);
  await expect(open(few)).rejects.toThrow(/may hold 3 connections, and a process needs 8: alter/);
  await runStatement(administrator, `drop database ${name} with (force)`);
  for (const role of [weak, few]) await runStatement(administrator, `drop role "${role}"`);
});

test.each(['repeatable read', 'serializable'])(
  'two processes write one after another where an operator sets the isolation to %s',
  async (level) => {
    const shared = await createDatabase(inject('postgresTemplate'));
    await runStatement(
      administrator,
      `alter database ${nameOf(shared)} set default_transaction_isolation = '${level}'`,
    );
    const processes = await Promise.all([opened(shared), opened(shared)]);
    await processes[0].script([
      'create table numbers (number bigint primary key)',
      'insert into numbers values (0)',
    ]);
    const count = (db: Database) =>
      db.write(actor, async (tx) => {
        const sql = 'insert into numbers (number) select max(number) + 1 from numbers';
        await tx.run(sql);
      });
    for (let n = 0; n < 20; n += 1) await Promise.all(processes.map(count));
    expect(await processes[0].one('select max(number) as last from numbers')).toEqual({ last: 40 });
    for (const db of processes) await db.close();
  },
);

test('a write to a database without tables fails, and is not tried again and again', async () => {
  const db = await opened(await createDatabase('template0'));
  const write = db.write(actor, (tx) => tx.one('select 1 as one'));
  await expect(write).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: 'relation "network" does not exist' },
  });
});

test('two connections that share a session are refused, as a pooler of transactions has them', async () => {
  const client = newClient(connectionSettings(url));
  await client.connect();
  await expect(checkServer(client, client)).rejects.toThrow(
    /^EXITWARD_DATABASE_URL leads to a pooler .*PgBouncer: pool_mode = session\)\.$/,
  );
  await client.end();
});

test('a server that is too old is refused, with the oldest version that is not', async () => {
  const client = newClient(connectionSettings(url));
  await client.connect();
  await expect(checkServer(client, client, { min_major: 99 })).rejects.toThrow(
    /^PostgreSQL \d.* is too old; expected 99 or newer\.$/,
  );
  await client.end();
});

test('the commands of docs/postgresql.md create a database that the server takes', async () => {
  const page = readFileSync(new URL('../../docs/postgresql.md', import.meta.url), 'utf8');
  const [, sql = ''] = /```sql\n(.*?)```/s.exec(page) ?? [];
  const [, documented = ''] = /EXITWARD_DATABASE_URL=(\S+)/.exec(page) ?? [];
  // The server has a role of that name.
  const name = `exitward_page_${randomBytes(8).toString('hex')}`;
  const renamed = (text: string) => text.replaceAll(/\bexitward\b/g, name);
  const created = new URL(renamed(documented));
  created.host = new URL(administrator).host;
  for (const statement of renamed(sql).split(';\n').filter(Boolean)) {
    await runStatement(administrator, statement);
  }
  const db = await openDatabase(created.href, { clock: systemClock });
  await migrate(db);
  expect(await db.one('select revision from network')).toBeDefined();
  await db.close();
  await runStatement(administrator, `drop database ${name}`);
  await runStatement(administrator, `drop role ${name}`);
});

test.each([
  ['off', 'on'],
  ['local', 'on'],
  ['on', 'on'],
  ['remote_apply', 'remote_apply'],
])(
  'where an operator sets synchronous_commit to %s, a commit is made with %s',
  async (setting, made) => {
    await set(`synchronous_commit = ${setting}`);
    const db = await opened();
    await db.script([
      'drop table if exists marks, commits',
      'create table marks (at bigint)',
      'create table commits (setting text)',
      `create or replace function tell() returns trigger language plpgsql as
       $$ begin insert into commits values (current_setting('synchronous_commit')); return null; end $$`,
      'create constraint trigger tells after insert on marks deferrable initially deferred for each row execute function tell()',
    ]);
    await db.write(actor, (tx) => tx.run('insert into marks (at) values (1)'));
    expect(await db.all('select setting from commits')).toEqual([{ setting: made }]);
  },
);

test('a database that lives on elsewhere begins a new history once, and the same one goes on with its own', async () => {
  const epochAfterAWrite = async (database: string) => {
    const db = await opened(database);
    await db.write(actor, async () => {});
    const { epoch } = (await db.one<{ epoch: string }>('select epoch from network')) as never;
    await db.close();
    return epoch as string;
  };
  await set('search_path = public');
  const first = await createDatabase(inject('postgresTemplate'));
  const epoch = await epochAfterAWrite(first);
  expect(await epochAfterAWrite(first)).toBe(epoch);
  // As a dump that is restored.
  const second = await createDatabase(nameOf(first));
  const next = await epochAfterAWrite(second);
  expect(next).not.toBe(epoch);
  expect(await epochAfterAWrite(second)).toBe(next);
});
