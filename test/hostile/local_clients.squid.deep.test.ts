// Clients on the node itself against Squid: however many there are, the agent's own checks have
// their place.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../agent/src/clock.ts';
import { askEcho } from '../../agent/src/health/echo.ts';
import { probeUser } from '../../agent/src/policy/decide.ts';
import { SquidInstance } from '../../agent/src/squid/agent/instance.ts';
import * as t from '../../agent/test/proxy_world.ts';
import { nodesOfFile } from '../../agent/test/squid_node.ts';

const addressCap = 4;
/** Squid takes one more than so many, see `maxAccepted`. */
const openCount = addressCap + 16;
const probe = { password: 'secret', host: t.originIp, port: 0 };
const { start } = nodesOfFile({ probe });
const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

async function fill({ host, port }: { host: string; port: number }): Promise<void> {
  for (let n = 0; n < openCount + 8; n++) {
    const socket = connect(port, host);
    socket.on('error', () => {});
    open.push(socket);
    await once(socket, 'connect');
  }
  await t.until(() => open.some(({ closed, readableEnded }) => closed || readableEnded));
}

test('an exit is checked, however many connections clients of this machine have', async () => {
  const echo = createServer((request, response) => response.end(request.socket.remoteAddress));
  echo.listen(0, probe.host);
  await once(echo, 'listening');
  probe.port = (echo.address() as AddressInfo).port;
  await start({ EXITWARD_AGENT_MAX_CONNECTIONS_PER_ADDRESS: String(addressCap) });
  const own = { host: '127.0.0.1', tls: false, user: probeUser, password: probe.password };
  const check = (port: number, tls: boolean) =>
    askEcho(
      `http://${probe.host}:${probe.port}/`,
      { ...own, port, tls },
      AbortSignal.timeout(5000),
    );
  await fill({ host: own.host, port: t.normalPort });
  for (let n = 0; n < 3; n++) {
    expect(await check(t.normalPort, false)).toBe(t.exits[0]);
    expect(await check(t.tlsBase + 1, true)).toBe(t.exits[0]);
  }
  echo.close();
});

test('a Squid that takes no more of this machine\u2019s own clients is not taken for dead', async () => {
  const node = await start({ EXITWARD_AGENT_MAX_CONNECTIONS_PER_ADDRESS: String(addressCap) });
  const squid = new SquidInstance({
    ...{ number: 0, dir: join(node.dir, 'squid', '0'), program: node.config.squid },
    ...{ user: undefined, clock: systemClock, log: pino({ level: 'silent' }) },
  });
  const plain = { host: '127.0.0.1', port: t.normalPort, tls: false };
  const tls = { ...plain, port: t.tlsBase + 1, tls: true };
  expect(await squid.responds(plain)).toBe(true);
  await fill(plain);
  expect(await squid.responds(plain)).toBe(true);
  expect(await squid.responds(tls)).toBe(true);
  // With nobody on the port it is dead all the same.
  expect(await squid.responds({ ...plain, port: 1 })).toBe(false);
});
