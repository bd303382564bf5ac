// The table in docs/agent.md of things that the agent depends on in a machine: each row has a test,
// which changes the thing under a running part and checks the row.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** By the beginning of its row: the file, and the name of its test. */
const proofs: Record<string, readonly [file: string, name: string]> = {
  'the guard': ['firewall.squid', 'is put back by a running agent'],
  "the VPN's rules": ['tunnels.vpn', 'rules that were flushed are back at once'],
  'exit addresses': ['faults', 'an exit address that this machine does not have is a fault'],
  "the machine's other addresses": ['squid_faults.squid', 'also one that came later'],
  'the ports of the policy': ['squid_running.squid', 'a port that is taken is reported'],
  'ports for outgoing connections': ['outgoing_ports.squid', 'an exit with 64 ports'],
  'name servers': ['name_servers.squid', 'asks the name servers that DHCP has just set'],
  'certificate and key': ['squid_running.squid', 'a renewed one is put in force'],
  '`net.ipv4.ip_forward`': ['tunnels.vpn', 'does not forward packets'],
  'the clock': ['control_time', 'is not judged by what a slow response'],
  "the state folder's disk": ['full_disk.squid.deep', 'keeps it when there is space'],
  descriptors: ['squid_takeover.squid.deep', 'the caps are of the descriptors that the Squid has'],
  'Squid and its deciders': ['squid_running.squid', 'a Squid that dies is started again'],
  'charon, xl2tpd': ['tunnel_health.vpn', 'a charon that hangs is crit'],
  'services that must be off': ['tunnels.vpn', 'UDP port 500 cannot be listened on'],
  'packages that are upgraded': ['programs', 'a program that runs on after its upgrade'],
  'AppArmor profiles': ['programs', 'a profile of AppArmor matters only if it is enforced'],
  '`net.ipv4.ip_nonlocal_bind`': ['outgoing_ports.squid', 'ip_nonlocal_bind'],
};

const folder = new URL('.', import.meta.url);
const [, section = ''] = readFileSync(new URL('../../docs/agent.md', folder), 'utf8').split(
  '\n## What it depends on in the machine\n',
);
const rows = (section.split('\n## ')[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(2)
  .map((line) => line.slice(2));

test('each thing that the agent depends on in a machine has a test, and each test a row', () => {
  const starts = Object.keys(proofs);
  const rowOf = (start: string) => rows.find((row) => row.startsWith(start));
  expect(starts.filter((start) => !rowOf(start))).toEqual([]);
  expect(rows.filter((row) => !starts.some((start) => row.startsWith(start)))).toEqual([]);
});

test.each(Object.entries(proofs))('%s: its test is there', (_, [file, name]) => {
  const text = readFileSync(new URL(`${file}.test.ts`, folder), 'utf8');
  expect([file, text.includes(name)]).toEqual([file, true]);
});
