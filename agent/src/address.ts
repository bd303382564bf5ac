// The addresses that a node may connect to, and its own.
import { randomInt } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { canonicalAddress, isInside, type Network } from '../../kit/src/address.ts';

/**
 * IPv4 addresses that are not routed on the Internet: private, shared, local, documentation,
 * multicast, reserved.
 */
export const refusedIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];

/** IPv6 addresses that are routed on the Internet, */
export const routedIpv6 = '2000::/3';

/** less the parts that tunnel to IPv4 or are reserved. */
export const refusedIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const refused4 = refusedIpv4.map((text) => ipaddr.IPv4.parseCIDR(text));
const refused6 = refusedIpv6.map((text) => ipaddr.IPv6.parseCIDR(text));
const routed6 = ipaddr.IPv6.parseCIDR(routedIpv6);

/**
 * Whether a node may open a connection to this address: it is routed on the Internet, or the
 * operator allows it. Loopback, private, link-local, shared, documentation, multicast, transition
 * and otherwise reserved addresses are refused, and so are the node's own.
 */
export function mayDial(
  ip: string,
  allowed: readonly Network[] = [],
  isOwn: (canonical: string) => boolean = () => false,
): boolean {
  const canonical = canonicalAddress(ip);
  if (canonical === undefined) return false;
  const address = ipaddr.parse(canonical);
  if (isInside(address, allowed)) return true;
  if (isOwn(canonical)) return false;
  if (address instanceof ipaddr.IPv4) return !refused4.some((range) => address.match(range));
  return address.match(routed6) && !refused6.some((range) => address.match(range));
}

/**
 * This machine's current addresses, as its interfaces list them; if they cannot be read,
 * `lastAddresses`. Errors: they cannot be read, for example without a free descriptor, and there
 * are no last ones.
 */
export function ownAddresses(lastAddresses?: ReadonlySet<string>): ReadonlySet<string> {
  let interfaces: ReturnType<typeof networkInterfaces>;
  try {
    interfaces = networkInterfaces();
  } catch (error) {
    if (lastAddresses) return lastAddresses;
    throw error;
  }
  const addresses = Object.values(interfaces).flatMap((entries) => entries ?? []);
  return new Set(addresses.flatMap(({ address }) => canonicalAddress(address) ?? []));
}

/**
 * A random loopback address for requests to this machine's own engine. Programs on this machine
 * cannot guess it, so they cannot use up its limit of connections per address. Undefined if the
 * engine is reached by IPv6.
 */
export function freshLoopback(host: string): string | undefined {
  if (!isIPv4(host)) return undefined;
  return `127.${[64, 1, 1].map((least) => randomInt(least, 255)).join('.')}`;
}
