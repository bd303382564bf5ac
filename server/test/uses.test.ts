// When authlist entries last let a connection in: reported by nodes, shown to the operator,
// forgotten with the entry.
import { describe, expect, it } from 'vitest';
import { lastUses } from '../src/authlist/authlist.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import type { TestNode } from './node.ts';

interface Use {
  account: number;
  entry: number;
  at: number;
}

eachApp((t) => {
  let names = 0;

  const addEntry = async (of: BuiltAccount, expiry = t.now() + 86_400): Promise<number> => {
    const ip = `198.18.${names}.${++addresses}`;
    const { body } = await t.as(of).post('/contract/ip-authlist', { ip, user: 'alice', expiry });
    return body.id;
  };
  let addresses = 0;
  /** A server with a node, and an account on it with some entries. */
  async function scene(count = 1) {
    const server = `srv${++names}`;
    addresses = 0;
    await t.server(server);
    const built = await t.account(`account${names}`, { servers: [server] });
    const node = await t.node(server);
    const entries: number[] = [];
    for (let at = 0; at < count; at += 1) entries.push(await addEntry(built));
    const account = built.account.id;
    return { server, built, node, account, entries, entry: entries[0] as number };
  }
  const report = async (node: TestNode, ...uses: Use[]) => {
    const { status } = await node.send('POST', '/last-used', { uses });
    await t.running.ctx.lastUsed.write(t.running.ctx);
    return status;
  };
  /** As the operator sees it: [id, last_used_at] of each entry. */
  const shown = async ({ account }: BuiltAccount): Promise<Array<[number, number | null]>> =>
    (await t.operator.get(`/accounts/${account.name}/authlist`)).body.map(
      ({ id, last_used_at }: { id: number; last_used_at: number | null }) => [id, last_used_at],
    );
  const minute = (at: number) => at - (at % 60);

  describe('the last use of an authlist entry', () => {
    it('is null until a node reports it, and exact to the minute', async () => {
      const { built, node, account, entries } = await scene(2);
      const [first, second] = entries as [number, number];
      expect(await shown(built)).toEqual([
        [first, null],
        [second, null],
      ]);
      const at = t.now() - 3601;
      expect(at % 60).not.toBe(0);
      expect(await report(node, { account, entry: second, at })).toBe(204);
      expect(await shown(built)).toEqual([
        [first, null],
        [second, minute(at)],
      ]);
      expect(await lastUses(t.running.ctx.db, account)).toEqual(new Map([[second, minute(at)]]));
    });

    it('is the latest that any node reported, in whatever order, also within one report', async () => {
      const { built, node, account, entry, server } = await scene();
      const twin = await t.node(server, 'twin');
      const now = minute(t.now());
      const use = (at: number) => ({ account, entry, at });
      await report(node, use(now - 600), use(now - 120), use(now - 300));
      expect(await shown(built)).toEqual([[entry, now - 120]]);
      await report(twin, use(now - 180));
      expect(await shown(built)).toEqual([[entry, now - 120]]);
      await report(twin, use(now - 60));
      expect(await shown(built)).toEqual([[entry, now - 60]]);
    });

    it('is never in the future', async () => {
      const { built, node, account, entry } = await scene();
      await report(node, { account, entry, at: t.now() + 86_400 });
      expect(await shown(built)).toEqual([[entry, minute(t.now())]]);
    });

    it('is taken only from nodes of a server that serves the account', async () => {
      const entry = await scene();
      const other = await scene();
      const use = { account: entry.account, entry: entry.entry, at: t.now() };
      const own = { account: other.account, entry: other.entry, at: t.now() };
      expect(await report(other.node, use, own)).toBe(204);
      expect(await shown(entry.built)).toEqual([[entry.entry, null]]);
      expect(await shown(other.built)).toEqual([[other.entry, minute(t.now())]]);
    });

    it('is kept of what is an entry, however many are reported at once', async () => {
      const { built, node, account, entries } = await scene(120);
      const at = t.now();
      const uses = Array.from({ length: 5000 }, (_, index) => ({ account, entry: index + 1, at }));
      expect(await report(node, ...uses)).toBe(204);
      expect(await shown(built)).toEqual(entries.map((entry) => [entry, minute(at)]));
      expect(await lastUses(t.running.ctx.db, account)).toHaveLength(120);
      expect(await report(node, ...uses, { account, entry: 1, at })).toBe(400);
      expect(await report(node, { account, entry: 1, at: 0 })).toBe(400);
    });

    it('goes with the entry: removed, expired, or all at once', async () => {
      const { built, node, account, entries } = await scene(4);
      const expired = await addEntry(built, t.now() + 60);
      const all = [...entries, expired];
      await report(node, ...all.map((entry) => ({ account, entry, at: t.now() })));
      const usedEntries = async () =>
        Array.from((await lastUses(t.running.ctx.db, account)).keys()).toSorted((a, b) => a - b);
      expect(await usedEntries()).toEqual(all);
      const [, second, third, fourth] = entries as [number, number, number, number];
      await t.as(built).delete(`/contract/ip-authlist/${entries[0]}`);
      expect(await usedEntries()).toEqual([second, third, fourth, expired]);
      await t.operator.delete(`/accounts/${built.account.name}/authlist/${second}`);
      expect(await usedEntries()).toEqual([third, fourth, expired]);
      await t.pass(61);
      expect(await usedEntries()).toEqual([third, fourth]);
      await t.as(built).delete('/contract/ip-authlist');
      expect(await usedEntries()).toEqual([]);
    });

    it('of one that is gone is not kept when it is reported late', async () => {
      const { built, node, account, entry } = await scene();
      await t.as(built).delete(`/contract/ip-authlist/${entry}`);
      expect(await report(node, { account, entry, at: t.now() })).toBe(204);
      expect(await lastUses(t.running.ctx.db, account)).toEqual(new Map());
    });

    it('is no change: not one that nodes hear of, and none to the answers of the account API', async () => {
      const { built, node, account, entry } = await scene();
      const url = `/contract/ip-authlist/${entry}`;
      /** The numbers that cached responses and nodes go by. */
      const versions = () =>
        t.running.ctx.db.one(
          `select n.revision, s.revision as version from network n, versions s where s.account_id = $1`,
          [account],
        );
      const before = await t.as(built).get(url);
      const was = await versions();
      expect(was).toEqual({ revision: expect.any(Number), version: expect.any(Number) });
      expect(await report(node, { account, entry, at: t.now() })).toBe(204);
      expect(await versions()).toEqual(was);
      const after = await t.as(built).get(url);
      expect(after.text).toBe(before.text);
      expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
    });

    it('is not taken from a node that was revoked', async () => {
      const { built, node, account, entry } = await scene();
      await t.operator.delete(`/nodes/${node.id}`);
      expect(await report(node, { account, entry, at: t.now() })).toBe(401);
      expect(await shown(built)).toEqual([[entry, null]]);
    });
  });
});
