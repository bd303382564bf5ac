// The texts of our random tokens: a prefix for their kind, 30 random characters, a checksum.
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * API tokens of accounts, tokens of operators, tokens of nodes, invitations for nodes, sign-in
 * codes.
 */
export type TokenPrefix = 'ewa_' | 'ewo_' | 'ewn_' | 'ewi_' | 'ewl_';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 30;
const checksumLength = 6;
const format = /^ew[aonil]_[0-9A-Za-z]{36}$/;

/** A new token: about 178 bits of randomness. */
export function newTokenText(prefix: TokenPrefix): string {
  const body = prefix + randomText(randomLength);
  return body + checksum(body);
}

/**
 * Whether the text can be one of our tokens at all: known prefix, length, alphabet and checksum.
 */
export function tokenTextIsPlausible(text: string): boolean {
  if (!format.test(text)) return false;
  return text.endsWith(checksum(text.slice(0, -checksumLength)));
}

function randomText(length: number): string {
  // Bytes above the last whole multiple of 62 are dropped, since they would favour the first
  // characters.
  const limit = 256 - (256 % alphabet.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < limit) text += alphabet[byte % alphabet.length];
    }
  }
  return text;
}

/** CRC-32 in base 62, most significant digit first. */
function checksum(body: string): string {
  let rest = crc32(body);
  let text = '';
  for (let digit = 0; digit < checksumLength; digit++) {
    text = alphabet[rest % alphabet.length] + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
