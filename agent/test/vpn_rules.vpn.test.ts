// The rules of the VPN in the kernel of a network namespace, while other programs change them.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { nftSessions, RulesInForce, vpnFirewallRules } from '../src/vpn/vpn_firewall.ts';

const namespace = `exitward-vpn-rules-${process.pid}`;
const programs = mkdtempSync(join(tmpdir(), 'exitward-vpn-rules-'));
const { PATH } = process.env;
const nft = '/usr/sbin/nft';
const inside = (...args: string[]) =>
  execFileSync('ip', ['netns', 'exec', namespace, nft, ...args], { encoding: 'utf8' });
const table = 'inet exitward_vpn';
const [pool] = parseNetworks('100.80.0.0/12');
const rules = vpnFirewallRules({
  ...{ pool: pool as never, pool6: 'fd65::/97', ipsec: 'userspace', has_ppp: true, allowed: [] },
  ...{ refused_ports: [25], l2tp_exits: ['198.51.100.1'] },
});
const session = { zone: 7, exit_ip: '198.51.100.1', exit_ports: { first: 1024, last: 2031 } };
const openSession = (address: string) => nftSessions.open({ ...session, address, note: 'a note' });
const listing = () => inside('--stateless', 'list', 'ruleset');
let inForce: RulesInForce;

beforeAll(() => {
  execFileSync('ip', ['netns', 'add', namespace]);
  const script = `#!/bin/sh\nexec ip netns exec ${namespace} ${nft} "$@"\n`;
  writeFileSync(join(programs, 'nft'), script, { mode: 0o755 });
  process.env.PATH = `${programs}:${PATH}`;
});
afterAll(() => {
  process.env.PATH = PATH;
  rmSync(programs, { recursive: true });
  execFileSync('ip', ['netns', 'delete', namespace]);
});
beforeEach(async () => {
  inside('flush', 'ruleset');
  inForce = new RulesInForce();
  await inForce.apply(rules);
  await openSession('100.80.0.7');
});

test.each([
  ['a chain has lost its rules', `flush chain ${table} from_client`],
  ['all chains have', `flush table ${table}`],
  ['a rule before all others lets everything pass', `insert rule ${table} forward accept`],
  ['a chain refuses all', `chain ${table} forward { policy drop; }`],
  [
    'a chain was added',
    `add chain ${table} other { type filter hook forward priority 0; policy drop; }`,
  ],
  ['a network is no longer refused', `delete element ${table} refused4 { 10.0.0.0/8 }`],
  ['another network is refused', `add element ${table} refused4 { 9.9.9.0/24 }`],
])('they are put back with their sessions when %s', async (_, change) => {
  const whole = listing();
  inside(change);
  expect(listing()).not.toBe(whole);
  expect(await inForce.areWhole()).toBe(false);
  await inForce.apply(rules);
  expect(listing()).toBe(whole);
  expect(await inForce.areWhole()).toBe(true);
});

test('they are whole while sessions come and go, and other tables change', async () => {
  await openSession('100.80.0.8');
  await nftSessions.close(['100.80.0.7']);
  inside('add table ip other');
  expect(await inForce.areWhole()).toBe(true);
});

test('a table that is gone, or lacks a set of the sessions, has lost them', async () => {
  inside(`flush table ${table}; delete map ${table} exit`);
  expect(await nftSessions.isThere()).toBe(true);
  expect(await inForce.areWhole()).toBe(false);
  expect(await nftSessions.isThere()).toBe(false);
  expect(await inForce.areWhole()).toBe(false);
});
