// A clock that jumps ahead for some seconds: nothing that only time would have ended is ended for
// good.
import { beforeAll, expect, test, vi } from 'vitest';
import { jobs, startJobs } from '../src/jobs.ts';
import { eachApp } from './apps.ts';
import { passwordOf } from './harness.ts';

const jumpSeconds = 40 * 86_400;

test('a wrong clock holds back every job, except those that do no lasting harm', () => {
  const harmless = {
    'lost nodes': 'their next acknowledgement brings them back',
    'sample nodes': 'a sample at the wrong time is one among many',
    limits: 'they are evaluated again on each run',
    'server limits': 'they are evaluated again on each run',
    'user limits': 'they are evaluated again on each run',
    'authlist proofs': 'they depend on a setting, not on time',
    'forget questions': 'the caller has had no answer, and asks again',
    'forget questions about exits': 'the caller has had no answer, and asks again',
    'forget holdings': 'they are those of lost nodes, which report them again',
    'forget watches': 'the next request asks the nodes again',
    'forget end orders': 'an order ends within a minute, and its sender hears which nodes took it',
    'report keys': 'it tells what this process has',
    'renew hashes': 'they depend on the keys, not on time',
  };
  const running = jobs.filter(({ purges }) => !purges).map(({ name }) => name);
  expect(running.sort()).toEqual(Object.keys(harmless).sort());
});

eachApp((t) => {
  beforeAll(async () => {
    await t.server('fra1');
  });

  /**
   * The clock is far ahead, while this is done and every job has had its turn; then it is right
   * again.
   */
  async function whileAhead(done: () => Promise<void>): Promise<void> {
    const { ctx } = t.running;
    const turns = async () => {
      const { values } = await ctx.metrics.sweeps.get();
      return new Set(values.map(({ labels }) => labels.job)).size;
    };
    ctx.metrics.sweeps.reset();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const stop = await startJobs(ctx);
    try {
      t.clock.advance(jumpSeconds);
      vi.advanceTimersByTime(3_600_000);
      await vi.waitFor(async () => expect(await turns()).toBeGreaterThanOrEqual(16), 90_000);
      await done();
    } finally {
      await stop();
      vi.useRealTimers();
      t.clock.advance(-jumpSeconds);
    }
  }

  test('entries of both lists, at the server and at a node that took its snapshot meanwhile, hold on', async () => {
    const built = await t.account('acme', { servers: ['fra1'] });
    const client = t.as(built);
    const expiry = t.now() + 1000;
    const entry = { server: 'fra1', hostname: 'a.example', ip: '192.0.2.2', expiry };
    await client.post('/contract/overrides', entry);
    await client.post('/contract/ip-authlist', { ip: '192.0.2.1', user: 'alice', expiry });
    const node = await t.node('fra1');
    let snapshot = '';
    await whileAhead(async () => {
      snapshot = await (await node.send('GET', '/snapshot')).text();
    });
    expect(snapshot).toContain('"a.example"');
    expect(snapshot).toContain('"192.0.2.1"');
    await node.start();
    await node.ack();
    expect((await client.get('/contract/overrides')).body).toMatchObject([{ status: 'active' }]);
    expect((await client.get('/contract/ip-authlist')).body).toHaveLength(1);
    node.stop();
  });

  test('a person who had to wait signs in afterwards, and earlier attempts stay counted', async () => {
    await t.account('globex');
    await t.signIn('globex', 'alice');
    // bob is not there: unknown names count like known ones.
    const attempt = (user: string, password: string) =>
      t.browser().post('/session', { account: 'globex', user, password });
    const guess = async (user: string) => (await attempt(user, 'not the password')).status;
    for (let free = 0; free < 4; free += 1) expect(await guess('bob')).toBe(401);
    await whileAhead(async () => {
      for (let free = 0; free < 5; free += 1) expect(await guess('alice')).toBe(401);
      expect(await guess('alice')).toBe(429);
    });
    expect((await attempt('alice', passwordOf('alice'))).status).toBe(201);
    expect(await guess('bob')).toBe(401);
    expect(await guess('bob')).toBe(429);
  });
});
