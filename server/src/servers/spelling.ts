// The canonical spelling of a server's hostname and of the addresses of its exits, and the words
// for its place. A spelling that is stored already stays.
import { type Address, canonicalAddress } from '../../../kit/src/address.ts';
import { checkAll, invalidField } from '../errors.ts';
import { parseAddress } from '../values/address.ts';
import { requireCountry } from '../values/countries.ts';
import { type Hostname, parseHostname } from '../values/hostname.ts';
import { visibleText } from '../values/texts.ts';

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

/** The fields of a server that say in words where it is. */
export const placeFields = ['title', 'city', 'country'] as const;
type PlaceField = (typeof placeFields)[number];

/**
 * Such a field, as it is stored; `before`: the server, if it exists. Errors: 400 for a blank text,
 * or a code that no country has.
 */
export function placeText(
  field: PlaceField,
  text: string,
  before?: Readonly<Record<PlaceField, string>>,
): string {
  if (before?.[field] === text) return text;
  visibleText(field, text);
  if (field === 'country') requireCountry(field, text);
  return text;
}

/** Words that paths use in place of the names of servers. */
const reserved = ['places', 'add', 'remove'];

/**
 * Checks the texts that are given; `before`: the server, if it exists. Errors: 400, with all faults
 * listed, for a name that paths use, or an invalid hostname or place.
 */
export function checkServerTexts(
  given: { name?: string; hostname?: string } & Partial<Record<PlaceField, string>>,
  before?: { hostname: Hostname } & Readonly<Record<PlaceField, string>>,
): Promise<unknown> {
  const { name, hostname } = given;
  return checkAll([
    () => {
      if (before || !name || !reserved.includes(name)) return;
      throw invalidField('name', `${name} is a word of paths; expected another name.`);
    },
    () => hostname !== undefined && serverHostname(hostname, before),
    ...placeFields.map((field) => () => {
      const text = given[field];
      return text !== undefined && placeText(field, text, before);
    }),
  ]);
}
