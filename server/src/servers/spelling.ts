// The one spelling of the hostname of a server and of the addresses of its exits. One that is stored already stays as it is.
import { type Address, canonicalAddress } from '../../../kit/src/address.ts';
import { parseAddress } from '../values/address.ts';
import { type Hostname, parseHostname } from '../values/hostname.ts';

/** The hostname as it is stored; `before`: the server, where there is one. Errors: 400. */
export function serverHostname(text: string, before?: { hostname: Hostname }): Hostname {
  return before?.hostname === text ? before.hostname : parseHostname('hostname', text);
}

/**
 * Gives addresses of exits of a server as they are stored; `present`: the exits that it has, which may be of before the checks,
 * and can be named and removed. The function that it returns raises 400 for no address.
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
