// The counts that engines provide for the metrics: decisions, connections, the policy and the
// processes of Squid.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { EngineCounts } from '../src/engine.ts';
import { startEmbeddedNode } from './embedded_node.ts';
import * as t from './proxy_world.ts';
import type { ProxyNode } from './scenarios/scene.ts';
import { deciderOf, nodesOfFile, startSquidNode } from './squid_node.ts';

let origin: t.Origin;
beforeAll(async () => {
  origin = await t.startOrigin();
});
afterAll(() => origin?.stop());

const normal = { port: t.normalPort };
const stranger = { ...normal, from: t.sources[2] };

/** The number of decisions by outcome. */
const outcomesOf = ({ engine }: { engine: { counts(): EngineCounts } }) =>
  engine.counts().decisions.outcomes;
const timed = ({ engine }: { engine: { counts(): EngineCounts } }) =>
  engine.counts().decisions.took.reduce((sum, count) => sum + count, 0);

describe.each([
  ['embedded', startEmbeddedNode],
  ['Squid', startSquidNode],
])('the %s engine', (name, start) => {
  let node: ProxyNode;
  beforeAll(async () => {
    node = await start({ records: t.usualRecords() });
  });
  afterAll(() => node?.stop());

  test('counts each decision once, by authority or reason, with its time', async () => {
    const before = outcomesOf(node);
    expect(before).toEqual({});
    for (let times = 0; times < 3; times += 1) await t.ask(normal, 'GET', origin.url);
    await t.ask({ ...stranger, authorization: t.basic(t.tokenOf(2)) }, 'GET', origin.url);
    await t.ask(stranger, 'GET', origin.url);
    await t.ask(normal, 'GET', `http://${t.privateIp}/`);
    await expect
      .poll(() => outcomesOf(node))
      .toEqual({ authlist: 3, token: 1, unknown_address: 1, destination_refused: 1 });
    expect(timed(node)).toBe(6);
    const { seconds } = node.engine.counts().decisions;
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(6);
  });

  test('counts the open connections by port, and the records of the policy', async () => {
    const tunnels = await Promise.all([1, 2].map(() => t.openTunnel(normal, origin.to)));
    const open = async () => {
      await node.engine.poll(undefined);
      return node.engine.counts().open_connections.get(t.normalPort) ?? 0;
    };
    await expect.poll(open).toBe(2);
    for (const { socket } of tunnels) socket.destroy();
    await expect.poll(open).toBe(0);
    const { authlist, accounts } = t.usualRecords().reduce(
      (sums, { kind }) => ({
        authlist: sums.authlist + Number(kind === 'authlist'),
        accounts: sums.accounts + Number(kind === 'contract'),
      }),
      { authlist: 0, accounts: 0 },
    );
    await expect.poll(() => node.engine.counts().policy).toMatchObject({ accounts, authlist });
    const users = node.engine.counts().policy?.users as number;
    await node.apply(t.userRecord(1, {}, 99));
    await expect.poll(() => node.engine.counts().policy?.users).toBe(users + 1);
    expect(node.engine.counts().squids).toEqual(
      name === 'Squid' ? [{ number: 0, up: true, starts: 1 }] : [],
    );
    expect(node.engine.counts().deciders).toBe(name === 'Squid' ? 1 : undefined);
  });
});

test.each([
  ['embedded', startEmbeddedNode],
  ['Squid', startSquidNode],
])(
  'the %s engine counts a request that waits for the end of another connection once',
  async (_, start) => {
    const settings = { EXITWARD_AGENT_MAX_CONNECTIONS_PER_USER: '1' };
    const capped = await start({ records: t.usualRecords(), settings });
    onTestFinished(() => capped.stop());
    const tunnel = await t.openTunnel(normal, origin.to);
    expect((await t.ask(normal, 'GET', origin.url)).status).toBe(429);
    await expect.poll(() => outcomesOf(capped)).toEqual({ authlist: 1, too_many_connections: 1 });
    expect(timed(capped)).toBe(2);
    tunnel.socket.destroy();
  },
);

describe('with Squid', () => {
  const { start } = nodesOfFile();

  test('decisions that were made while no agent ran are reported to the next one', async () => {
    const node = await start();
    await t.ask(normal, 'GET', origin.url);
    await expect.poll(() => outcomesOf(node)).toEqual({ authlist: 1 });
    await node.engine.stop({ leave_running: true });
    for (let times = 0; times < 4; times += 1) await t.ask(normal, 'GET', origin.url);
    await node.restart();
    await expect.poll(() => outcomesOf(node)).toEqual({ authlist: 4 });
    expect(timed(node)).toBe(4);
    expect(node.engine.counts().squids).toEqual([{ number: 0, up: true, starts: 0 }]);
  });

  test('a decider that leaves reports the rest, and of one that is killed at most a second is missing', async () => {
    const node = await start();
    const decider = deciderOf(node.squids()[0]);
    await t.ask(normal, 'GET', origin.url);
    // Another port makes Squid read its configuration again, with a new decider.
    await node.apply(t.serverRecord({ exit_ips: [{ ip: t.exits[0], port_base: 1 }] }));
    await expect.poll(() => deciderOf(node.squids()[0])).not.toBe(decider);
    await expect.poll(() => outcomesOf(node)).toEqual({ authlist: 1 });
    await t.ask(normal, 'GET', origin.url);
    await expect.poll(() => outcomesOf(node)).toEqual({ authlist: 2 });
    process.kill(deciderOf(node.squids()[0]) as number, 'SIGKILL');
    await expect.poll(async () => (await t.ask(normal, 'GET', origin.url)).status).toBe(200);
    await expect.poll(() => outcomesOf(node).authlist).toBe(3);
  });

  test('a Squid that died is down until it is started again, which is counted', async () => {
    const node = await start();
    process.kill(node.squids()[0] as number, 'SIGKILL');
    await expect.poll(() => node.engine.counts().squids).toMatchObject([{ up: false, starts: 1 }]);
    await expect
      .poll(async () => {
        await node.engine.poll(undefined);
        return node.engine.counts().squids;
      })
      .toEqual([{ number: 0, up: true, starts: 2 }]);
  });
});
