// The tunnels in charon's list, which may be read while new keys move one of them; and the tunnels
// of every service, as people see them.
import { expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { groupConnections } from '../src/connection_groups.ts';
import { Policy } from '../src/policy/policy.ts';
import { rangeOf } from '../src/vpn/pool.ts';
import { Serving, type ServingOptions } from '../src/vpn/serving.ts';
import { VpnSessions } from '../src/vpn/sessions.ts';
import type { ViciMessage } from '../src/vpn/vici.ts';
import { FakeKernel } from './fake_kernel.ts';
import { contractRecord, userRecord } from './node_records.ts';
import { vpnAuthority } from './vpn_scene.ts';

/** A charon with these lists, one for each reading. */
function servingOf(...lists: string[][]) {
  const state = { readings: 0 };
  const list = async (): Promise<ViciMessage[]> => {
    const addresses = lists[Math.min(state.readings, lists.length - 1)] ?? [];
    state.readings += 1;
    return addresses.map((ip) => ({
      'vpn-ikev2 192.0.2.1': { uniqueid: ip, 'remote-vips': [ip] },
    }));
  };
  const options = { charon: { list }, l2tp: { links: () => [] } };
  const serving = new Serving(options as unknown as ServingOptions);
  return Object.assign(state, { serving });
}

test('a tunnel that one reading of the list misses is found by the next', async () => {
  const made = servingOf(['100.80.0.2'], ['100.80.0.1', '100.80.0.2']);
  const tunnels = await made.serving.tunnels(['100.80.0.1', '100.80.0.2']);
  expect([...tunnels.keys()].sort()).toEqual(['100.80.0.1', '100.80.0.2']);
});

test('one that is gone is looked for once more, and the list is read once while none is', async () => {
  const gone = servingOf(['100.80.0.2']);
  expect([...(await gone.serving.tunnels(['100.80.0.1'])).keys()]).toEqual(['100.80.0.2']);
  expect(gone.readings).toBe(2);
  const whole = servingOf(['100.80.0.1', '100.80.0.2']);
  await whole.serving.tunnels(['100.80.0.1']);
  expect(whole.readings).toBe(1);
});

test('sessions of L2TP and of IKE, over IPv4 and IPv6, are groups by their client and exit', async () => {
  const policy = new Policy();
  const now = 1_800_000_000;
  const exits = ['192.0.2.1', '2001:db8::1'].map((ip) => ({ ip, port_base: 0 }));
  policy.apply({
    kind: 'server',
    value: {
      ...{ name: 'fra1', hostname: 'fra1.example.net', services: ['vpn-ikev2', 'vpn-l2tp'] },
      ...{ vpn_key: 'k', port_schemes: [], exit_ips: exits },
    },
  });
  for (const record of [contractRecord(1, { expiry: now + 60 }), userRecord(1)]) {
    policy.apply(record);
  }
  const sessions = new VpnSessions({
    pool: rangeOf(parseNetworks('100.80.0.0/28')[0] as never),
    kernel: new FakeKernel(),
    rules: {
      ...{ node: 7, connect_ports: [], http_ports: [] },
      allowed: [],
      staleness_seconds: 99,
    },
    policy: () => policy,
    clock: { now: () => now, steady: () => now, sleep: async () => {} },
  });
  const open = async (exit_ip: string, given?: string) => {
    const names = { contract: 'contract1', user: 'alice', dial: undefined, override: undefined };
    const session = await sessions.open(
      { verdict: 'allow', authority: vpnAuthority, ...names, exit_ip },
      given,
    );
    if (typeof session === 'string') throw new Error(session);
    return session.address;
  };
  const ppp = ['100.80.0.9', '100.80.0.10'];
  for (const inside of ppp) await open('192.0.2.1', inside);
  const inside = await open('2001:db8::1');
  const links = ppp.map((address, at) => ({
    ...{ address, exit_ip: '192.0.2.1', source: '198.51.100.7', pppd: at + 1 },
  }));
  const tunnel = { uniqueid: '1', 'remote-vips': [inside], 'remote-host': '2001:DB8:0::7' };
  const list = async () => [{ 'vpn-ikev2 2001:db8::1': tunnel }];
  const options = { charon: { list }, l2tp: { links: () => links } };
  const serving = new Serving(options as unknown as ServingOptions);
  expect(sessions.noteTunnels(await serving.tunnels([]))).toEqual([]);
  const shared = { account: 1, user: 1, by: ['vpn'], since: now };
  expect(await groupConnections(sessions.connections())).toMatchObject([
    {
      ...shared,
      ...{ service: 'vpn-l2tp', address: '198.51.100.7', exit_ip: '192.0.2.1', connections: 2 },
    },
    {
      ...shared,
      ...{ service: 'vpn-ikev2', address: '2001:db8::7', exit_ip: '2001:db8::1', connections: 1 },
    },
  ]);
});
