// Token texts: their form, their randomness, and that a mistyped one is noticed without a look-up.

import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { newTokenText, tokenTextIsPlausible } from '../src/keys/token_text.ts';

const prefixes = ['ewa_', 'ewo_', 'ewn_', 'ewi_', 'ewl_'] as const;
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** A text with the right checksum, in BigInt arithmetic of its own. */
function sealed(body: string): string {
  let rest = BigInt(crc32(body));
  const digits = Array.from('checks', () => {
    const digit = alphabet[Number(rest % 62n)];
    rest /= 62n;
    return digit;
  });
  return body + digits.reverse().join('');
}
const tokens = fc.constantFrom(...prefixes).map((prefix) => newTokenText(prefix));

describe('newTokenText', () => {
  it('is the prefix, 30 random characters and 6 of checksum, and plausible', () => {
    for (const prefix of prefixes) {
      for (let count = 0; count < 500; count++) {
        const token = newTokenText(prefix);
        expect(token).toMatch(/^ew[aonil]_[0-9A-Za-z]{36}$/);
        expect(token.startsWith(prefix)).toBe(true);
        expect(tokenTextIsPlausible(token)).toBe(true);
      }
    }
  });

  it('never comes twice, and uses each character equally often', () => {
    const count = 4000;
    const seen = new Set<string>();
    const times = new Map<string, number>();
    for (let made = 0; made < count; made++) {
      const token = newTokenText('ewa_');
      seen.add(token);
      for (const character of token.slice(4, 34))
        times.set(character, (times.get(character) ?? 0) + 1);
    }
    expect(seen.size).toBe(count);
    const expected = (count * 30) / 62;
    const deviation = Array.from(
      alphabet,
      (character) => ((times.get(character) ?? 0) - expected) ** 2 / expected,
    );
    // Chi-squared with 61 degrees of freedom passes 145 once in some 100 million runs; taking bytes
    // modulo 62 without rejection would give about 550.
    expect(deviation.reduce((sum, part) => sum + part)).toBeLessThan(145);
  });
});

describe('tokenTextIsPlausible', () => {
  it('keeps to the checksum that was once chosen', () => {
    expect(tokenTextIsPlausible('ewa_0123456789ABCDEFGHIJabcdefghij19ZhEu')).toBe(true);
  });

  it('notices one changed character, wherever it is', () => {
    fc.assert(
      fc.property(
        tokens,
        fc.nat(39),
        fc.constantFrom(...alphabet, '_', '-', ' ', 'é'),
        (token, place, character) => {
          fc.pre(token[place] !== character);
          expect(
            tokenTextIsPlausible(token.slice(0, place) + character + token.slice(place + 1)),
          ).toBe(false);
        },
      ),
      { numRuns: tries(2000) },
    );
  });

  it('notices swapped neighbours, and characters more or less', () => {
    fc.assert(
      fc.property(tokens, fc.nat(38), (token, place) => {
        const character = token[place] ?? '';
        const two = token[place + 1] ?? '';
        fc.pre(character !== two);
        expect(
          tokenTextIsPlausible(token.slice(0, place) + two + character + token.slice(place + 2)),
        ).toBe(false);
        expect(tokenTextIsPlausible(token.slice(0, place) + token.slice(place + 1))).toBe(false);
        expect(tokenTextIsPlausible(token.slice(0, place) + character + token.slice(place))).toBe(
          false,
        );
      }),
    );
  });

  it('takes a right checksum only behind a known prefix and 30 characters', () => {
    const random = 'a'.repeat(30);
    const others = [
      `ewt_${random}`,
      `ewx_${random}`,
      `EWA_${random}`,
      `ewa-${random}`,
      `ewa_${random}a`,
      `ewa_${random.slice(1)}`,
      `ewa_${random.slice(1)}-`,
      ` ewa_${random}`,
      random,
      '',
    ];
    expect(prefixes.filter((prefix) => !tokenTextIsPlausible(sealed(prefix + random)))).toEqual([]);
    expect(others.filter((body) => tokenTextIsPlausible(sealed(body)))).toEqual([]);
  });

  it('takes no other text', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^ew[aonit]_[0-9A-Za-z]{36}$/)),
        (text) => {
          expect(tokenTextIsPlausible(text)).toBe(false);
        },
      ),
    );
    const token = newTokenText('ewo_');
    for (const text of [
      '',
      `${token}\n`,
      ` ${token}`,
      token.replace('ewo_', 'ewt_'),
      token.replace('ewo_', 'ewa_'),
    ]) {
      expect(tokenTextIsPlausible(text)).toBe(false);
    }
  });
});
