// IP addresses as clients write them: one canonical spelling each, and which of them are acceptable.
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { invalidField } from '../errors.ts';
import { quoted } from './quoted.ts';

/** An address in its one spelling. The stores take no other: whatever writes one has had it checked. */
export type Address = string & { readonly spelling: 'address' };

/** A base address and the length of its prefix in bits. */
export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

const ipv4Mapped = ipaddr.IPv6.parseCIDR('::ffff:0:0/96');

/** Canonical spellings of 0.0.0.0/8 and ::, of multicast, and of the broadcast address. */
const noSingleHost = /^(?:0\.|22[4-9]\.|23\d\.|255\.255\.255\.255$|::$|ff[^:]{2}:)/;

/**
 * The one spelling of a single address (RFC 5952; IPv4-mapped IPv6 becomes IPv4), or undefined when
 * the text is anything else: a zone, a prefix length, octal, hexadecimal or short forms, blanks.
 */
export function canonicalAddress(text: string): Address | undefined {
  // isIPv4 takes four decimal octets without leading zeros: such a text is its own canonical form.
  if (isIPv4(text)) return text as Address;
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const address = ipaddr.IPv6.parse(withoutDottedTail(text));
  return (address.match(ipv4Mapped) ? address.toIPv4Address() : address).toString() as Address;
}

/** ipaddr.js reads `::1.2.3.4` as the IPv4-mapped `::ffff:1.2.3.4`, so it gets to see hex groups only. */
function withoutDottedTail(ip: string): string {
  return ip.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => {
    const group = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16);
    return `${group(a, b)}:${group(c, d)}`;
  });
}

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

/** Whether the address, in any spelling, lies in one of the networks; what is no address does not. */
export function addressInNetworks(ip: string, networks: Network[]): boolean {
  if (networks.length === 0) return false;
  const canonical = canonicalAddress(ip);
  if (canonical === undefined) return false;
  const address = ipaddr.parse(canonical);
  return networks.some(
    ([base, bits]) => base.kind() === address.kind() && address.match(base, bits),
  );
}

/**
 * Reads a comma-separated list of networks in CIDR notation; a bare address is a network of one.
 * Errors: a plain Error naming the part that is not a network.
 */
export function parseNetworks(text: string): Network[] {
  if (text.trim() === '') return [];
  return text.split(',').map((part) => parseNetwork(part.trim()));
}

/** The shortest prefixes that addresses may be looked for by. */
const shortest = { ipv4: 8, ipv6: 16 };

/** A network that records are looked for by, or one address, in any spelling. Errors: 400 naming the field. */
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

function parseNetwork(part: string): Network {
  const [, ip = '', length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(part) ?? [];
  const canonical = canonicalAddress(ip);
  if (canonical === undefined || isIPv4(canonical) !== isIPv4(ip)) {
    throw new Error(`${quoted(part)} is not a network; expected CIDR such as 10.0.0.0/8`);
  }
  const base = ipaddr.parse(canonical);
  const most = base instanceof ipaddr.IPv4 ? 32 : 128;
  const bits = Number(length ?? most);
  if (bits > most) {
    throw new Error(`${quoted(part)} is not a network; expected a prefix of at most ${most} bits`);
  }
  // A host with a short prefix is more likely a slip than the wish for the network around it.
  const family = base instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = family.networkAddressFromCIDR(`${canonical}/${bits}`).toString();
  if (network !== canonical) {
    throw new Error(
      `${quoted(part)} is a host inside a network; expected ${network}/${bits} or ${canonical}`,
    );
  }
  return [base, bits];
}
