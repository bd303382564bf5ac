// The pace of the streams: each node at the pace at which it reads, whatever it missed, and nothing
// is lost by a fault.
import { expect, it, vi } from 'vitest';
import type { SentRecord } from '../../kit/src/node_interface.ts';
import { createEntry, removeEntry } from '../src/authlist/authlist.ts';
import { type LoggedChange, networkPosition } from '../src/changes/changes.ts';
import type { Database } from '../src/db/database.ts';
import { Feed } from '../src/nodes/feed.ts';
import { NodeStream } from '../src/nodes/node_stream.ts';
import * as store from '../src/nodes/store.ts';
import { requireServer } from '../src/servers/servers.ts';
import { eachApp } from './apps.ts';
import type { BuiltAccount } from './builders.ts';
import { logChanges } from './logged_changes.ts';
import type { NodeRecord } from './node.ts';
import { unreadAnswer } from './unread_answer.ts';

const megabyte = 1024 * 1024;
/** The name of the first user, so that a change of it is long: fewer have to be read one by one. */
const longName = 'x'.repeat(80_000);
/** For tests that write tens of megabytes, in milliseconds. */
const long = 180_000;
const patience = { timeout: 100_000, interval: 200 };

interface Event {
  revision: number;
  event: string;
  records: NodeRecord[];
}

/** The events of a stream, as far as they are whole. */
function eventsOf(text: string): Event[] {
  return text
    .slice(text.indexOf('id: '))
    .split('\n\n')
    .slice(0, -1)
    .map((block) => {
      const [id = '', event = '', data = ''] = block
        .split('\n')
        .map((line) => line.slice(line.indexOf(': ') + 2));
      const records = event === 'change' ? (JSON.parse(data) as NodeRecord[]) : [];
      return { revision: Number(id.split(':')[1]), event, records };
    });
}

eachApp((t) => {
  async function scene() {
    const { number, server, built } = await t.site();
    await t.write((tx) =>
      tx.run('update users set name = $1 where account_id = $2 and id = 1', [
        longName,
        built.account.id,
      ]),
    );
    const node = await t.node(server);
    const row = await requireServer(t.running.ctx.db, server);
    await node.snapshot();
    return { number, server, built, node, row };
  }

  const longUser = ({ account }: BuiltAccount) =>
    ({ kind: 'user', account_id: account.id, record_id: 1 }) as const;

  /** A stream to a node that reads when the test says so. */
  async function stream(
    node: { id: number; epoch: string; revision: number },
    ctx = t.running.ctx,
    stalled_seconds = 600,
  ) {
    const feed = new Feed(ctx, { stalled_seconds });
    const answer = await unreadAnswer();
    await feed.reaches(node.epoch, node.revision);
    feed.open(
      (await store.findById(t.running.ctx.db, node.id)) as store.NodeRow,
      answer.response,
      node.epoch,
      node.revision,
    );
    return {
      ...answer,
      events: () => eventsOf(answer.text()),
      stop: () => {
        feed.close();
        answer.stop();
      },
    };
  }

  const revisionsAfter = (revision: number, count: number) =>
    Array.from({ length: count }, (_, at) => revision + at + 1);
  const changed = (events: Event[]) =>
    events.filter(({ event }) => event === 'change').map(({ revision }) => revision);

  it('a node far behind is sent everything at its own pace, with little of it in memory', {
    timeout: long,
  }, async () => {
    const { node, row, built } = await scene();
    const before = (await networkPosition(t.running.ctx.db)).revision;
    const changes = 250;
    const last = await t.write((tx) => logChanges(tx, row.id, changes, longUser(built)));
    const events = await stream(node);
    try {
      await vi.waitFor(() => expect(events.response.writableNeedDrain).toBe(true), patience);
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(events.response.writableLength).toBeLessThan(megabyte);
      events.read();
      await vi.waitFor(() => expect(events.text()).toContain('event: position'), patience);
      expect(events.text().length).toBeGreaterThan(16 * megabyte);
      expect(changed(events.events())).toEqual(revisionsAfter(before, changes));
      expect(events.events().at(-1)).toMatchObject({ event: 'position', revision: last });
    } finally {
      events.stop();
    }
  });

  it('while a node catches up, others have their turn after each page', async () => {
    const { node, row } = await scene();
    const pages = 40;
    await t.write((tx) =>
      logChanges(tx, row.id, pages * 500, { kind: 'explain', record_id: 999_999 }),
    );
    let turns = 0;
    let counting = true;
    const count = () => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    const events = await stream(node);
    try {
      events.read();
      count();
      const position = events.response.write.bind(events.response);
      await new Promise<void>((resolve) => {
        events.response.write = ((piece: string) => {
          if (String(piece).includes('event: position')) resolve();
          return position(piece);
        }) as typeof events.response.write;
      });
      expect(turns).toBeGreaterThanOrEqual(pages);
    } finally {
      counting = false;
      events.stop();
    }
  });

  it('a node that reads slower than changes are made falls behind, and hears each of them once and in order', {
    timeout: long,
  }, async () => {
    const { node, row, built } = await scene();
    const events = await stream(node);
    try {
      events.read();
      await vi.waitFor(() => expect(events.text()).toContain('event: position'), patience);
      events.pause();
      const before = (await networkPosition(t.running.ctx.db)).revision;
      const changes = 300;
      for (let at = 0; at < 4; at += 1) {
        await t.write((tx) => logChanges(tx, row.id, changes / 4, longUser(built)));
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(events.response.destroyed).toBe(false);
      expect(events.response.writableLength).toBeLessThan(2 * megabyte);
      events.read();
      await vi.waitFor(
        () => expect(changed(events.events())).toEqual(revisionsAfter(before, changes)),
        patience,
      );
      // It gets changes at once again.
      const last = await t.write((tx) => logChanges(tx, row.id, 1));
      await vi.waitFor(() => expect(changed(events.events()).at(-1)).toBe(last), patience);
    } finally {
      events.stop();
    }
  });

  it('one change may be far longer than what waits unread: it is sent in pieces, and is whole with the last', {
    timeout: long,
  }, async () => {
    const { node, row, built } = await scene();
    const users = 10_000;
    const name = 'x'.repeat(400);
    const names = Array.from({ length: users }, (_, at) => `${name}${at}\u{1f680}`);
    await t.proxyUsers(built, 100, names);
    const events = await stream(node);
    try {
      events.read();
      await vi.waitFor(() => expect(events.text()).toContain('event: position'), patience);
      events.pause();
      const account = { kind: 'account', account_id: built.account.id } as const;
      const last = await t.write((tx) => logChanges(tx, row.id, 1, account));
      await vi.waitFor(() => expect(events.response.writableNeedDrain).toBe(true), patience);
      expect(events.response.writableLength).toBeLessThan(megabyte);
      events.read();
      await vi.waitFor(
        () => expect(events.text().match(/event: position/g)?.length).toBe(2),
        patience,
      );
      const pieces = events.events().filter(({ event }) => event === 'change');
      expect(pieces.filter(({ revision }) => revision === last)).toEqual([pieces.at(-1)]);
      const records = pieces.flatMap((piece) => piece.records);
      expect(records).toHaveLength(users + 3);
      expect(records.at(-1)?.value).toMatchObject({ name: `${name}${users - 1}\u{1f680}` });
    } finally {
      events.stop();
    }
  });

  it('a stream ends when what its node has yet to hear is pruned: it connects again, and gets 409', {
    timeout: long,
  }, async () => {
    const { node, row, built } = await scene();
    const last = await t.write((tx) => logChanges(tx, row.id, 750, longUser(built)));
    const events = await stream(node);
    try {
      await vi.waitFor(() => expect(events.response.writableNeedDrain).toBe(true), patience);
      await t.write((tx) => tx.run('delete from changes where revision < $1', [last - 10]));
      events.read();
      await vi.waitFor(() => expect(events.isOver()).toBe(true), patience);
      expect(events.text()).not.toContain('event: position');
      const heard = changed(events.events());
      expect(heard).toEqual(
        revisionsAfter(heard[0] as number, heard.length).map((change) => change - 1),
      );
      node.revision = heard.at(-1) as number;
      await expect(node.follow()).rejects.toThrow(/409/);
    } finally {
      events.stop();
    }
  });

  it('a node with more than 50,000 changes to hear takes a snapshot; revisions that are no changes do not count', {
    timeout: long,
  }, async () => {
    const { node, row } = await scene();
    const from = node.revision;
    await t.write((tx) => tx.run('update network set revision = revision + 100000'));
    const first = await t.write((tx) => logChanges(tx, 999_999, 50_000));
    await node.follow();
    await node.until((follower) => follower.revision >= first);
    node.stop();
    node.revision = from;
    await t.write((tx) => logChanges(tx, row.id, 1));
    await expect(node.follow()).rejects.toThrow(/409/);
  });

  it('a question that cannot be opened any more is over, and holds nothing else back', async () => {
    const { number, node, row } = await scene();
    await node.follow();
    await t.write((tx) =>
      store.insertQuestion(tx, {
        id: 1_000_000 + number,
        server_id: row.id,
        sealed: 'A'.repeat(80),
        answer: null,
        answered_by: null,
        asked_at: tx.now,
      }),
    );
    await t.write((tx) =>
      logChanges(tx, row.id, 1, { kind: 'explain', record_id: 1_000_000 + number }),
    );
    await t.write((tx) => logChanges(tx, row.id, 1));
    await node.until((follower) => follower.heard('server').length === 1);
    expect(node.heard('explain')).toEqual([
      { kind: 'explain', id: 1_000_000 + number, value: null },
    ]);
    node.stop();
  });

  it('changes that could not be read are handed out a moment later, without another commit', async () => {
    const { node, row } = await scene();
    const { ctx } = t.running;
    let isAway = false;
    const db = new Proxy(ctx.db, {
      get(target, name) {
        if (name === 'all' && isAway) {
          return async () => {
            throw new Error('the database is away');
          };
        }
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }) as Database;
    const events = await stream(node, { ...ctx, db });
    try {
      events.read();
      await vi.waitFor(() => expect(events.text()).toContain('event: position'), patience);
      isAway = true;
      const last = await t.write((tx) => logChanges(tx, row.id, 1));
      await new Promise((resolve) => setTimeout(resolve, 300));
      isAway = false;
      await vi.waitFor(() => expect(changed(events.events())).toEqual([last]), patience);
    } finally {
      events.stop();
    }
  });

  it('the records of hundreds of changes are read by a few statements, and sent as they are', async () => {
    const { number, node, built } = await scene();
    const reads = (['one', 'all'] as const).map((name) => vi.spyOn(t.running.ctx.db, name));
    const reading = await stream(node);
    try {
      reading.read();
      await vi.waitFor(() => expect(reading.text()).toContain('event: position'), patience);
      for (const read of reads) read.mockClear();
      await t.write(async (tx) => {
        for (let id = 1; id <= 300; id += 1) {
          const ip = `2001:db8:${number}::${id.toString(16)}`;
          const entry = { ip, user: longName, expiry: tx.now + 3600 };
          await createEntry(tx, built.account.id, entry, t.running.ctx.config);
          if (id % 3 === 0) await removeEntry(tx, built.account.id, id, () => {});
        }
      });
      await vi.waitFor(() => expect(changed(reading.events())).toHaveLength(400), patience);
      expect(reads.flatMap((read) => read.mock.calls).length).toBeLessThan(80);
      const events = reading.events().flatMap(({ records }) => records);
      const values = new Map(events.map(({ id, value }) => [id, value]));
      expect(values.size).toBe(300);
      const listed = (await node.snapshot()).filter(({ kind }) => kind === 'authlist');
      expect(Array.from(values).filter(([, value]) => value !== null)).toEqual(
        listed.map(({ id, value }) => [id, value]),
      );
    } finally {
      for (const read of reads) read.mockRestore();
      reading.stop();
    }
  });
});

it('a stream of which a megabyte is unread when a position is sent is cut; with less it goes on', async () => {
  const position = { epoch: 'e', revision: 1 };
  const records = (length: number): SentRecord[] => [
    { kind: 'user', account: 1, id: 1, value: 'x'.repeat(length) as never },
  ];
  const [slow, slower] = await Promise.all([unreadAnswer(), unreadAnswer()]);
  const [few, much] = [slow, slower].map(
    ({ response }) => new NodeStream({} as store.NodeRow, response, position, 600),
  );
  // The system takes what it has room for: fill that first.
  for (const { response } of [slow, slower]) {
    while (response.writableLength < 64 * 1024) {
      response.write('x'.repeat(64 * 1024));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  few?.sendLive(2, records(megabyte / 2));
  much?.noteLong(true);
  much?.sendAhead({ account_id: 1 } as LoggedChange, records(2 * megabyte));
  for (const stream of [few, much]) stream?.sendPosition(3);
  expect([slow.response.destroyed, slower.response.destroyed]).toEqual([false, true]);
  slow.stop();
  slower.stop();
});
