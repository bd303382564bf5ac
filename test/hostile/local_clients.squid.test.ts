// Clients on the node itself against Squid: they have the address from which the agent looks whether Squid lives.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../agent/src/clock.ts';
import { SquidInstance } from '../../agent/src/squid/agent/instance.ts';
import * as t from '../../agent/test/proxy_world.ts';
import { nodesOfFile } from '../../agent/test/squid_node.ts';

const address_cap = 4;
/** Squid takes one more than so many, see `mostAccepted`. */
const taken = address_cap + 16;
const { start } = nodesOfFile();
const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

test('a Squid that takes no more of this machine\u2019s own clients is not taken for dead', async () => {
  const node = await start({ EXITWARD_AGENT_MAX_CONNECTIONS_PER_ADDRESS: String(address_cap) });
  const squid = new SquidInstance({
    ...{ number: 0, dir: join(node.dir, 'squid', '0'), program: node.config.squid },
    ...{ user: undefined, clock: systemClock, log: pino({ level: 'silent' }) },
  });
  const plain = { host: '127.0.0.1', port: t.normalPort, tls: false };
  const tls = { ...plain, port: t.tlsBase + 1, tls: true };
  expect(await squid.responds(plain)).toBe(true);
  for (let n = 0; n < taken + 8; n++) {
    const socket = connect(plain.port, plain.host);
    socket.on('error', () => {});
    open.push(socket);
    await once(socket, 'connect');
  }
  await t.until(() => open.some(({ closed, readableEnded }) => closed || readableEnded));
  expect(await squid.responds(plain)).toBe(true);
  expect(await squid.responds(tls)).toBe(true);
  // With nobody on the port it is dead all the same.
  expect(await squid.responds({ ...plain, port: 1 })).toBe(false);
});
