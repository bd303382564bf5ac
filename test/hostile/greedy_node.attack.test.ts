// A node that takes snapshots and streams without end, and reads none: the other nodes are served
// all the same.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Feed } from '../../server/src/nodes/feed.ts';
import { Snapshots } from '../../server/src/nodes/snapshot.ts';
import * as store from '../../server/src/nodes/store.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';
import { unreadAnswer } from '../../server/test/unread_answer.ts';
import { until } from '../../server/test/waiting.ts';
import { deepTest } from '../deep_test.ts';
import { fillAuthlist, holding } from './held_process.ts';
import { mostPatient_milliseconds, servedBeside } from './victim.ts';

/** Of a snapshot, more than the buffers of a socket hold. */
const entries = 100_000;

eachDatabase((database) => {
  let t: TestApp;
  beforeAll(async () => {
    t = await startTestApp(await database.url());
  });
  afterAll(() => t?.stop());

  async function nodes() {
    const server = 'fra1';
    const { db } = t.running.ctx;
    if (!(await db.one('select id from servers where name = $1', [server]))) await t.server(server);
    const [greedy, victim] = [await t.node(server), await t.node(server, 'victim')];
    const row = async (id: number) => (await store.findById(db, id)) as store.NodeRow;
    return { greedy: await row(greedy.id), victim: await row(victim.id), node: greedy };
  }

  it('a node takes one snapshot at a time, and leaves the others theirs', async () => {
    const { greedy, victim } = await nodes();
    const snapshots = new Snapshots(t.running.ctx, { maxRunning: 2 });
    const lease = snapshots.open(greedy);
    for (let at = 0; at < 100; at += 1) {
      expect(() => snapshots.open(greedy)).toThrow(/Too many snapshots/);
    }
    const read = snapshots.open(victim);
    let text = '';
    for await (const chunk of read) text += chunk;
    expect(text.trim().split('\n').at(-1)).toContain('"kind":"end"');
    for await (const _ of lease);
    await until(() => {
      try {
        snapshots.open(greedy).resume();
        return true;
      } catch {
        return false;
      }
    }, 30);
  });

  it('a node has two streams, of which the newest stays; the stream of another is not touched', async () => {
    const { greedy, victim, node } = await nodes();
    const feed = new Feed(t.running.ctx);
    await node.snapshot();
    await feed.reaches(node.epoch, node.revision);
    const open = async (of: store.NodeRow) => {
      const answer = await unreadAnswer();
      answer.read();
      feed.open(of, answer.response, node.epoch, node.revision);
      return answer;
    };
    const other = await open(victim);
    const own = [];
    for (let at = 0; at < 20; at += 1) own.push(await open(greedy));
    await until(() => feed.size === 3, 30);
    expect(own.map(({ response }) => response.destroyed).filter((gone) => !gone)).toHaveLength(2);
    expect(own.at(-1)?.response.destroyed).toBe(false);
    expect(other.response.destroyed).toBe(false);
    feed.close();
    for (const stream of [other, ...own]) stream.stop();
  });
  deepTest(
    'by its requests and connections alone it keeps no snapshot, no stream and no answer from the others',
    async () => {
      const url = t.running.ctx.config.database_url;
      await t.server('ams1');
      await t.account('long', { servers: ['ams1'] });
      await fillAuthlist(url, 'long', entries);
      const [greedy, victim] = [await t.node('ams1'), await t.node('ams1', 'beside')];
      const request = ({ token }: typeof greedy, path: string, more = '') =>
        `GET /node${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`;
      await victim.snapshot();
      const position = `Last-Event-ID: ${victim.epoch}:${victim.revision}\r\n`;
      const held = [];
      for (let at = 0; at < 40; at += 1) {
        held.push(await holding(greedy.url, request(greedy, '/snapshot')));
        held.push(await holding(greedy.url, request(greedy, '/changes', position)));
      }
      // The first is under way, and nothing of it is read.
      await until(async () => {
        const { status, body } = await greedy.send('GET', '/snapshot');
        await body?.cancel();
        return status === 503;
      }, 30);
      const snapshot = victim.snapshot();
      const { slowest_milliseconds } = await servedBeside(snapshot, () =>
        t.operator.get('/status'),
      );
      expect(slowest_milliseconds).toBeLessThan(mostPatient_milliseconds);
      expect(await snapshot).toHaveLength(entries + 4);
      await victim.follow();
      await t.operator.patch('/accounts/long', { suspended: true });
      await victim.until(() => victim.heard('contract').length > 0);
      expect(await victim.ack()).toBeLessThan(300);
      victim.stop();
      for (const socket of held) socket.destroy();
    },
  );
});
