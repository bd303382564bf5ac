// The addresses that clients get inside their tunnels.
import ipaddr from 'ipaddr.js';
import type { Network } from '../address.ts';

export interface AddressRange {
  /** As a number. */
  first: number;
  size: number;
}

/** All of an IPv4 network but its first and last address. */
export function rangeOf([base, bits]: Network): AddressRange {
  const first = base.toByteArray().reduce((number, byte) => number * 256 + byte, 0);
  return { first: first + 1, size: 2 ** (32 - bits) - 2 };
}

export function addressAt({ first }: AddressRange, at: number): string {
  const number = first + at;
  const bytes = [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256);
  return new ipaddr.IPv4(bytes).toString();
}
