// The cursors of sorted lists: each says what its list is sorted by; an edited one is a clear 400.
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { eachApp } from './apps.ts';
import type { Answer, Browser } from './harness.ts';

interface Parameter {
  name: string;
  schema: { enum?: string[] };
}
const { paths } = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
) as { paths: Record<string, { get?: { parameters?: Parameter[] } }> };

/** Each list that can be sorted, with what by. */
const lists = Object.entries(paths).flatMap(([path, { get }]) => {
  const parameters = new Map(get?.parameters?.map(({ name, schema }) => [name, schema]));
  const sorts = parameters.get('sort')?.enum;
  return sorts && parameters.has('after') ? [{ path, sorts }] : [];
});

type Cursor = [sort: unknown, value: unknown, id: unknown];
const encoded = (cursor: unknown) => Buffer.from(JSON.stringify(cursor)).toString('base64url');
const cursorOf = ({ headers }: Answer): Cursor => {
  const after = /[?&]after=([^&>]+)/.exec(headers.get('link') ?? '')?.[1] ?? '';
  return JSON.parse(Buffer.from(after, 'base64url').toString());
};

eachApp((t) => {
  let alice: Browser;
  beforeAll(async () => {
    for (const name of ['fra1', 'ams1']) {
      await t.server(name);
      await t.node(name);
    }
    const acme = await t.account('acme', { servers: ['fra1', 'ams1'] });
    await t.account('other');
    await t.user(acme, 'bob', { proxy: true });
    alice = await t.signIn('acme', 'alice');
    // Their sums are more than JSON holds exactly.
    const hours = [1, 2].flatMap((server_id) =>
      [t.now() - (t.now() % 3600), t.now() - (t.now() % 3600) - 3600].map((hour) => ({
        ...{ account_id: acme.account.id, server_id, hour, bytes: Number.MAX_SAFE_INTEGER },
      })),
    );
    await t.write((tx) => tx.insertMany('usage_server_hours', hours));
    const expiry = t.now() + 86_400;
    for (const at of [1, 2]) {
      const entry = { ip: `203.0.113.${at}`, expiry };
      await t.as(acme).post('/contract/ip-authlist', { ...entry, user: 'alice' });
      const override = { ...entry, server: 'fra1', hostname: `h${at}.example` };
      await t.as(acme).post('/contract/overrides', override);
      await t.operator.post('/accounts/acme/tokens', { name: `token${at}` });
      await t.operator.post('/tokens', { name: `operator${at}` });
    }
  });

  const get = (path: string, query: Record<string, string>) => {
    const [, audience, rest] = /^\/(admin|console)(.*)$/.exec(path) ?? [];
    const client = audience === 'admin' ? t.operator : alice;
    return client.get(`${rest?.replace('{account}', 'acme')}?${new URLSearchParams(query)}`);
  };

  test('there are sixteen such lists', () => expect(lists).toHaveLength(16));

  describe.each(lists)('$path', ({ path, sorts }) => {
    const page = (sort: string, cursor: unknown) =>
      get(path, { limit: '1', sort, after: encoded(cursor) });
    const expectRefused = async (sort: string, cursors: unknown[]) => {
      for (const cursor of cursors) {
        const { status, body } = await page(sort, cursor);
        expect([status, body.field], JSON.stringify(cursor)).toEqual([400, 'after']);
      }
    };

    test.each(sorts)(
      'sorted by %s: no cursor of another sort, nor a value of another type',
      async (sort) => {
        const first = await get(path, { limit: '1', sort });
        expect(first.status, first.text).toBe(200);
        const [sortedBy, value, id] = cursorOf(first);
        expect(sortedBy).toBe(sort);
        expect((await page(sort, [sort, value, id])).status).toBe(200);
        const another = sorts.find((other) => other !== sort);
        await expectRefused(sort, [[another, value, id]]);
        const ofAnotherType = [sort, typeof value === 'number' ? 'x' : 5, id];
        // The databases sort addresses by values of different types.
        if (sort !== 'ip') await expectRefused(sort, [ofAnotherType]);
        else expect((await page(sort, ofAnotherType)).status).toBe(200);
      },
    );

    test('a cursor that is none is refused', async () => {
      await expectRefused('id', [
        ...[null, {}, 'id', 5, [1, 1], ['id', 1], ['id', '1', 1], [null, 1, 1]],
        ...[null, true, 1.5, 1e300, [], {}, 'a\0', '\ud800'].map((wrong) => ['id', wrong, 1]),
        ...[null, true, 'x', 1.5, 1e300, []].map((wrong) => ['id', 1, wrong]),
      ]);
    });
  });
});
