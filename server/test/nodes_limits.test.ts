// The cost of nodes, and its limits: the log that is read for them, streams and snapshots that are
// not read.
import { expect, it } from 'vitest';
import { isInPart } from '../src/bounds/beats.ts';
import { bumpVersion, networkPosition } from '../src/changes/changes.ts';
import { removeContractServer } from '../src/contract_servers/contract_servers.ts';
import { Feed } from '../src/nodes/feed.ts';
import * as log from '../src/nodes/log_store.ts';
import { acknowledge, networkMarks } from '../src/nodes/nodes.ts';
import { Snapshots } from '../src/nodes/snapshot.ts';
import * as store from '../src/nodes/store.ts';
import { changeServer, requireServer } from '../src/servers/servers.ts';
import { eachApp } from './apps.ts';
import { logChanges } from './logged_changes.ts';
import { unreadAnswer } from './unread_answer.ts';
import { until } from './waiting.ts';

const megabyte = 1024 * 1024;

const soon = () => new Promise((resolve) => setTimeout(resolve, 300));

eachApp((t) => {
  async function scene() {
    const { server, built } = await t.site();
    const node = await t.node(server);
    const row = await requireServer(t.running.ctx.db, server);
    return { server, built, node, row };
  }

  it('usage of an account that is off the server counts, that of one that never was there is left out', async () => {
    const { server, built, node, row } = await scene();
    const stranger = await t.account(`stranger-${server}`, {});
    await t.write((tx) => removeContractServer(tx, built.account, row));
    const { db } = t.running.ctx;
    const ids = Array.from({ length: 2500 }, (_, at) => 1_000_000 + at);
    const served = await log.served(db, row.id, [built.account.id, stranger.account.id, ...ids]);
    expect(Array.from(served)).toEqual([built.account.id]);
    const usage = (account: number, user = 1) => ({ account, user, at: t.now(), up: 1, down: 1 });
    const answer = await node.send('POST', '/usage', {
      boot: 'b',
      seq: 1,
      rows: [usage(built.account.id), usage(built.account.id, 77), usage(stranger.account.id)],
    });
    expect(await answer.json()).toMatchObject({ counted: true, left_out: [1, 2] });
  });

  it('the log is asked for an account by an index', async () => {
    const { db } = t.running.ctx;
    const explain = db.engine === 'sqlite' ? 'explain query plan' : undefined;
    if (!explain) return;
    const plan = await db.all(
      `${explain} select 1 from changes c where c.account_id = $1 and c.server_id = $2`,
      [1, 1],
    );
    expect(JSON.stringify(plan)).toContain('changes_of_account');
  });

  it('a stream that is open, and read, keeps no node live: it has to acknowledge what it is sent', async () => {
    const { node } = await scene();
    const { db } = t.running.ctx;
    const stored = async () => (await store.findById(db, node.id)) as store.NodeRow;
    await node.snapshot();
    await node.ack();
    const feed = new Feed(t.running.ctx);
    const answer = await unreadAnswer();
    answer.read();
    try {
      feed.open(await stored(), answer.response, node.epoch, node.revision);
      const positions = () => answer.text().match(/event: position/g)?.length;
      await until(() => positions() === 1);
      for (const seconds of [20, 24]) {
        await t.pass(seconds);
        await feed.beat();
      }
      await until(() => positions() === 3);
      expect(await stored()).toMatchObject({ live: 1, seen_at: t.now() - 44 });
      await t.pass(2);
      expect(await stored()).toMatchObject({ live: 0, seen_at: t.now() - 46 });
      await node.ack();
      expect(await stored()).toMatchObject({ live: 1, seen_at: t.now() });
    } finally {
      feed.close();
      answer.stop();
    }
  });

  it('a node that acknowledges in time stays live, and what it said before costs no new revision', async () => {
    const { node } = await scene();
    const { db } = t.running.ctx;
    await node.snapshot();
    await node.ack();
    const before = await networkPosition(db);
    for (let times = 0; times < 4; times += 1) {
      await t.pass(45);
      expect(await node.ack()).toBe(204);
      expect(await store.findById(db, node.id)).toMatchObject({ live: 1, seen_at: t.now() });
    }
    expect(await networkPosition(db)).toEqual(before);
    await t.pass(46);
    expect((await store.findById(db, node.id))?.live).toBe(0);
  });

  it('the stream of an offline node ends, though a buffer takes all that it is sent; that of one that acknowledges stays', async () => {
    const { node, server } = await scene();
    const sister = await t.node(server, 'sister');
    const { db } = t.running.ctx;
    const feed = new Feed(t.running.ctx);
    const answers = [await unreadAnswer(), await unreadAnswer()] as const;
    try {
      for (const [at, follower] of [node, sister].entries()) {
        await follower.snapshot();
        await follower.ack();
        const row = (await store.findById(db, follower.id)) as store.NodeRow;
        feed.open(row, answers[at as 0 | 1].response, follower.epoch, follower.revision);
      }
      await soon();
      const cut = () => answers.map(({ response }) => response.destroyed);
      for (const seconds of [15, 15, 15]) {
        await t.pass(seconds);
        await sister.ack();
        await feed.beat();
      }
      expect(cut()).toEqual([false, false]);
      await t.pass(1);
      await feed.beat();
      expect(cut()).toEqual([true, false]);
    } finally {
      feed.close();
      for (const answer of answers) answer.stop();
    }
  });

  it('a heartbeat of a part of the period reaches the nodes of that part alone', async () => {
    const { node } = await scene();
    await node.snapshot();
    const row = (await store.findById(t.running.ctx.db, node.id)) as store.NodeRow;
    const feed = new Feed(t.running.ctx);
    const answer = await unreadAnswer();
    answer.read();
    try {
      feed.open(row, answer.response, node.epoch, node.revision);
      const positions = () => answer.text().match(/event: position/g)?.length;
      await until(() => positions() === 1);
      const parts = Array.from({ length: 15 }, (_, part) => part);
      for (const part of parts) if (!isInPart(node.id, part)) await feed.beat(part);
      expect(positions()).toBe(1);
      for (const part of parts) await feed.beat(part);
      await until(() => positions() === 2);
    } finally {
      feed.close();
      answer.stop();
    }
  });

  it('a heartbeat ends the stream of a node that was revoked unheard', async () => {
    const { node } = await scene();
    const { db } = t.running.ctx;
    await node.snapshot();
    const feed = new Feed(t.running.ctx);
    const answer = await unreadAnswer();
    try {
      const joined = (await store.findById(db, node.id)) as store.NodeRow;
      feed.open(joined, answer.response, node.epoch, node.revision);
      await t.write((tx) => store.update(tx, { ...joined, revoked_at: tx.now }));
      await feed.beat();
      expect(answer.response.destroyed).toBe(true);
    } finally {
      feed.close();
      answer.stop();
    }
  });

  it('a stream of which nothing is read is cut, and counts no more', async () => {
    const { node } = await scene();
    const { db } = t.running.ctx;
    const feed = new Feed(t.running.ctx, { stalled_seconds: 0.1 });
    const answer = await unreadAnswer();
    try {
      const { epoch, revision } = await networkPosition(db);
      answer.response.write(Buffer.alloc(32 * megabyte));
      feed.open(
        (await store.findById(db, node.id)) as store.NodeRow,
        answer.response,
        epoch,
        revision,
      );
      await until(() => answer.response.destroyed && feed.size === 0);
    } finally {
      feed.close();
      answer.stop();
    }
  });

  it('a change of a server writes nothing for the nodes that follow', async () => {
    const { node, row } = await scene();
    await node.start();
    await soon();
    const { groupActions } = t.running.ctx.metrics;
    const actions = async () => (await groupActions.get()).values[0]?.value ?? 0;
    const before = await actions();
    await t.write((tx) => changeServer(tx, row, { title: 'Other' }));
    await node.until((follower) => follower.heard('server').length > 0);
    await soon();
    expect((await actions()) - before).toBe(1);
    node.stop();
  });

  it('a snapshot that nobody reads is given up, and only so many are under way', async () => {
    const { built, row } = await scene();
    const names = Array.from({ length: 1000 }, (_, at) => `user${at}-${'x'.repeat(500)}`);
    await t.proxyUsers(built, 100, names);
    const snapshots = new Snapshots(t.running.ctx, { maxRunning: 1, stalled_seconds: 0.1 });
    const unread = snapshots.open({ id: 1, server_id: row.id });
    const failed = new Promise<Error>((resolve) => unread.once('error', resolve));
    expect(() => snapshots.open({ id: 1, server_id: row.id })).toThrow(/Too many snapshots/);
    expect((await failed).message).toBe('The node does not read what it asked for.');
    await soon();
    const read = snapshots.open({ id: 1, server_id: row.id });
    let text = '';
    let listeners = 0;
    for await (const chunk of read) {
      text += chunk;
      listeners = Math.max(listeners, read.listenerCount('close'));
    }
    expect(text.trim().endsWith('}')).toBe(true);
    expect(JSON.parse(text.trim().split('\n').at(-1) as string).kind).toBe('end');
    expect(listeners).toBeLessThan(4);
  });

  it('a node far behind shows as the most, and catches up over changes of others', async () => {
    const { server, node, built } = await scene();
    await node.start();
    node.stop();
    const acked = node.revision;
    const lag = async () => {
      const nodes = (await t.operator.get('/nodes')).body as Array<{ id: number; lag: number }>;
      return nodes.find(({ id }) => id === node.id)?.lag;
    };
    expect(await lag()).toBe(0);
    const add = (hostname: string) =>
      t.as(built).post('/contract/overrides', {
        server,
        hostname,
        ip: '192.0.2.1',
        expiry: t.now() + 900,
      });
    await add('a.example');
    expect(await lag()).toBe(1);
    // Of another server.
    await t.write((tx) => logChanges(tx, 999_999, 45_000));
    expect(await lag()).toBe(10_000);
    await add('b.example');
    node.revision = acked;
    node.events.splice(0);
    await node.follow();
    await node.until((follower) => follower.events.some(({ event }) => event === 'position'));
    expect(
      node.heard('override').map(({ value }) => (value as { hostname: string }).hostname),
    ).toEqual(['a.example', 'b.example']);
    node.stop();
  });

  it('open pages hear of every change of a node, also of changes that cancel each other out', async () => {
    const { db } = t.running.ctx;
    await t.server('marks');
    const nodes = [await t.node('marks'), await t.node('marks')] as const;
    for (let count = 0; count < 40; count++) await t.write((tx) => bumpVersion(tx, 0));
    const { epoch, revision } = await networkPosition(db);
    const [first, other] = nodes.map(({ id }) => id) as [number, number];
    const acknowledgeBoth = (revisions: [number, number]) =>
      t.write(async (tx) => {
        await acknowledge(tx, first, epoch, revisions[0]);
        await acknowledge(tx, other, epoch, revisions[1]);
      });
    await acknowledgeBoth([revision, revision - first]);
    const before = await networkMarks(db);
    // One node restarts from an older state, the other goes on.
    await acknowledgeBoth([revision - other, revision]);
    expect((await networkMarks(db)).nodes).toBeGreaterThan(before.nodes);
  });
});
