// Proxy access tokens: only those signed with the control plane's keys are read, in one spelling.

import { createPublicKey, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newKeys } from '../../server/src/keys/keys_file.ts';
import { Secrets } from '../../server/src/keys/secrets.ts';
import { tries } from '../../test/effort.ts';
import { TokenReader } from '../src/policy/tokens.ts';
import { createSigningKey, noon, type SigningKey, seed, signToken } from './histories.ts';

const [key, other] = [createSigningKey('k1'), createSigningKey('k2')];
const claims = { kid: 'k1', account: 1, user: 1, token_version: 1, expiry: noon + 60 };
const genuine = signToken(key);
const [payload = '', signature = ''] = genuine.slice('ewt_'.length).split('.');

function readerOf(...keys: SigningKey[]): TokenReader {
  const reader = new TokenReader();
  reader.replaceKeys(keys.map((key) => key.public));
  return reader;
}
const encode = (text: string) => Buffer.from(text).toString('base64url');

/** A signature over any text, as a token. */
function signedText(text: string): string {
  const bytes = Buffer.from(text);
  return `ewt_${text}.${sign(null, bytes, key.private).toString('base64url')}`;
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/**
 * Another spelling of the same bytes: the last character of 64 bytes has four unused bits.
 */
const otherSpellings = [...alphabet]
  .map((last) => signature.slice(0, -1) + last)
  .filter((text) => text !== signature)
  .filter((text) => Buffer.from(text, 'base64url').equals(Buffer.from(signature, 'base64url')));

/**
 * The same signature with the order of the group added to the scalar, which careless libraries
 * accept.
 */
function withLargerScalar(): string {
  const order = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
  const bytes = Buffer.from(signature, 'base64url');
  const scalar = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString('hex')}`);
  const hex = (scalar + order).toString(16).padStart(64, '0');
  const larger = Buffer.from(Buffer.from(hex, 'hex').toReversed());
  return Buffer.concat([bytes.subarray(0, 32), larger]).toString('base64url');
}

describe('a token', () => {
  test('that the control plane made is read', () => {
    const secrets = new Secrets(newKeys());
    const reader = new TokenReader();
    reader.replaceKeys(secrets.publicKeys());
    const made = { account_id: 12, user_id: 34, token_version: 5, expiry: noon };
    const read = { account: 12, user: 34, token_version: 5, expiry: noon };
    expect(reader.read(secrets.signProxyToken(made))).toMatchObject(read);
    expect(readerOf(key).read(genuine)).toEqual(claims);
  });

  test('is read whichever of the keys signed it, and by that key alone', () => {
    const reader = readerOf(other, key);
    expect(reader.read(genuine)?.kid).toBe('k1');
    expect(reader.read(signToken(other))?.kid).toBe('k2');
    expect(reader.read(signToken(other, [1, 'k1', 1, 1, 1, noon]))).toBeUndefined();
    expect(readerOf(other).read(genuine)).toBeUndefined();
    expect(new TokenReader().read(genuine)).toBeUndefined();
  });

  test('is not read with anything changed, added or cut off', () => {
    const reader = readerOf(key);
    const characters = fc.constantFrom(...alphabet, '.', ' ', '=', '+', '/', '\n', '\0', 'é');
    const place = fc.nat(genuine.length);
    const changed = fc.oneof(
      fc
        .tuple(place, characters)
        .map(([at, character]) => genuine.slice(0, at) + character + genuine.slice(at)),
      fc
        .tuple(place, characters)
        .map(([at, character]) => genuine.slice(0, at) + character + genuine.slice(at + 1)),
      fc.tuple(place, place).map(([from, to]) => genuine.slice(0, from) + genuine.slice(to)),
    );
    const property = fc.property(changed, (token) => {
      fc.pre(token !== genuine);
      expect(reader.read(token)).toBeUndefined();
    });
    fc.assert(property, { numRuns: tries(3000), seed });
    expect(reader.read(genuine)).toEqual(claims);
  });

  test('has one spelling: those that decode to the same signature are not read', () => {
    expect(otherSpellings).toHaveLength(15);
    const spellings = [
      ...otherSpellings,
      `${signature}=`,
      `${signature}==`,
      Buffer.from(signature, 'base64url').toString('base64'),
      `${signature.slice(0, 40)} ${signature.slice(40)}`,
    ];
    const reader = readerOf(key);
    for (const spelling of spellings.filter((text) => text !== signature)) {
      expect(reader.read(`ewt_${payload}.${spelling}`), spelling).toBeUndefined();
    }
    expect(reader.read(`ewt_${payload}.${signature}`)).toEqual(claims);
  });

  test('is not read with another signature that stands for the same', () => {
    const larger = withLargerScalar();
    expect(Buffer.from(larger, 'base64url')).toHaveLength(64);
    expect(readerOf(key).read(`ewt_${payload}.${larger}`)).toBeUndefined();
    const zeros = Buffer.alloc(64).toString('base64url');
    expect(readerOf(key).read(`ewt_${payload}.${zeros}`)).toBeUndefined();
  });

  test.each([
    ['a later format', '[2,"k1",1,1,1,1]'],
    ['too few values', '[1,"k1",1,1,1]'],
    ['too many values', '[1,"k1",1,1,1,1,1]'],
    ['an object', '{"0":1}'],
    ['a number', '1'],
    ['null', 'null'],
    ['no JSON', '[1,'],
    ['nothing', ''],
    ['a fraction', '[1,"k1",1,1,1,1.5]'],
    ['a number past 2^53', '[1,"k1",1,1,1,9007199254740993]'],
    ['a text for a number', '[1,"k1","1",1,1,1]'],
    ['null for a number', '[1,"k1",1,null,1,1]'],
    ['a number for the key', '[1,1,1,1,1,1]'],
    ['a key that objects have of old', '[1,"__proto__",1,1,1,1]'],
    ['a deep nest', `${'['.repeat(150)}${']'.repeat(150)}`],
  ])('that says %s is not read, though the key signed it', (_, text) => {
    expect(readerOf(key).read(signedText(encode(text)))).toBeUndefined();
  });

  test('that is huge is not read, though the key signed it', () => {
    const padded = `[1,"k1",1,1,1,${' '.repeat(400)}1]`;
    expect(readerOf(key).read(signedText(encode(padded)))).toBeUndefined();
    expect(readerOf(key).read(`ewt_${'A'.repeat(5_000_000)}.${signature}`)).toBeUndefined();
    expect(readerOf(key).read('ewt_'.repeat(1_000_000))).toBeUndefined();
  });
});

describe('the result of checking a signature', () => {
  test('is remembered until the keys are replaced, were it by the same', () => {
    const reader = readerOf(key);
    const first = reader.read(genuine);
    expect(reader.read(genuine)).toBe(first);
    reader.replaceKeys([key.public]);
    expect(reader.read(genuine)).toEqual(first);
    expect(reader.read(genuine)).not.toBe(first);
    reader.replaceKeys([other.public]);
    expect(reader.read(genuine)).toBeUndefined();
    expect([reader.knows('k1'), reader.knows('k2')]).toEqual([false, true]);
    reader.replaceKeys([]);
    expect(reader.knows('k2')).toBe(false);
  });

  test('is not pushed out by forged tokens', () => {
    const reader = readerOf(key);
    const first = reader.read(genuine);
    for (let at = 0; at < 30_000; at++) reader.read(`ewt_${encode(`[1,"k9",${at}]`)}.${signature}`);
    for (const spelling of otherSpellings) reader.read(`ewt_${payload}.${spelling}`);
    expect(reader.read(genuine)).toBe(first);
  });

  test('is forgotten after ten thousand others, so that memory is bounded', () => {
    const reader = readerOf(key);
    const first = reader.read(genuine);
    const sign = (user: number) => signToken(key, [1, 'k1', 1, user, 1, noon]);
    for (let user = 2; user <= 10_000; user++) reader.read(sign(user));
    expect(reader.read(genuine)).toBe(first);
    reader.read(sign(10_001));
    expect(reader.read(genuine)).toEqual(first);
    expect(reader.read(genuine)).not.toBe(first);
  });
});

test('keys that are none are refused, and leave those before in force', () => {
  const reader = readerOf(key);
  expect(() => reader.replaceKeys([{ kid: 'k3', public_key: 'short' }])).toThrow();
  expect(reader.read(genuine)).toEqual(claims);
});

test('the verification that the documentation shows agrees', () => {
  const x = key.public.public_key;
  const of = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const bytes = Buffer.from(signature, 'base64url');
  expect(verify(null, Buffer.from(payload), of, bytes)).toBe(true);
});
