// Searches find letters of any alphabet, in either case, composed or not.
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { folded } from '../src/db/folded.ts';
import { eachApp } from './apps.ts';

/** As it is stored, and as people search for it. */
const spellings: Array<[stored: string, searches: string[]]> = [
  ['Östersund', ['östersund', 'ÖSTERSUND', 'östersund'.normalize('NFD'), 'STERSUND']],
  ['Malmö'.normalize('NFD'), ['malmö', 'MALMÖ', 'malmö'.normalize('NFD')]],
  ['Москва', ['москва', 'МОСКВА', 'оскв']],
  ['ΟΔΟΣ', ['οδος', 'οδοσ', 'Οδός'.normalize('NFD').replace('\u0301', '')]],
];

eachApp((t) => {
  beforeAll(async () => {
    await t.server('fra1');
    await t.account('acme', { servers: ['fra1'] });
    await add('/accounts/acme/users', { name: 'lister', flags: { proxy: true } });
  });

  const expiry = () => t.now() + 10_000;
  const add = async (path: string, body: object) => {
    const { status, body: made } = await t.operator.post(path, body);
    expect([status, made]).toEqual([201, expect.anything()]);
  };
  /** The lists by their path, and how to make a record with this text. */
  const lists: Record<string, (text: string, at: number) => Promise<unknown>> = {
    '/accounts': (text, at) =>
      add('/accounts', { name: `plan${at}`, plan: text, expiry: expiry(), limit_bytes: 1 }),
    '/accounts/acme/users': (text, at) =>
      add('/accounts/acme/users', { name: `user${at}`, display_name: text }),
    '/accounts/acme/authlist': (text, at) =>
      add('/accounts/acme/authlist', {
        ...{ ip: `192.0.2.${at + 1}`, user: 'lister', expiry: expiry(), note: text },
      }),
    '/accounts/acme/overrides': (text, at) =>
      add('/accounts/acme/overrides', {
        ...{ server: 'fra1', hostname: `h${at}.example`, ip: '192.0.2.1', expiry: expiry() },
        note: text,
      }),
    '/servers': (text) => t.operator.patch('/servers/fra1', { title: text, city: text }),
    '/accounts/acme/network': (text) => t.operator.patch('/servers/fra1', { title: text }),
  };

  test.each(Object.keys(lists))('%s', async (path) => {
    for (const [at, [stored, searches]] of spellings.entries()) {
      await lists[path]?.(stored, at);
      for (const search of searches) {
        const query = new URLSearchParams({ search, limit: '10' });
        const { status, body } = await t.operator.get(`${path}?${query}`);
        expect([status, search, body.length]).toEqual([200, search, 1]);
        expect(JSON.stringify(body)).toContain(stored);
      }
    }
    const none = new URLSearchParams({ search: 'östersünd', limit: '10' });
    expect((await t.operator.get(`${path}?${none}`)).body).toEqual([]);
  });

  test('the audit log', async () => {
    await add('/accounts', { name: 'swedish', plan: 'Växjö', expiry: expiry(), limit_bytes: 1 });
    for (const search of ['växjö', 'VÄXJÖ', 'växjö'.normalize('NFD')]) {
      const { body } = await t.operator.get(`/audit?${new URLSearchParams({ search })}`);
      expect(body.map(({ action }: { action: string }) => action)).toEqual(['account.create']);
    }
  });

  test('the database folds a text as the program does', async () => {
    const letters = fc.string({
      unit: fc.constantFrom(...'aÄäÖßÉéIiŞșЖжЯяΣσςΩωőŐ\u0301\u0308ñÑ中'),
    });
    await fc.assert(
      fc.asyncProperty(letters, async (text) => {
        const row = await t.running.ctx.db.one<{ text: string }>('select folded($1) as text', [
          text,
        ]);
        expect(row?.text).toBe(folded(text));
      }),
      { numRuns: tries(50) },
    );
  });
});
