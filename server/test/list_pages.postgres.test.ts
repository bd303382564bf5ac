// Lists in pages: sorted, filtered, by keyset; each entry that stays as it is is seen once, in
// order, whatever changes meanwhile.

import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import type { Row } from '../src/db/database.ts';
import { ipOrder } from '../src/db/ip_order.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { assertForChoices, ordersBy, queryOf } from './choices.ts';
import { nextOf, readPages } from './client.ts';
import type { Answer, Browser } from './harness.ts';

type Entry = Record<string, string | number> & { id: number };
type Key = (entry: Entry) => string | number;

const order = (a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0);
/** The longest of all is filled with zeros: the order of numbers is that of texts. */
const padded = (ip: string) => {
  const value = ipOrder(ip);
  return typeof value === 'number' ? `4${String(value).padStart(40, '0')}` : `6${value}`;
};
const ofAny: Record<string, Key> = {
  id: ({ id }) => id,
  ip: ({ ip }) => padded(ip as string),
  expiry: ({ expiry }) => expiry as number,
};
const sorts = {
  authlist: {
    ...ofAny,
    user: ({ user }) => user as string,
    last_used_at: ({ last_used_at }) => last_used_at ?? 0,
  },
  overrides: {
    ...ofAny,
    hostname: ({ hostname }) => hostname as string,
    server: ({ server }) => server as string,
  },
} satisfies Record<string, Record<string, Key>>;
const lists = ['authlist', 'overrides'] as const;
const filtersOf = {
  authlist: {
    search: ['10.3.', 'büro', 'BÜRO 100%', '100%', '_', 'Carol', 'nowhere'],
    user: ['alice', 'carol', 'nobody'],
    state: ['idle', 'in_use', 'unproven', 'proven', 'waits'],
    caller: ['admin', 'operator', 'user'],
  },
  overrides: {
    search: ['10.3.', 'büro', 'BÜRO 100%', '100%', '_', 'H12', 'nowhere'],
    server: ['fra1', 'nowhere'],
    state: ['pending', 'active', 'expiring', 'expired', 'current'],
    caller: ['admin', 'operator'],
  },
};
const lower = (text: string) => text.toLowerCase();

eachApp((t) => {
  let acme: BuiltAccount;
  let alice: Browser;
  let bob: Browser;
  // Several pages of each size.
  const many = tries(10_300, { atLeast: 2300 });
  beforeAll(async () => {
    for (const name of ['fra1', 'ams1']) await t.server(name);
    acme = await t.account('acme', { servers: ['fra1', 'ams1'] });
    for (const name of ['bob', 'carol']) await t.user(acme, name, { proxy: true });
    alice = await t.signIn('acme', 'alice');
    bob = await t.signIn('acme', 'bob');
    const other = await t.account('other', { servers: ['fra1'] });
    // A person who is no proxy user.
    await t.user(acme, 'dan', { billing: true });
    const account_id = acme.account.id;
    const rows = Array.from({ length: many }, (_, at) => ({
      ...{ account_id, id: at + 1, expiry: t.now() + 1000 + ((at * 7919) % 97) },
      added_at: at % 3 === 0 ? null : t.now() + 1000 - (at % 3) * 86_400,
      ip: at % 5 === 0 ? `2001:db8::${at.toString(16)}` : `10.${at % 13}.${at >> 8}.${at & 255}`,
      // As a pattern of SQL, `100%` would find the second.
      note: [`Büro 100% ${at}`, `Büro_1000 ${at}`][at % 50] ?? '',
    }));
    // Of another account, with the same ids.
    const others = rows.slice(0, 100).map((row, at) => ({
      ...{ ...row, account_id: other.account.id, ip: `10.3.100.${at}`, note: 'Büro 100%' },
    }));
    const proofs = [{ proven_at: 1 }, { waits: 1 }];
    await t.write(async (tx) => {
      await tx.insertMany(
        'authlist',
        [...rows, ...others].map(
          (row): Row => ({
            ...{ proven_at: null, waits: 0, ...row, ...proofs[row.id % 11] },
            ...{ port_scheme_id: 1, user_id: row.account_id === account_id ? 1 + (row.id % 4) : 1 },
          }),
        ),
      );
      await tx.insertMany(
        'authlist_uses',
        rows
          .filter(({ id }) => id % 4 === 0)
          .map(({ id }) => ({ account_id, entry_id: id, used_at: 60 * (id % 40) })),
      );
      await tx.insertMany(
        'authlist_uses',
        others.map(({ account_id, id }) => ({ account_id, entry_id: id, used_at: 60 * 50 })),
      );
      await tx.insertMany(
        'overrides',
        [...rows, ...others].map((row) => ({
          ...row,
          ...{ server_id: 1 + (row.id % 2), hostname: `h${(row.id * 31) % many}.example` },
          revision: 1,
        })),
      );
      for (const list of lists) {
        await tx.insertMany('counters', [
          { account_id, list, last: many },
          { account_id, list: `${list} held`, last: many },
        ]);
      }
    });
  });

  const pages = (path: string, between?: (at: number) => Promise<unknown>) =>
    readPages<Entry>(alice, path, between);

  describe.each(lists)('%s', (list) => {
    test('each entry that stays as it is is seen once, in order, whatever changes between the pages', async () => {
      const changes = fc.record({
        removed: fc.array(fc.nat(many - 1), { maxLength: 3 }),
        moved: fc.array(fc.nat(many - 1), { maxLength: 3 }),
        added: fc.integer({ min: 0, max: 1 }),
      });
      let added = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...Object.keys(sorts[list])),
          fc.boolean(),
          fc.constantFrom(437, 1000),
          fc.constantFrom('', '10.3.', 'büro', '100%'),
          fc.array(changes, { minLength: 5, maxLength: 5 }),
          async (sort, isDescending, limit, search, between) => {
            const before = (await alice.get(`/${list}`)).body as Entry[];
            const touched = new Set<number>();
            const parameters = queryOf({
              limit,
              sort,
              order: isDescending ? 'desc' : 'asc',
              search,
            });
            const { answers, rows } = await pages(`/${list}?${parameters}`, async (at) => {
              const { removed = [], moved = [], added: more = 0 } = between[at - 1] ?? {};
              const idOf = (index: number) => before[index % before.length]?.id as number;
              const ids = [...new Set(removed.map(idOf))].filter((id) => !touched.has(id));
              for (const id of ids) touched.add(id);
              if (ids.length > 0) {
                expect((await alice.post(`/${list}/remove`, { ids })).status).toBe(200);
              }
              const others = [...new Set(moved.map(idOf))].filter((id) => !touched.has(id));
              for (const id of others) touched.add(id);
              const expiry = t.now() + 1000 + ((at * 13) % 97);
              const entries = others.map((id) => ({ id, expiry }));
              if (entries.length > 0) {
                expect((await alice.patch(`/${list}`, { entries })).status).toBe(200);
              }
              for (let index = 0; index < more; index += 1) {
                added += 1;
                const ip = `10.3.200.${added & 255}`;
                const body =
                  list === 'authlist'
                    ? { ip: `10.3.${200 + (added >> 8)}.${added & 255}`, user: 'carol', expiry }
                    : { hostname: `new${added}.example`, ip, server: 'fra1', expiry };
                expect((await alice.post(`/${list}`, body)).status).toBe(201);
              }
            });
            const keyOf = sorts[list][sort as keyof (typeof sorts)[typeof list]] as Key;
            const fits = ({ ip, note, hostname = '', user = '' }: Entry) =>
              [ip, note, hostname, user].some((text) =>
                String(text).toLowerCase().includes(search.toLowerCase()),
              );
            const stay = before
              .filter((entry) => fits(entry) && !touched.has(entry.id))
              .sort((a, b) => (order(keyOf(a), keyOf(b)) || a.id - b.id) * (isDescending ? -1 : 1))
              .map(({ id }) => id);
            const expected = new Set(stay);
            expect(rows.map(({ id }) => id).filter((id) => expected.has(id))).toEqual(stay);
            for (const { body } of answers.slice(0, -1)) expect(body.length).toBe(limit);
            const { headers } = answers[0] as Answer;
            expect(Number(headers.get('exitward-total'))).toBe(before.length);
            expect(Number(headers.get('exitward-found'))).toBe(before.filter(fits).length);
          },
        ),
        { numRuns: tries(4) },
      );
    });

    test('a filter finds as many as the rows that it shows, and those are the ones that say so of themselves', async () => {
      await t.operator.patch('/accounts/acme/users/carol', { active: false });
      const all = (await alice.get(`/${list}`)).body as Entry[];
      const isOf: Record<string, (entry: Entry, wanted: unknown) => boolean> = {
        search: ({ ip, note, hostname = '', user = '' }, wanted) =>
          [ip, note, hostname, user].some((text) =>
            lower(String(text)).includes(lower(String(wanted))),
          ),
        user: ({ user }, wanted) => user === wanted,
        server: ({ server }, wanted) => server === wanted,
        ends_before: ({ expiry }, wanted) => Number(expiry) < Number(wanted),
        state: ({ user_active, status, proof, last_used_at, added_at, expiry }, wanted) => {
          if (list === 'overrides') {
            return status === wanted || (wanted === 'current' && status !== 'expired');
          }
          const isLong = Number(expiry) - Number(added_at ?? 0) > 86_400;
          if (wanted === 'in_use') return Boolean(user_active) && (last_used_at !== null || isLong);
          return proof === wanted || (wanted === 'idle' && !user_active);
        },
        caller: ({ user }, wanted) => wanted !== 'user' || user === 'bob',
      };
      const callers = {
        admin: (path: string) => alice.get(path),
        operator: (path: string) => t.operator.get(`/accounts/acme${path}`),
        user: (path: string) => bob.get(path),
      };
      const choices = {
        ...filtersOf[list],
        ends_before: [990, 1000, 1050, 1110].map((seconds) => t.now() + seconds),
        by: ordersBy(Object.keys(sorts[list])),
      };
      await assertForChoices(
        choices,
        tries(15),
        async ({ caller = 'admin', by = { sort: 'expiry', order: 'asc' }, ...filter }) => {
          const get = callers[caller as keyof typeof callers];
          const first = await get(`/${list}?${queryOf({ ...filter, ...by, limit: 4 })}`);
          expect(first.status, first.text).toBe(200);
          const link = nextOf(first)?.replace('/accounts/acme', '');
          const second = link === undefined ? [] : (await get(link)).body;
          const keyOf = sorts[list][by.sort as keyof (typeof sorts)[typeof list]] as Key;
          const direction = by.order === 'desc' ? -1 : 1;
          const shown = all.filter((entry) => isOf.caller?.(entry, caller));
          const matches = shown
            .filter((entry) =>
              Object.entries(filter).every(([name, is]) => isOf[name]?.(entry, is)),
            )
            .sort((a, b) => (order(keyOf(a), keyOf(b)) || a.id - b.id) * direction);
          expect(Number(first.headers.get('exitward-found'))).toBe(matches.length);
          expect(Number(first.headers.get('exitward-total'))).toBe(shown.length);
          expect([...first.body, ...second]).toEqual(matches.slice(0, 8));
        },
      );
      await t.operator.patch('/accounts/acme/users/carol', { active: true });
    });

    test('without a limit the whole list is answered, and nothing of a page is taken', async () => {
      const whole = await alice.get(`/${list}`);
      expect(whole.headers.get('link')).toBe(null);
      expect(whole.headers.get('exitward-total')).toBe(null);
      const { rows } = await pages(`/${list}?limit=1000`);
      expect(rows).toEqual(whole.body);
      const refused = await alice.get(`/${list}?sort=ip`);
      expect([refused.status, refused.body.field]).toEqual([400, 'sort']);
    });

    test.each([
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=10&sort=note', 'sort'],
      ['limit=10&order=up', 'order'],
      ['limit=10&after=x', 'after'],
      [`limit=10&after=${Buffer.from('["a\\u0000",1]').toString('base64url')}`, 'after'],
      ['limit=10&state=gone', 'state'],
      ['limit=10&ends_before=soon', 'ends_before'],
      ['limit=10&filter=x', 'filter'],
    ])('%s is refused by its field', async (parameters, field) => {
      const { status, body } = await alice.get(`/${list}?${parameters}`);
      expect([status, body.field]).toEqual([400, field]);
    });
  });

  test('a person without the admin flag sees and counts own entries alone, and finds no other', async () => {
    const own = ((await alice.get('/authlist')).body as Entry[]).filter(
      ({ user }) => user === 'bob',
    );
    const answer = await bob.get('/authlist?limit=1000&sort=expiry');
    expect(new Set(answer.body.map(({ user }: Entry) => user))).toEqual(new Set(['bob']));
    expect(answer.headers.get('exitward-total')).toBe(String(own.length));
    for (const filter of ['user=carol', 'search=carol', 'state=idle']) {
      const others = await bob.get(`/authlist?limit=10&${filter}`);
      expect([others.body, others.headers.get('exitward-found')], filter).toEqual([[], '0']);
    }
  });

  test('custom DNS entries of each state are those that say so', async () => {
    const node = await t.node('fra1');
    await node.snapshot();
    await t.pass(1050);
    expect(await node.ack()).toBeLessThan(300);
    const all = (await alice.get('/overrides')).body as Entry[];
    for (const state of ['pending', 'active', 'expiring', 'expired', 'current']) {
      const { rows } = await pages(`/overrides?limit=1000&state=${state}`);
      const fit = all.filter(({ status }) =>
        state === 'current' ? status !== 'expired' : status === state,
      );
      expect(rows, state).toEqual(fit);
    }
    const states = new Set(all.map(({ status }) => status));
    expect(states.size).toBeGreaterThan(2);
  });

  test.each(lists)(
    'in the second in which entries of %s expire, pages list the same as the whole',
    async (list) => {
      await t.write((tx) =>
        tx.run(`update ${list} set expiry = $1 where id % 2 = 0`, [t.now() + 1]),
      );
      t.clock.advance(1);
      const { rows } = await pages(`/${list}?limit=1000`);
      expect(rows).not.toEqual([]);
      expect(rows).toEqual((await alice.get(`/${list}`)).body);
      const { headers } = await alice.get(`/${list}?limit=1`);
      expect(headers.get('exitward-found')).toBe(String(rows.length));
    },
  );
});
