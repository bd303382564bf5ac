// A node that reports more than its machine can carry: that is held, bills no one, and counts
// exactly once when an operator accepts it.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { burstSeconds, plausibleBytes, reportedUntil } from '../../server/src/nodes/allowance.ts';
import { reportUsage } from '../../server/src/nodes/nodes.ts';
import { CommandLine } from '../../server/test/cli_process.ts';
import { eachDatabase } from '../../server/test/databases.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';
import { TestNode } from '../../server/test/node.ts';
import { deepTest } from '../deep_test.ts';
import { tries } from '../effort.ts';
import { newSeed } from '../seed.ts';

const rate = 1_000_000;
const hour = 3600;
const day = 86_400;
const impossible = 2 ** 50;
const seed = newSeed();

interface Row {
  account: number;
  user: number;
  at: number;
  up: number;
  down: number;
}

eachDatabase((database) => {
  let t: TestApp;
  let names = 0;
  let seq = 0;
  let url: string;
  const settings = { EXITWARD_NODE_MAX_BYTES_PER_SECOND: String(rate) };
  beforeAll(async () => {
    url = await database.url();
    t = await startTestApp(url, settings);
  });
  afterAll(() => t?.stop());

  async function scene() {
    const server = `srv${++names}`;
    await t.server(server);
    const victim = await t.account(`victim${names}`, { servers: [server] });
    const node = await t.node(server);
    const row = (bytes: number, at = t.now()): Row => ({
      account: victim.account.id,
      user: 1,
      at,
      up: bytes,
      down: 0,
    });
    const used = async () => (await t.as(victim).get('/contract')).body.period.usage as number;
    const held = async () =>
      (await t.operator.get('/held_usage')).body.filter(
        ({ node_id }: { node_id: number }) => node_id === node.id,
      );
    return { server, victim, node, row, used, held };
  }

  async function report(node: TestNode, rows: Row[], number = ++seq, boot = 'b') {
    const response = await node.send('POST', '/usage', { boot, seq: number, rows });
    // biome-ignore lint/suspicious/noExplicitAny: bodies of several shapes
    return { response, status: response.status, body: (await response.json()) as any };
  }

  it('a batch of 2^50 bytes is held: nothing of it is billed, no limit acts, and what is honest counts on', async () => {
    const { node, row, used, held, victim } = await scene();
    const { name } = victim.account;
    const limit = { limit_bytes: 10 * rate, on_limit: 'refuse' };
    expect((await t.operator.patch(`/accounts/${name}`, limit)).status).toBe(200);
    expect((await report(node, [row(1000)])).body).toMatchObject({ counted: true, held: false });
    const answer = await report(node, [row(impossible), { ...row(5), user: 77 }]);
    expect(answer).toMatchObject({
      status: 200,
      body: { counted: false, held: true, left_out: [1] },
    });
    expect(answer.body.limits).toMatchObject([{ left_bytes: 10 * rate - 1000 }]);
    expect(await used()).toBe(1000);
    expect((await t.operator.get(`/accounts/${name}`)).body.over_limit).toBe(false);
    expect((await report(node, [row(2000)])).body).toMatchObject({ counted: true, held: false });
    expect(await used()).toBe(3000);
    expect(await held()).toMatchObject([
      { bytes: impossible, row_count: 1, accounts: [{ account: name, bytes: impossible }] },
    ]);
  });

  it('a batch that is sent again is held once, and one that was judged is not counted by sending it again', async () => {
    const { node, row, used, held } = await scene();
    for (let times = 0; times < 3; times += 1) {
      const answer = await report(node, [row(impossible)], 1);
      expect(answer.body).toMatchObject({ counted: false, held: true });
    }
    const [batch, ...others] = await held();
    expect(others).toEqual([]);
    expect((await t.operator.delete(`/held_usage/${batch.id}`)).status).toBe(204);
    const again = await report(node, [row(impossible)], 1);
    expect(again.body).toMatchObject({ counted: false, held: false });
    expect(await held()).toEqual([]);
    expect(await used()).toBe(0);
  });

  it('an accepted batch counts once in the hours that it names, and a limit acts on it at once', async () => {
    const { node, row, used, held, victim } = await scene();
    const { name } = victim.account;
    const account = `/accounts/${name}`;
    await t.operator.patch(account, { limit_bytes: 10 ** 9, on_limit: 'refuse' });
    const now = t.now();
    const before = now - 3 * hour;
    await report(node, [row(6e8, before), row(7e8, now + 500)]);
    const [batch] = await held();
    expect(batch).toMatchObject({ bytes: 13e8, oldest_at: before, newest_at: now });
    t.clock.advance(5 * hour);
    const accept = () => t.operator.post(`/held_usage/${batch.id}/accept`, undefined);
    const answers = await Promise.all(Array.from({ length: 10 }, accept));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)]);
    expect(answers.find(({ status }) => status === 200)?.body).toEqual({ counted_bytes: 13e8 });
    expect(await used()).toBe(13e8);
    const hours = (await t.operator.get(`${account}/usage?by=hour`)).body.rows;
    expect(hours.map(({ hour, total }: { hour: number; total: number }) => [hour, total])).toEqual([
      [before - (before % hour), 6e8],
      [now - (now % hour), 7e8],
    ]);
    expect((await t.operator.get(account)).body.over_limit).toBe(true);
    expect(await held()).toEqual([]);
    const audit = (await t.operator.get('/audit?limit=1')).body[0];
    expect(audit).toMatchObject({
      action: 'held_usage.accept',
      before: { node_id: node.id, bytes: 13e8, accounts: [{ account: name, bytes: 13e8 }] },
    });
  });

  it('a batch that one operator accepts while another discards it is either counted or thrown away', async () => {
    const { node, row, used, held } = await scene();
    let counted = 0;
    for (let round = 0; round < 10; round += 1) {
      await report(node, [row(10 ** 9 + round)]);
      const [batch] = await held();
      const [accepted, discarded] = await Promise.all([
        t.operator.post(`/held_usage/${batch.id}/accept`, undefined),
        t.operator.delete(`/held_usage/${batch.id}`),
      ]);
      expect([accepted.status, discarded.status].sort()).toEqual(
        accepted.status === 200 ? [200, 404] : [204, 404],
      );
      if (accepted.status === 200) counted += 10 ** 9 + round;
      expect(await held()).toEqual([]);
    }
    expect(await used()).toBe(counted);
  });

  it('a node has 100 batches held; the next one stays in its journal, and is taken when there is room', async () => {
    const { node, row, held } = await scene();
    await t.write(async (tx) => {
      for (let at = 0; at < 100; at += 1) {
        const rows = [row(impossible)];
        await reportUsage(tx, node.id, { boot: 'b', seq: at + 1, rows }, rate);
      }
    });
    for (let times = 0; times < 2; times += 1) {
      const refused = await report(node, [row(impossible)], 101);
      expect(refused).toMatchObject({ status: 503, body: { code: 'held_usage_full' } });
      expect(refused.response.headers.get('retry-after')).toBe('60');
    }
    const all = await held();
    expect(all).toHaveLength(100);
    await t.operator.delete(`/held_usage/${all[0].id}`);
    expect((await report(node, [row(impossible)], 101)).body).toMatchObject({ held: true });
    expect((await report(node, [row(10)], 102)).body).toMatchObject({ counted: true });
    for (const { id } of await held()) await t.operator.delete(`/held_usage/${id}`);
  });

  deepTest('a node has 200,000 rows held at most', async () => {
    const { node, row, held } = await scene();
    const rows = Array(20_000).fill(row(10 ** 6));
    for (let at = 0; at < 10; at += 1) {
      expect((await report(node, rows)).body).toMatchObject({ held: true });
    }
    const refused = await report(node, [row(impossible)]);
    expect(refused).toMatchObject({ status: 503, body: { code: 'held_usage_full' } });
    for (const { id } of await held()) await t.operator.delete(`/held_usage/${id}`);
  });

  it('the node shows a fault with its figure and since when, in metrics too, until all is judged', async () => {
    const { node, row, held, server } = await scene();
    const since = t.now();
    await report(node, [row(impossible)]);
    t.clock.advance(60);
    await report(node, [row(10 ** 9)]);
    const faults = async () => (await t.operator.get(`/nodes/${node.id}`)).body.faults;
    expect(await faults()).toMatchObject([{ kind: 'usage_held', subject: null, since }]);
    expect((await faults())[0].message).toContain(
      `2 batches of usage with ${impossible + 1e9} bytes`,
    );
    const own = { kind: 'usage_held', message: 'All is well.', since: 5 };
    await node.send('POST', '/faults', { faults: [own] });
    expect(await faults()).toHaveLength(1);
    const metrics = async () => (await fetch(t.running.metrics_url as string)).text();
    const labels = `{server="${server}",node="${node.id}",kind="usage_held"}`;
    expect(await metrics()).toContain(`exitward_node_faults_since_seconds${labels} ${since}\n`);
    for (const { id } of await held()) await t.operator.delete(`/held_usage/${id}`);
    expect(await faults()).toEqual([]);
    expect(await metrics()).not.toContain(labels);
  });

  it('what is held of a node that was revoked can still be judged, and its server stays until it is', async () => {
    const { node, row, used, held, server, victim } = await scene();
    await report(node, [row(10 ** 9)]);
    await t.operator.delete(`/nodes/${node.id}`);
    expect(await held()).toMatchObject([{ server, revoked: true }]);
    await t.operator.delete(`/accounts/${victim.account.name}/servers/${server}`);
    const refused = await t.operator.delete(`/servers/${server}`);
    expect(refused).toMatchObject({ status: 409, body: { code: 'server_in_use' } });
    const [{ id }] = await held();
    expect((await t.operator.post(`/held_usage/${id}/accept`, undefined)).status).toBe(200);
    expect(await used()).toBe(10 ** 9);
    expect((await t.operator.delete(`/servers/${server}`)).status).toBe(204);
  });

  it('an operator may give a machine another rate, and take it back', async () => {
    const { node, row } = await scene();
    const change = (max_bytes_per_second: number | null) =>
      t.operator.patch(`/nodes/${node.id}`, { max_bytes_per_second });
    expect((await change(10 ** 9)).body).toMatchObject({ max_bytes_per_second: 10 ** 9 });
    expect((await report(node, [row(50e9)])).body).toMatchObject({ counted: true });
    expect((await report(node, [row(50e9)])).body).toMatchObject({ held: true });
    expect((await change(null)).body).toMatchObject({ max_bytes_per_second: null });
    expect((await report(node, [row(20e6)])).body).toMatchObject({ held: true });
    for (const wrong of [0, -1, 1.5, 1e16]) {
      expect((await change(wrong)).status).toBe(400);
    }
    expect((await t.operator.patch('/nodes/999999', { max_bytes_per_second: 5 })).status).toBe(404);
  });

  it('what a node has reported stays known: another process, or one that starts again, gives it no second allowance', async () => {
    const { node, row } = await scene();
    expect((await report(node, [row(50 * rate)])).body).toMatchObject({ counted: true });
    const { config } = t.running.ctx;
    const other = await startTestApp(url, {
      ...settings,
      EXITWARD_KEYS_FILE: config.keys_file,
      EXITWARD_ADMIN_TOKEN_FILE: config.admin_token_file,
    });
    other.clock.seconds = t.clock.seconds;
    const elsewhere = new TestNode(other.running.node_url, node.id, node.token);
    expect((await report(elsewhere, [row(50 * rate)])).body).toMatchObject({ held: true });
    other.clock.advance(50);
    expect((await report(elsewhere, [row(50 * rate)])).body).toMatchObject({ counted: true });
    await other.stop();
  });

  it('what was counted at once after hours, in more rows than a batch has, is not held', async () => {
    const { node, row } = await scene();
    t.clock.advance(8 * hour);
    const batch = (rows: number) =>
      Array.from({ length: rows }, () => row(Math.floor((3 * hour * rate) / rows)));
    for (const rows of [batch(20_000), batch(10)]) {
      expect((await report(node, rows)).body).toMatchObject({ counted: true, held: false });
    }
    // The last of them says that all is reported.
    expect((await report(node, [row(hour * rate + 61 * rate)])).body).toMatchObject({ held: true });
  });

  it('a node at line rate is never held, however often it reports and whenever it is cut off', async () => {
    const { node, victim, held } = await scene();
    await t.user(victim, 'bob', { proxy: true });
    const breaks = fc.array(
      fc.record({ seconds: pauses, batches: fc.integer({ min: 1, max: 4 }) }),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    const none = { kind: 'node', name: 'n', address: '', request_id: '' } as const;
    await fc.assert(
      fc.asyncProperty(breaks, async (history) => {
        for (const { seconds, batches } of history) {
          const from = t.now();
          t.clock.advance(seconds);
          for (const rows of journalOf(from, t.now(), batches, victim.account.id)) {
            seq += 1;
            const outcome = await t.running.ctx.db.write(none, (tx) =>
              reportUsage(tx, node.id, { boot: 'line', seq, rows }, rate),
            );
            expect(outcome).toMatchObject({ counted: true, held: false, left_out: [] });
          }
        }
      }),
      { numRuns: tries(15), seed },
    );
    expect(await held()).toEqual([]);
  });
});

/** Mostly seconds, at times days. */
const pauses = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 10 }) },
  { weight: 1, arbitrary: fc.integer({ min: 11, max: 2 * hour }) },
  { weight: 1, arbitrary: fc.integer({ min: 2 * hour, max: 10 * day }) },
);

/**
 * All that a machine carries at its full rate, half of it of each of two users, as a journal has
 * it: in so many batches.
 */
function journalOf(from: number, to: number, batches: number, account: number): Row[][] {
  const rows: Row[] = [];
  for (let at = from; at < to; ) {
    const end = Math.min(to, at - (at % hour) + hour);
    const up = ((end - at) * rate) / 2;
    for (const user of [1, 2]) rows.push({ account, user, at: end - 1, up, down: 0 });
    at = end;
  }
  const size = Math.ceil(rows.length / batches);
  return Array.from({ length: batches }, (_, at) => rows.slice(at * size, (at + 1) * size));
}

it('by no history of claims does more count than the machine can have carried since it joined', () => {
  const claims = fc.array(
    fc.record({
      seconds: pauses,
      share: fc.double({ min: 0, max: 1.5, noNaN: true }),
      age: pauses,
    }),
    { minLength: 1, maxLength: 60 },
  );
  fc.assert(
    fc.property(claims, (history) => {
      const joined_at = 1_800_000_000;
      let node = { joined_at, reported_until: joined_at };
      let now = joined_at;
      let counted = 0;
      for (const { seconds, share, age } of history) {
        now += seconds;
        const limit = plausibleBytes(node, rate, now);
        const bytes = Math.floor(limit * share);
        if (bytes > limit) continue;
        counted += bytes;
        const batch = { bytes, newest_at: now - age };
        node = { joined_at, reported_until: reportedUntil(node, batch, rate, now) };
      }
      expect(counted).toBeLessThanOrEqual((now - joined_at + burstSeconds) * rate);
    }),
    { seed },
  );
});

it('a node that carried little has an hour and a minute saved, and one whose clock of the server was set back a minute', () => {
  const now = 1_800_000_000;
  const joined_at = now - 30 * day;
  const node = { joined_at, reported_until: joined_at };
  const batch = { bytes: 1, newest_at: now };
  const after = { joined_at, reported_until: reportedUntil(node, batch, rate, now) };
  expect(plausibleBytes(after, rate, now)).toBeLessThanOrEqual((hour + burstSeconds) * rate);
  expect(plausibleBytes(after, rate, now - day)).toBe(burstSeconds * rate);
});

deepTest(
  'the command line lists what is held, accepts it and discards it, and gives a machine its figure',
  async () => {
    const cli = new CommandLine({ EXITWARD_NODE_MAX_BYTES_PER_SECOND: String(rate) });
    await cli.serve();
    const run = async (...words: string[]) => {
      const { code, stdout, stderr } = await cli.run(...words);
      if (code !== 0) throw new Error(`${words.join(' ')}: ${stderr}`);
      return stdout;
    };
    const place = '--title F --city F --country DE --latitude 1 --longitude 1 --services proxy';
    await run('server', 'add', 'fra1', '--hostname', 'fra1.example', ...place.split(' '));
    await run('account', 'create', 'acme', '--plan', 'Team', '--expiry', '+1y', '--limit', '1PB');
    await run('user', 'add', 'acme', 'alice', '--flags', 'proxy');
    await run('contract', 'add', 'acme', 'fra1');
    const { code } = JSON.parse(await run('node', 'invite', 'fra1', '--json'));
    const node = await TestNode.invited(cli.base_url, code);
    for (const number of [1, 2]) {
      const at = Math.floor(Date.now() / 1000);
      const rows = [{ account: 1, user: 1, at, up: number * 10 ** 12, down: 0 }];
      const response = await node.send('POST', '/usage', { boot: 'b', seq: number, rows });
      expect(await response.json()).toMatchObject({ held: true });
    }
    const list = await run('held-usage', 'list');
    expect(list).toMatch(/^1\t1\tfra1-a\tfra1\t\d+\t1000000000000\t.*\tacme:1000000000000\n2\t/);
    expect(await run('node', 'show', '1')).toContain('usage_held\t\t');
    expect(await run('held-usage', 'accept', '1', '--yes')).toBe('counted\t1000000000000\n');
    await run('held-usage', 'discard', '2', '--yes');
    expect(JSON.parse(await run('held-usage', 'list', '--json'))).toEqual([]);
    expect((await cli.run('held-usage', 'discard', '2', '--yes')).code).toBe(1);
    const changed = await run('node', 'limit', '1', '12.5GB');
    expect(changed).toContain('most a second\t12500000000\n');
    const lifted = await run('node', 'limit', '1', 'none');
    expect(lifted).toContain('most a second\t\n');
    await cli.clean();
  },
);
