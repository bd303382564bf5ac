// A node without its control plane, and a change on its way to the next connection.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../../server/test/waiting.ts';
import { inAnHour } from './control_plane.ts';
import { ask, openTunnel } from './traffic.ts';
import { schemePorts, through, type World } from './world.ts';

/** The least that the agent takes. */
const leastStaleness_seconds = 20;
/** The longest pause of the agent between two calls to a control plane that is away. */
const longestPause_seconds = 30;
const now = () => Date.now() / 1000;

export function servingTests(world: () => World): void {
  test.concurrent('without the control plane a node serves on across a restart of its agent, by expiries of its own clock, and after a while by tokens alone', async () => {
    const { control, engine } = world();
    const { server, agent, place } = await world().node();
    const customer = await world().customer(server);
    // Each stage has the time that a start took here: on a slow machine all of it is slower.
    const started = now();
    await agent.follow();
    const stage_seconds = 5 + 3 * (now() - started);
    await agent.end();
    const staleness_seconds = Math.max(leastStaleness_seconds, Math.ceil(2 * stage_seconds));
    await agent.follow({ EXITWARD_AGENT_STALENESS_SECONDS: String(staleness_seconds) });

    const soon = Math.ceil(now() + stage_seconds);
    const entry = { server, ip: world().origin.host };
    const names = [
      { hostname: 'lasting.example', expiry: inAnHour() },
      { hostname: 'ending.example', expiry: soon },
    ] as const;
    for (const name of names) {
      const added = await customer.api.post('/contract/overrides', { ...entry, ...name });
      expect(added.status).toBe(201);
    }
    const [lasting, ending] = [await customer.list(), await customer.list(soon)];
    const credentials = await customer.credentials();
    const client = through(place, lasting.ip);
    const other = through(place, ending.ip);
    const byToken = through(place, lasting.ip, { credentials });
    const byName = (name: string) =>
      ask(
        through(place, lasting.ip, { override: true }),
        'GET',
        `http://${name}:${world().origin.http_port}/5`,
      );
    // The last change: the node has the others, too.
    await until(async () => (await world().decisionFor(other)) === '200');

    control.relay.cut();
    const steady = await openTunnel(client, world().tunnel);
    await agent.end('SIGKILL');
    await agent.start();
    if (engine === 'squid') await steady.transfer(100, 100);
    expect(await agent.status()).toMatchObject({ state: 'connecting' });
    expect(await world().decisionFor(client)).toBe('200');
    // A machine that is too slow here shows nothing.
    expect(now()).toBeLessThan(soon);
    expect(await world().decisionFor(other)).toBe('200');
    const open = await openTunnel(other, world().tunnel);
    expect((await byName('ending.example')).status).toBe(200);

    await sleep((soon - now()) * 1000 + 50);
    expect(await world().decisionFor(other)).toBe('407 unknown_address');
    expect((await byName('ending.example')).status).not.toBe(200);
    expect((await byName('lasting.example')).status).toBe(200);
    expect(await open.endsWithin(stage_seconds / 2)).toBe(true);
    expect(await world().decisionFor(client)).toBe('200');

    await until(async () => (await world().decisionFor(client)) === '407 stale', staleness_seconds);
    expect(await world().decisionFor(byToken)).toBe('200');
    control.relay.heal();
    await agent.until(({ state }) => state === 'following', longestPause_seconds + stage_seconds);
    await until(async () => (await world().decisionFor(client)) === '200');
  }, 600_000);

  test('a change is in force for the connection that follows it, and explained so', async () => {
    const { server, agent, place } = await world().node();
    const customer = await world().customer(server);
    await agent.follow();
    const first = await customer.list();
    await until(async () => (await world().decisionFor(through(place, first.ip))) === '200');
    const took: number[] = [];
    const measure = async (ip: string, expected: string) => {
      const start = performance.now();
      // One that was let in a moment before it is revoked is ended in place of its answer.
      const decisionFor = () =>
        world()
          .decisionFor(through(place, ip))
          .catch(() => 'ended');
      while ((await decisionFor()) !== expected) {
        if (performance.now() - start > 10_000) throw new Error(`${ip} is not ${expected}`);
      }
      took.push(performance.now() - start);
    };
    for (let change = 0; change < 25; change += 1) {
      const { ip, id } = await customer.list();
      await measure(ip, '200');
      expect((await customer.api.delete(`/contract/ip-authlist/${id}`)).status).toBe(204);
      await measure(ip, '407 unknown_address');
    }
    took.sort((a, b) => a - b);
    const [p50, p99] = [0.5, 0.99].map((part) => took[Math.ceil(took.length * part) - 1]);
    console.log(
      `${world().engine}: from an answered change to a connection that is decided by it: p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms`,
    );

    const added = await customer.api.post('/contract/overrides', {
      ...{ server, hostname: 'www.example.com', ip: world().origin.host, expiry: inAnHour() },
    });
    const explain = async (from: string) => {
      const port = String(schemePorts.override);
      const question = ['--server', server, '--from', from, '--port', port];
      const { stdout } = await world().control.command(
        ...['explain', ...question, '--host', 'www.example.com', '--check-exit', '--json'],
      );
      return JSON.parse(stdout);
    };
    expect(await explain(first.ip)).toMatchObject({
      node: agent.name,
      verdict: 'allow',
      status: 200,
      reason: 'authlist',
      rule: `authlist ${first.id}, override ${added.body.id}`,
      account: customer.name,
      user: 'alice',
      exit_ip: place.exit_ip,
      // A request of the node's own has gone out there.
      checked: { address: expect.any(String), milliseconds: expect.any(Number) },
    });
    expect(await explain('192.0.2.99')).toMatchObject({
      verdict: 'challenge',
      status: 407,
      reason: 'unknown_address',
    });
  });
}
