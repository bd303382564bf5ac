// The next agent takes over a Squid that was started with other caps on connections.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionCaps } from '../src/connection_caps.ts';
import { findSquidUser } from '../src/squid/agent/unix_user.ts';
import * as t from './proxy_world.ts';
import { deciderOf, nodesOfFile } from './squid_node.ts';

const maxBytes = 5;
let origin: t.Origin;
beforeAll(async () => {
  origin = await t.startOrigin();
});
afterAll(() => origin?.stop());
const { start } = nodesOfFile();

test('connections that were let in are not taken for waiting ones until a decider has reported their owners', async () => {
  const node = await start();
  const to = origin.to;
  const open = () => t.openTunnel({ port: t.normalPort }, to);
  const tunnels = await Promise.all(Array.from({ length: 2 * maxBytes }, open));
  const decider = deciderOf(node.squids()[0]) ?? 0;
  await t.halt(decider);
  await node.restart({ EXITWARD_AGENT_MAX_CONNECTIONS: String(maxBytes) });
  const poll = async () => {
    for (let n = 0; n < 3; n++) await node.engine.poll(undefined);
  };
  // Connections are counted from the start on, even before the decider is connected.
  await poll();
  process.kill(decider, 'SIGCONT');
  await node.engine.catchUp();
  await poll();
  for (const tunnel of tunnels) {
    expect((await tunnel.ask('GET / HTTP/1.1\r\nHost: x\r\n\r\n')).status).toBe(200);
    tunnel.socket.destroy();
  }
});

test('the caps are of the descriptors that the Squid has that is taken over, not of those that its agent has', async () => {
  const node = await start();
  const caps = () => JSON.parse(readFileSync(join(node.dir, 'squid/0/rules.json'), 'utf8')).caps;
  expect(caps()).toEqual(connectionCaps({}));
  const { uid, gid } = findSquidUser() ?? {};
  const limit = ['prlimit', '--pid', `${node.squids()[0]}`, '--nofile=1024:1024'];
  execFileSync('setpriv', [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...limit]);
  await node.restart();
  expect(caps()).toEqual(connectionCaps({}, 1024));
});
