// Undo of "remove all" as an attack: one change within the caps, that says of others' claims no
// more than a refusal does.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createEntry } from '../../server/src/authlist/authlist.ts';
import { countHeld, nextId } from '../../server/src/changes/changes.ts';
import type { Row } from '../../server/src/db/database.ts';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import { type Browser, startTestApp, type TestApp } from '../../server/test/harness.ts';
import type { TestNode } from '../../server/test/node.ts';
import { until } from '../../server/test/waiting.ts';

const many = 1200;
const maxConflicts = 5;
const maxRestored = 3 * many;

eachDatabase((database) => {
  let t: TestApp;
  let node: TestNode;
  beforeAll(async () => {
    t = await startTestApp(await database.url(), {
      EXITWARD_MAX_AUTHLIST_ENTRIES: String(many),
      EXITWARD_MAX_OVERRIDES: String(many),
      EXITWARD_CONFLICTS_PER_HOUR: String(maxConflicts),
      EXITWARD_RESTORED_ENTRIES_PER_HOUR: String(maxRestored),
      EXITWARD_SERVER_ADDITIONS_PER_HOUR: '4',
    });
    await t.server('fra1');
    node = await t.node('fra1');
    await node.start();
  });
  afterAll(async () => {
    node.stop();
    await t.stop();
  });

  let accounts = 0;
  let attacker: BuiltAccount;
  let alice: Browser;
  beforeEach(async () => {
    attacker = await t.account(`a${++accounts}`, { servers: ['fra1'] });
    alice = await t.signIn(attacker.account.name, 'alice');
  });

  const address = (at: number) => `198.${18 + accounts}.${at >> 8}.${at & 255}`;
  const list = (of: BuiltAccount, from: number, to: number) =>
    t.write(async (tx) => {
      const { id: account_id, port_scheme_id } = of.account;
      const rows: Row[] = [];
      for (let at = from; at < to; at += 1) {
        const id = await nextId(tx, account_id, 'authlist');
        const place = { account_id, id, port_scheme_id, ip: address(at) };
        rows.push({ ...place, user_id: 1, expiry: tx.now + 10_000, waits: 0 });
      }
      await tx.insertMany('authlist', rows);
      await countHeld(tx, account_id, 'authlist', rows.length);
    });
  /** As the account's own requests would, entry for entry. */
  const claim = async (of: BuiltAccount, from: number, to: number) => {
    for (let at = from; at < to; at += 1) {
      const entry = { ip: address(at), user: 'alice', expiry: t.now() + 10_000 };
      await t.write((tx) => createEntry(tx, of.account.id, entry, t.running.ctx.config));
    }
  };
  const revision = async () =>
    (await t.running.ctx.db.one<{ revision: number }>('select revision from network'))?.revision ??
    0;
  const heardAfter = (before: number) => until(() => node.revision > before, 30);
  const clear = async () => (await alice.delete('/authlist')).body;
  const undo = (removal_id: number) => alice.post('/authlist/restore', { removal_id });
  const listed = async () => (await alice.get('/authlist')).body.length;

  describe('of the authlist', () => {
    test('a removal is one change, and so is its undo; the node has all entries again', async () => {
      await list(attacker, 0, many);
      const before = await revision();
      const { removal_id, entries } = await clear();
      expect(entries).toBe(many);
      expect(await revision()).toBe(before + 1);
      await heardAfter(before);
      const heard = node.events.length;
      expect((await undo(removal_id)).body).toEqual({ restored: many, left_out: 0 });
      expect(await revision()).toBe(before + 2);
      expect(await listed()).toBe(many);
      await heardAfter(before + 1);
      const changes = node.events.slice(heard).filter(({ event }) => event === 'change');
      const records = changes.flatMap((event) => event.records);
      expect(new Set(records.map(({ id }) => id)).size).toBe(many);
      expect(records.every(({ kind, value }) => kind === 'authlist' && value !== null)).toBe(true);
      // In pieces: only with the last is the change acknowledged.
      expect(changes.length).toBeGreaterThan(1);
      expect(changes.filter((event) => event.revision === before + 2)).toHaveLength(1);
      expect(changes.at(-1)?.revision).toBe(before + 2);
    });

    test('each address that was claimed since counts as reported; past the cap an undo reports nothing and loses nothing', async () => {
      await list(attacker, 0, maxConflicts + 3);
      const { removal_id } = await clear();
      const rival = await t.account(`rival${accounts}`, { servers: ['fra1'] });
      await claim(rival, 0, maxConflicts + 1);
      const refused = await undo(removal_id);
      expect(refused.status).toBe(429);
      expect(refused.body.message).not.toMatch(/198\./);
      expect(await listed()).toBe(0);
      // The ordinary way is at the same cap.
      const entry = { ip: '203.0.113.99', user: 'alice', expiry: t.now() + 1000 };
      expect((await alice.post('/authlist', entry)).status).toBe(429);
      t.clock.advance(3600);
      await t.write((tx) =>
        tx.run('delete from authlist where account_id = $1', [rival.account.id]),
      );
      const late = await undo(removal_id);
      expect([late.status, late.body.restored]).toEqual([200, maxConflicts + 3]);
    });

    test('claims below the cap are left out, and counted', async () => {
      await list(attacker, 0, 10);
      const { removal_id } = await clear();
      const rival = await t.account(`rival${accounts}`, { servers: ['fra1'] });
      await claim(rival, 0, maxConflicts);
      expect((await undo(removal_id)).body).toEqual({ restored: 10 - maxConflicts, left_out: 5 });
      const entry = { ip: '203.0.113.99', user: 'alice', expiry: t.now() + 1000 };
      expect((await alice.post('/authlist', entry)).status).toBe(429);
      t.clock.advance(3600);
    });

    test('an account brings back so many entries within an hour; others are not bound by it, nor is it an hour later', async () => {
      await list(attacker, 0, many);
      const { removal_id } = await clear();
      const statuses: number[] = [];
      let removal = removal_id;
      for (let tries = 0; tries < 5; tries += 1) {
        const { status } = await undo(removal);
        statuses.push(status);
        if (status === 200) removal = (await clear()).removal_id;
      }
      expect(statuses).toEqual([200, 200, 200, 429, 429]);
      const other = await t.account(`other${accounts}`, { servers: ['fra1'] });
      await list(other, many, many + 1);
      const bob = await t.signIn(other.account.name, 'alice');
      const { body } = await bob.delete('/authlist');
      expect((await bob.post('/authlist/restore', body)).status).not.toBe(429);
      t.clock.advance(3600);
      expect((await undo(removal)).body).toEqual({ restored: many, left_out: 0 });
    });
  });

  test('an undo of custom DNS entries is one change, and makes them active once its nodes have it', async () => {
    for (const hostname of ['a.example', 'b.example']) {
      const entry = { server: 'fra1', hostname, ip: '192.0.2.1', expiry: t.now() + 10_000 };
      await alice.post('/overrides', entry);
    }
    const { removal_id } = (await alice.delete('/overrides')).body;
    const before = await revision();
    await alice.post('/overrides/restore', { removal_id });
    expect(await revision()).toBe(before + 1);
    const statuses = async () =>
      (await t.as(attacker).get('/contract/overrides')).body.map(
        ({ status }: { status: string }) => status,
      );
    expect(await statuses()).toEqual(['pending', 'pending']);
    await heardAfter(before);
    await node.ack();
    expect(await statuses()).toEqual(['active', 'active']);
  });

  test('a person adds so many servers within an hour; taking one off is always possible', async () => {
    const statuses: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      statuses.push((await alice.delete('/servers/fra1')).status);
      statuses.push((await alice.put('/servers/fra1', undefined)).status);
    }
    expect(statuses.slice(0, 8)).toEqual(Array(4).fill([204, 201]).flat());
    expect(statuses.slice(8)).toEqual([204, 429, 404, 429]);
    const path = `/accounts/${attacker.account.name}/servers/fra1`;
    expect((await t.operator.put(path, {})).status).toBe(201);
  });
});
