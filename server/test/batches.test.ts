// "Remove all" leaves the rows where they are until it is final: beside them, everything is as if
// they were gone.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { createEntry, restoreEntries } from '../src/authlist/authlist.ts';
import { conflictCap } from '../src/authlist/conflicts.ts';
import type { HourlyCap } from '../src/bounds/hourly.ts';
import { countHeld, lastId, nextId } from '../src/changes/changes.ts';
import type { Database, Row } from '../src/db/database.ts';
import { removalsByRange } from '../src/db/migrations/0014_removals_by_range.ts';
import { listsInPages } from '../src/db/migrations/0024_lists_in_pages.ts';
import { listBatches } from '../src/db/migrations/0034_list_batches.ts';
import { batch, jobs } from '../src/jobs.ts';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

const day = 86_400;

eachDatabase((database) => {
  let t: TestApp;
  let db: Database;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_MAX_AUTHLIST_ENTRIES: '3000' });
    db = t.running.ctx.db;
    await t.server('fra1');
  });
  afterAll(() => t.stop());

  let made = 0;
  /** An account with alice signed in; of each list, an entry by its number. */
  async function scene(list: 'authlist' | 'overrides') {
    const account = await t.account(`ranges${++made}`, { servers: ['fra1'] });
    const alice = await t.signIn(account.account.name, 'alice');
    const net = `198.18.${made}`;
    const body = (at: number, lifetime_seconds = 30 * day) =>
      list === 'authlist'
        ? { ip: `${net}.${at}`, user: 'alice', expiry: t.now() + lifetime_seconds }
        : {
            ...{ server: 'fra1', hostname: `h${at}.example`, ip: '192.0.2.1' },
            expiry: t.now() + lifetime_seconds,
          };
    const add = async (...numbers: number[]) => {
      for (const at of numbers)
        expect((await alice.post(`/${list}`, body(at))).status, String(at)).toBe(201);
    };
    const shown = async () => {
      const { body: entries } = await alice.get(`/${list}`);
      const name = (entry: { ip: string; hostname: string }) =>
        list === 'authlist' ? entry.ip.slice(net.length + 1) : entry.hostname.split(/[h.]/)[1];
      const held = await lastId(db, account.account.id, `${list} held`);
      expect(held).toBe(entries.length);
      return entries
        .map(name)
        .map(Number)
        .sort((a: number, b: number) => a - b);
    };
    const clear = async (): Promise<number> => (await alice.delete(`/${list}`)).body.removal_id;
    const undo = async (removal_id: number) =>
      (await alice.post(`/${list}/restore`, { removal_id })).body;
    return { account, alice, body, add, shown, clear, undo, net };
  }
  const physical = async (list: string, { account }: { account: BuiltAccount }) =>
    (await db.all(`select id from ${list} where account_id = $1`, [account.account.id])).length;
  const job = (name: string) =>
    t.write(async (tx) => jobs.find((job) => job.name === name)?.run(tx, batch, t.running.ctx));

  describe.each(['authlist', 'overrides'] as const)('%s', (list) => {
    test('an entry takes the place of a removed one; an undo leaves that one out, and brings it back where the place is free again', async () => {
      const holder = await scene(list);
      await holder.add(1, 2, 3);
      const removal = await holder.clear();
      expect(await holder.shown()).toEqual([]);
      await holder.add(2, 4);
      expect(await holder.undo(removal)).toEqual({ restored: 2, left_out: 1 });
      expect(await holder.shown()).toEqual([1, 2, 3, 4]);

      const again = await holder.clear();
      await holder.add(3);
      await holder.clear();
      expect(await holder.undo(again)).toEqual({ restored: 4, left_out: 0 });
      expect(await holder.shown()).toEqual([1, 2, 3, 4]);
    });

    test('removals between which others were undone each bring back their own entries', async () => {
      const holder = await scene(list);
      await holder.add(1);
      const first = await holder.clear();
      await holder.add(2);
      const second = await holder.clear();
      await holder.add(3);
      expect(await holder.undo(first)).toEqual({ restored: 1, left_out: 0 });
      expect(await holder.shown()).toEqual([1, 3]);
      const third = await holder.clear();
      expect(await holder.shown()).toEqual([]);
      await holder.undo(second);
      expect(await holder.shown()).toEqual([2]);
      await holder.undo(third);
      expect(await holder.shown()).toEqual([1, 2, 3]);
    });

    test('removed entries are found by no id, and their list has another ETag', async () => {
      const holder = await scene(list);
      await holder.add(1, 2);
      const path = list === 'authlist' ? '/contract/ip-authlist' : '/contract/overrides';
      const client = t.as(holder.account);
      const before = await client.get(path);
      const id = before.body[0].id;
      const etag = String(before.headers.get('etag'));
      const removal = await holder.clear();
      expect((await client.get(path, { 'if-none-match': etag })).body).toEqual([]);
      for (const answer of [
        await client.get(`${path}/${id}`),
        await client.patch(`${path}/${id}`, { expiry: t.now() + 5 }),
        await client.delete(`${path}/${id}`),
      ])
        expect(answer.status).toBe(404);
      await holder.undo(removal);
      expect((await client.get(`${path}/${id}`)).status).toBe(200);
      expect((await client.get(path)).body.map((entry: { id: number }) => entry.id)).toEqual([
        id,
        id + 1,
      ]);
    });

    test('twenty removals can be undone; with another the oldest is final, and its entries are purged', async () => {
      const holder = await scene(list);
      const ids: number[] = [];
      for (let at = 0; at < 21; at += 1) {
        await holder.add(at);
        ids.push(await holder.clear());
      }
      const removals = (await holder.alice.get('/removals')).body;
      expect(removals.map(({ removal_id }: { removal_id: number }) => removal_id)).toEqual(
        ids.slice(1).reverse(),
      );
      expect((await holder.undo(ids[0] as number)).code).toBe('removal_gone');
      await t.pass(0);
      expect(await physical(list, holder)).toBe(20);
      await holder.undo(ids[1] as number);
      expect(await holder.shown()).toEqual([1]);
    });

    deepTest('removals and undos by turns leave a bounded number of batches', async () => {
      const holder = await scene(list);
      let [former, last] = [0, 0];
      for (let round = 0; round < 120; round += 1) {
        await holder.add(round);
        const removal = await holder.clear();
        if (former > 0) await holder.undo(former);
        [former, last] = [last, removal];
      }
      const batches = await db.all('select 1 from list_batches where account_id = $1', [
        holder.account.account.id,
      ]);
      expect(batches.length).toBeLessThanOrEqual(102);
      await holder.clear();
      expect(await holder.shown()).toEqual([]);
    });

    test('a list that is removed and restored again and again is one batch', async () => {
      const holder = await scene(list);
      for (let at = 0; at < 5; at += 1) {
        await holder.add(at);
        const removal = await holder.clear();
        await holder.add(100 + at);
        await holder.undo(removal);
      }
      expect(await holder.shown()).toEqual([0, 1, 2, 3, 4, 100, 101, 102, 103, 104]);
      await holder.undo(await holder.clear());
      const batches = 'select up_to from list_batches where account_id = $1';
      expect(await db.all(batches, [holder.account.account.id])).toEqual([{ up_to: 10 }]);
    });

    test('a removal without an entry that holds takes all off for good', async () => {
      const holder = await scene(list);
      await holder.alice.post(`/${list}`, holder.body(1, 10));
      t.clock.advance(10);
      expect(await holder.clear()).toBeNull();
      expect(await holder.shown()).toEqual([]);
      await t.pass(0);
      expect(await physical(list, holder)).toBe(0);
    });

    test('a node that starts again gets only what is on the list', async () => {
      const holder = await scene(list);
      await holder.add(1, 2);
      const removal = await holder.clear();
      await holder.add(3);
      const kind = list === 'authlist' ? 'authlist' : 'override';
      const kinds = async () => {
        const node = await t.node('fra1', `n${made}-${Math.random()}`);
        return (await node.snapshot())
          .filter((record) => record.kind === kind && record.account === holder.account.account.id)
          .map(({ id }) => id);
      };
      expect(await kinds()).toEqual([3]);
      await holder.undo(removal);
      expect(await kinds()).toEqual([1, 2, 3]);
    });
  });

  test("another account takes a removed entry's address as a free one; an undo reports the conflict", async () => {
    const [first, other] = [await scene('authlist'), await scene('authlist')];
    await first.add(1, 2);
    const removal = await first.clear();
    const claim = await other.alice.post('/authlist', { ...first.body(1) });
    expect(claim.status).toBe(201);
    expect(await first.undo(removal)).toEqual({ restored: 1, left_out: 1 });
    expect(await first.shown()).toEqual([2]);
    const again = await first.alice.post('/authlist', first.body(1));
    expect([again.status, again.body.code]).toEqual([409, 'address_taken']);
  });

  test('of many entries whose addresses were claimed since 200 are kept; the claims on further ones count as reported', async () => {
    const [first, other] = [await scene('authlist'), await scene('authlist')];
    const net = `100.${64 + made}.0`;
    const { id: account_id, port_scheme_id } = first.account.account;
    const addresses = Array.from({ length: 203 }, (_, at) => `${net}.${at}`);
    await t.write(async (tx) => {
      const place = { account_id, port_scheme_id, user_id: 1, expiry: tx.now + day };
      const rows = addresses.map((ip, at) => ({ ...place, ip, id: at + 1 }));
      await tx.insertMany('authlist', rows);
      await countHeld(tx, account_id, 'authlist', rows.length);
    });
    const removal_id = await first.clear();
    await t.write(async (tx) => {
      for (const ip of addresses) {
        const entry = { ip, user: 'alice', expiry: tx.now + day };
        await createEntry(tx, other.account.account.id, entry, t.running.ctx.config);
      }
    });
    await other.clear();
    const undo = (conflicts: HourlyCap) =>
      t.write((tx) =>
        restoreEntries(tx, first.account.account, removal_id, {
          ...t.running.ctx.config,
          conflicts,
        }),
      );
    const used = conflictCap(1);
    await t.write(async (tx) => used.count(tx, account_id));
    await expect(undo(used)).rejects.toThrow(/too many addresses/);
    // More than an hour's: they do not keep the others from coming back, in this hour or any.
    const fresh = conflictCap(2);
    expect(await undo(fresh)).toEqual({ restored: 200, left_out: 3 });
    const again = t.write(async (tx) => fresh.rejectTooMany(tx, account_id));
    await expect(again).rejects.toThrow(/too many addresses/);
  });

  test('entries on either side of removed ones show the nodes that they wait for', async () => {
    const holder = await scene('overrides');
    const nodes = async (name: string, at: number) => {
      await t.server(name);
      const of = `/accounts/${holder.account.account.name}/servers/${name}`;
      expect((await t.operator.put(of, {})).status).toBeLessThan(300);
      await t.node(name, `of-${name}`);
      const entry = { ...holder.body(at), server: name };
      expect((await holder.alice.post('/overrides', entry)).status).toBe(201);
    };
    await nodes('ams1', 1);
    const first = await holder.clear();
    await nodes('par1', 2);
    await holder.clear();
    await holder.undo(first);
    await nodes('lon1', 3);
    const { body } = await holder.alice.get('/overrides');
    const waitFor = ({ nodes: waiting }: { nodes: Array<{ name: string }> }) =>
      waiting.map((node) => node.name);
    expect(body.map(waitFor)).toEqual([['of-ams1'], ['of-lon1']]);
  });

  test('an entry that has expired gives way in a full list, whatever is removed around it', async () => {
    const holder = await scene('authlist');
    const { id: account_id } = holder.account.account;
    const config = { ...t.running.ctx.config, max_authlist_entries: 2 };
    const create = (at: number) =>
      t.write((tx) => createEntry(tx, account_id, holder.body(at) as never, config));
    await holder.alice.post('/authlist', holder.body(1, 10));
    await holder.add(2);
    const first = await holder.clear();
    await holder.add(3);
    await holder.clear();
    await holder.undo(first);
    await expect(create(4)).rejects.toThrow(/The list holds 2 entries/);
    t.clock.advance(10);
    await create(4);
    expect(await holder.shown()).toEqual([2, 4]);
  });

  test('an operator finds no claim of a removed entry', async () => {
    const holder = await scene('authlist');
    await holder.add(1);
    await holder.clear();
    expect((await t.operator.get(`/addresses?ip=${holder.net}.1`)).body.authlist).toEqual([]);
  });

  test('an entry that expires while it is removed reaches no node, and is left out', async () => {
    for (const list of ['authlist', 'overrides'] as const) {
      const holder = await scene(list);
      await holder.add(1);
      await holder.alice.post(`/${list}`, holder.body(2, 10));
      const removal = await holder.clear();
      const revision = () => db.one('select revision from network');
      const before = await revision();
      await t.pass(10);
      expect(await revision()).toEqual(before);
      expect(await holder.undo(removal)).toEqual({ restored: 1, left_out: 1 });
      expect(await holder.shown()).toEqual([1]);
    }
  });

  test('the removed entries of an account that has another port scheme by now come back on that one', async () => {
    const holder = await scene('authlist');
    await holder.add(1, 2);
    const removal = await holder.clear();
    const name = `scheme${made}`;
    const bases = [{ base: 30_000, service: 'proxy' }];
    expect((await t.operator.post('/port_schemes', { name, bases })).status).toBe(201);
    await t.operator.patch('/servers/fra1', { port_schemes: ['default', name] });
    const of = `/accounts/${holder.account.account.name}`;
    expect((await t.operator.patch(of, { port_scheme: name })).status).toBe(200);
    expect(await holder.undo(removal)).toEqual({ restored: 2, left_out: 0 });
    expect(await holder.shown()).toEqual([1, 2]);
    expect((await t.operator.get(`/addresses?ip=${holder.net}.1`)).body.authlist).toMatchObject([
      { port_scheme: name },
    ]);
  });

  test('after seven days removed entries are purged a batch at a time; a purge that was cut short goes on', async () => {
    const holder = await scene('authlist');
    const { id: account_id, port_scheme_id } = holder.account.account;
    await t.write(async (tx) => {
      const rows: Row[] = [];
      for (let at = 0; at < 1200; at += 1) {
        const id = await nextId(tx, account_id, 'authlist');
        const ip = `100.${64 + made}.${at >> 8}.${at & 255}`;
        rows.push({ account_id, id, port_scheme_id, ip, user_id: 1, expiry: tx.now + 30 * day });
      }
      await tx.insertMany('authlist', rows);
      await countHeld(tx, account_id, 'authlist', rows.length);
    });
    await holder.clear();
    await holder.add(1);
    expect(await physical('authlist', holder)).toBe(1201);
    await job('purge removed entries');
    expect(await physical('authlist', holder)).toBe(1201);
    t.clock.advance(7 * day);
    await job('end removals');
    await job('purge removed entries');
    const remaining = await physical('authlist', holder);
    expect([remaining >= 701, remaining < 1201]).toEqual([true, true]);
    const listed = async () =>
      (await t.as(holder.account).get('/contract/ip-authlist')).body.length;
    expect(await listed()).toBe(1);
    await t.pass(0);
    expect(await physical('authlist', holder)).toBe(1);
    expect(await listed()).toBe(1);
    const batches = 'select * from list_batches where account_id = $1';
    expect(await db.all(batches, [account_id])).toEqual([]);
  });

  test('removals of an older program can still be undone, beside newer ones', async () => {
    const holder = await scene('authlist');
    const { id: account_id } = holder.account.account;
    await holder.add(1, 2);
    const [first, second] = await db.all('select * from authlist where account_id = $1', [
      account_id,
    ]);
    // As the program before the fourteenth migration kept them, in a database that is brought up to
    // date.
    await holder.clear();
    await t.write(async (tx) => {
      await tx.run('delete from authlist where account_id = $1', [account_id]);
      const at = tx.now;
      const removal = { account_id, removal_id: 7, list: 'authlist', at };
      const expiry = at + day;
      const entry = JSON.stringify([first, second].map((row) => ({ ...row, expiry })));
      await tx.insertMany('removed_entries', [{ ...removal, id: 1, entry, entries: 2 }]);
    });
    for (const table of ['removals', 'list_batches']) await db.script([`drop table ${table}`]);
    await db.script(removalsByRange(db.engine));
    // The column that the twenty-fourth added.
    await db.script(listsInPages(db.engine).slice(0, 1));
    await db.script(listBatches(db.engine));
    expect((await holder.alice.get('/removals')).body).toMatchObject([
      { removal_id: 7, entries: 2 },
    ]);
    await holder.add(3);
    const later = await holder.clear();
    expect(await holder.undo(7)).toEqual({ restored: 2, left_out: 0 });
    expect(await holder.shown()).toEqual([1, 2]);
    await holder.undo(later);
    expect(await holder.shown()).toEqual([1, 2, 3]);
  });

  test.each(['authlist', 'overrides'] as const)(
    'removals of a program that kept ranges of ids can still be undone: %s',
    async (list) => {
      const holder = await scene(list);
      const { id: account_id } = holder.account.account;
      await holder.add(1, 2, 3, 4, 5, 6, 7, 8);
      const ids = (await holder.alice.get(`/${list}`)).body.map(({ id }: { id: number }) => id);
      expect(ids).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      await t.write(async (tx) => {
        const counts = { entries: 2, kept: 0, lost: 0, at: tx.now, chosen: 0 };
        const removals = [101, 102].map((removal_id) => ({ account_id, removal_id, list }));
        await tx.insertMany(
          'removals',
          removals.map((removal) => ({ ...removal, ...counts })),
        );
        await countHeld(tx, account_id, list, -5);
      });
      const range = (after_id: number, up_to: number, removal_id: number, restored = 'null') =>
        `insert into removed_ranges (account_id, list, after_id, up_to, removal_id, restored_revision)
         values (${account_id}, '${list}', ${after_id}, ${up_to}, ${removal_id}, ${restored})`;
      await db.script([
        'drop table list_batches',
        ...removalsByRange(db.engine).filter((statement) => /removed_ranges[ (]/.test(statement)),
        // Removed; restored; a gap; final; of another removal; a gap; of that removal again.
        ...[range(0, 2, 101), range(2, 3, 0, '1'), range(4, 5, 0)],
        ...[range(5, 6, 102), range(7, 8, 102)],
      ]);
      await db.script(listBatches(db.engine));
      expect(await holder.shown()).toEqual([3, 4, 7]);
      await holder.add(9);
      expect(await holder.undo(102)).toEqual({ restored: 2, left_out: 0 });
      expect(await holder.shown()).toEqual([3, 4, 6, 7, 8, 9]);
      expect(await physical(list, holder)).toBe(9);
      await t.pass(0);
      expect(await physical(list, holder)).toBe(8);
      const all = await holder.clear();
      expect(await holder.undo(101)).toEqual({ restored: 2, left_out: 0 });
      expect(await holder.shown()).toEqual([1, 2]);
      await holder.undo(all);
      expect(await holder.shown()).toEqual([1, 2, 3, 4, 6, 7, 8, 9]);
    },
  );
});
