// Undoing a "remove all": never past the account's limit, and offered only where something can come
// back.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BuiltAccount } from './builders.ts';
import { eachDatabase } from './databases.ts';
import { type Browser, startTestApp, type TestApp } from './harness.ts';

eachDatabase((database) => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), {
      EXITWARD_MAX_AUTHLIST_ENTRIES: '2',
      EXITWARD_MAX_OVERRIDES: '2',
    });
    await t.server('fra1');
  });
  afterAll(() => t.stop());

  let made = 0;
  /** An entry that no other has. */
  const entries: Record<string, (expiry: number) => object> = {
    authlist: (expiry) => ({ ip: `198.18.0.${++made}`, user: 'alice', expiry }),
    overrides: (expiry) => ({
      server: 'fra1',
      hostname: `host${++made}.example`,
      ip: '192.0.2.1',
      expiry,
    }),
  };

  describe.each(Object.keys(entries))('%s', (list) => {
    let account: BuiltAccount;
    let alice: Browser;
    const create = (lifetime_seconds = 1000) =>
      alice.post(`/${list}`, entries[list]?.(t.now() + lifetime_seconds));
    const listed = async () =>
      (await alice.get(`/${list}`)).body.map((entry: { id: number }) => entry.id);
    const clear = async () => (await alice.delete(`/${list}`)).body;
    beforeAll(async () => {
      account = await t.account(`undo-${list}`, { servers: ['fra1'] });
      alice = await t.signIn(account.account.name, 'alice');
    });

    test('what does not fit any more is not put back, nor lost: the undo is refused until there is room', async () => {
      await create();
      await create();
      const { removal_id } = await clear();
      const { id } = (await create()).body;
      const undo = () => alice.post(`/${list}/restore`, { removal_id });
      const refused = await undo();
      expect([refused.status, refused.body.code]).toEqual([409, 'list_full']);
      expect(refused.body.message).toBe(
        'The list holds 1 entries, and 2 would come back: an account may have 2; remove some first.',
      );
      expect(await listed()).toEqual([id]);
      expect((await create()).status).toBe(201);
      expect((await create()).body.code).toBe('list_full');
      await clear();
      expect((await undo()).body).toEqual({ restored: 2, left_out: 0 });
      expect(await listed()).toHaveLength(2);
      await clear();
    });

    test('an operator does not pass the limit either', async () => {
      await create();
      await create();
      const { removal_id } = await clear();
      await create();
      const path = `/accounts/${account.account.name}/${list}/restore`;
      const { status, body } = await t.operator.post(path, { removal_id });
      expect([status, body.code]).toEqual([409, 'list_full']);
      await clear();
    });

    test('where all were expired there is nothing to undo, and no undo is offered', async () => {
      const removals = async () => (await alice.get('/removals')).body;
      const before = await removals();
      await create(10);
      t.clock.advance(10);
      expect(await clear()).toEqual({ removal_id: null, entries: list === 'authlist' ? 0 : 1 });
      expect(await removals()).toEqual(before);
      expect(await listed()).toEqual([]);
    });

    test('an undo that was done already says so by its code', async () => {
      await create();
      const { removal_id } = await clear();
      await alice.post(`/${list}/restore`, { removal_id });
      const { status, body } = await alice.post(`/${list}/restore`, { removal_id });
      expect([status, body.code, body.field]).toEqual([409, 'removal_gone', 'removal_id']);
      await clear();
    });

    test('after seven days an undo is refused, before any sweep', async () => {
      await create(8 * 86_400);
      const { removal_id } = await clear();
      t.clock.advance(7 * 86_400);
      const path = `/accounts/${account.account.name}/${list}/restore`;
      const { status, body } = await t.operator.post(path, { removal_id });
      expect([status, body.code]).toEqual([409, 'removal_gone']);
    });
  });
});
