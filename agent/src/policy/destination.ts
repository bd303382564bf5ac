// The destination of a request: its host as an address or as a hostname, and whether clients may
// reach it.
import { isIPv4 } from 'node:net';
import { canonicalAddress } from '../../../kit/src/address.ts';
import { mayDial } from '../address.ts';
import type { PortRange, Rules } from './decision.ts';
import type { Policy } from './policy.ts';

/** The destination as a canonical address, if it is one. No hostname has a colon. */
export function readAddress(text: string): string | undefined {
  if (!text.includes(':')) return isIPv4(text) ? text : undefined;
  return canonicalAddress(text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text);
}

/**
 * The destination as a hostname, in lower case and without the trailing dot; undefined if it is not
 * one. Odd spellings of addresses are not hostnames, since a resolver would read them as addresses.
 */
export function readHostname(text: string): string | undefined {
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase();
  return name.length <= 253 && labels.test(name) && !numeric.test(name) ? name : undefined;
}

const labels = /^(?!-)[\w-]{1,63}(?:\.(?!-)[\w-]{1,63})*$/;
/** A last label that makes C libraries and browsers read the whole name as an address. */
const numeric = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

export function isInRanges(port: number, ranges: readonly PortRange[]): boolean {
  return ranges.some(({ first, last }) => first <= port && port <= last);
}

/** Whether a connection can go from one of these addresses to the other. */
export function isSameFamily(ip: string, other: string): boolean {
  return isIPv4(ip) === isIPv4(other);
}

/**
 * Whether clients may reach this address: it is on the Internet and not on this machine, or the
 * operator allows it.
 */
export function mayReach(
  { server }: Policy,
  { allowed, own_addresses: ownAddresses }: Rules,
  ip: string,
): boolean {
  return mayDial(
    ip,
    allowed,
    (address) =>
      ownAddresses?.has(address) || server?.exit_ips.some((exit) => exit.ip === address) || false,
  );
}
