// The node of the tests of the VPN: its addresses, records and passwords, and what is beyond it.

import type { ServerValue } from '../../kit/src/node_interface.ts';
import { vpnPassword, vpnServices } from '../../kit/src/vpn_password.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { contractRecord, userRecord } from './node_records.ts';

export const exits = ['203.0.113.1', '203.0.113.2'] as const;
export const hostname = 'fra1.example.net';
/** In the Internet beyond: answers the address of its client, and gives and takes bytes. */
export const origin = '9.9.9.9';
/** Beyond as well, but private: never to be reached. */
export const privateIp = '10.9.9.9';
export const port = 8080;
/** Of the server, from which its passwords follow. */
export const vpnKey = Buffer.alloc(32, 7).toString('base64url');

/** The part that seals packets: the kernel only in a machine whose kernel has ESP. */
export const ipsec = process.env.EXITWARD_TEST_VPN_IPSEC ?? 'userspace';
/** Whether packets go through a device, which counts them. */
export const hasDevice = ipsec === 'userspace';

/** Lets alice of the first account in. */
export const vpnAuthority = {
  by: 'vpn',
  account: 1,
  user: 1,
  token_version: 1,
  expiry: null,
  generation: 0,
} as const;

export const vpnServer = (change: Partial<ServerValue> = {}): NodeRecord => ({
  kind: 'server',
  value: {
    name: 'fra1',
    hostname,
    services: ipsec === 'kernel' ? [...vpnServices] : ['vpn-ikev2', 'vpn-ikev1'],
    port_schemes: [],
    exit_ips: exits.map((ip, index) => ({ ip, port_base: index })),
    vpn_key: vpnKey,
    ...change,
  },
});

export const vpnRecords = (server = vpnServer()): NodeRecord[] => [
  server,
  { kind: 'keys', value: [] },
  ...[1, 2].flatMap((account) => [contractRecord(account), userRecord(account)]),
];

export const passwordOf = (account: number, token_version = 1, expiry: number | null = null) =>
  vpnPassword(vpnKey, { account, user: 1, token_version, expiry });

/** The proposals of a client, in strongSwan's spelling. */
export interface Words {
  ike: string[];
  /** With a group: it asks for forward secrecy, and takes nothing else. */
  esp: string[];
  /** Seconds until it begins new keys; none: not in a test's time. */
  renewed_after?: { ike: number; esp: number };
}

export interface Login {
  login?: string;
  password?: string;
  exit?: string;
  service?: 'vpn-ikev2' | 'vpn-ikev1';
  /** Asks for an IPv6 address, too, as phones do. */
  ipv6?: boolean;
  words?: Words;
}
