// A flood of writes: one account fills the queue of writes, and the others' go ahead by turns, what
// is taken away first.
import { beforeAll, expect, test } from 'vitest';
import { createEntry } from '../../server/src/authlist/authlist.ts';
import type { Actor, Transaction } from '../../server/src/db/database.ts';
import { eachApp } from '../../server/test/apps.ts';

const flood = 3000;
/** As many actions as share a commit at most. */
const largestGroup = 512;

const of = (account: string): Actor => ({
  kind: 'account',
  name: `${account}/token`,
  address: '',
  request_id: '',
});

eachApp((t) => {
  beforeAll(async () => {
    await t.running.ctx.db.script(['create table marks (name text primary key, at bigint)']);
  });

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

  test('a revocation by HTTP is such a write, and so is a change by which less than before may be let through', async () => {
    const { db } = t.running.ctx;
    await t.server('fra1');
    const built = await t.account('acme', { servers: ['fra1'] });
    await t.user(built, 'bob', { proxy: true });
    const alice = await t.signIn('acme', 'alice');
    const expiry = t.now() + 1000;
    const [list, dns] = ['/contract/ip-authlist', '/contract/overrides'];
    const entry = { ip: '198.51.100.77', user: 'alice', expiry };
    const custom = { server: 'fra1', hostname: 'a.example', ip: '198.51.100.1', expiry };
    const account = t.as(built);
    const { id } = (await account.post(list, entry)).body;
    const own = (await account.post(dns, custom)).body.id;
    const urgent: boolean[] = [];
    const original = db.write.bind(db);
    db.write = (actor, action, options) => {
      urgent.push(options?.isUrgent === true);
      return original(actor, action, options);
    };
    const { operator } = t;
    const acme = '/accounts/acme';
    const requests: Array<[isUrgent: boolean, send: () => Promise<{ status: number }>]> = [
      [true, () => account.patch(`${list}/${id}`, { ip: '198.51.100.78' })],
      [true, () => account.patch(`${list}/${id}`, { user: 'bob' })],
      [true, () => account.patch(`${list}/${id}`, { expiry: expiry - 500 })],
      [true, () => account.patch(`${dns}/${own}`, { ip: '198.51.100.2' })],
      [true, () => operator.patch(`${acme}/authlist/${id}`, { proven: false })],
      [true, () => account.delete(`${list}/${id}`)],
      [true, () => account.delete(dns)],
      [true, () => alice.patch('/users/bob', { flags: { proxy: false } })],
      [true, () => alice.patch('/users/bob', { active: false })],
      [true, () => alice.post('/users/bob/token_version', undefined)],
      [true, () => alice.delete('/users/bob/sessions')],
      [true, () => operator.patch(acme, { limit_bytes: 5 })],
      [true, () => operator.patch(acme, { expiry })],
      [true, () => operator.put(`${acme}/servers/fra1`, { limit_bytes: 7 })],
      [true, () => operator.delete(`${acme}/servers/fra1`)],
      [true, () => operator.patch(acme, { suspended: true })],
      [false, () => operator.patch(acme, { suspended: false })],
      [false, () => operator.put(`${acme}/servers/fra1`, { limit_bytes: null })],
      [false, () => account.post(list, entry)],
      [false, () => account.post(dns, custom)],
      [false, () => alice.patch('/users/bob', { active: true, flags: { proxy: true } })],
      [false, () => alice.post('/users', { name: 'carol' })],
    ];
    try {
      for (const [isUrgent, send] of requests) {
        urgent.length = 0;
        const { status } = await send();
        expect([String(send), status < 300, urgent]).toEqual([String(send), true, [isUrgent]]);
      }
    } finally {
      db.write = original;
    }
  });
  test('a node hears of revocations, one of each kind and account, before the third group of another account’s flood', async () => {
    const { config, db } = t.running.ctx;
    await t.server('ams1');
    const attacker = await t.account('attacker', { servers: ['ams1'] });
    const node = await t.node('ams1');
    const victims = ['removes', 'raises', 'ends', 'suspends'];
    const built = await Promise.all(victims.map((name) => t.account(name, { servers: ['ams1'] })));
    const expiry = t.now() + 1000;
    const [removes, raises, ends] = await Promise.all([
      t.as(built[0] as never).post('/contract/ip-authlist', {
        ...{ ip: '198.51.100.99', user: 'alice', expiry },
      }),
      t.signIn('raises', 'alice'),
      t.signIn('ends', 'alice'),
    ]);
    await t.user(built[2] as never, 'bob', { proxy: true });
    await node.start();
    // Each has a connection that is open: the time to open one is not counted.
    await Promise.all([
      t.as(built[0] as never).get('/contract'),
      raises.get('/contract'),
      ends.get('/contract'),
      t.operator.get('/accounts/suspends'),
    ]);

    // Through the same queue as requests; so many at once are more than one address has
    // connections.
    const add = (at: number) =>
      db.write(of('attacker'), (tx) =>
        createEntry(
          tx,
          attacker.account.id,
          { ip: `10.9.${at >> 8}.${at & 255}`, user: 'alice', expiry },
          { ...config, addresses: 'any' } as never,
        ),
      );
    const additions = Array.from({ length: flood }, (_, at) => add(at));
    const all = Promise.all(additions);
    const heardOf = (name: string) => {
      const id = built[victims.indexOf(name)]?.account.id;
      return node.events.findIndex(({ records }) => records.some(({ account }) => account === id));
    };
    const hostile = (events: typeof node.events) =>
      events.flatMap(({ records }) =>
        records.filter(({ account }) => account === attacker.account.id),
      );
    // The first of them is under way.
    await additions[0];
    const before = hostile(node.events).length;
    const answers = await Promise.all([
      t.as(built[0] as never).delete(`/contract/ip-authlist/${removes.body.id}`),
      raises.post('/users/alice/token_version', undefined),
      ends.patch('/users/bob', { active: false }),
      t.operator.patch('/accounts/suspends', { suspended: true }),
    ]);
    expect(answers.every(({ status }) => status < 300)).toBe(true);
    await all;
    await node.until(() => hostile(node.events).length >= flood);
    for (const name of victims) {
      expect(heardOf(name)).toBeGreaterThanOrEqual(0);
      const ahead = hostile(node.events.slice(0, heardOf(name))).length;
      expect(ahead - before).toBeLessThanOrEqual(3 * largestGroup);
    }
    node.stop();
  });
});
