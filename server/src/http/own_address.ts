// The client's address: the socket's, or the one that a trusted proxy passes on; a text that is no address never becomes one.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { canonicalAddress, type Network } from '../../../kit/src/address.ts';
import { invalidField } from '../errors.ts';
import { addressInNetworks } from '../values/address.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The text that a trusted proxy passed on and that is no address; then `ip` is the proxy's own. */
    unreadable_ip: string | undefined;
  }
}

/** With trusted proxies: sees to it that `request.ip` is an address. */
export function addAddressHook(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (canonicalAddress(request.ip) !== undefined) return;
    request.unreadable_ip = request.ip;
    Object.defineProperty(request, 'ip', { value: request.socket.remoteAddress });
  });
}

/** The client's address in canonical form; undefined where only the proxy's is known. */
export function knownAddress(request: FastifyRequest): string | undefined {
  return request.unreadable_ip === undefined ? canonicalAddress(request.ip) : undefined;
}

/** The address to list for "my address". Errors: 400 where only the proxy's is known, which is not the client's. */
export function ownAddress(request: FastifyRequest): string {
  if (request.unreadable_ip === undefined) return canonicalAddress(request.ip) ?? request.ip;
  throw invalidField(
    'ip',
    'your own address is not known, as the proxy in front of this server passes on none; send the address.',
  );
}

/** `request.ip`, for a request that never reached the router. */
export function clientAddress(request: IncomingMessage, trusted_proxies: Network[]): string {
  const peerAddress = request.socket.remoteAddress ?? '';
  const passedOn = String(request.headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
  const hops = [peerAddress, ...passedOn.reverse()];
  const first = hops.find((hop) => !addressInNetworks(hop, trusted_proxies)) ?? hops.at(-1);
  return first !== undefined && canonicalAddress(first) !== undefined ? first : peerAddress;
}
