// A flood of writes: one account fills the queue of writes, and the others' go ahead by turns, what is taken away first.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Actor, Transaction } from '../../server/src/db/database.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';

const flood = 3000;
/** As many actions as share a commit at most. */
const largestGroup = 512;

const of = (account: string): Actor => ({
  kind: 'account',
  name: `${account}/token`,
  address: '',
  request_id: '',
});

eachDatabase((database) => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url());
    await t.running.ctx.db.script(['create table marks (name text primary key, at bigint)']);
  });
  afterAll(() => t.stop());

  const mark = (name: string) => (tx: Transaction) =>
    tx.run('insert into marks (name, at) values ($1, $2)', [name, tx.now]);

  test('a write waits for one group of another account at most, and its own keep their order', async () => {
    const { db } = t.running.ctx;
    const done: string[] = [];
    const write = (account: string, name: string) =>
      db.write(of(account), mark(name)).then(() => done.push(name));
    const all = Array.from({ length: flood }, (_, at) => write('attacker', `a${at}`));
    const first = all[0];
    all.push(...['v0', 'v1', 'v2'].map((name) => write('victim', name)));
    await first;
    // One that comes while a group is under way is in the next.
    all.push(write('latecomer', 'late'));
    await Promise.all(all);
    for (const name of ['v0', 'v1', 'v2']) {
      expect(done.indexOf(name)).toBeLessThanOrEqual(largestGroup);
    }
    expect(done.indexOf('late')).toBeLessThanOrEqual(2 * largestGroup);
    const own = (letter: string) => done.filter((name) => name.startsWith(letter));
    expect(own('v')).toEqual(['v0', 'v1', 'v2']);
    expect(own('a')).toEqual(Array.from({ length: flood }, (_, at) => `a${at}`));
  });

  test('what takes something away goes ahead of the additions of all other accounts', async () => {
    const { db } = t.running.ctx;
    const ran: string[] = [];
    const write = (account: string, isUrgent = false) =>
      db.write(of(account), async () => void ran.push(account), { isUrgent });
    const accounts = Array.from({ length: 40 }, (_, at) => `adds${at}`);
    await Promise.all([...accounts.map((name) => write(name)), write('revokes', true)]);
    expect(ran).toEqual(['revokes', ...accounts]);
  });

  test('a revocation by HTTP is such a write: removal, user inactive, flag removed, token_version, suspension', async () => {
    const { db } = t.running.ctx;
    await t.server('fra1');
    const built = await t.account('acme', { servers: ['fra1'] });
    await t.user(built, 'bob', { proxy: true });
    const alice = await t.signIn('acme', 'alice');
    const expiry = t.now() + 1000;
    const list = '/contract/ip-authlist';
    const entry = { ip: '198.51.100.77', user: 'alice', expiry };
    const { id } = (await t.as(built).post(list, entry)).body;
    const urgent: unknown[] = [];
    const original = db.write.bind(db);
    db.write = (actor, action, options) => {
      urgent.push(options?.isUrgent === true);
      return original(actor, action, options);
    };
    try {
      await t.as(built).delete(`${list}/${id}`);
      await alice.patch('/users/bob', { flags: { proxy: false } });
      await alice.patch('/users/bob', { active: false });
      await alice.post('/users/bob/token_version', undefined);
      await t.operator.patch('/accounts/acme', { suspended: true });
      expect(urgent).toEqual([true, true, true, true, true]);
      await t.operator.patch('/accounts/acme', { suspended: false });
      await t.as(built).post(list, entry);
      await alice.patch('/users/bob', { active: true });
      expect(urgent.slice(5)).toEqual([false, false, false]);
    } finally {
      db.write = original;
    }
  });
});
