// The connections that charon offers, and which side starts a rekey.
import { expect, test } from 'vitest';
import { vpnServices } from '../../kit/src/vpn_password.ts';
import { connectionsOf } from '../src/vpn/connections.ts';
import type { ViciMessage } from '../src/vpn/vici.ts';

const server = {
  name: 'fra1',
  hostname: 'fra1.example',
  services: [...vpnServices],
  port_schemes: [],
  exit_ips: [],
};
const exits = ['192.0.2.1', '192.0.2.2'];
const machine = { certificates: ['pem'], hasIpv6: true, isOnlyAddress: () => false };

test('there is one for each service and exit, on the address of the exit', () => {
  const connections = connectionsOf(server, vpnServices, exits, machine);
  expect([...connections].map(([name, { local_addrs }]) => [name, local_addrs])).toEqual(
    vpnServices.flatMap((service) => exits.map((exit) => [`${service} ${exit}`, [exit]])),
  );
});

test('the node starts a rekey with IKEv2 only: clients of IKEv1 and L2TP reject one from the node', () => {
  const connections = connectionsOf(server, vpnServices, exits.slice(0, 1), machine);
  for (const [name, { version, rekey_time, children }] of connections) {
    const { net } = children as Record<string, ViciMessage>;
    const begins = [rekey_time, net?.rekey_time].map((time) => time !== '0');
    expect([name, ...begins]).toEqual([name, version === '2', version === '2']);
  }
});

test('clients may roam (MOBIKE) only where it would name no other address of the machine', () => {
  const isOnlyAddress = (exit: string) => exit === exits[0];
  const connections = connectionsOf(server, vpnServices, exits, { ...machine, isOnlyAddress });
  const roaming = [...connections].filter(([, { mobike }]) => mobike === 'yes');
  expect(roaming.map(([name]) => name)).toEqual([`vpn-ikev2 ${exits[0]}`]);
});
