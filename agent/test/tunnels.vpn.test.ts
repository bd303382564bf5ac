// The VPN of a node with real charons on both sides, in network namespaces. libipsec encrypts the
// packets, since this kernel may not be able to.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { UsageRow, UserLimits } from '../../kit/src/node_interface.ts';
import { deepTest, drawn } from '../../test/deep_test.ts';
import { tries } from '../../test/effort.ts';
import type { FoundUse } from '../src/connection_log/find_uses.ts';
import type { OpenConnection } from '../src/engine.ts';
import type { Fault } from '../src/faults.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import type { Refusal } from '../src/policy/refusals.ts';
import type { Elsewhere } from '../src/user_counts.ts';
import { createSigningKey, signToken } from './histories.ts';
import { contractRecord, halt, now, until, userRecord } from './proxy_world.ts';
import { renew } from './vpn_keys.ts';
import {
  exits,
  hasDevice,
  type Login,
  origin,
  passwordOf,
  port,
  privateIp,
  vpnRecords,
  vpnServer,
} from './vpn_scene.ts';
import { VpnWorld } from './vpn_world.ts';

const world = new VpnWorld();
const key = createSigningKey('k1');
const keys: NodeRecord = { kind: 'keys', value: [key.public] };

// With the connection log, so that clients have ports of their own, unlike in other tests.
beforeAll(() => world.start(2, { EXITWARD_AGENT_CONNECTION_LOG: 'sources' }));
afterAll(() => world.stop());

/** Bytes billed since the last test, by account. */
let billed = new Map<number, { up: number; down: number }>();

beforeEach(async () => {
  for (const client of [1, 2]) await world.client(client).disconnect();
  await world.apply(...vpnRecords(), keys);
  await world.serving();
  // A login without a tunnel at any look would count for half a minute.
  await world.node.ask({ do: 'end', order: {} });
  await tickUntilIdle();
  billed = new Map();
});

const tick = async () => note(await world.node.ask<UsageRow[]>({ do: 'tick' }));

function note(rows: UsageRow[]): void {
  for (const { account, up, down } of rows) {
    const sum = billed.get(account) ?? { up: 0, down: 0 };
    billed.set(account, { up: sum.up + up, down: sum.down + down });
  }
}

const tunnels = async () => (await world.node.ask<{ tunnels?: number }>({ do: 'counts' })).tunnels;

const connections = () => world.node.ask<OpenConnection[]>({ do: 'connections' });

async function tickUntilIdle(): Promise<void> {
  await until(async () => (await tunnels()) === 0);
  // The polls: one ends sessions without a tunnel, one reports them, one drops them.
  for (let count = 0; count < 3; count += 1) await tick();
}

const agentLog = () =>
  readFileSync(join(world.dir, 'node', 'agent.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const radiusRequests = () =>
  readFileSync(join(world.dir, 'node', 'vpn', 'charon.log'), 'utf8').split('sending RADIUS').length;
const reasonOfLast = () =>
  agentLog().findLast(({ msg }) => msg === 'a VPN login was denied')?.reason;

test.each(['vpn-ikev2', 'vpn-ikev1'] as const)(
  '%s: a login with the derived password gets a tunnel, and leaves from the exit that was dialled',
  async (service) => {
    for (const exit of exits) {
      await world.client(1).connect({ exit, service });
      expect(world.client(1).fetch({ down: 1000 })).toEqual({ from: exit, down: 1000 });
    }
    // Only the newest one, since the one before may not have ended yet.
    const last = { service, exit_ip: exits.at(-1), address: '198.18.1.2' };
    await until(async () => {
      await tick();
      const [group, ...others] = await connections();
      const isLast = others.length === 0 && group?.exit_ip === last.exit_ip;
      return isLast && (group?.down ?? 0) >= 1000;
    });
    expect(await connections()).toMatchObject([last]);
  },
);

test('a password may be typed without its dashes, and one with an expiry holds until then', async () => {
  await world.client(1).connect({ password: passwordOf(1).replaceAll('-', '') });
  const minutes = Math.floor(now() / 60) + 5;
  const [expiry, password] = [minutes * 60, passwordOf(1, 1, minutes * 60)];
  const login = `alice@contract1~${minutes.toString(36)}`;
  await world.client(1).connect({ login, password });
  expect(expiry).toBeGreaterThan(now());
});

test('a proxy access token opens vpn-ikev1, which sends passwords as they are', async () => {
  const password = signToken(key, [1, 'k1', 1, 1, 1, Math.floor(now()) + 600]);
  await world.client(1).connect({ service: 'vpn-ikev1', password });
  expect(world.client(1).fetch({ down: 10 }).from).toBe(exits[0]);
});

const usesOf = (exit_port: number) => {
  const when = { at: Math.floor(now()), margin_seconds: 60 };
  const question = { exit_ip: exits[0], port: exit_port, ...when };
  return world.node.ask<FoundUse[]>({ do: 'find', question });
};

async function connectBoth(): Promise<void> {
  for (const account of [1, 2]) {
    const login = { login: `alice@contract${account}`, password: passwordOf(account) };
    await world.client(account).connect(login);
  }
}

/** Expects a port at the exit to identify its client. */
async function expectOwnPorts(): Promise<void> {
  for (const account of [1, 2]) {
    for (const exit_port of world.client(account).exitPorts()) {
      await until(async () => (await usesOf(exit_port)).some((use) => use.until === undefined));
      const uses = await usesOf(exit_port);
      const { first = 0, last = 0 } = uses[0]?.exit_ports ?? {};
      expect(last - first, `${exit_port}`).toBe(1007);
      const expected = { account, address: `198.18.${account}.2`, unknown: [] };
      for (const use of uses) expect(use).toMatchObject(expected);
    }
  }
}

test('each client of an exit leaves by ports of its own, which name it in the connection log', async () => {
  await connectBoth();
  await expectOwnPorts();
});

deepTest('clients keep their ports when the agent dies and comes back', async () => {
  await connectBoth();
  const portsOf = async (account: number) => {
    const [exit_port = 0] = world.client(account).exitPorts();
    await until(async () => (await usesOf(exit_port)).some((use) => use.until === undefined));
    return (await usesOf(exit_port)).find((use) => use.until === undefined)?.exit_ports;
  };
  const before = [await portsOf(1), await portsOf(2)];
  await world.node.kill();
  await world.startNode();
  await until(async () => (await tunnels()) === 2);
  await expectOwnPorts();
  expect([await portsOf(1), await portsOf(2)]).toEqual(before);
});

const old = Math.floor(now() / 60) - 1;
const denied: Array<[string, Login, NodeRecord[], string]> = [
  ['a wrong password', { password: 'aaaaa-bbbbb-ccccc-ddddd' }, [], 'bad_token'],
  ['an unknown user', { login: 'carol@contract1' }, [], 'bad_token'],
  ['an unknown account', { login: 'alice@nobody' }, [], 'bad_token'],
  ["another account's password", { password: passwordOf(2) }, [], 'bad_token'],
  ['a name without an account', { login: 'alice' }, [], 'bad_token'],
  [
    'a password of before',
    { password: passwordOf(1) },
    [userRecord(1, { token_version: 2 })],
    'old_token_version',
  ],
  [
    'an expired password',
    { login: `alice@contract1~${old.toString(36)}`, password: passwordOf(1, 1, old * 60) },
    [],
    'expired_token',
  ],
  ['an inactive user', {}, [userRecord(1, { active: false })], 'inactive_user'],
  ['a user without the flag', {}, [userRecord(1, { proxy: false })], 'no_proxy_flag'],
  ['a suspended contract', {}, [contractRecord(1, { suspended: true })], 'contract_suspended'],
  ['an expired contract', {}, [contractRecord(1, { expiry: now() - 1 })], 'contract_expired'],
  ['a reached limit', {}, [contractRecord(1, { blocked: true })], 'over_limit'],
  ['a drained node', {}, [vpnServer({ drained_nodes: [7] })], 'drained'],
];

/** Takes the refusals first. */
async function expectDenial(client: number, login: Login, reason: string): Promise<void> {
  const before = agentLog().length;
  await world.node.ask({ do: 'refusals' });
  const denials = () =>
    agentLog()
      .slice(before)
      .filter(({ msg }) => msg === 'a VPN login was denied').length;
  // On a busy machine a packet may be late, and the client gives up before it has logged in.
  for (let tries = 0; tries < 3 && denials() === 0; tries += 1) {
    await expect(world.client(client).connect(login)).rejects.toThrow();
  }
  expect(denials()).toBeGreaterThan(0);
  expect(reasonOfLast()).toBe(reason);
}

test.each(denied)(
  '%s is denied, with its reason in the log, by explain and as a refusal',
  async (...given) => {
    const [, login, records, reason] = given;
    await world.apply(...records);
    await expectDenial(1, login, reason);
    const refusals = await world.node.ask<Refusal[]>({ do: 'refusals' });
    const isNamed = ['alice@contract1', undefined].includes(login.login?.split('~')[0]);
    expect(refusals.map(({ at, count, ...refusal }) => refusal)).toEqual([
      {
        ...{ reason, source: '198.18.1.2', service: 'vpn-ikev2' },
        ...(isNamed && reason !== 'drained' ? { account: 1, user: 1 } : {}),
      },
    ]);
    expect(JSON.stringify(agentLog())).not.toContain(login.password ?? passwordOf(1));
    if (!['bad_token', 'old_token_version'].includes(reason)) {
      const attempt = { login: login.login ?? 'alice@contract1', exit_ip: exits[0] };
      const explanation = await world.node.ask<{ decision: { reason: string } }>({
        do: 'explain',
        service: 'vpn-ikev2',
        ...attempt,
      });
      expect(explanation.decision.reason).toBe(reason);
    }
  },
);

test('private destinations, mail, other clients and the node itself are refused at once, and cost nothing', async () => {
  await world.client(1).connect();
  const { address } = await world.client(2).connect({
    login: 'alice@contract2',
    password: passwordOf(2),
  });
  for (const host of [privateIp, address, exits[1], '203.0.113.1']) {
    expect(() => world.client(1).fetch({ host }), host).toThrow(/curl: \(7\)/);
  }
  await tick();
  expect(billed.get(1)).toBeUndefined();
  expect(world.client(1).fetch({ down: 10 }).from).toBe(exits[0]);
});

deepTest('a TCP connection keeps to segments of 1316 bytes in both directions', async () => {
  const places = ['client1', 'beyond'];
  const table = `table ip segments {
    set sizes { typeof tcp option maxseg size; flags dynamic; }
    chain c {
      type filter hook prerouting priority 0
      tcp flags syn add @sizes { tcp option maxseg size }
    }
  }`;
  await world.client(1).connect();
  for (const place of places) world.run(place, 'nft', table);
  world.client(1).fetch({ down: 10 });
  for (const place of places) {
    const sizes = world.run(place, 'nft', 'list', 'set', 'ip', 'segments', 'sizes');
    expect(sizes, place).toContain('elements = { 1316 }');
    world.run(place, 'nft', 'delete table ip segments');
  }
});

deepTest.each(['vpn-ikev2', 'vpn-ikev1'] as const)(
  '%s: a client gets the name servers',
  async (service) => {
    await world.client(1).connect({ service });
    expect(world.client(1).nameServers().sort()).toEqual(['149.112.112.112', '9.9.9.9']);
  },
);

deepTest(
  'a client that asks for IPv6 gets a tunnel on a machine that has none switched on',
  async () => {
    await world.client(1).connect({ ipv6: true });
    expect(world.client(1).fetch({ down: 10 }).from).toBe(exits[0]);
  },
);

test('IPv6 inside the tunnel is rejected at once, and does not get past a node that has a way for it and forwards it', async () => {
  const rules = (name: string, table: string) =>
    world.run(name, 'nft', 'list', 'table', ...table.split(' '));
  const rejected = () =>
    /ip6 saddr fd65\S+ counter packets (\d+) bytes \d+ reject/.exec(
      rules('node', 'inet exitward_vpn'),
    )?.[1] ?? 0;
  world.setIpv6(true);
  try {
    // Counts everything that gets past the node.
    world.run(
      'beyond',
      'nft',
      `add table ip6 t; add chain ip6 t c { type filter hook prerouting priority 0; }; add rule ip6 t c meta l4proto { tcp, udp } counter`,
    );
    await world.restartNode();
    await world.serving();
    await world.client(1).connect({ ipv6: true });
    expect(world.client(1).fetch({ down: 10 }).from).toBe(exits[0]);
    for (const node of [{}, { route: true }, { forwards: true }]) {
      world.setIpv6(true, node);
      const before = Number(rejected());
      const start = performance.now();
      expect(() => world.client(1).fetch({ host: '[2001:470::1]', seconds: 20 })).toThrow();
      // Before the client gives up.
      expect(performance.now() - start).toBeLessThan(10_000);
      expect(Number(rejected()), JSON.stringify(node)).toBeGreaterThan(before);
      expect(rules('beyond', 'ip6 t')).toContain('packets 0');
    }
  } finally {
    world.run('beyond', 'nft', 'delete table ip6 t');
    world.setIpv6(false);
    await world.restartNode();
  }
});

// Slowly: only one of the two counts packets that are lost in between.
test.each(drawn([1, 1000, 300_000]))(
  'the bytes of a tunnel are billed as the client counts them: %d down, then up',
  async (size) => {
    await world.client(1).connect();
    const before = hasDevice ? world.client(1).deviceBytes() : { up: 0, down: 0 };
    expect(world.client(1).fetch({ down: size, rate: 'k' }).down).toBe(size);
    world.client(1).fetch({ up: size, rate: 'k' });
    await world.client(1).settle();
    const client = world.client(1);
    // A last packet may arrive between the two readings.
    let counted: unknown;
    await until(async () => {
      const tunnel = await client.tunnelBytes();
      const { up, down } = hasDevice ? client.deviceBytes() : tunnel;
      counted = { up: up - before.up, down: down - before.down };
      return isDeepStrictEqual(tunnel, counted);
    });
    await world.client(1).disconnect();
    await tickUntilIdle();
    expect(billed.get(1)).toEqual(counted);
  },
);

deepTest(
  'the bytes of a tunnel at full speed are billed as they go through the device of the node',
  async () => {
    await world.client(1).connect();
    const before = world.deviceBytes();
    world.client(1).fetch({ down: tries(100_000_000, { atLeast: 10_000_000 }), seconds: 60 });
    world.client(1).fetch({ up: tries(20_000_000, { atLeast: 2_000_000 }), seconds: 60 });
    await world.client(1).settle();
    const after = world.deviceBytes();
    await world.client(1).disconnect();
    await tickUntilIdle();
    // The node's device receives the bytes that the client sends.
    expect(billed.get(1)).toEqual({ up: after.down - before.down, down: after.up - before.up });
  },
);

const revocations: Array<[string, NodeRecord[]]> = [
  ['another token version', [userRecord(1, { token_version: 2 })]],
  ['a user without the flag', [userRecord(1, { proxy: false })]],
  ['a user who is gone', [{ kind: 'user', account: 1, id: 1, value: null }]],
  ['a suspension', [contractRecord(1, { suspended: true })]],
  ['a reached limit', [{ kind: 'limit_reached', account: 1, value: { until: now() + 3600 } }]],
  ['an account that leaves the server', [{ kind: 'account', account: 1, value: null }]],
];

test.each(drawn(revocations))('%s ends the tunnel at once, and no other', async (_, records) => {
  await world.client(1).connect();
  await world.client(2).connect({ login: 'alice@contract2', password: passwordOf(2) });
  await world.apply(...records);
  expect(() => world.client(1).fetch({ down: 10, seconds: 2 })).toThrow();
  await until(async () => (await world.client(1).tunnels()).length === 0);
  expect(world.client(2).fetch({ down: 10 }).from).toBe(exits[0]);
});

test('an order ends a tunnel at once, and no other; its bytes are billed once, and the client may connect again', async () => {
  await world.client(1).connect();
  await world.client(2).connect({ login: 'alice@contract2', password: passwordOf(2) });
  world.client(1).fetch({ down: 1000 });
  expect(await world.node.ask({ do: 'end', order: { account: 1, user: 2 } })).toBe(0);
  const order = { account: 1, user: 1, service: 'vpn-ikev2', exit_ip: exits[0] };
  expect(await world.node.ask({ do: 'end', order })).toBe(1);
  expect(() => world.client(1).fetch({ down: 10, seconds: 2 })).toThrow();
  await until(async () => (await world.client(1).tunnels()).length === 0);
  expect(world.client(2).fetch({ down: 10 }).from).toBe(exits[0]);
  await until(async () => {
    await tick();
    return (billed.get(1)?.down ?? 0) > 1000;
  });
  const before = billed.get(1);
  for (let count = 0; count < 3; count += 1) await tick();
  expect(billed.get(1)).toEqual(before);
  await world.client(1).connect();
  expect(world.client(1).fetch({ down: 10 }).from).toBe(exits[0]);
});

const limited = (limits: UserLimits) => world.apply(userRecord(1, { limits }));

/** Expects the second client to be refused as the first one's user, whose tunnel continues. */
async function expectOneTooMany(reason: string): Promise<void> {
  await expectDenial(2, {}, reason);
  const refusals = await world.node.ask<Refusal[]>({ do: 'refusals' });
  const of = { source: '198.18.2.2', service: 'vpn-ikev2', account: 1, user: 1 };
  for (const refusal of refusals) expect(refusal).toMatchObject({ reason, ...of });
  expect(refusals).not.toEqual([]);
  expect(world.client(1).fetch({ down: 10 }).from).toBe(exits[0]);
}

/** The node's explanation of a login of alice. */
async function explained(from?: string) {
  const attempt = { login: 'alice@contract1', exit_ip: exits[0], ...(from && { from }) };
  const question = { do: 'explain', service: 'vpn-ikev2', ...attempt } as const;
  return (await world.node.ask<{ decision: object }>(question)).decision;
}

/** Shares holdings elsewhere, as the agent does each second. */
const share = (...elsewhere: Elsewhere[]) => world.node.ask({ do: 'share', elsewhere });

/** Waits until the node has seen that a tunnel is over, so that the user's place is free. */
async function connectWhenFree(client: number): Promise<void> {
  await until(async () => {
    await tick();
    await share();
    return world
      .client(client)
      .connect()
      .then(
        () => true,
        () => false,
      );
  });
}

const hasTunnel = async (client: number) => (await world.client(client).tunnels()).length > 0;

test('a user has as many tunnels at once as the limit says, and another when one has ended; a lower limit ends the latest', async () => {
  await limited({ connections: 1 });
  await world.client(1).connect();
  await expectOneTooMany('too_many_connections');
  expect(await explained()).toMatchObject({ reason: 'too_many_connections' });
  await until(async () => (await connections()).length === 1);
  await world.client(1).disconnect();
  await connectWhenFree(2);
  await limited({ connections: 2 });
  await world.client(1).connect();
  await limited({ connections: 1 });
  await until(async () => !(await hasTunnel(1)));
  expect(world.client(2).fetch({ down: 10 }).from).toBe(exits[0]);
  // Elsewhere the user had one first.
  await share({ account: 1, user: 1, connections: 1, ahead: 1, networks: [] });
  await until(async () => !(await hasTunnel(2)));
  await connectWhenFree(1);
});

test('a user has tunnels from as many addresses at once as the limit says; one that is not used any more gives its place back', async () => {
  await limited({ addresses: 1, address_seconds: 5 });
  await world.client(1).connect();
  world.client(1).fetch({ down: 10 });
  await tick();
  await expectOneTooMany('too_many_addresses');
  expect(await explained('198.18.2.2')).toMatchObject({ reason: 'too_many_addresses' });
  expect(await explained(), 'from a new address').toMatchObject({ reason: 'too_many_addresses' });
  expect(await explained('198.18.1.2')).toMatchObject({ verdict: 'allow' });
  await world.client(1).disconnect();
  await connectWhenFree(2);
  // Elsewhere the user came from another address first.
  const networks = ['198.51.100.77'];
  await share({ account: 1, user: 1, connections: 1, ahead: 1, networks });
  await until(async () => !(await hasTunnel(2)));
  await share();
});

test('connections by the proxy of the node count together with tunnels', async () => {
  const service = 'proxy' as const;
  const schemes = [{ name: 'default', bases: [{ base: 10_000, service }] }];
  const services = ['proxy', 'vpn-ikev2'];
  await world.apply(vpnServer({ services, port_schemes: schemes }));
  await limited({ connections: 1 });
  await share();
  const password = signToken(key, [1, 'k1', 1, 1, 1, Math.floor(now()) + 600]);
  const through = ['--proxy', `http://alice:${password}@${exits[0]}:10000`];
  const slowly = ['-sS', '--limit-rate', '10k', '-o', '/dev/null'];
  const url = `http://${origin}:${port}/10000000`;
  const download = world.spawn('client2', ['curl', ...through, ...slowly, url]);
  onTestFinished(() => void download.kill('SIGKILL'));
  await until(async () => (await connections()).some((open) => open.service === service));
  await share();
  await expectDenial(1, {}, 'too_many_connections');
  download.kill('SIGKILL');
  await connectWhenFree(1);
});

deepTest(
  'a download that is under way stands still with the change, and what came of it is billed',
  async () => {
    await world.client(1).connect();
    // It would take 50 seconds, but ends after three seconds without bytes.
    const curl = ['curl', '-s', '--noproxy', '*', '--limit-rate', '100k'].concat([
      '--speed-limit',
      '1',
      '--speed-time',
      '3',
    ]);
    const how = ['-o', '/dev/null', '-w', '%{size_download}', `http://${origin}:${port}/5000000`];
    const download = world.spawn('client1', [...curl, ...how]);
    const output = text(download.stdout as Readable);
    await until(async () => (await world.client(1).tunnelBytes()).down > 100_000);
    await world.apply(contractRecord(1, { suspended: true }));
    expect(download.exitCode).toBeNull();
    const before = world.deviceBytes();
    const size = Number(await output);
    expect(size).toBeGreaterThan(50_000);
    // No more than the bytes that were under way.
    expect(world.deviceBytes().up - before.up).toBeLessThan(50_000);
    await tickUntilIdle();
    expect(billed.get(1)?.down).toBeGreaterThan(size);
  },
);

test('a contract that expires ends the tunnel by the clock', async () => {
  await world.apply(contractRecord(1, { expiry: now() + 4 }));
  await world.client(1).connect();
  await until(async () => (await world.client(1).tunnels()).length === 0);
});

/** A charon that was killed is started within a second. */
async function connectAgain(login: Login): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await world.client(1).connect(login);
      return;
    } catch (error) {
      if (tries > 5) throw error;
    }
  }
}

deepTest(
  'rules that were flushed are back at once, and a client whose session went with them logs in again',
  async () => {
    await world.client(1).connect();
    world.client(1).fetch({ down: 1000 });
    await tick();
    world.run('node', 'nft', 'flush', 'ruleset');
    await until(async () => (await world.client(1).tunnels()).length === 0);
    await tickUntilIdle();
    const before = billed.get(1);
    expect(before?.down).toBeGreaterThan(1000);
    await connectAgain({});
    expect(() => world.client(1).fetch({ host: privateIp, seconds: 2 })).toThrow();
    expect(world.client(1).fetch({ down: 1000 }).from).toBe(exits[0]);
  },
);

deepTest('rules that were changed are put back, and the tunnels stay', async () => {
  await world.client(1).connect();
  const chain = ['chain', 'inet', 'exitward_vpn', 'from_client'];
  world.run('node', 'nft', 'flush', ...chain);
  await until(() => world.run('node', 'nft', 'list', ...chain).includes('saddr != @open'));
  expect(await world.client(1).tunnels()).toHaveLength(1);
  expect(world.client(1).fetch({ down: 1000 }).from).toBe(exits[0]);
});

deepTest('a charon that hangs holds up neither the end of a session, nor the rules', async () => {
  const open = () => world.run('node', 'nft', 'list', 'set', 'inet', 'exitward_vpn', 'open');
  const { address } = await world.client(1).connect();
  expect(open()).toContain(address);
  const pid = world.charonPid();
  await halt(pid);
  try {
    await world.apply(contractRecord(1, { suspended: true }));
    // It has been acknowledged.
    expect(open()).not.toContain(address);
    world.run('node', 'nft', 'flush', 'ruleset');
    await until(() => {
      const rules = world.run(
        'node',
        'nft',
        'list',
        'chain',
        'inet',
        'exitward_vpn',
        'from_client',
      );
      return rules.includes('saddr != @open');
    });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until(async () => (await world.client(1).tunnels()).length === 0);
});

deepTest('a client does not learn other addresses of the node', async () => {
  for (const exit of exits) await world.client(1).connect({ exit });
  expect(world.client(1).log()).toContain('parsed IKE_AUTH response');
  expect(world.client(1).log()).not.toContain('ADD_4_ADDR');
});

deepTest('a login while no agent runs waits for the next one', async () => {
  await world.node.kill();
  const before = radiusRequests();
  const login = world.client(1).connect();
  await until(() => radiusRequests() > before);
  await world.startNode();
  await login;
  expect(world.client(1).fetch({ down: 1000 }).from).toBe(exits[0]);
});

deepTest(
  'a rule that translates whatever leaves, as others add it later, moves no client from its exit',
  async () => {
    await world.client(1).connect({ exit: exits[1] });
    const nft = (command: string) => world.run('node', 'nft', command);
    const chain = 'ip others POSTROUTING';
    nft('add table ip others');
    nft(`add chain ${chain} { type nat hook postrouting priority srcnat; }`);
    nft(`add rule ${chain} oifname "to-beyond" masquerade`);
    onTestFinished(() => void nft('delete table ip others'));
    expect(world.client(1).fetch({ down: 1000 }).from).toBe(exits[1]);
  },
);

deepTest(
  'packets that another firewall drops on their way out are a fault, until they pass',
  async () => {
    await world.client(1).connect();
    world.run('node', 'nft', 'add table ip docker');
    const chain = 'ip docker FORWARD { type filter hook forward priority 0; policy drop; }';
    world.run('node', 'nft', `add chain ${chain}`);
    const isBlocked = async () => {
      const faults = await world.node.ask<Fault[]>({ do: 'faults' });
      return faults.some(({ subject }) => subject === 'forwarding');
    };
    await until(() => {
      expect(() => world.client(1).fetch({ down: 1, seconds: 3 })).toThrow();
      return isBlocked();
    });
    world.run('node', 'nft', 'delete table ip docker');
    expect(world.client(1).fetch({ down: 1000 }).from).toBe(exits[0]);
    await until(async () => !(await isBlocked()));
  },
);

deepTest('new keys that the node refuses in an open tunnel are a fault', async () => {
  // At the login, groups for ESP are not compared.
  const words = { ike: ['aes256-sha256-ecp256'], esp: ['aes256-sha256-ecp521'] };
  try {
    await world.client(1).connect({ words });
    await renew(world.client(1).vici, 'esp');
    await until(async () => {
      const faults = await world.node.ask<Fault[]>({ do: 'faults' });
      return faults.some(({ subject }) => subject === 'keys');
    });
  } finally {
    await world.restartNode();
  }
});

test('with the agent stopped for good charon ends, and the kernel lets nothing through', async () => {
  await world.client(1).connect();
  const pid = world.charonPid();
  await world.node.ask({ do: 'stop', leave_running: false });
  try {
    expect(existsSync(`/proc/${pid}/exe`)).toBe(false);
    expect(world.run('node', 'nft', 'list', 'set', 'inet', 'exitward_vpn', 'open')).not.toContain(
      'elements',
    );
  } finally {
    await world.startNode();
  }
});

deepTest(
  'each thing that the machine lacks is a fault that says what to do, until it is there',
  async () => {
    const forwarding = (value: 0 | 1) =>
      world.run('node', 'sysctl', '-qw', `net.ipv4.ip_forward=${value}`);
    const holder = `require('node:dgram').createSocket('udp4').bind(500, () => console.log('ready'))`;
    const charon = join(world.dir, 'charon');
    const lacks = async (says: RegExp) => {
      await until(async () => {
        const faults = await world.node.ask<Fault[]>({ do: 'faults' });
        return faults.some(({ kind, message }) => kind === 'vpn' && says.test(message));
      });
    };
    await world.node.ask({ do: 'stop', leave_running: false });
    forwarding(0);
    const held = await world.spawnReady('node', [process.execPath, '-e', holder]);
    try {
      await world.startNode({
        EXITWARD_AGENT_CHARON: charon,
        EXITWARD_AGENT_TLS_CERT: '',
        EXITWARD_AGENT_TLS_KEY: '',
      });
      await lacks(/no \S+\/charon: apt-get install charon-/);
      symlinkSync('/usr/sbin/charon-systemd', charon);
      await lacks(/does not forward packets: sysctl -w net.ipv4.ip_forward=1/);
      forwarding(1);
      await lacks(/UDP port 500 cannot be listened on \(EADDRINUSE\)/);
      held.kill('SIGKILL');
      await lacks(/no certificate: set EXITWARD_AGENT_ACME, or EXITWARD_AGENT_TLS_CERT/);
    } finally {
      held.kill('SIGKILL');
      forwarding(1);
      await world.restartNode();
    }
    await world.serving();
    await world.client(1).connect();
    expect(world.client(1).fetch({ down: 10 }).from).toBe(exits[0]);
  },
);
