// IP addresses as clients write them: one canonical spelling each, and which of them are accepted.
import ipaddr from 'ipaddr.js';
import {
  type Address,
  canonicalAddress,
  isInside,
  type Network,
  parseNetwork,
} from '../../../kit/src/address.ts';
import { quoted } from '../../../kit/src/quoted.ts';
import { invalidField } from '../errors.ts';

/** Canonical spellings of 0.0.0.0/8 and ::, of multicast, and of the broadcast address. */
const noSingleHost = /^(?:0\.|22[4-9]\.|23\d\.|255\.255\.255\.255$|::$|ff[^:]{2}:)/;

/**
 * The canonical spelling of the address of one host.
 * `addresses: 'public'` also rejects those that are not routed on the Internet: loopback, private,
 * link-local, shared (CGNAT), documentation, transition and reserved ranges.
 * Errors: 400 naming the field, for anything else.
 */
export function parseAddress(
  field: string,
  text: string,
  options: { addresses: 'any' | 'public' },
): Address {
  const ip = canonicalAddress(text);
  if (ip === undefined) {
    throw invalidField(
      field,
      `${quoted(text)} is not an IP address; expected one IPv4 or IPv6 address such as 203.0.113.7`,
    );
  }
  if (noSingleHost.test(ip)) {
    throw invalidField(
      field,
      `${ip} is an unspecified, multicast or broadcast address; expected the address of one host`,
    );
  }
  if (options.addresses === 'public' && !isPublic(ip)) {
    throw invalidField(
      field,
      `${ip} is a private or reserved address; expected one that is routed on the public Internet`,
    );
  }
  return ip;
}

function isPublic(ip: string): boolean {
  const address = ipaddr.parse(ip);
  if (address.range() !== 'unicast') return false;
  // ipaddr.js calls unassigned IPv6 space unicast too; the Internet's is 2000::/3.
  return !(address instanceof ipaddr.IPv6) || (address.parts[0] ?? 0) >> 13 === 1;
}

/**
 * Whether the address, in any spelling, is in one of the networks; false for a text that is not an
 * address.
 */
export function addressInNetworks(ip: string, networks: Network[]): boolean {
  if (networks.length === 0) return false;
  const canonical = canonicalAddress(ip);
  if (canonical === undefined) return false;
  return isInside(ipaddr.parse(canonical), networks);
}

/** The shortest prefixes that a search for addresses may use. */
const shortest = { ipv4: 8, ipv6: 16 };

/**
 * A network to search for records by, or one address, in any spelling. Errors: 400 naming the
 * field.
 */
export function networkIn(field: string, text: string): Network {
  const canonical = canonicalAddress(text);
  if (canonical === undefined && !text.includes('/')) {
    throw invalidField(
      field,
      `${quoted(text)} is not an IP address or network; expected such as 203.0.113.7 or 203.0.113.0/24`,
    );
  }
  let network: Network;
  try {
    network = parseNetwork(canonical ?? text);
  } catch (error) {
    throw invalidField(field, (error as Error).message);
  }
  const [base, bits] = network;
  const least = shortest[base.kind()];
  if (bits < least) {
    throw invalidField(
      field,
      `${quoted(text)} is too large; expected a prefix of at least /${least}`,
    );
  }
  return network;
}
