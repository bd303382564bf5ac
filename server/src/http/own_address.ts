// The caller's address: the socket's, or what a trusted proxy says; a text that is no address never becomes one.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { canonicalAddress } from '../address.ts';
import { invalidField } from '../errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What a trusted proxy passed on and is no address; then `ip` is the proxy's own. */
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

/** The address to list for "my address". Errors: 400 where only the proxy's is known, which is not the caller's. */
export function ownAddress(request: FastifyRequest): string {
  if (request.unreadable_ip === undefined) return canonicalAddress(request.ip) ?? request.ip;
  throw invalidField(
    'ip',
    'your own address is not known, as the proxy in front of this server passes on none; send the address.',
  );
}
