// Hostnames as clients write them: one canonical spelling each, and which of them are accepted.
import { toASCII } from 'tr46';
import { quoted } from '../../../kit/src/quoted.ts';
import { invalidField } from '../errors.ts';

/**
 * A hostname in its canonical spelling. The stores accept no other type, so every hostname that is
 * written was checked.
 */
export type Hostname = string & { readonly spelling: 'hostname' };

const longestName = 253;
const longestLabel = 63;
/** Far above any name that could still fit once mapped; limits the work that a client can cause. */
const longestText = 1024;

const plain = /^[\w.-]+$/;
const label = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;
/** A last label that makes browsers and C libraries read the whole name as an IPv4 address. */
const numeric = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;
const localhost = /(?:^|\.)localhost$/;

/**
 * The canonical spelling of a hostname: lower case, A-labels, no trailing dot. Errors: 400 naming
 * the field, for a text that is not a hostname, a wildcard, address-like, or localhost.
 */
export function parseHostname(field: string, text: string): Hostname {
  const reject = (why: string) =>
    invalidField(
      field,
      `${quoted(text)} ${why}; expected one full hostname such as www.example.com`,
    );
  if (text === '') throw reject('is empty');
  if (text.length > longestText) throw reject(`is longer than ${longestName} characters`);
  const ascii = asciiName(text);
  if (ascii === null) throw reject('is not a valid internationalised name');
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  if (name.includes('*')) throw reject('is a wildcard');
  for (const part of name.split('.')) {
    if (part === '') throw reject('has an empty label');
    if (part.length > longestLabel) {
      throw reject(`has a label longer than ${longestLabel} characters`);
    }
    if (!label.test(part)) throw reject('is not a hostname');
  }
  if (name.length > longestName) throw reject(`is longer than ${longestName} characters`);
  if (numeric.test(name)) throw reject('reads as an IP address');
  if (localhost.test(name)) throw reject('always means the machine itself');
  return name as Hostname;
}

/** Lower case with A-labels (UTS #46, non-transitional), or null where a label cannot be one. */
function asciiName(text: string): string | null {
  if (plain.test(text)) {
    const folded = text.toLowerCase();
    if (!folded.includes('xn--')) return folded;
  }
  return toASCII(text, { checkBidi: true, checkJoiners: true });
}
