// Group commit: actions that arrive together share one commit, and yet each stands or falls alone.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { changeAccount, requireAccount } from '../src/accounts/accounts.ts';
import { createEntry } from '../src/authlist/authlist.ts';
import { bumpVersion } from '../src/changes/changes.ts';
import type { Actor, Transaction } from '../src/db/database.ts';
import { inserter } from '../src/db/rows.ts';
import { ApiError, conflict } from '../src/errors.ts';
import { changeUser, createUser, requireUserNamed } from '../src/users/users.ts';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

const actor: Actor = { kind: 'system', name: 'test', address: '', request_id: '' };
const list = '/contract/ip-authlist';

eachDatabase((database) => {
  let t: TestApp;
  let acme: BuiltAccount;

  beforeAll(async () => {
    t = await startTestApp(await database.url(), { EXITWARD_MAX_AUTHLIST_ENTRIES: '10' });
    // A row that was refused lately has others inserted at once, by this clock.
    t.clock.steady = () => t.clock.seconds;
    await t.server('fra1');
    acme = await t.account('acme', { servers: ['fra1'] });
    await t.running.ctx.db.script(['create table marks (name text primary key, at bigint)']);
  });
  afterAll(() => t.stop());

  const mark = (tx: Transaction, name: string) =>
    tx.run('insert into marks (name, at) values ($1, $2)', [name, tx.now]);
  const marks = async () =>
    (await t.running.ctx.db.all<{ name: string }>('select name from marks order by name')).map(
      ({ name }) => name,
    );
  const clear = () => t.write((tx) => tx.run('delete from marks'));
  /** Starts all actions in one turn of the event loop: they make one group. */
  const together = (...actions: Array<(tx: Transaction) => Promise<unknown>>) =>
    Promise.allSettled(actions.map((action) => t.running.ctx.db.write(actor, action)));
  const statusesOf = (settled: PromiseSettledResult<unknown>[]) =>
    settled.map(({ status }) => status);

  describe('in one group', () => {
    it('the actions share one transaction, in the order in which they came', async () => {
      await clear();
      const groups = new Set<unknown>();
      const order: number[] = [];
      const settled = await together(
        ...Array.from({ length: 20 }, (_, at) => async (tx: Transaction) => {
          groups.add(tx.group);
          order.push(at);
          expect(await tx.all('select name from marks')).toHaveLength(at);
          await mark(tx, `m${String(at).padStart(2, '0')}`);
          return at;
        }),
      );
      expect(groups.size).toBe(1);
      expect(order).toEqual(Array.from({ length: 20 }, (_, at) => at));
      expect(settled.map((outcome) => (outcome as PromiseFulfilledResult<number>).value)).toEqual(
        order,
      );
      expect(await marks()).toHaveLength(20);
    });

    it('a refusal before anything was written leaves the group as it is', async () => {
      await clear();
      const runs: string[] = [];
      const settled = await together(
        async (tx) => {
          runs.push('one');
          await mark(tx, 'one');
        },
        async () => {
          throw conflict('no');
        },
        (tx) => mark(tx, 'three'),
      );
      expect(statusesOf(settled)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(runs).toEqual(['one']);
      expect(await marks()).toEqual(['one', 'three']);
    });

    it('a statement that changed no row has left nothing to undo: the group runs once', async () => {
      await clear();
      const runs: string[] = [];
      const settled = await together(
        async (tx) => {
          runs.push('one');
          await mark(tx, 'one');
        },
        async (tx) => {
          await tx.run("delete from marks where name = 'nothing'");
          const again = "insert into marks (name, at) values ('one', 1) on conflict do nothing";
          if ((await tx.run(again)) === 0) throw conflict('taken');
        },
      );
      expect(statusesOf(settled)).toEqual(['fulfilled', 'rejected']);
      expect(runs).toEqual(['one']);
      expect(await marks()).toEqual(['one']);
    });

    it('a refusal after writing undoes that action alone; the others stay', async () => {
      await clear();
      const settled = await together(
        (tx) => mark(tx, 'one'),
        async (tx) => {
          await mark(tx, 'two');
          await bumpVersion(tx, 12_345);
          throw conflict('changed my mind');
        },
        async (tx) => {
          expect(await tx.one("select 1 as yes from marks where name = 'two'")).toBe(undefined);
          await mark(tx, 'three');
        },
      );
      expect(statusesOf(settled)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((settled[1] as PromiseRejectedResult).reason).toMatchObject({
        status: 409,
        message: 'changed my mind',
      });
      expect(await marks()).toEqual(['one', 'three']);
      expect(
        await t.running.ctx.db.one('select revision from versions where account_id = 12345'),
      ).toBe(undefined);
    });

    it('an error that nobody foresaw undoes that action alone, whether it had written or not', async () => {
      await clear();
      const settled = await together(
        (tx) => mark(tx, 'one'),
        async () => {
          throw new TypeError('bug');
        },
        async (tx) => {
          await mark(tx, 'three');
          throw new TypeError('bug');
        },
        (tx) => mark(tx, 'one'),
        (tx) => tx.run('insert into marks (no_such_column) values (1)'),
        (tx) => mark(tx, 'six'),
      );
      expect(statusesOf(settled)).toEqual([
        'fulfilled',
        'rejected',
        'rejected',
        'rejected',
        'rejected',
        'fulfilled',
      ]);
      for (const outcome of settled)
        if (outcome.status === 'rejected') expect(outcome.reason).not.toBeInstanceOf(ApiError);
      expect(await marks()).toEqual(['one', 'six']);
    });

    it('many failures among many: exactly the others are there', async () => {
      await clear();
      const settled = await together(
        ...Array.from({ length: 60 }, (_, at) => async (tx: Transaction) => {
          await mark(tx, `m${String(at).padStart(2, '0')}`);
          if (at % 3 === 0) throw conflict('third');
          if (at % 7 === 0) throw new Error('seventh');
        }),
      );
      const stays = (at: number) => at % 3 !== 0 && at % 7 !== 0;
      expect(statusesOf(settled)).toEqual(
        Array.from({ length: 60 }, (_, at) => (stays(at) ? 'fulfilled' : 'rejected')),
      );
      expect(await marks()).toEqual(
        Array.from({ length: 60 }, (_, at) => `m${String(at).padStart(2, '0')}`).filter((_, at) =>
          stays(at),
        ),
      );
    });

    it('nothing is answered before it is durable: another connection sees it', async () => {
      await clear();
      await together(
        ...Array.from({ length: 5 }, (_, at) => (tx: Transaction) => mark(tx, `m${at}`)),
      );
      const seen = await t.running.ctx.db.snapshot((reader) =>
        reader.all('select name from marks'),
      );
      expect(seen).toHaveLength(5);
    });
  });

  describe('rows that the actions of one group insert', () => {
    const insertMark = inserter<{ name: string; at: number }>('marks', ['name', 'at']);
    const insertNowhere = inserter<{ no_such_column: number }>('marks', ['no_such_column']);
    const add = (name: string) => async (tx: Transaction) => {
      if (!(await insertMark(tx, { name, at: tx.now }))) throw conflict('taken');
    };
    // On SQLite, where a statement is no round trip, each is inserted at once.
    const statement = database.name === 'PostgreSQL' ? 'cmin::text' : '1';

    it('are inserted by one statement where it is a round trip, before anything that may read them', async () => {
      await clear();
      t.clock.advance(2);
      const seen: unknown[] = [];
      const settled = await together(
        ...['one', 'two', 'three'].map(add),
        async (tx) => seen.push(...(await tx.all('select name from marks'))),
        async (tx) => seen.push(await tx.run("update marks set at = at + 0 where name = 'none'")),
      );
      expect(statusesOf(settled)).toEqual(Array(5).fill('fulfilled'));
      expect(seen).toHaveLength(4);
      const [made] = await t.running.ctx.db.all(
        `select count(*) as made, count(distinct ${statement}) as statements from marks`,
      );
      expect(made).toEqual({ made: 3, statements: 1 });
    });

    it('give each action the truth about its own, whichever of them is refused', async () => {
      await clear();
      t.clock.advance(2);
      const runs: string[] = [];
      const seen: number[] = [];
      const noted = (name: string) => (tx: Transaction) => {
        runs.push(name);
        return add(name)(tx);
      };
      const settled = await together(
        noted('one'),
        noted('two'),
        noted('one'),
        async (tx) => seen.push((await tx.all('select name from marks')).length),
        (tx) => tx.run("delete from marks where name = 'two'"),
        noted('two'),
        noted('three'),
      );
      expect(statusesOf(settled).map((status) => status === 'fulfilled')).toEqual([
        ...[true, true, false, true, true, true, true],
      ]);
      expect((settled[2] as PromiseRejectedResult).reason).toMatchObject({ status: 409 });
      expect(seen.at(-1)).toBe(2);
      expect(await marks()).toEqual(['one', 'three', 'two']);
      expect(runs.filter((name) => name === 'three').length).toBeLessThanOrEqual(2);
    });

    it('are answered each, also where their second run ends early', async () => {
      await clear();
      t.clock.advance(2);
      const settled = await together(
        ...['one', 'one'].map(add),
        // Fails after it has written.
        async (tx) => {
          await add('two')(tx);
          await add('two')(tx);
        },
        ...['three', 'four'].map(add),
      );
      expect(statusesOf(settled)).toEqual([
        ...['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
      ]);
      expect(await marks()).toEqual(['four', 'one', 'three']);
    });

    it('fail alone when the database cannot take them', async () => {
      await clear();
      t.clock.advance(2);
      const settled = await together(
        add('one'),
        (tx) => insertNowhere(tx, { no_such_column: 1 }),
        async (tx) => {
          // An action that goes on after an error takes the others with it to another try.
          await tx.all('select name from marks').catch(() => {});
        },
        add('four'),
      );
      expect(statusesOf(settled)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
      expect(await marks()).toEqual(['four', 'one']);
    });
  });

  it('each action sees what those before it in its group changed of the account and its users', async () => {
    const { account } = await t.account('seen');
    const rules = { addresses: 'any', max_authlist_entries: 100 } as const;
    let ip = 0;
    const create = (user: string) => (tx: Transaction) =>
      createEntry(tx, account.id, { ip: `198.18.20.${++ip}`, user, expiry: t.now() + 1000 }, rules);
    const suspend = (suspended: boolean) => async (tx: Transaction) =>
      changeAccount(tx, await requireAccount(tx, account.id), { suspended });
    const disable = async (tx: Transaction) =>
      changeUser(tx, await requireUserNamed(tx, account.id, 'berta'), { active: false });
    const settled = await together(
      create('alice'),
      suspend(true),
      create('alice'),
      suspend(false),
      create('alice'),
      create('berta'),
      (tx) => createUser(tx, account, { name: 'berta', flags: { proxy: true } }),
      create('berta'),
      disable,
      create('berta'),
    );
    const outcomes = settled.map((outcome) =>
      outcome.status === 'rejected'
        ? outcome.reason.code
        : (outcome.value as { active?: number }).active,
    );
    expect(outcomes).toEqual([
      ...[1, undefined, 'contract_suspended', undefined, 1],
      ...['unknown_user', 1, 1, 0, 0],
    ]);
  });

  it('a create on a full list leaves 64 creates of another account in their one group', async () => {
    const [busy, full, idle] = await Promise.all(
      ['busy', 'brimful', 'idle'].map((name) => t.account(name)),
    );
    const ids = [busy, full, idle].map((scene) => scene?.account.id as number) as [
      number,
      number,
      number,
    ];
    const entry = (ip: string, seconds: number) => ({
      ip,
      user: 'alice',
      expiry: t.now() + seconds,
    });
    const rules = { addresses: 'any', max_authlist_entries: 100 } as const;
    await t.write((tx) => createEntry(tx, ids[1], entry('198.18.9.1', 1000), rules));
    await t.write((tx) => createEntry(tx, ids[2], entry('198.18.9.2', 5), rules));
    // The entry of the idle account has expired and is not swept: that is not for customers to do.
    t.clock.advance(5);
    const groups = new Set<unknown>();
    const runs: number[] = [];
    const creates = Array.from({ length: 64 }, (_, at) => (tx: Transaction) => {
      groups.add(tx.group);
      runs.push(at);
      return createEntry(tx, ids[0], entry(`198.18.10.${at + 1}`, 1000), rules);
    });
    const settled = await together(
      ...creates.slice(0, 40),
      (tx) =>
        createEntry(tx, ids[1], entry('198.18.11.1', 1000), { ...rules, max_authlist_entries: 1 }),
      ...creates.slice(40),
    );
    expect(settled.filter(({ status }) => status === 'rejected')).toEqual([settled[40]]);
    expect((settled[40] as PromiseRejectedResult).reason).toMatchObject({
      status: 409,
      message: expect.stringContaining('as many as'),
    });
    expect([groups.size, runs.length]).toEqual([1, 64]);
  });

  describe('over HTTP', () => {
    const entry = (ip: string) => ({ ip, user: 'alice', expiry: t.now() + 1000 });

    it('concurrent creates of one address by several accounts give exactly one 201', async () => {
      const accounts = await Promise.all(['b', 'c', 'd'].map((name) => t.account(name)));
      for (let round = 1; round <= 8; round++) {
        const clients = accounts.flatMap((account) => [t.as(account), t.as(account)]);
        const answers = await Promise.all(
          clients.map((client) => client.post(list, entry(`192.0.2.${round}`))),
        );
        expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
      }
      const lists = await Promise.all(accounts.map((account) => t.as(account).get(list)));
      expect(lists.flatMap(({ body }) => body).length).toBe(8);
    });

    it('a cap holds under concurrency, and what was refused after it had written left nothing', async () => {
      const full = await t.account('full');
      const answers = await Promise.all(
        Array.from({ length: 25 }, (_, at) => t.as(full).post(list, entry(`198.18.0.${at + 1}`))),
      );
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(15);
      const entries = (await t.as(full).get(list)).body;
      expect(entries).toHaveLength(10);
      expect(new Set(entries.map(({ id }: { id: number }) => id)).size).toBe(10);
      const refused = answers.flatMap(({ status }, at) =>
        status === 409 ? [`198.18.0.${at + 1}`] : [],
      );
      const other = await t.account('heir');
      expect((await t.as(other).post(list, entry(refused[0] as string))).status).toBe(201);
    });

    it('good and refused requests at the same time: each gets its own answer', async () => {
      const mixed = await t.account('mixed', { servers: ['fra1'] });
      const client = t.as(mixed);
      const answers = await Promise.all([
        client.post(list, entry('198.18.1.1')),
        client.post(list, { ...entry('198.18.1.2'), user: 'nobody' }),
        client.post(list, entry('198.18.1.1')),
        client.post('/users/token', { user: 'alice' }),
        client.post('/users/token', { user: 'nobody' }),
        client.delete(`${list}/999`),
        client.post('/contract/overrides', {
          server: 'nowhere',
          hostname: 'a.example',
          ip: '192.0.2.1',
          expiry: t.now() + 9,
        }),
        client.post('/contract/overrides', {
          server: 'fra1',
          hostname: 'a.example',
          ip: '192.0.2.1',
          expiry: t.now() + 9,
        }),
      ]);
      const statuses = answers.map(({ status }) => status);
      expect([statuses[0], statuses[2]].sort()).toEqual([201, 409]);
      expect(statuses.filter((_, at) => at !== 0 && at !== 2)).toEqual([
        409, 200, 409, 404, 409, 201,
      ]);
      expect((await client.get(list)).body).toHaveLength(1);
      expect((await client.get('/contract/overrides')).body).toHaveLength(1);
    });

    it.each([
      ['in an action gives 500', 'users', 500, /logged/],
      ['while a group is written down gives 503: the outcome is unknown', 'audit', 503, /unknown/],
    ] as const)(
      'an error that nobody foresaw %s; nothing stays, and the next request works',
      async (_, table, status, says) => {
        const { db } = t.running.ctx;
        const client = t.as(acme);
        const before = (await client.get(list)).text;
        const [first, other] = [entry(`198.18.${status % 256}.1`), entry('198.18.2.2')];
        await db.script([`alter table ${table} rename to ${table}_away`]);
        const answers = await Promise.all([client.post(list, first), client.post(list, other)]);
        await db.script([`alter table ${table}_away rename to ${table}`]);
        for (const answer of answers) {
          expect([answer.status, answer.body]).toEqual([
            status,
            { message: expect.stringMatching(says) },
          ]);
          expect(answer.text).not.toMatch(/users|audit|sql|relation/i);
        }
        expect((await client.get(list)).text).toBe(before);
        expect((await client.post(list, first)).status).toBe(201);
      },
    );
  });
});
