// The blocks of ports that clients of the VPN have at their exit while connections are logged.
import { beforeEach, expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { Random } from '../../server/test/random.ts';
import { tries } from '../../test/effort.ts';
import type { Allowed, PortRange } from '../src/policy/decision.ts';
import { Policy } from '../src/policy/policy.ts';
import { rangeOf } from '../src/vpn/pool.ts';
import { type VpnSession, VpnSessions } from '../src/vpn/sessions.ts';
import { forgettingLines, openingLines, vpnFirewallRules } from '../src/vpn/vpn_firewall.ts';
import { FakeKernel } from './fake_kernel.ts';
import { contractRecord, userRecord } from './node_records.ts';
import { exits, vpnServer } from './vpn_scene.ts';

const [exit] = exits;
const authority = {
  ...{ by: 'vpn', account: 1, user: 1, token_version: 1, expiry: null, generation: 0 },
} as const;
/** The kernel's default. */
const usualPorts = { first: 32_768, last: 60_999 };
const [network] = parseNetworks('100.80.0.0/20');
const rules = {
  ...{ node: 7, connect_ports: [], http_ports: [], allowed: [] },
  staleness_seconds: 86_400,
};

const noon = 1_800_000_000;

let kernel: FakeKernel;
let policy: Policy;
let sessions: VpnSessions;

const start = (ownPorts?: () => PortRange) => {
  const clock = { now: () => noon, steady: () => noon, sleep: async () => undefined };
  return new VpnSessions({
    ...{ pool: rangeOf(network as never), kernel, rules, policy: () => policy, clock, ownPorts },
  });
};

beforeEach(() => {
  kernel = new FakeKernel();
  policy = new Policy();
  for (const record of [vpnServer(), contractRecord(1, { expiry: noon + 60 }), userRecord(1)])
    policy.apply(record);
  sessions = start(() => usualPorts);
});

async function open(exit_ip: string = exit): Promise<VpnSession> {
  const session = await sessions.open(
    { verdict: 'allow', authority, exit_ip } as Allowed,
    ...[undefined, undefined, 'vpn-ikev2', '192.0.2.1'],
  );
  if (typeof session === 'string') throw new Error(session);
  return session;
}

/** Ends these sessions, removes their tunnels, and reports their bytes. */
async function leave(leaving: readonly VpnSession[]): Promise<void> {
  const staying = [...sessions.all].filter((session) => !leaving.includes(session));
  const tunnels = staying.map(({ address, ends }) => {
    return [address, { ike: address, ends: ends as never }] as const;
  });
  sessions.noteTunnels(new Map(tunnels));
  for (const { address } of leaving) sessions.noteReuse(address);
  let cursor: unknown = [];
  for (let count = 0; count < 3; count += 1) ({ cursor } = await sessions.poll(cursor));
  expect([...sessions.all]).toEqual(staying);
}

/** How many clients of an exit have each block that is in use. */
function clientsOf(exit_ip: string): Map<number | undefined, number> {
  const clients = new Map<number | undefined, number>();
  for (const { ends, exit_ports } of sessions.all) {
    if (ends?.exit_ip !== exit_ip) continue;
    clients.set(exit_ports?.first, (clients.get(exit_ports?.first) ?? 0) + 1);
  }
  return clients;
}

test('64 clients of an exit have 1,008 ports each, which together are all from 1024 to 65535', async () => {
  for (let count = 0; count < 64; count += 1) await open();
  const blocks = Array.from(sessions.all, ({ exit_ports }) => exit_ports as PortRange);
  blocks.sort((a, b) => a.first - b.first);
  expect(blocks).toEqual(
    blocks.map((_, index) => ({ first: 1024 + index * 1008, last: 2031 + index * 1008 })),
  );
  expect(blocks.at(-1)?.last).toBe(65_535);
});

test('two clients of an exit never share ports while it has free ones, and then as few as can be', async () => {
  const random = Random.printed('blocks of ports');
  for (let step = 0; step < tries(400, { atLeast: 400 }); step += 1) {
    if (random.between(0, 5000) < [...sessions.all].length) {
      await leave([...sessions.all].filter(() => random.between(0, 3) === 0));
    }
    const exit_ip = random.one(exits);
    const before = clientsOf(exit_ip);
    const { exit_ports } = await open(exit_ip);
    const least = before.size < 64 ? 0 : Math.min(...before.values());
    expect(before.get(exit_ports?.first) ?? 0).toBe(least);
  }
});

test("the first 35 clients have ports from which the machine's own connections do not leave", async () => {
  for (let count = 0; count < 36; count += 1) await open();
  const own = Array.from(sessions.all, ({ exit_ports }) => exit_ports as PortRange).filter(
    ({ first, last }) => last >= usualPorts.first && first <= usualPorts.last,
  );
  expect(own).toHaveLength(1);
});

test('a block that its client left is the last one to be given again', async () => {
  const first = await open();
  await leave([first]);
  const next: Array<number | undefined> = [];
  for (let count = 0; count < 34; count += 1) next.push((await open()).exit_ports?.first);
  expect(next).not.toContain(first.exit_ports?.first);
  expect((await open()).exit_ports).toEqual(first.exit_ports);
});

test('the next agent keeps the blocks of open sessions, and gives them to no one else', async () => {
  const opened = [await open(), await open()];
  const before = opened.map(({ exit_ports }) => exit_ports);
  sessions = start(() => usualPorts);
  await sessions.recover();
  expect(Array.from(sessions.all, ({ exit_ports }) => exit_ports)).toEqual(before);
  for (let count = 0; count < 62; count += 1) {
    expect(before).not.toContainEqual((await open()).exit_ports);
  }
});

test('without the connection log, new clients get no ports of their own, and others keep theirs', async () => {
  const { exit_ports } = await open();
  sessions = start();
  await sessions.recover();
  expect((await open()).exit_ports).toBeUndefined();
  expect(Array.from(sessions.all, (session) => session.exit_ports)).toEqual([
    exit_ports,
    undefined,
  ]);
});

test('a look at the uses under way names the ports', async () => {
  const { exit_ports, address, ends } = await open();
  sessions.noteTunnels(new Map([[address, { ike: '1', ends: ends as never }]]));
  expect([...sessions.uses()]).toMatchObject([{ exit_ip: exit, exit_ports }]);
});

test('the rules translate TCP and UDP of such a client to its ports, and all else to its exit', () => {
  const translations = vpnFirewallRules({
    ...{ pool: network as never, pool6: 'fd00::/96', ipsec: 'kernel', has_ppp: false },
    ...{ allowed: [], refused_ports: [], l2tp_exits: [] },
  })
    .split('\n')
    .filter((line) => line.includes('snat'));
  expect(translations.map((line) => line.trim())).toEqual([
    'meta l4proto { tcp, udp, udplite, dccp, sctp } snat ip addr . port to ip saddr map @ports',
    'snat ip to ip saddr map @exit',
  ]);
  const flows = { address: '100.80.0.7', zone: 3 };
  const withPorts = { ...flows, exit_ports: { first: 1024, last: 2031 } };
  const session = { exit_ip: exit, note: 'vpn-1' };
  const element = 'element inet exitward_vpn ports';
  expect(openingLines({ ...withPorts, ...session })).toContain(
    `create ${element} { 100.80.0.7 : ${exit} . 1024-2031 }\n`,
  );
  expect(forgettingLines([withPorts])).toContain(`delete ${element} { 100.80.0.7 }\n`);
  expect(openingLines({ ...flows, ...session })).not.toContain('ports');
  expect(forgettingLines([flows])).not.toContain('ports');
});
