// Limits of a user on connections and source addresses at once, as they count and end tunnels.
import { beforeEach, expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import type { UserLimits } from '../../kit/src/node_interface.ts';
import type { Engine } from '../src/engine.ts';
import type { Allowed } from '../src/policy/decision.ts';
import type { Reason } from '../src/policy/denials.ts';
import { Policy } from '../src/policy/policy.ts';
import { type Elsewhere, type Holding, UserCounts } from '../src/user_counts.ts';
import { EngineWithVpn } from '../src/vpn/engine_with_vpn.ts';
import { rangeOf } from '../src/vpn/pool.ts';
import { type Tunnel, type VpnSession, VpnSessions } from '../src/vpn/sessions.ts';
import type { Vpn } from '../src/vpn/vpn.ts';
import { FakeKernel } from './fake_kernel.ts';
import { contractRecord, userRecord } from './node_records.ts';
import { exits, vpnServer } from './vpn_scene.ts';

const [exit_ip] = exits;
const pool = rangeOf(parseNetworks('100.80.0.0/28')[0] as never);
const rules = {
  ...{ node: 7, connect_ports: [], http_ports: [], allowed: [] },
  staleness_seconds: 86_400,
};
const authority = {
  ...({ by: 'vpn', account: 1, user: 1, token_version: 1 } as const),
  ...{ expiry: null, generation: 0 },
};

let now: number;
let kernel: FakeKernel;
let policy: Policy;
let users: UserCounts;
let sessions: VpnSessions;
let tunnels: Map<string, Tunnel>;

const limit = (limits: UserLimits) => policy.apply(userRecord(1, { limits }));

function startAgent(): void {
  const clock = { now: () => now, steady: () => now, sleep: async () => undefined };
  users = new UserCounts(() => policy);
  sessions = new VpnSessions({ pool, kernel, rules, policy: () => policy, clock, users });
}

beforeEach(() => {
  now = Math.floor(Date.now() / 1000);
  kernel = new FakeKernel();
  policy = new Policy();
  for (const record of [vpnServer(), contractRecord(1), userRecord(1)]) policy.apply(record);
  tunnels = new Map();
  startAgent();
});

/** Logs in; returns the address inside the tunnel, or why there is none. */
async function connect(address: string): Promise<string> {
  const allowed = { verdict: 'allow', authority, exit_ip } as Allowed;
  const outcome = await sessions.open(allowed, undefined, undefined, 'vpn-ikev2', address);
  if (typeof outcome === 'string') return outcome;
  const ends = { service: 'vpn-ikev2', exit_ip, address } as const;
  tunnels.set(outcome.address, { ike: String(tunnels.size), ends });
  return outcome.address;
}

/** Runs one second of an agent. charon lists the newest tunnel first. */
async function second(): Promise<void> {
  now += 1;
  sessions.noteTunnels(new Map([...tunnels].reverse()));
  await sessions.poll([]);
  await sessions.closeRevoked();
  users.held(now);
}

const open = () =>
  [...sessions.all].filter(({ is_open }: VpnSession) => is_open).map(({ address }) => address);

test('a new limit ends the tunnels that came last, in whatever order they are listed', async () => {
  const first = await connect('192.0.2.1');
  for (const address of ['192.0.2.2', '192.0.2.3']) await connect(address);
  await second();
  limit({ connections: 1 });
  await second();
  expect(open()).toEqual([first]);
});

test.each([true, false])(
  'the next agent knows who came first, and counts them from its first login on; a look at the tunnels came before: %s',
  async (isLookFirst) => {
    limit({ connections: 2 });
    // The kernel lists the newest first.
    const kernelList = kernel.list.bind(kernel);
    kernel.list = async () => (await kernelList()).reverse();
    const first = await connect('192.0.2.1');
    now += 60;
    await connect('192.0.2.2');
    startAgent();
    await sessions.recover();
    if (isLookFirst) await second();
    expect(await connect('192.0.2.3')).toBe('too_many_connections');
    limit({ connections: 1 });
    await second();
    expect(open()).toEqual([first]);
  },
);

test('the next agent judges a tunnel by its service once it has seen it, and not before', async () => {
  const inside = await connect('192.0.2.1');
  limit({ services: ['vpn-ikev2'] });
  startAgent();
  await sessions.recover();
  expect([await sessions.closeRevoked(), open()], 'before the first look').toEqual([[], [inside]]);
  await second();
  expect(open()).toEqual([inside]);
  startAgent();
  await sessions.recover();
  limit({ services: ['proxy'] });
  expect(await sessions.closeRevoked(), 'it may be allowed').toEqual([]);
  await second();
  expect(open()).toEqual([]);
});

test('an address counts while bytes move in its tunnel, and not for as long as the tunnel is open', async () => {
  limit({ addresses: 1, address_seconds: 60 });
  const inside = await connect('192.0.2.1');
  for (let passed = 0; passed < 90; passed += 1) {
    kernel.transfer(inside, 10, 10);
    await second();
  }
  expect(await connect('192.0.2.2')).toBe('too_many_addresses');
  for (let passed = 0; passed < 58; passed += 1) await second();
  expect(await connect('192.0.2.2')).toBe('too_many_addresses');
  for (let passed = 0; passed < 3; passed += 1) await second();
  const next = await connect('192.0.2.2');
  await second();
  expect(open(), 'the idle one ends nothing').toEqual([inside, next]);
  // It has lost its place.
  kernel.transfer(inside, 10, 10);
  await second();
  expect(open()).toEqual([next]);
});

test('a new limit counts no address that was used long ago', async () => {
  const idle = await connect('192.0.2.1');
  for (let passed = 0; passed < 90; passed += 1) await second();
  const used = await connect('192.0.2.2');
  limit({ addresses: 1, address_seconds: 60 });
  await second();
  expect(open()).toEqual([idle, used]);
  expect(users.held(now)).toMatchObject([{ connections: 2, networks: ['192.0.2.2'] }]);
});

test('a client that moves to another network counts there once a byte moves, and its former address until it is unused', async () => {
  limit({ addresses: 2, address_seconds: 60 });
  const inside = await connect('192.0.2.1');
  const move = (address: string) => {
    const ends = { service: 'vpn-ikev2', exit_ip, address } as const;
    tunnels.set(inside, { ike: '0', ends });
  };
  move('2001:db8::1');
  kernel.transfer(inside, 10, 10);
  for (let passed = 0; passed < 2; passed += 1) await second();
  const networks = ['192.0.2.1', '2001:db8:0:0::/64'];
  expect(users.held(now)).toMatchObject([{ connections: 1, networks }]);
  expect(await connect('192.0.2.3')).toBe('too_many_addresses');
});

test('a login that a change refuses while it is under way counts no address', async () => {
  limit({ addresses: 1 });
  const overtaken = connect('203.0.113.1');
  policy.apply(userRecord(1, { active: false, limits: { addresses: 1 } }));
  expect(await overtaken).toBe('inactive_user');
  limit({ addresses: 1 });
  expect(await connect('203.0.113.2')).toMatch(/^100\.80\./);
});

test('a login without a tunnel gives way to the next one of its user from the same address', async () => {
  limit({ connections: 1 });
  const abandoned = await connect('192.0.2.1');
  tunnels.clear();
  // Another device of the user at the same moment is one too many.
  expect(await connect('192.0.2.1')).toBe('too_many_connections');
  for (let passed = 0; passed < 3; passed += 1) await second();
  expect(await connect('192.0.2.2')).toBe('too_many_connections');
  const next = await connect('192.0.2.1');
  await second();
  expect([abandoned === next, open()]).toEqual([false, [next]]);
  for (let passed = 0; passed < 3; passed += 1) await second();
  expect(await connect('192.0.2.1'), 'its tunnel is up').toBe('too_many_connections');
});

test('connections by the proxy of the node, and those of other nodes, count together with tunnels', async () => {
  limit({ connections: 2 });
  const of = { account: 1, user: 1 };
  const byProxy: Holding[] = [];
  let restOfProxy: readonly Elsewhere[] = [];
  const proxy = {
    held: () => byProxy,
    share: (elsewhere: readonly Elsewhere[]) => {
      restOfProxy = elsewhere;
    },
  };
  const vpn = {
    held: () => users.held(now),
    share: (elsewhere: readonly Elsewhere[]) => users.share(elsewhere),
  };
  const engine = new EngineWithVpn(proxy as unknown as Engine, vpn as unknown as Vpn);
  const first = await connect('192.0.2.1');
  byProxy.push({ ...of, connections: 1, networks: [] });
  engine.share([]);
  expect(engine.held()).toEqual([{ ...of, connections: 2, networks: [] }]);
  expect(restOfProxy).toMatchObject([{ ...of, connections: 1, ahead: 0, networks: [] }]);
  expect(await connect('192.0.2.1')).toBe('too_many_connections');
  // Another node has a tunnel, but the one here came first.
  const elsewhere = { ...of, connections: 1, ahead: 0, networks: [] };
  byProxy.length = 0;
  engine.share([elsewhere]);
  expect(await connect('192.0.2.1')).toBe('too_many_connections');
  byProxy.push({ ...of, connections: 1, networks: [] });
  engine.share([elsewhere]);
  await second();
  expect(open()).toEqual([first]);
  // Those elsewhere came first. With the proxy's connection, there is no room for the tunnel.
  engine.share([{ ...elsewhere, ahead: 1 }]);
  await second();
  expect(open()).toEqual([]);
});

const explained: Array<[Reason | undefined, why: string, () => unknown]> = [
  [undefined, 'within its limits', () => limit({ connections: 1, addresses: 1 })],
  [
    'too_many_connections',
    'with as many tunnels as the user may have',
    async () => {
      limit({ connections: 1 });
      await connect('192.0.2.1');
      await second();
    },
  ],
  [
    'too_many_connections',
    'with connections elsewhere',
    () => {
      limit({ connections: 1 });
      users.share([{ account: 1, user: 1, connections: 1, ahead: 0, networks: [] }]);
    },
  ],
  [
    'too_many_addresses',
    'from one address more than the user may have',
    async () => {
      limit({ addresses: 1 });
      await connect('192.0.2.1');
      await second();
    },
  ],
  [
    'too_many_connections',
    'beyond both limits',
    async () => {
      limit({ connections: 1, addresses: 1 });
      await connect('192.0.2.1');
      await second();
    },
  ],
  [
    undefined,
    'after one from there that came to nothing',
    async () => {
      limit({ connections: 1 });
      await connect('192.0.2.2');
      tunnels.clear();
      for (let passed = 0; passed < 3; passed += 1) await second();
    },
  ],
  [
    'too_many_connections',
    'when that does not suffice',
    async () => {
      limit({ connections: 1 });
      await connect('192.0.2.2');
      tunnels.clear();
      for (let passed = 0; passed < 3; passed += 1) await second();
      users.share([{ account: 1, user: 1, connections: 1, ahead: 0, networks: [] }]);
    },
  ],
  [
    'too_many_connections',
    'when all addresses inside are taken',
    async () => {
      while ((await connect('192.0.2.1')).includes('.'));
    },
  ],
  ['not_ready', 'while the VPN stops', () => sessions.shut()],
];
test.each(explained)('explain says what a login gets: %s %s', async (reason, _why, prepare) => {
  await prepare();
  expect(sessions.objectionTo(authority, 'vpn-ikev2', '192.0.2.2')).toBe(reason);
  expect(await connect('192.0.2.2')).toEqual(reason ?? expect.stringContaining('.'));
});
