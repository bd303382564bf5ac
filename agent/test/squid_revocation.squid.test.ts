// Connections that the Squid engine let in can be ended, whatever has happened to Squid, its
// decider or the agent.
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import * as t from './proxy_world.ts';
import { putScript } from './shell_script.ts';
import { deciderOf, nodesOfFile, type SquidNode } from './squid_node.ts';

let origin: t.Origin;
beforeAll(async () => {
  origin = await t.startOrigin();
});
afterAll(() => origin?.stop());

const { start, share } = nodesOfFile();

const normal = { port: t.normalPort };
const byToken = { ...normal, from: t.sources[2], authorization: t.basic(t.tokenOf(2)) };
const requestInside = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const oneExit = (index: 0 | 1 = 0) =>
  t.serverRecord({ exit_ips: [{ ip: t.exits[index], port_base: index + 1 }] });
const inactive = t.userRecord(2, { active: false });

/** Polls like the agent, this many times. */
async function poll({ engine }: SquidNode, times: number): Promise<void> {
  for (let cursor: unknown, remaining = times; remaining > 0; remaining--) {
    ({ cursor } = await engine.poll(cursor));
    await sleep(100);
  }
}

async function untilReplaced({ squids, engine }: SquidNode, old: number | undefined) {
  await t.until(() => ![undefined, old].includes(deciderOf(squids()[0])));
  await t.until(async () => (await t.ask(normal, 'GET', origin.url)).status === 200);
  await engine.catchUp();
}

test('a tunnel of a moment before Squid reads its configuration again is revoked afterwards', async () => {
  const node = await share(oneExit());
  const { apply, squids, engine } = node;
  const tunnel = await t.openTunnel(byToken, origin.to);
  const old = deciderOf(squids()[0]);
  await apply(t.serverRecord());
  await untilReplaced(node, old);
  expect((await tunnel.ask(requestInside)).status).toBe(200);
  expect((await engine.poll(undefined)).open).toMatchObject([{ account: 2, user: 1 }]);
  await apply(inactive);
  await tunnel.ended();
});

deepTest('a tunnel from a moment before Squid begins new logs is revoked afterwards', async () => {
  const node = await share();
  const { apply, squids } = node;
  const tunnel = await t.openTunnel(byToken, origin.to);
  const [pid = 0] = squids();
  const old = deciderOf(pid);
  process.kill(pid, 'SIGUSR1');
  await untilReplaced(node, old);
  expect((await tunnel.ask(requestInside)).status).toBe(200);
  await apply(inactive);
  await tunnel.ended();
});

deepTest(
  'a tunnel that is older than an agent without a file of listeners lives on, and is revoked by it',
  async () => {
    const node = await share();
    const tunnel = await t.openTunnel(byToken, origin.to);
    await poll(node, 3);
    const old = deciderOf(node.squids()[0]);
    await node.engine.stop({ leave_running: true });
    rmSync(join(node.dir, 'squid/0/listeners.json'));
    await node.restart();
    await poll(node, 3);
    await node.engine.catchUp();
    await untilReplaced(node, old);
    await poll(node, 6);
    expect(node.engine.faults()).toEqual([]);
    expect((await tunnel.ask(requestInside)).status).toBe(200);
    expect((await node.engine.poll(undefined)).open).toMatchObject([{ account: 2, user: 1 }]);
    await node.apply(inactive);
    await tunnel.ended();
    await node.apply(oneExit());
    await expect(t.ask({ port: normal.port + 1 }, 'GET', origin.url)).rejects.toThrow(
      'ECONNREFUSED',
    );
  },
);

test('connections that a killed decider let in and did not report are closed, and no others', async () => {
  const node = await share();
  const noted = await t.openTunnel(byToken, origin.to);
  await poll(node, 1);
  const untold = await t.openTunnel(byToken, origin.to);
  const old = deciderOf(node.squids()[0]);
  process.kill(old as number, 'SIGKILL');
  await untilReplaced(node, old);
  const later = await t.openTunnel(byToken, origin.to);
  await poll(node, 6);
  await untold.ended();
  expect((await noted.ask(requestInside)).status).toBe(200);
  expect((await later.ask(requestInside)).status).toBe(200);
  noted.socket.destroy();
  later.socket.destroy();
});

test('an order ends what is open after its decider was killed, and after the agent died, and nothing that begins then', async () => {
  const node = await share();
  const tunnel = await t.openTunnel(byToken, origin.to);
  const stays = await t.openTunnel(normal, origin.to);
  await poll(node, 1);
  const old = deciderOf(node.squids()[0]);
  process.kill(old as number, 'SIGKILL');
  // Waits for the next decider, which gets the owners from the agent.
  expect(await node.engine.end({ account: 2 })).toBe(1);
  await tunnel.ended();
  const again = await t.openTunnel(byToken, origin.to);
  await node.engine.stop({ leave_running: true });
  await node.restart();
  await node.engine.catchUp();
  expect(await node.engine.end({ account: 2, user: 1 })).toBe(1);
  await again.ended();
  const last = await t.openTunnel(byToken, origin.to);
  await poll(node, 6);
  for (const client of [last, stays]) expect((await client.ask(requestInside)).status).toBe(200);
  for (const client of [last, stays]) client.socket.destroy();
});

deepTest(
  'what a decider let in that was killed while no agent was there is closed by the next one',
  async () => {
    const node = await share();
    const { engine, squids, restart } = node;
    const tunnel = await t.openTunnel(byToken, origin.to);
    await engine.stop({ leave_running: true });
    const old = deciderOf(squids()[0]);
    process.kill(old as number, 'SIGKILL');
    await t.until(() => ![undefined, old].includes(deciderOf(squids()[0])));
    await restart();
    await node.engine.catchUp();
    await poll(node, 6);
    await tunnel.ended();
  },
);

deepTest(
  'a connection that could not be closed is closed when that is possible again',
  async () => {
    const node = await share();
    const tunnel = await t.openTunnel(byToken, origin.to);
    await poll(node, 1);
    const bin = join(node.dir, 'bin');
    const forbidden = join(node.dir, 'forbidden');
    mkdirSync(bin);
    const says = `echo 'Operation not permitted' >&2; exit 0`;
    putScript(
      join(bin, 'ss'),
      `if [ "$1" = -KtnH ] && [ -e ${forbidden} ]; then ${says}; fi\nexec /usr/bin/ss "$@"`,
    );
    writeFileSync(forbidden, '');
    expect(existsSync('/usr/bin/ss')).toBe(true);
    const path = process.env.PATH;
    process.env.PATH = `${bin}:${path}`;
    try {
      await node.apply(inactive);
      await t.until(() =>
        t.messagesOf(node.engine).some((message) => message.includes('not permitted')),
      );
      expect((await tunnel.ask(requestInside)).status).toBe(200);
      await poll(node, 3);
      rmSync(forbidden);
      await tunnel.ended();
      await t.until(() => node.engine.faults().length === 0);
    } finally {
      process.env.PATH = path;
    }
  },
);

deepTest(
  'without an exit no Squid is started at changes, and what would happen is explained',
  async () => {
    const { apply, squids, engine, dir } = await share();
    await apply({ kind: 'server', value: null });
    const logText = () => readFileSync(join(dir, 'squid/0/logs/cache.log'), 'utf8');
    const before = logText();
    const request = {
      kind: 'request' as const,
      ...{ source: t.sources[0], port: normal.port, method: 'GET', host: t.originIp },
      ...{ destination_port: 80, credentials: undefined },
    };
    for (let remaining = 3; remaining > 0; remaining--) await apply(inactive);
    expect(logText()).toBe(before);
    expect(squids()).toEqual([]);
    const { decision, position } = await engine.explain(request);
    expect(decision).toMatchObject({ verdict: 'deny', reason: 'not_ready' });
    expect(position.revision).toBe(5);
    await apply(t.serverRecord());
    expect((await t.ask(normal, 'GET', origin.url)).status).toBe(200);
  },
);

deepTest(
  'an agent that took a Squid over starts none at changes either, once there is no exit',
  async () => {
    const node = await share();
    await node.restart();
    await node.apply({ kind: 'server', value: null });
    const logText = () => readFileSync(join(node.dir, 'squid/0/logs/cache.log'), 'utf8');
    const before = logText();
    await node.apply(inactive);
    expect(logText()).toBe(before);
    expect(node.squids()).toEqual([]);
  },
);

test('who says nonsense to the agent in a decider\u2019s place is cut off, and nothing else happens', async () => {
  const { dir, engine } = await share();
  for (const line of ['no json', '{"revoked":1}', '{"opened":[1]}', 'null', '{"revoked":[null]}']) {
    const socket = connect(join(dir, 'squid/0/agent.sock'));
    socket.on('error', () => {});
    socket.resume();
    socket.write(`${line}\n`);
    await once(socket, 'close');
  }
  const socket = connect(join(dir, 'squid/0/agent.sock'));
  const victim = await t.openTunnel(normal, origin.to);
  const connection = `127.0.0.1:1>1 ) or ( sport = :${normal.port}`;
  socket.write(`${JSON.stringify({ revoked: [{ connection, reason: 'stale' }] })}\n`);
  await sleep(300);
  expect((await victim.ask(requestInside)).status).toBe(200);
  victim.socket.destroy();
  socket.destroy();
  expect(engine.faults()).toEqual([]);
  await engine.catchUp();
});

test('an agent with other settings revokes an older tunnel', async () => {
  const node = await share();
  const { apply, restart, squids } = node;
  const tunnel = await t.openTunnel(byToken, origin.to);
  const old = deciderOf(squids()[0]);
  await restart({ EXITWARD_AGENT_ALLOW_DESTINATIONS: '127.78.2.0/24,10.9.0.0/16' });
  await node.engine.catchUp();
  await untilReplaced(node, old);
  expect((await tunnel.ask(requestInside)).status).toBe(200);
  await apply(inactive);
  await tunnel.ended();
});

deepTest(
  'a port that means something else when the agent comes back takes its tunnels with it',
  async () => {
    const node = await share();
    const { engine, restart, store } = node;
    const moved = await t.openTunnel(normal, origin.to);
    const unchanged = await t.openTunnel({ ...normal, port: normal.port + 1 }, origin.to);
    await engine.stop({ leave_running: true });
    store.append(2, t.now(), [
      t.serverRecord({
        exit_ips: [
          { ip: t.exits[1], port_base: 2 },
          { ip: t.exits[0], port_base: 3 },
        ],
      }),
    ]);
    await restart();
    await node.engine.catchUp();
    await moved.ended();
    expect((await unchanged.ask(requestInside)).status).toBe(200);
    await restart({ EXITWARD_AGENT_PORT_SHIFT: '5' });
    await node.engine.catchUp();
    await unchanged.ended();
  },
);

deepTest(
  'a new exit leaves the others with their Squid, and their tunnels are still revoked',
  async () => {
    const node = await start({ EXITWARD_AGENT_LISTENERS_PER_SQUID: '6' }, oneExit(1));
    const tunnel = await t.openTunnel({ ...byToken, port: normal.port + 1 }, origin.to);
    await poll(node, 1);
    await node.apply(t.serverRecord());
    expect(node.squids()).toHaveLength(2);
    await poll(node, 3);
    expect((await tunnel.ask(requestInside)).status).toBe(200);
    await node.apply(inactive);
    await tunnel.ended();
  },
);
