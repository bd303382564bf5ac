// The client's address: the socket's, or the one from a trusted proxy, if it is valid.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { canonicalAddress, type Network } from '../../../kit/src/address.ts';
import { invalidField } from '../errors.ts';
import { addressInNetworks } from '../values/address.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether a trusted proxy passed on no address; `ip` is then the proxy's own. */
    has_unknown_ip: boolean;
  }
}

interface Client {
  /** In canonical form, if it is known. */
  address: string;
  /**
   * False: a trusted proxy passed on something that is not an address; `address` is then its own.
   */
  isKnown: boolean;
}

/** The client of a request: the nearest address in front of the trusted proxies. */
function clientOf({ socket, headers }: IncomingMessage, trusted_proxies: Network[]): Client {
  const { remoteAddress: peer = '' } = socket;
  const isTrusted = (address: string) => addressInNetworks(address, trusted_proxies);
  // A proxy that sends `Forwarded` alone (RFC 7239) names its client, but not in this header.
  const forwarded = headers['x-forwarded-for'] ?? (headers.forwarded && '');
  const peerClient = { address: canonicalAddress(peer) ?? peer, isKnown: true };
  if (forwarded === undefined || !isTrusted(peer)) return peerClient;
  const hops = String(forwarded)
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '')
    .map(addressOfHop);
  const nearest = hops.findLastIndex((hop) => hop === undefined || !isTrusted(hop));
  const address = hops[Math.max(nearest, 0)];
  return address === undefined ? { ...peerClient, isKnown: false } : { address, isKnown: true };
}

/** `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:443`. */
function addressOfHop(hop: string): string | undefined {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*:[^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(hop) ?? [];
  return canonicalAddress(ipv6 ?? ipv4 ?? hop);
}

/** `request.ip` becomes the client's address. */
export function addAddressHook(app: FastifyInstance, trusted_proxies: Network[]): void {
  app.decorateRequest('has_unknown_ip', false);
  if (trusted_proxies.length === 0) return;
  app.addHook('onRequest', async (request) => {
    const { address, isKnown } = clientOf(request.raw, trusted_proxies);
    request.has_unknown_ip = !isKnown;
    Object.defineProperty(request, 'ip', { value: address });
  });
}

/** The client's address in canonical form; undefined if only the proxy's is known. */
export function knownAddress(request: FastifyRequest): string | undefined {
  return request.has_unknown_ip ? undefined : canonicalAddress(request.ip);
}

/** The address to list for "my address". Errors: 400 if only the proxy's address is known. */
export function ownAddress(request: FastifyRequest): string {
  if (!request.has_unknown_ip) return canonicalAddress(request.ip) ?? request.ip;
  throw invalidField(
    'ip',
    'your own address is not known, as the proxy in front of this server passes on none in X-Forwarded-For; send the address.',
  );
}

/** `request.ip` for a request that never reached the router. */
export function clientAddress(request: IncomingMessage, trusted_proxies: Network[]): string {
  return clientOf(request, trusted_proxies).address;
}
