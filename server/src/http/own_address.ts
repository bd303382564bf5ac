// The client's address: the socket's, or the one from a trusted proxy, if it is valid.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { canonicalAddress, type Network } from '../../../kit/src/address.ts';
import { invalidField } from '../errors.ts';
import { addressInNetworks } from '../values/address.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Text from a trusted proxy that is no address; `ip` is then the proxy's own. */
    unreadable_ip: string | undefined;
  }
}

/** With trusted proxies: makes sure that `request.ip` is an address. */
export function addAddressHook(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    if (canonicalAddress(request.ip) !== undefined) return;
    request.unreadable_ip = request.ip;
    Object.defineProperty(request, 'ip', { value: request.socket.remoteAddress });
  });
}

/** The client's address in canonical form; undefined if only the proxy's is known. */
export function knownAddress(request: FastifyRequest): string | undefined {
  return request.unreadable_ip === undefined ? canonicalAddress(request.ip) : undefined;
}

/** The address to list for "my address". Errors: 400 if only the proxy's address is known. */
export function ownAddress(request: FastifyRequest): string {
  if (request.unreadable_ip === undefined) return canonicalAddress(request.ip) ?? request.ip;
  throw invalidField(
    'ip',
    'your own address is not known, as the proxy in front of this server passes on none; send the address.',
  );
}

/** `request.ip` for a request that never reached the router. */
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
