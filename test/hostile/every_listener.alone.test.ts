// Each listener that other machines reach: it bounds the connections of whole networks of IPv6, and
// how long a client may take to send a request byte by byte.
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startEmbeddedNode } from '../../agent/test/embedded_node.ts';
import { normalPort, tlsBase, usualRecords } from '../../agent/test/proxy_world.ts';
import { Answers } from '../../kit/src/acme/answers.ts';
import { metricsListener } from '../../kit/src/metrics_listener.ts';
import { startTestApp } from '../../server/test/harness.ts';
import { freePorts } from '../authority.ts';

interface Listener {
  port: number;
  /** The connections that one /64 may have. */
  bound: number;
  /** Half a request. */
  beginning: string;
}

/** A loopback address for each client, and the IPv6 address that the listeners take it for. */
const claimed = (address: string) => {
  const [, place, n] = /127\.(56|48)\.(\d+)\.1$/.exec(address) ?? [];
  if (place === undefined) return address;
  const hex = Number(n).toString(16).padStart(2, '0');
  return place === '56' ? `2001:db8:1:${hex}::1` : `2001:db8:2:${hex}00::1`;
};
const folder = mkdtempSync(join(tmpdir(), 'exitward-listeners-'));
const listeners = new Map<string, Listener>();
const stop: Array<() => unknown> = [];
const request = 'GET / HTTP/1.1\r\nHost: a\r\n';

beforeAll(async () => {
  Server.prototype.emit = function emit(this: Server, name: string, ...values: unknown[]) {
    const [socket] = values;
    if (name === 'connection' && socket instanceof Socket) {
      const value = claimed(socket.remoteAddress ?? '');
      Object.defineProperty(socket, 'remoteAddress', { value });
    }
    return EventEmitter.prototype.emit.call(this, name, ...values);
  };
  const [node_port = 0, http_port = 0, tls_port = 0] = await freePorts(3);
  const t = await startTestApp(`sqlite:${join(folder, 'test.db')}`, {
    EXITWARD_NODE_LISTEN: `127.0.0.1:${node_port}`,
    EXITWARD_MAX_CONNECTIONS_PER_ADDRESS: '8',
    EXITWARD_REQUEST_SECONDS: '1',
  });
  stop.push(() => t.stop());
  const { base_url, admin_url, node_url, metrics_url = '' } = t.running;
  for (const [name, url] of Object.entries({ base_url, admin_url, node_url, metrics_url })) {
    listeners.set(name, { port: Number(new URL(url).port), bound: 8, beginning: request });
  }
  const node = await startEmbeddedNode(
    { records: usualRecords(), settings: { EXITWARD_AGENT_MAX_CONNECTIONS_PER_ADDRESS: '1' } },
    { handshake_ms: 1000, first_request_ms: 1000 },
  );
  stop.push(() => node.stop());
  // Of one address 16 more are accepted, to be answered why they are refused.
  listeners.set('the proxy', { port: normalPort, bound: 17, beginning: request });
  listeners.set('the proxy by TLS', {
    port: tlsBase + 1,
    bound: 17,
    beginning: '\x16\x03\x01\x02\x00\x01',
  });
  const agentMetrics = metricsListener('text/plain', async () => '').listen(0, '127.0.0.1');
  await once(agentMetrics, 'listening');
  stop.push(() => agentMetrics.close());
  const { port } = agentMetrics.address() as { port: number };
  listeners.set("the agent's metrics", { port, bound: 8, beginning: request });
  const challenges = [
    ['http-01', http_port, request],
    ['tls-alpn-01', tls_port, '\x16\x03\x01\x02\x00\x01'],
  ] as const;
  for (const [type, port, beginning] of challenges) {
    const answers = new Answers({ host: '127.0.0.1', port }, () => 1_800_000_000);
    const challenge = { type, name: 'a.example', token: 'token', key_authorization: 'x' };
    const { promise, resolve } = Promise.withResolvers<void>();
    const { promise: listening, resolve: begun } = Promise.withResolvers<void>();
    const answered = answers.during(challenge, () => {
      begun();
      return promise;
    });
    await listening;
    stop.push(() => {
      resolve();
      return answered;
    });
    listeners.set(`ACME by ${type}`, { port, bound: 8, beginning });
  }
});
afterAll(async () => {
  for (const end of stop.reverse()) await end();
  Reflect.deleteProperty(Server.prototype, 'emit');
  rmSync(folder, { recursive: true, force: true });
});

const names = [
  ...['base_url', 'admin_url', 'node_url', 'metrics_url', 'the proxy', 'the proxy by TLS'],
  ...["the agent's metrics", 'ACME by http-01', 'ACME by tls-alpn-01'],
];
const of = (name: string) => listeners.get(name) as Listener;

describe.each(names)('%s', (name) => {
  test.each([
    [2, '/56'],
    [4, '/48'],
  ] as const)(
    '%i times the connections of one client are all that a whole %s has',
    async (share, prefix) => {
      const { port, bound } = of(name);
      const held = bound * share;
      let open = 0;
      const sockets: Socket[] = [];
      for (let n = 1; n <= held + 12; n += 1) {
        const localAddress = `127.${prefix.slice(1)}.${n}.1`;
        const socket = connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {});
        socket.on('connect', () => (open += 1)).on('close', () => (open -= 1));
        sockets.push(socket);
        await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
      }
      await expect.poll(() => open).toBe(held);
      for (const socket of sockets) socket.destroy();
      await expect.poll(() => open).toBe(0);
    },
  );
});

test('a request that comes byte by byte is ended by each of them', async () => {
  const dripping = new Set(names);
  for (const name of names) {
    const { port, beginning } = of(name);
    const socket = connect({ port, host: '127.0.0.1' }).on('error', () => {});
    socket.resume().write(beginning);
    const drip = setInterval(() => socket.write('a'), 200);
    socket.on('close', () => {
      clearInterval(drip);
      dripping.delete(name);
    });
  }
  await expect.poll(() => [...dripping], { timeout: 45_000 }).toEqual([]);
});

/** Files that listen and no other machine reaches, with the reason. */
const inside = {
  'agent/src/health/exit_addresses.ts': 'accepts nothing: it shows whether an address is there',
  'agent/src/health/ike.ts': 'sends questions',
  'agent/src/local.ts': 'a socket in a private folder',
  'agent/src/squid/agent/decider_link.ts': 'a socket in a private folder',
  'agent/src/vpn/machine.ts': 'accepts nothing',
  'agent/src/vpn/ppp_logins.ts': 'on loopback, for those with a secret, few at once',
  'agent/src/vpn/radius_server.ts': 'on loopback, for those with a secret, few exchanges at once',
  'kit/src/listening.ts': 'accepts nothing: it shows whether a port is free',
};
const bounded = [
  'agent/src/embedded/listeners.ts',
  'kit/src/acme/answers.ts',
  'kit/src/metrics_listener.ts',
  'server/src/app.ts',
];

test('no other place of the programs listens', () => {
  const files = ['agent', 'kit', 'server'].flatMap((program) =>
    readdirSync(`${program}/src`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(program, 'src', name)),
  );
  const listening = files.filter((file) => {
    const text = readFileSync(file, 'utf8');
    return (
      /\b(?:createServer|createSocket|createTlsServer|createListener)\(/.test(text) &&
      /from 'node:(?:net|http|https|tls|dgram)'|\/node_http\.ts'/.test(text)
    );
  });
  expect(listening.sort()).toEqual([...Object.keys(inside), ...bounded].sort());
});
