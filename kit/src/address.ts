// IP addresses and networks: one spelling of each.
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { quoted } from './quoted.ts';

/** An address in its one spelling. */
export type Address = string & { readonly spelling: 'address' };

/** A base address and the length of its prefix in bits. */
export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * The one spelling of a single address (RFC 5952; IPv4-mapped IPv6 becomes IPv4), or undefined when
 * the text is anything else: a zone, a prefix length, octal, hexadecimal or short forms, blanks.
 */
export function canonicalAddress(text: string): Address | undefined {
  // isIPv4 takes four decimal octets without leading zeros: such a text is its own canonical form.
  if (isIPv4(text)) return text as Address;
  // A socket that serves both families shows IPv4 clients this way.
  if (text.startsWith('::ffff:') && isIPv4(text.slice(7))) return text.slice(7) as Address;
  if (!isIPv6(text) || text.includes('%')) return undefined;
  // URLs spell an address in brackets as RFC 5952 does, without a dotted tail.
  const spelled = new URL(`http://[${text}]`).hostname.slice(1, -1);
  return (mapped.test(spelled) ? toIPv4(spelled) : spelled) as Address;
}

const mapped = /^::ffff:[0-9a-f]+:[0-9a-f]+$/;
const toIPv4 = (ip: string) => ipaddr.IPv6.parse(ip).toIPv4Address().toString();

/**
 * Why no connection from this address can leave, to follow the address; undefined: one may. The
 * addresses of a machine behind a NAT are private, and their connections leave.
 */
export function whyConfined(ip: string): string | undefined {
  if (ip === '::1' || ip.startsWith('127.')) {
    return 'is a loopback address: nothing outside its machine can be reached from it';
  }
  if (/^(169\.254\.|fe[89ab])/.test(ip)) {
    return 'is a link-local address: nothing beyond its local network can be reached from it';
  }
  return undefined;
}

/** Whether the address lies in one of the networks. */
export function isInside(
  address: ipaddr.IPv4 | ipaddr.IPv6,
  networks: readonly Network[],
): boolean {
  return networks.some(
    ([base, bits]) => base.kind() === address.kind() && address.match(base, bits),
  );
}

/**
 * Reads a comma-separated list of networks in CIDR notation; a bare address is a network of one.
 * Errors: a plain Error that names the part that is not a network.
 */
export function parseNetworks(text: string): Network[] {
  if (text.trim() === '') return [];
  return text.split(',').map((part) => parseNetwork(part.trim()));
}

/** A network in CIDR notation, or an address as a network of one. Errors: a plain Error. */
export function parseNetwork(part: string): Network {
  const [, ip = '', length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(part) ?? [];
  const canonical = canonicalAddress(ip);
  if (canonical === undefined || isIPv4(canonical) !== isIPv4(ip)) {
    throw new Error(`${quoted(part)} is not a network; expected CIDR such as 10.0.0.0/8`);
  }
  const base = ipaddr.parse(canonical);
  const maxBits = base instanceof ipaddr.IPv4 ? 32 : 128;
  const bits = Number(length ?? maxBits);
  if (bits > maxBits) {
    throw new Error(
      `${quoted(part)} is not a network; expected a prefix of at most ${maxBits} bits`,
    );
  }
  // A host with a short prefix is more likely a mistake than the network around it.
  const family = base instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const network = family.networkAddressFromCIDR(`${canonical}/${bits}`).toString();
  if (network !== canonical) {
    throw new Error(
      `${quoted(part)} is a host inside a network; expected ${network}/${bits} or ${canonical}`,
    );
  }
  return [base, bits];
}
