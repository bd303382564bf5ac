// The canonical spelling of a server's hostname and of the addresses of its exits. A spelling that
// is stored already stays.
import { type Address, canonicalAddress } from '../../../kit/src/address.ts';
import { parseAddress } from '../values/address.ts';
import { type Hostname, parseHostname } from '../values/hostname.ts';

/** The hostname as it is stored; `before`: the server, if it exists. Errors: 400. */
export function serverHostname(text: string, before?: { hostname: Hostname }): Hostname {
  return before?.hostname === text ? before.hostname : parseHostname('hostname', text);
}

/**
 * Returns a function that gives an exit's address as it is stored, or raises 400 for a text that is
 * not an address. `present`: the server's exits. They may be older than the checks, and can still
 * be named and removed.
 */
export function exitAddressOf(present: readonly { ip: Address }[] = []): (text: string) => Address {
  const stored = new Map<string, Address>();
  for (const { ip } of present) stored.set(canonicalAddress(ip) ?? ip, ip);
  for (const { ip } of present) stored.set(ip, ip);
  return (text) =>
    stored.get(text) ??
    stored.get(canonicalAddress(text) ?? '') ??
    parseAddress('ip', text, { addresses: 'any' });
}
