// The addresses of a test world in one family, IPv4 or IPv6, and the records of a node that serves
// it.
import { execFileSync } from 'node:child_process';
import type { NodeRecord } from '../../src/policy/records.ts';
import * as t from '../proxy_world.ts';

/** Parts of an address by their place: exits, the origins, and so on, as in proxy_world.ts. */
export interface Family {
  name: 'IPv4' | 'IPv6';
  exits: readonly [string, string];
  /** The address of the first exit. */
  port_base: number;
  normalPort: number;
  overridePort: number;
  originIp: string;
  otherOriginIp: string;
  privateIp: string;
  sources: readonly [string, string, string];
  /** A client that is on no authlist, and in IPv6 not in the /64 of the others. */
  remoteSource: string;
  /** The origin's address in the other family, if the machine has that family. */
  foreignIp: string;
  /** An exit that the machine does not have, and one that would be on the Internet. */
  missingIp: string;
  publicIp: string;
  /** Id of an account's authlist entry. */
  entry: number;
}

export const ipv4: Family = {
  name: 'IPv4',
  exits: t.exits,
  port_base: 1,
  normalPort: t.normalPort,
  overridePort: t.overridePort,
  originIp: t.originIp,
  otherOriginIp: t.otherOriginIp,
  privateIp: t.privateIp,
  sources: t.sources,
  remoteSource: '127.78.4.4',
  foreignIp: 'fd78::2:1',
  missingIp: '203.0.113.200',
  publicIp: '9.9.9.10',
  entry: 1,
};

/** The machine has these when `addIpv6` has added them. */
export const ipv6: Family = {
  name: 'IPv6',
  exits: ['fd78::1:1', 'fd78::1:2'],
  port_base: 3,
  normalPort: t.normalPort + 2,
  overridePort: t.overridePort + 2,
  originIp: 'fd78::2:1',
  otherOriginIp: 'fd78::2:2',
  privateIp: 'fd78::3:1',
  sources: ['fd78::4:1', 'fd78::4:2', 'fd78::4:3'],
  remoteSource: 'fd78:0:0:1::4:1',
  foreignIp: t.originIp,
  missingIp: '2600::c8',
  publicIp: '2600::9:10',
  entry: 2,
};

/**
 * Gives the loopback the addresses of the IPv6 world: as root, in a network namespace of the tests.
 */
export function addIpv6(): void {
  const { exits, originIp, otherOriginIp, privateIp, sources, remoteSource } = ipv6;
  const ips = [...exits, originIp, otherOriginIp, privateIp, ...sources, remoteSource];
  const lines = ips.map((ip) => `address replace ${ip}/128 dev lo nodad\n`);
  execFileSync('ip', ['-6', '-batch', '-'], { input: lines.join('') });
}

/** An address as the host of a URL. */
export const at = (ip: string) => (ip.includes(':') ? `[${ip}]` : ip);

export const serverOf = (families: readonly Family[], change?: object): NodeRecord =>
  t.serverRecord({
    exit_ips: families.flatMap(({ exits, port_base }) =>
      exits.map((ip, index) => ({ ip, port_base: port_base + index })),
    ),
    ...change,
  });

export const authlistOf = ({ entry }: Family, account: number, ip: string | null): NodeRecord =>
  t.authlistRecord(account, ip, 1, entry);

/** The usual records, with the exits and the clients' addresses of these families. */
export const recordsOf = (families: readonly Family[]): NodeRecord[] => [
  ...t.usualRecords().filter(({ kind }) => kind !== 'server' && kind !== 'authlist'),
  serverOf(families),
  ...families.flatMap((family) =>
    [1, 2].map((account) => authlistOf(family, account, family.sources[account - 1] as string)),
  ),
];
