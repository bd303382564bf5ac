// The addresses of clients inside their tunnels: the lower half of the pool is for IKE, the upper
// half for PPP.
import ipaddr from 'ipaddr.js';
import type { Network } from '../../../kit/src/address.ts';

export interface AddressRange {
  /** As a number. */
  first: number;
  size: number;
}

/** Most PPP addresses of one exit, which its daemon assigns itself. */
const longestSlot = 1024;
const slots = 128;

/** The lower half without its first address, which a client may take for the network's. */
export function rangeOf(pool: Network): AddressRange {
  const { first, size } = halfOf(pool);
  return { first: first + 1, size: size - 1 };
}

/** The other end of each PPP link. */
export function gatewayOf(pool: Network): string {
  const { first, size } = halfOf(pool);
  return textOf(first + size);
}

/** PPP addresses for one exit, `slot` from 0; undefined: there is no room for so many exits. */
export function slotOf(pool: Network, slot: number): { first: string; last: string } | undefined {
  const { first, size } = halfOf(pool);
  const each = Math.max(2, Math.min(longestSlot, Math.floor(size / slots)));
  const start = first + size + 1 + slot * each;
  // The last address is left out, since a client may take it for the broadcast address.
  if (start + each > first + 2 * size - 1) return undefined;
  return { first: textOf(start), last: textOf(start + each - 1) };
}

/** Both halves as networks. */
export function halvesOf([base, bits]: Network): { lower: Network; upper: Network } {
  const { first, size } = halfOf([base, bits]);
  return { lower: [base, bits + 1], upper: [ipaddr.parse(textOf(first + size)), bits + 1] };
}

export function addressAt({ first }: AddressRange, at: number): string {
  return textOf(first + at);
}

function halfOf([base, bits]: Network): AddressRange {
  const first = base.toByteArray().reduce((number, byte) => number * 256 + byte, 0);
  return { first, size: 2 ** (31 - bits) };
}

function textOf(number: number): string {
  const bytes = [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256);
  return new ipaddr.IPv4(bytes).toString();
}
