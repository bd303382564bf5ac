// Clients of IKEv1, who log in again for new keys: the session that such a login belongs to.
import { beforeEach, expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import type { Allowed } from '../src/policy/decision.ts';
import { Policy } from '../src/policy/policy.ts';
import { rangeOf } from '../src/vpn/pool.ts';
import { type TunnelClient, type VpnSession, VpnSessions } from '../src/vpn/sessions.ts';
import { FakeKernel } from './fake_kernel.ts';
import { contractRecord, userRecord } from './node_records.ts';
import { exits, vpnAuthority, vpnServer } from './vpn_scene.ts';

const [exit_ip, other_exit] = exits;
const client: TunnelClient = {
  ...{ connection: `vpn-ikev1 ${exit_ip}`, login: 'alice@contract1' },
  ...{ source: '198.18.1.2', source_port: '4500' },
};
const pool = rangeOf(parseNetworks('100.80.0.0/28')[0] as never);
const rules = {
  node: 7,
  connect_ports: [],
  http_ports: [],
  allowed: [],
  staleness_seconds: 86_400,
};

let now: number;
let kernel: FakeKernel;
let policy: Policy;
let sessions: VpnSessions;
let session: VpnSession;

const start = () => {
  const clock = { now: () => now, steady: () => now, sleep: async () => undefined };
  return new VpnSessions({ pool, kernel, rules, policy: () => policy, clock });
};
const look = (...clients: Array<TunnelClient | undefined>) =>
  sessions.noteTunnels(
    new Map(clients.map((client) => [session.address, { ike: '1', client: client }] as const)),
  );

beforeEach(async () => {
  now = Date.now() / 1000;
  kernel = new FakeKernel();
  policy = new Policy();
  for (const record of [vpnServer(), contractRecord(1), userRecord(1)]) policy.apply(record);
  sessions = start();
  session = (await sessions.open(
    { verdict: 'allow', authority: vpnAuthority, exit_ip } as Allowed,
    undefined,
    client,
  )) as VpnSession;
});

test('a client is known by its login, address, port, exit and authority', () => {
  expect(sessions.resume(client, vpnAuthority)).toBe(session);
  for (const change of [
    { login: 'bob@contract1' },
    { source: '198.18.1.3' },
    { source_port: '4501' },
    { source_port: undefined },
    { connection: `vpn-ikev1 ${other_exit}` },
  ]) {
    expect(sessions.resume({ ...client, ...change }, vpnAuthority), JSON.stringify(change)).toBe(
      undefined,
    );
  }
  expect(sessions.resume(client, { ...vpnAuthority, token_version: 2 })).toBe(undefined);
});

test('its NAT may give it another port, and the agent may start again', async () => {
  const moved = { ...client, source_port: '61000' };
  look(moved);
  expect(sessions.resume(client, vpnAuthority)).toBe(undefined);
  look(undefined);
  expect(sessions.resume(moved, vpnAuthority), 'its tunnel is about to end').toBe(session);
  sessions = start();
  await sessions.recover();
  look(moved);
  expect(sessions.resume(moved, vpnAuthority)).toMatchObject({ connection: session.connection });
});

test('a look in the middle of the login sees no tunnel, and ends no session; 30 seconds later it does', async () => {
  look(client);
  now += 600;
  expect(sessions.resume(client, vpnAuthority)).toBe(session);
  look();
  await sessions.poll([]);
  expect(session.is_open).toBe(true);
  look(client);
  expect(sessions.resume(client, vpnAuthority)).toBe(session);
  now += 30;
  look();
  await sessions.poll([]);
  expect([session.is_open, sessions.resume(client, vpnAuthority)]).toEqual([false, undefined]);
});

test('a session that a change has ended is not resumed', async () => {
  policy.apply(contractRecord(1, { suspended: true }));
  await sessions.closeRevoked();
  expect(sessions.resume(client, vpnAuthority)).toBe(undefined);
});
