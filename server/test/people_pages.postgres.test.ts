// Users and accounts in pages: sorted, filtered, by keyset; each that stays as it is is seen once,
// in order, whatever changes meanwhile.

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { periodAt } from '../src/values/periods.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { assertForChoices, ordersBy } from './choices.ts';
import { readPages } from './client.ts';
import { type Answer, type Browser, passwordOf } from './harness.ts';

// biome-ignore lint/suspicious/noExplicitAny: a record of the API
type Row = any;
type Key = (row: Row) => string | number;
interface List {
  path: string;
  sorts: Record<string, Key>;
  states: Record<string, (row: Row) => boolean>;
  /** The texts that a search looks at. */
  texts: (row: Row) => string[];
  searches: string[];
  /** Its other filters, and which rows each finds. */
  filters: () => Record<string, unknown[]>;
  isOf: Record<string, (row: Row, wanted: never) => boolean>;
  idOf: (row: Row) => string;
}

const day = 86_400;
const many = 700;
// As patterns of SQL, `größe_` and `100%` would find the second.
const plans = ['Größe_100%', 'Größe-1000'];
const order = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);

eachApp((t) => {
  let acme: BuiltAccount;
  let alice: Browser;
  beforeAll(async () => {
    acme = await t.account('acme');
    const { account } = acme;
    alice = await t.signIn('acme', 'alice');
    const now = t.now();
    const ids = Array.from({ length: many }, (_, at) => at + 2);
    await t.write(async (tx) => {
      await tx.insertMany(
        'users',
        ids.map((id) => ({
          ...{ account_id: account.id, id, name: `user${(id * 7919) % 1009}`, token_version: 1 },
          // As a pattern of SQL, `jürgen_` would find the second.
          display_name: [`Jürgen_${id}%`, `JürGEN-${id}`][id % 50] ?? `user${id}`,
          ...{ active: id % 7 === 0 ? 0 : 1, proxy: id % 2, billing: id % 3 === 0 ? 1 : 0 },
          admin: id % 5 === 0 ? 1 : 0,
        })),
      );
      await tx.insertMany(
        'sign_ins',
        ids
          .filter((id) => id % 3 === 0)
          .map((id) => ({
            ...{ account_id: account.id, user_id: id, last_sign_in_at: now - (id % 40) * 60 },
          })),
      );
      await tx.insertMany(
        'sign_in_codes',
        ids
          .filter((id) => id % 4 === 0)
          .map((id) => ({
            ...{ account_id: account.id, user_id: id, purpose: 'invite', hash: `hash ${id}` },
            expiry: id % 8 === 0 ? now + day : now - 1,
          })),
      );
      // The contracts begin on all days of a month.
      const accounts = ids.map((id) => ({
        ...{ id, name: `n${(id * 7919) % 1009}`, plan: plans[id % 9] ?? 'small' },
        ...{
          start: now - ((id * 37) % 4000) * day - id,
          expiry: now + ((id * 13) % 90) * day - 9 * day,
        },
        ...{ limit_bytes: 1000, detailed_billing: 0, suspended: id % 11 === 0 ? 1 : 0 },
        ...{
          over_limit: id % 5 === 0 ? 1 : 0,
          over_until: 0,
          on_limit: 'refuse',
          port_scheme_id: 1,
        },
        ...{ token_lifetime_seconds: 60, created_at: now },
      }));
      await tx.insertMany('accounts', accounts);
      await tx.insertMany(
        'usage_periods',
        accounts.flatMap(({ id, start }) => [
          {
            ...{ account_id: id, server_id: 1, bytes: (id % 17) * 100 },
            period_start: periodAt(start, now).start,
          },
          { account_id: id, server_id: 1, bytes: 999 * (id % 13), period_start: start - 1 },
        ]),
      );
      // Of another account, with the same ids, and what acme's users of these ids do not have.
      const others = ids.slice(0, 60).map((id) => ({
        ...{
          account_id: 2,
          id,
          name: `other-user${id}`,
          display_name: 'Jürgen_1%',
          token_version: 1,
        },
        ...{ active: 1, proxy: 1, billing: 1, admin: 1 },
      }));
      await tx.insertMany('users', others);
      await tx.insertMany(
        'sign_ins',
        others
          .filter(({ id }) => id % 3 > 0)
          .map(({ account_id, id }) => ({ account_id, user_id: id, last_sign_in_at: now })),
      );
      await tx.insertMany(
        'sign_in_codes',
        others.map(({ account_id, id }) => ({
          ...{ account_id, user_id: id, purpose: 'invite', hash: `other ${id}` },
          expiry: now + day,
        })),
      );
      await tx.insertMany(
        'sign_in_codes',
        ids
          .filter((id) => id % 5 === 0)
          .map((id) => ({
            ...{ account_id: account.id, user_id: id, purpose: 'sign_in', hash: `link ${id}` },
            expiry: now + day,
          })),
      );
      await tx.run(`update counters set last = ${many + 1} where list in ('users', 'accounts')`);
    });
  });

  const users: List = {
    path: '/users',
    sorts: {
      id: ({ id }) => id,
      name: ({ name }) => name,
      flags: ({ active, flags: { admin, billing, proxy } }) =>
        Number(active) * 8 + Number(admin) * 4 + Number(billing) * 2 + Number(proxy),
      last_sign_in_at: ({ sign_in }) => sign_in.last_sign_in_at ?? 0,
    },
    states: {
      active: ({ active }) => active,
      inactive: ({ active }) => !active,
      invited: ({ active, sign_in }) =>
        active && sign_in.invited_until !== null && sign_in.last_sign_in_at === null,
    },
    texts: ({ name, display_name }) => [name, display_name],
    searches: ['12', 'USER7', '0%', 'jürgen_', 'JürGEN', 'nobody'],
    filters: () => ({ flag: ['proxy', 'billing', 'admin'] }),
    isOf: { flag: ({ flags }, flag) => flags[flag] },
    idOf: ({ id }) => String(id),
  };
  const accounts: List = {
    path: '/accounts',
    sorts: {
      name: ({ name }) => name,
      plan: ({ plan }) => plan,
      expiry: ({ expiry }) => expiry,
      usage: ({ period }) => period.usage,
    },
    states: {
      active: ({ suspended, over_limit, expiry }) => !suspended && !over_limit && expiry > t.now(),
      over: ({ over_limit }) => over_limit,
      ended: ({ expiry }) => expiry <= t.now(),
      ending: ({ expiry }) => expiry > t.now() && expiry <= t.now() + 30 * day,
      suspended: ({ suspended }) => suspended,
    },
    texts: ({ name, plan }) => [name, plan],
    searches: ['12', 'N7', '100%', 'größe_', 'SMALL', 'nobody'],
    // Some end in that second.
    filters: () => ({ ends_before: [0, 5, 30].map((days) => t.now() + days * day) }),
    isOf: { ends_before: ({ expiry }, time) => expiry < time },
    idOf: ({ name }) => name,
  };
  const lists = { users, accounts };
  const get = (path: string): Promise<Answer> =>
    path.startsWith('/users') ? alice.get(path) : t.operator.get(path);
  const change = async (row: Row, at: number) => {
    const { status, text } = row.flags
      ? await alice.patch('/users', {
          users: [{ id: row.id, active: at % 2 === 0 }],
          // People who are admins again.
          password: passwordOf('alice'),
        })
      : await t.operator.patch('/accounts', {
          accounts: [{ account: row.name, suspended: at % 2 === 0, expiry: t.now() + at * day }],
        });
    expect(status, text).toBe(200);
  };
  const pages = (path: string, between?: (at: number) => Promise<unknown>) =>
    readPages<Row>({ get }, path, between);
  const whole = async (list: 'users' | 'accounts') =>
    (await pages(list === 'users' ? '/users' : '/accounts?limit=1000')).rows;

  describe.each(['users', 'accounts'] as const)('%s', (name) => {
    const { path, sorts, states, texts, searches, filters, isOf, idOf } = lists[name];

    test('each filter finds those that say so of themselves, in each order', async () => {
      const all = await whole(name);
      const ids = await idsByName();
      const keys: Record<string, Key> = { ...sorts, id: (row) => ids.get(row.name) as number };
      const fits: Record<string, (row: Row, wanted: never) => boolean> = {
        search: (row, text: string) =>
          texts(row).some((row) => row.toLowerCase().includes(text.toLowerCase())),
        state: (row, state: string) => states[state]?.(row) === true,
        ...isOf,
      };
      const choices = {
        ...{ ...filters(), search: searches, state: Object.keys(states) },
        by: ordersBy(Object.keys(keys)),
      };
      await assertForChoices(
        choices,
        tries(60),
        async ({ by = { sort: 'id', order: 'asc' }, ...filter }) => {
          const query = new URLSearchParams({ ...filter, ...by, limit: '240' });
          const { answers, rows } = await pages(`${path}?${query}`);
          const keyOf = keys[by.sort] as Key;
          const idKey = keys.id as Key;
          const direction = by.order === 'desc' ? -1 : 1;
          const result = all
            .filter((row) =>
              Object.entries(filter).every(([name, wanted]) => fits[name]?.(row, wanted as never)),
            )
            .sort((a, b) => (order(keyOf(a), keyOf(b)) || order(idKey(a), idKey(b))) * direction);
          expect(rows.map(idOf)).toEqual(result.map(idOf));
          const { headers } = answers[0] as Answer;
          expect(headers.get('exitward-found')).toBe(String(result.length));
          expect(headers.get('exitward-total')).toBe(String(all.length));
        },
      );
    });

    test('each one that stays as it is is seen once, in order, whatever changes between the pages', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...Object.keys(sorts)),
          fc.boolean(),
          fc.constantFrom('', '1', '100%', 'jürgen', 'größe_'),
          fc.option(fc.constantFrom(...Object.keys(states)), { nil: undefined }),
          fc.array(fc.nat(many - 1), { maxLength: 4 }),
          async (sort, isDescending, search, state, changed) => {
            const before = await whole(name);
            const touched = new Set<string>();
            const limit = 143;
            const query = new URLSearchParams({
              ...{ limit: String(limit), sort, order: isDescending ? 'desc' : 'asc' },
              ...(search === '' ? {} : { search }),
              ...(state === undefined ? {} : { state }),
            });
            const { answers, rows } = await pages(`${path}?${query}`, async (at) => {
              const row = before[changed[at - 1] ?? -1];
              if (!row || row.name === 'alice' || touched.has(idOf(row))) return;
              touched.add(idOf(row));
              await change(row, at);
            });
            const fits = (row: Row) =>
              texts(row).some((text) => text.toLowerCase().includes(search)) &&
              (state === undefined || states[state]?.(row) === true);
            const keyOf = sorts[sort] as Key;
            const ids = await idsByName();
            const idOfRow = (row: Row) => ids.get(row.name) as number;
            const stay = before
              .filter((row) => fits(row) && !touched.has(idOf(row)))
              .sort(
                (a, b) =>
                  (order(keyOf(a), keyOf(b)) || idOfRow(a) - idOfRow(b)) * (isDescending ? -1 : 1),
              )
              .map(idOf);
            const expected = new Set(stay);
            expect(rows.map(idOf).filter((id) => expected.has(id))).toEqual(stay);
            const { headers } = answers[0] as Answer;
            expect(Number(headers.get('exitward-total'))).toBe(before.length);
            expect(Number(headers.get('exitward-found'))).toBe(before.filter(fits).length);
            for (const { body } of answers.slice(0, -1)) expect(body.length).toBe(limit);
          },
        ),
        { numRuns: tries(12) },
      );
    });

    test.each([
      ['limit=0', 'limit'],
      ['limit=10&sort=note', 'sort'],
      ['limit=10&sort=name&after=x', 'after'],
      ['limit=10&state=gone', 'state'],
      ['limit=10&filter=x', 'filter'],
    ])('%s is refused by its field', async (query, field) => {
      const { status, body } = await get(`${path}?${query}`);
      expect([status, body.field]).toEqual([400, field]);
    });

    const idsByName = async () => {
      const all = await t.running.ctx.db.all<{ id: number; name: string }>(
        `select id, name from ${name}`,
      );
      return new Map(all.map((row) => [row.name, row.id]));
    };
  });

  test('users are found by a permission, and a person without the admin flag sees and finds oneself alone', async () => {
    const admins = await get('/users?limit=1000&flag=admin');
    const all = await whole('users');
    expect(admins.body).toEqual(all.filter(({ flags }: Row) => flags.admin));
    await t.user(acme, 'zoe', { proxy: true });
    const zoe = await t.signIn('acme', 'zoe');
    const { body, headers } = await zoe.get('/users?limit=10');
    expect([body.map(({ name }: Row) => name), headers.get('exitward-total')]).toEqual([
      ['zoe'],
      '1',
    ]);
    expect((await zoe.get('/users?limit=10&search=user')).body).toEqual([]);
  });

  test('the database counts billing periods from any start as the program does', async () => {
    const moment = fc.integer({ min: 0, max: 4_102_444_800 });
    // Near the ends of months, where they have not the same days.
    const atEnd = fc
      .tuple(fc.integer({ min: 1970, max: 2099 }), fc.integer({ min: 0, max: 11 }), fc.nat(5))
      .map(([year, month, days]) => Date.UTC(year, month, 28 + days) / 1000);
    const any = fc.oneof(moment, atEnd);
    await fc.assert(
      fc.asyncProperty(any, any, async (start, now) => {
        const row = await t.running.ctx.db.one<{ begun: number }>(
          'select period_start(cast($1 as bigint), cast($2 as bigint)) as begun',
          [start, now],
        );
        expect(row?.begun).toBe(periodAt(start, now).start);
      }),
      { numRuns: tries(200) },
    );
  });

  test('accounts are found by when their contracts end; without a sort they come by name, from a name on', async () => {
    const ends_before = t.now() + 5 * day;
    const page = await get(`/accounts?limit=1000&ends_before=${ends_before}`);
    const all = await whole('accounts');
    expect(page.body).toEqual(all.filter(({ expiry }: Row) => expiry < ends_before));
    expect(all.map(({ name }: Row) => name)).toEqual(all.map(({ name }: Row) => name).sort());
    const [first] = (await get('/accounts?limit=1&after=n5')).body;
    expect(first.name).toBe(all.find(({ name }: Row) => name > 'n5').name);
  });
});
