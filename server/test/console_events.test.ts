// Live pages: what reaches an open stream, how often, and how it ends.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newsOfAccount } from '../src/api/news.ts';
import { topics } from '../src/changes/changes.ts';
import { EventStreams } from '../src/http/event_streams.ts';
import type { BuiltAccount } from './builders.ts';
import { cookieAt } from './client.ts';
import { eachDatabase } from './databases.ts';
import { EventStream, type Heard } from './event_stream.ts';
import { type Browser, passwordOf, startTestApp, type TestApp } from './harness.ts';
import type { TestNode } from './node.ts';
import { unreadAnswer } from './unread_answer.ts';
import { until } from './waiting.ts';

eachDatabase((database) => {
  let url: string;
  let t: TestApp;
  let acme: BuiltAccount;
  let alice: Browser;
  const open: EventStream[] = [];

  const listen = async (browser: Browser) => {
    const url = `${t.base_url}/console/events`;
    const stream = await EventStream.open(url, { cookie: browser.cookie });
    open.push(stream);
    await stream.until(({ heard }) => heard.length > 0);
    return stream;
  };
  const listenAsOperator = async () => {
    const url = `${t.running.admin_url}/admin/events`;
    const stream = await EventStream.open(url, { authorization: `Bearer ${t.admin_token}` });
    open.push(stream);
    await stream.until(({ heard }) => heard.length > 0);
    return stream;
  };

  beforeAll(async () => {
    url = await database.url();
    t = await startTestApp(url);
    await t.server('fra1', { exit_ips: ['198.51.100.10'] });
    acme = await t.account('acme', { servers: ['fra1'] });
    await t.account('other', { servers: ['fra1'] });
    alice = await t.signIn('acme', 'alice');
  });
  afterAll(async () => {
    for (const stream of open) stream.stop();
    await t.stop();
  });

  /** One more session of alice; an invitation would end the others. */
  const again = async () => {
    const browser = t.browser();
    const password = passwordOf('alice');
    const answer = await browser.post('/session', { account: 'acme', user: 'alice', password });
    expect(answer.status).toBe(201);
    return browser;
  };

  const newOverride = () => ({
    server: 'fra1',
    hostname: `${Math.random().toString(36).slice(2)}.example`,
    ip: '203.0.113.7',
    expiry: t.now() + 3600,
  });

  test('a stream opens with the stamps of the account, and nothing on the way may keep or hold it', async () => {
    const stream = await listen(alice);
    const versions = await newsOfAccount(t.running.ctx, acme.account.id);
    expect(stream.heard).toHaveLength(1);
    expect(stream.heard[0]).toEqual(versions);
    expect(Object.keys(versions)).toEqual([...topics, 'network']);
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    expect(stream.headers.get('cache-control')).toBe('no-store');
    expect(stream.headers.get('x-accel-buffering')).toBe('no');
    stream.stop();
  });

  test('a change by whichever door is heard; a change of another account is not', async () => {
    const stream = await listen(alice);
    const [first] = stream.heard;
    const later = await stream.next(() => t.as(acme).post('/contract/overrides', newOverride()));
    expect(later.overrides).not.toBe(first?.overrides);
    expect(later.network).toBe(first?.network);
    const heard = stream.heard.length;
    const bob = await t.signIn('other', 'alice');
    await bob.post('/overrides', newOverride());
    await sleep(250);
    expect(stream.heard).toHaveLength(heard);
    stream.stop();
  });

  /** The names of the versions that differ between two events, except that of anything. */
  const changed = (a: Heard = {}, b: Heard = {}) =>
    Object.keys(b).filter((name) => name !== 'revision' && b[name] !== a[name]);

  test('an event names what has changed, on every server of the database; what is read later is as new', async () => {
    const second = await startTestApp(url, { EXITWARD_DATA_DIR: t.data_dir });
    const there = `${second.base_url}/console/events`;
    const elsewhere = await EventStream.open(there, {
      cookie: cookieAt(there, alice.cookie),
    });
    open.push(elsewhere);
    const [here, operator] = [await listen(alice), await listenAsOperator()];
    await elsewhere.until(({ heard }) => heard.length > 0);
    const entry = { ip: '203.0.113.9', user: 'alice', expiry: t.now() + 3600 };
    const plan = () => t.operator.patch('/accounts/acme', { plan: `Plan ${Math.random()}` });
    const changes: Array<[string, () => Promise<{ status: number }>]> = [
      ['authlist', () => alice.post('/authlist', entry)],
      ['overrides', () => alice.post('/overrides', newOverride())],
      ['users', () => alice.patch('/users/alice', { display_name: `A ${Math.random()}` })],
      ['contract', plan],
      ['contract', () => t.operator.post('/accounts/acme/tokens', { name: 'told' })],
    ];
    for (const [name, make] of changes) {
      const befores = [here, elsewhere, operator].map((stream) => stream.heard.at(-1));
      expect((await make()).status).toBeLessThan(300);
      for (const [at, stream] of [here, elsewhere, operator].entries()) {
        await stream.until(({ heard }) => changed(befores[at], heard.at(-1)).length > 0);
        expect(changed(befores[at], stream.heard.at(-1)), name).toEqual([name]);
      }
      const asOf = (await alice.get('/contract')).headers.get('exitward-as-of');
      expect(asOf).toContain(`${name}=${here.heard.at(-1)?.[name]}`);
      const status = await t.operator.get('/status');
      expect(status.headers.get('exitward-as-of')).toContain(
        `${name}=${operator.heard.at(-1)?.[name]}`,
      );
    }
    for (const stream of [here, elsewhere, operator]) stream.stop();
    await second.stop();
  });

  test('an acknowledgement that makes an entry active is heard', async () => {
    const node = await t.node('fra1');
    await node.start();
    const stream = await listen(alice);
    const body = newOverride();
    await stream.next(() => t.as(acme).post('/contract/overrides', body));
    const status = async () => {
      const { body: all } = await alice.get('/overrides');
      return all.find((row: { hostname: string }) => row.hostname === body.hostname).status;
    };
    expect(await status()).toBe('pending');
    await node.until(({ heard }) => heard.call(node, 'override').length > 0);
    await stream.next(() => node.ack());
    expect(await status()).toBe('active');
    node.stop();
    stream.stop();
  });

  test('health, usage, the end of an entry and of a session are heard', async () => {
    const node = await t.node('fra1', 'reporting');
    await node.start();
    const stream = await listen(alice);
    const before = stream.heard.at(-1);
    const health = await stream.next(() =>
      node.send('POST', '/health', {
        exit_ips: [{ ip: '198.51.100.10', status: 'warn', checked_at: t.now() }],
      }),
    );
    expect(changed(before, health)).toEqual(['network']);
    const usage = await stream.next(() =>
      node.send('POST', '/usage', {
        boot: 'b',
        seq: 1,
        rows: [{ account: acme.account.id, user: 1, at: t.now(), up: 1, down: 1 }],
      }),
    );
    expect(changed(health, usage)).toEqual(['usage']);
    expect((await alice.get('/contract')).body.period.usage).toBe(2);
    await t.write((tx) => tx.run('update overrides set expiry = $1', [tx.now]));
    await stream.next(() => t.pass(1));
    await stream.next(async () => {
      await (await again()).delete('/session');
    });
    node.stop();
    stream.stop();
  });

  test('changes that come together are sent together: ten events a second at most', async () => {
    const stream = await listen(alice);
    const from = performance.now();
    for (let times = 0; times < 60; times += 1) {
      await t.as(acme).post('/contract/overrides', newOverride());
    }
    const { overrides } = await newsOfAccount(t.running.ctx, acme.account.id);
    await stream.until(({ heard }) => heard.at(-1)?.overrides === overrides);
    const seconds = (performance.now() - from) / 1000;
    expect(stream.heard.length).toBeLessThanOrEqual(3 + Math.ceil(seconds * 10));
    expect(stream.heard.length).toBeGreaterThan(1);
    stream.stop();
  });

  test('a stream ends with its session, and when its user is made inactive', async () => {
    await t.user(acme, 'carol', { proxy: true });
    await t.user(acme, 'dave', { proxy: true });
    const [carol, dave] = [await t.signIn('acme', 'carol'), await t.signIn('acme', 'dave')];
    const [first, second] = [await listen(carol), await listen(dave)];
    await carol.delete('/session');
    await first.until(({ hasEnded }) => hasEnded);
    expect(second.hasEnded).toBe(false);
    expect((await alice.patch('/users/dave', { active: false })).status).toBe(200);
    await second.until(({ hasEnded }) => hasEnded);
  });

  test('a user may have 16 streams open, in whichever sessions; the next is refused until one closes', async () => {
    const other = await again();
    const streams = await Promise.all(
      Array.from({ length: 16 }, (_, at) => listen(at % 2 === 0 ? alice : other)),
    );
    await expect(listen(alice)).rejects.toThrow(/^503 .*too many streams/);
    await expect(listen(other)).rejects.toThrow(/^503 .*too many streams/);
    // Another user of the account is not held up by it.
    await t.user(acme, 'erin');
    (await listen(await t.signIn('acme', 'erin'))).stop();
    for (const stream of streams) stream.stop();
    (await until(() => listen(other))).stop();
  });

  test('an account may have 64 streams open, and holds up no other', async () => {
    const crowd = await t.account('crowd');
    const people = [];
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await t.user(crowd, name);
      people.push(await t.signIn('crowd', name));
    }
    const last = people.pop() as Browser;
    const streams = await Promise.all(
      people.flatMap((person) => Array.from({ length: 16 }, () => listen(person))),
    );
    await expect(listen(last)).rejects.toThrow(/^503 .*too many streams/);
    (await listen(alice)).stop();
    streams.pop()?.stop();
    (await until(() => listen(last))).stop();
    for (const stream of streams) stream.stop();
  });

  test('a page that reads nothing is cut, and nothing piles up for it', async () => {
    const streams = new EventStreams(t.running.ctx);
    const answer = await unreadAnswer();
    let revision = 0;
    try {
      streams.open(answer.response, {
        topic: 'test',
        read: async () => ({ revision: ++revision, text: 'x'.repeat(64 * 1024) }),
        pause_ms: 0,
        owners: [{ name: 'test', max: 1 }],
        holds: async () => true,
      });
      // First the kernel takes what is sent; then it stays with us.
      for (let times = 0; times < 2000 && !answer.response.destroyed; times += 1) {
        await streams.beat();
        await sleep(1);
        expect(answer.response.writableLength).toBeLessThan(128 * 1024);
      }
      expect(answer.response.destroyed).toBe(true);
      await until(() => streams.size === 0);
    } finally {
      streams.close();
      answer.stop();
    }
  });

  test('a heartbeat is a comment, and ends the stream of who may not listen any more', async () => {
    const streams = new EventStreams(t.running.ctx);
    const answer = await unreadAnswer();
    answer.read();
    let holds = true;
    try {
      streams.open(answer.response, {
        topic: 'test',
        read: async () => ({ revision: 1 }),
        pause_ms: 0,
        owners: [{ name: 'test', max: 1 }],
        holds: async () => holds,
      });
      await until(() => answer.text().includes('event: change'));
      await streams.beat();
      await until(() => answer.text().includes(': keep'));
      expect(answer.text()).toMatch(/event: change\ndata: \{"revision":1\}\n\n: keep\n\n$/);
      holds = false;
      await streams.beat();
      await until(() => answer.isOver() && streams.size === 0);
    } finally {
      streams.close();
      answer.stop();
    }
  });

  test('nobody hears anything without a session or an operator token', async () => {
    await expect(EventStream.open(`${t.base_url}/console/events`, {})).rejects.toThrow(/^401 /);
    const url = `${t.running.admin_url}/admin/events`;
    await expect(EventStream.open(url, { cookie: alice.cookie })).rejects.toThrow(/^401 /);
    expect((await alice.send('HEAD', '/events')).status).toBe(200);
  });

  test('operators hear of operator tokens, and whose is revoked hears nothing more', async () => {
    const stream = await listenAsOperator();
    const before = stream.heard.length;
    const made = (await t.operator.post('/tokens', { name: 'second' })).body;
    await stream.until(({ heard }) => heard.length > before);
    const url = `${t.running.admin_url}/admin/events`;
    const second = await EventStream.open(url, { authorization: `Bearer ${made.admin_token}` });
    open.push(second);
    await second.until(({ heard }) => heard.length > 0);
    await t.operator.delete(`/tokens/${made.id}`);
    await second.until(({ hasEnded }) => hasEnded);
  });

  test('the operator hears of any change in the network, twice a second at most', async () => {
    const stream = await listenAsOperator();
    const [first] = stream.heard;
    const from = performance.now();
    for (let times = 0; times < 20; times += 1) {
      await t.as(acme).post('/contract/overrides', newOverride());
    }
    const { revision } = (await t.operator.get('/status')).body.database;
    await stream.until(({ heard }) => heard.at(-1)?.revision === revision);
    const seconds = (performance.now() - from) / 1000;
    expect(stream.heard.length).toBeLessThanOrEqual(3 + Math.ceil(seconds * 2));
    expect(stream.heard.at(-1)?.network).toBe(first?.network);
    const later = await stream.next(() => t.server('ams1'));
    expect(later.network).toBeGreaterThan(first?.network as number);
    stream.stop();
  });

  test('the operator hears of nodes that join, apply a change, and go offline', async () => {
    const stream = await listenAsOperator();
    let node: TestNode | undefined;
    await stream.next(async () => {
      node = await t.node('fra1', 'watched');
    });
    // The effect of a snapshot and its acknowledgement shows in the list of nodes, and in no
    // record.
    await stream.next(async () => {
      await node?.snapshot();
      await node?.ack();
    });
    const { revision } = stream.heard.at(-1) as Record<string, number>;
    const lost = await stream.next(() => t.pass(61));
    expect(lost.revision).toBe(revision);
    stream.stop();
  });

  test('the stream of an operator token ends when it is revoked', async () => {
    const { body } = await t.operator.post('/tokens', { name: 'second' });
    const url = `${t.running.admin_url}/admin/events`;
    const stream = await EventStream.open(url, { authorization: `Bearer ${body.admin_token}` });
    open.push(stream);
    await stream.until(({ heard }) => heard.length > 0);
    await t.operator.delete(`/tokens/${body.id}`);
    await t.operator.patch('/accounts/acme', { plan: 'Team' });
    await stream.until(({ hasEnded }) => hasEnded);
  });

  test('a session that is over hears no change any more', async () => {
    const stream = await listen(alice);
    const heard = stream.heard.length;
    t.clock.advance(31 * 86_400);
    await t.operator.patch('/accounts/acme', { plan: 'Large' });
    await stream.until(({ hasEnded }) => hasEnded);
    expect(stream.heard).toHaveLength(heard);
  });

  test('a server that stops ends its streams at once', async () => {
    const own = await startTestApp(await database.url(), { EXITWARD_STOP_SECONDS: '30' });
    await own.account('acme');
    const browser = await own.signIn('acme', 'alice');
    const stream = await EventStream.open(`${own.base_url}/console/events`, {
      cookie: browser.cookie,
    });
    await stream.until(({ heard }) => heard.length > 0);
    const from = performance.now();
    await own.stop();
    expect(performance.now() - from).toBeLessThan(25_000);
    await stream.until(({ hasEnded }) => hasEnded);
  });
});
