// The destinations that Squid must not dial, and the script that replaces a host with the address
// of its override.
import ipaddr from 'ipaddr.js';
import { type Network, parseNetworks } from '../../../../kit/src/address.ts';
import { mayDial, refusedIpv4, refusedIpv6, routedIpv6 } from '../../address.ts';
import type { Resolved, ResolvedName } from '../../explain_destination.ts';

/**
 * Replaces a URL's host with the address of an override (the third word). The Host header, and the
 * content of a tunnel, stay the client's.
 */
export const dialScript = [
  's/["\\\\]/\\\\&/g',
  't quoted',
  ':quoted',
  's,^([0-9]+) ([a-z]+://)([^/?#@ ]*@)?(\\[[^] ]*\\]|[^]:/?# []*)((:[0-9]*)?([/?#][^ ]*)?) ([^ ]+)( .*)?$,\\1 OK rewrite-url="\\2\\8\\5" replaced_=1,',
  't',
  's,^([0-9]+) (\\[[^] ]*\\]|[^]:/?# []*)(:[0-9]+) ([^ ]+)( .*)?$,\\1 OK rewrite-url="\\4\\3" replaced_=1,',
  't',
  's,^([0-9]+) .*,\\1 BH,',
  '',
].join('\n');

/**
 * The networks that must not be dialled, without those that the operator allows. It is one list: a
 * name may have both an allowed address and a refused one.
 */
export function refusedDestinations(
  ownAddresses: readonly string[],
  allowed: readonly Network[],
): string[] {
  const everything6 = ipaddr.IPv6.parseCIDR('::/0');
  const unrouted6 = subtract(everything6, [
    ipaddr.IPv6.parseCIDR(routedIpv6),
    // How Squid itself spells IPv4.
    ipaddr.IPv6.parseCIDR('::ffff:0:0/96'),
  ]);
  return [
    ...refusedIpv4.map((text): Network => ipaddr.IPv4.parseCIDR(text)),
    ...unrouted6,
    ...refusedIpv6.map((text): Network => ipaddr.IPv6.parseCIDR(text)),
    // Addresses that are already covered are left out: they come and go, and each change would
    // reconfigure Squid.
    ...parseNetworks(
      [...new Set(ownAddresses)]
        .filter((ip) => mayDial(ip))
        .sort()
        .join(),
    ),
  ]
    .flatMap((network) => subtract(network, allowed))
    .map(([base, bits]) => `${base.toString()}/${bits}`);
}

/** Why a Squid does not connect to a name: its rules see all addresses of both families. */
export function refusalOf({ usable, unusable }: ResolvedName, mayBe: (address: string) => boolean) {
  const addresses = [usable, unusable].flatMap((part) => (isFailure(part) ? [] : part));
  if (!addresses.every(mayBe)) return 'destination_refused';
  if (addresses.length === 0) return [usable, unusable].find(isFailure) ?? 'unresolved';
  return isFailure(usable) || usable.length === 0 ? 'other_family' : undefined;
}

const isFailure = (addresses: Resolved) => typeof addresses === 'string';

/** A network without the holes, as a list of networks. */
function subtract(network: Network, holes: readonly Network[]): Network[] {
  const [base, bits] = network;
  const inside = ([base, length]: Network, [other, of]: Network) =>
    base.kind() === other.kind() && length >= of && ipaddr.parse(base.toString()).match(other, of);
  if (holes.some((hole) => inside(network, hole))) return [];
  const within = holes.filter((hole) => inside(hole, network));
  if (within.length === 0) return [network];
  const upper = base.toByteArray();
  upper[bits >> 3] = (upper[bits >> 3] ?? 0) | (0x80 >> (bits & 7));
  const halves: Network[] = [
    [base, bits + 1],
    [ipaddr.fromByteArray(upper) as Network[0], bits + 1],
  ];
  return halves.flatMap((half) => subtract(half, within));
}
