// The node in tests of the VPN: its addresses, records and passwords, and the Internet behind it.

import type { ServerValue } from '../../kit/src/node_interface.ts';
import { vpnPassword, vpnServices } from '../../kit/src/vpn_password.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { contractRecord, userRecord } from './node_records.ts';

export const exits = ['203.0.113.1', '203.0.113.2'] as const;
export const hostname = 'fra1.example.net';
/** The origin on the Internet: reports the address of its client, and sends and receives bytes. */
export const origin = '9.9.9.9';
/** An origin with a private address, which must never be reached. */
export const privateIp = '10.9.9.9';
export const port = 8080;
/** The server's key, from which its passwords are derived. */
export const vpnKey = Buffer.alloc(32, 7).toString('base64url');

/** The part that encrypts packets; the kernel only on a machine whose kernel has ESP. */
export const ipsec = process.env.EXITWARD_TEST_VPN_IPSEC ?? 'userspace';
/** Whether packets pass a device, which counts them. */
export const hasDevice = ipsec === 'userspace';

/** The authority of alice of the first account. */
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
  /** With a group: the client requires forward secrecy. */
  esp: string[];
  /** Seconds until the client begins new keys; undefined: not during a test. */
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
