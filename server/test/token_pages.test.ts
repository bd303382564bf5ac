// Tokens in pages: API tokens of an account and tokens of operators, sorted, filtered, and many
// revoked at once, all or none.

import { beforeAll, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { folded } from '../src/db/folded.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { assertForChoices, ordersBy } from './choices.ts';
import { readPages } from './client.ts';
import type { Answer, Browser } from './harness.ts';

interface Token {
  id: number;
  name: string;
  expiry?: number | null;
  created_at: number;
  last_used_at: number | null;
}

const bytewise = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const never = Number.MAX_SAFE_INTEGER;
const keys: Record<string, (token: Token) => number | string> = {
  id: ({ id }) => id,
  name: ({ name }) => name,
  created_at: ({ created_at }) => created_at,
  expiry: ({ expiry }) => expiry ?? never,
  last_used_at: ({ last_used_at }) => last_used_at ?? 0,
};
const order = (a: number | string, b: number | string) =>
  typeof a === 'string' ? bytewise(a, String(b)) : a - Number(b);

eachApp((t) => {
  let acme: BuiltAccount;
  let alice: Browser;
  const many = 50;
  const names = ['deploy', 'Büro', 'ci 100%', '\u{1f600} smile', '\uffe5 yen', 'Nightly_job']
    // As patterns of SQL, `100%` and `nightly_j` would find it.
    .concat('ci 1000 nightly-job');
  beforeAll(async () => {
    acme = await t.account('acme');
    alice = await t.signIn('acme', 'alice');
    await t.user(acme, 'bob', { proxy: true });
    const account_id = acme.account.id;
    const other = await t.account('other');
    const rows = Array.from({ length: many }, (_, at) => ({
      id: at + 100,
      name: `${names[at % names.length]} ${at}`,
      hash: `hash ${at}`,
      created_at: t.now() - ((at * 31) % 17),
      last_used_at: at % 3 === 0 ? null : t.now() - ((at * 7) % 11),
    }));
    await t.write(async (tx) => {
      const expiry = (at: number) => (at % 4 === 0 ? null : t.now() + (((at * 13) % 41) - 20) * 10);
      const ofAccount = rows.map((row, at) => ({
        ...row,
        ...{ account_id, read_only: at % 2, sealed: null, expiry: expiry(at) },
      }));
      await tx.insertMany('api_tokens', ofAccount);
      const ofOther = ofAccount
        .filter(({ id }) => id % 2 === 0)
        .map((row) => ({ ...row, account_id: other.account.id, hash: `other ${row.hash}` }));
      await tx.insertMany('api_tokens', ofOther);
      await tx.insertMany('admin_tokens', rows);
    });
  });

  const lists = {
    'API tokens': {
      get: (path: string) => alice.get(path),
      post: (body: object) => alice.post('/tokens/remove', body),
      sorts: ['id', 'name', 'created_at', 'expiry', 'last_used_at'],
      filters: (now: number) => ({
        state: ['active', 'expired', 'unused'],
        // Some end in that second.
        ends_before: [now, now + 100],
      }),
    },
    'operator tokens': {
      get: (path: string) => t.operator.get(path),
      post: (body: object) => t.operator.post('/tokens/remove', body),
      sorts: ['id', 'name', 'created_at', 'last_used_at'],
      filters: () => ({ state: ['used', 'unused'] }),
    },
  };
  const queryOf = (fields: Record<string, string | number>) =>
    `?${new URLSearchParams(fields as Record<string, string>)}`;
  async function pages(list: keyof typeof lists, query: string) {
    const { answers, rows } = await readPages<Token>(lists[list], `/tokens${query}`);
    const first = answers[0] as Answer;
    return {
      rows,
      total: Number(first.headers.get('exitward-total')),
      found: Number(first.headers.get('exitward-found')),
    };
  }
  const whole = async (list: keyof typeof lists) =>
    (await lists[list].get('/tokens')).body as Token[];
  /** Keeps those that were used by the tests themselves out of what moves. */
  const shown = ({ id, name }: Token) => [id, name];

  describe.each(Object.keys(lists) as Array<keyof typeof lists>)('%s', (list) => {
    const { sorts, filters } = lists[list];

    test('pages of each order and filter hold, in order, the tokens of the whole list that fit', async () => {
      const all = await whole(list);
      const now = t.now();
      const isOf: Record<string, (token: Token, wanted: unknown) => boolean> = {
        search: ({ name }, wanted) => folded(name).includes(folded(String(wanted))),
        state: ({ expiry, last_used_at }, wanted) =>
          wanted === 'used' || wanted === 'unused'
            ? (last_used_at === null) === (wanted === 'unused')
            : (expiry ?? never) <= now === (wanted === 'expired'),
        ends_before: ({ expiry }, wanted) => (expiry ?? never) < Number(wanted),
      };
      const choices = {
        search: ['BÜRO', 'Deploy', '100%', 'NIGHTLY_J', '_', '\u{1f600}'],
        ...filters(now),
        by: ordersBy(sorts),
        limit: [7, 1000],
      };
      await assertForChoices(
        choices,
        tries(25),
        async ({ by = { sort: 'id', order: 'asc' }, limit = 20, ...filter }) => {
          const { rows, total, found } = await pages(list, queryOf({ ...filter, ...by, limit }));
          const keyOf = keys[by.sort] as (token: Token) => number | string;
          const direction = by.order === 'desc' ? -1 : 1;
          const fit = all
            .filter((token) =>
              Object.entries(filter).every(([name, is]) => isOf[name]?.(token, is)),
            )
            .sort((a, b) => (order(keyOf(a), keyOf(b)) || a.id - b.id) * direction);
          expect(rows.map(shown)).toEqual(fit.map(shown));
          expect([total, found]).toEqual([all.length, fit.length]);
        },
      );
    });

    test('without a limit the whole list is answered, and each row is as it is in a page', async () => {
      const { rows } = await pages(list, '?limit=1000');
      expect(rows).toEqual(await whole(list));
    });

    test.each([
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['sort=name', 'sort'],
      ['limit=10&sort=hash', 'sort'],
      ['limit=10&order=up', 'order'],
      ['limit=10&after=x', 'after'],
      ['limit=10&state=gone', 'state'],
      ['limit=10&filter=x', 'filter'],
    ])('%s is refused by its field', async (query, field) => {
      const { status, body } = await lists[list].get(`/tokens?${query}`);
      expect([status, body.field]).toEqual([400, field]);
    });

    test('many are revoked at once or none, with an audit record for each', async () => {
      const before = await whole(list);
      const ids = [110, 112, 111];
      const refused = await lists[list].post({ ids: [...ids, 9999] });
      expect([refused.status, refused.body.field]).toEqual([404, 'ids.3']);
      expect((await whole(list)).length).toBe(before.length);
      const removed = await lists[list].post({ ids });
      expect([removed.status, removed.body]).toEqual([200, { revoked: 3 }]);
      const remaining = (await whole(list)).map(({ id }) => id);
      expect(remaining).toEqual(before.map(({ id }) => id).filter((id) => !ids.includes(id)));
      const action = list === 'API tokens' ? 'api_token.remove' : 'operator_token.remove';
      const { body } = await t.operator.get(`/audit?limit=10&action=${action}`);
      const records = body as Array<{ before: Token }>;
      expect(records.map(({ before: { id } }) => id).slice(0, 3)).toEqual([...ids].reverse());
      expect(JSON.stringify(records)).not.toContain('hash');
    });

    test.each([
      ['none', { ids: [] }, 'ids'],
      ['one twice', { ids: [101, 101] }, 'ids'],
      ['a text', { ids: ['101'] }, 'ids.0'],
      ['too many', { ids: Array.from({ length: 1001 }, (_, at) => at + 1) }, 'ids'],
      ['no list', {}, 'ids'],
    ])('a revocation of %s is refused by its field', async (_, body, field) => {
      const answer = await lists[list].post(body);
      expect([answer.status, answer.body.field]).toEqual([400, field]);
    });
  });

  test('a person without the admin flag reads and revokes none, and an account none of another', async () => {
    const bob = await t.signIn('acme', 'bob');
    expect((await bob.get('/tokens?limit=10')).status).toBe(403);
    expect((await bob.post('/tokens/remove', { ids: [101] })).status).toBe(403);
    const eve = await t.signIn('other', 'alice');
    const refused = await eve.post('/tokens/remove', { ids: [101] });
    expect([refused.status, refused.body.field]).toEqual([404, 'ids.0']);
    const byOperator = await t.operator.post('/accounts/acme/tokens/remove', { ids: [101] });
    expect([byOperator.status, byOperator.body]).toEqual([200, { revoked: 1 }]);
  });

  test('a token that is revoked among others is refused at once', async () => {
    const made = await alice.post('/tokens', { name: 'soon gone', read_only: true });
    const [id, text] = [made.body.id, made.body.api_token];
    const ask = () =>
      fetch(`${t.base_url}/v0/contract`, {
        headers: { authorization: `Basic ${btoa(`:${text}`)}` },
      });
    expect((await ask()).status).toBe(200);
    expect((await alice.post('/tokens/remove', { ids: [id, 102] })).status).toBe(200);
    expect((await ask()).status).toBe(401);
  });

  test('operator tokens are never all revoked', async () => {
    const all = await whole('operator tokens');
    const ids = all.map(({ id }) => id);
    const refused = await lists['operator tokens'].post({ ids });
    expect([refused.status, refused.body.code, refused.body.field]).toEqual([
      ...[409, 'last_token', `ids.${ids.length - 1}`],
    ]);
    expect((await whole('operator tokens')).length).toBe(ids.length);
  });
});
