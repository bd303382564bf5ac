// Entity tags in If-None-Match and If-Match: lists, `*`, our tags as proxies change them, nothing
// malformed.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { etagMatches } from '../src/http/conditions.ts';

const opaque = fc
  .string({ unit: fc.constantFrom(...'ab,!#W/\\*~\x80\xff'), maxLength: 4 })
  .map((text) => `"${text}"`);
const tag = fc.tuple(fc.constantFrom('', 'W/'), opaque).map((parts) => parts.join(''));
const separator = fc.constantFrom(',', ', ', ' ,', '\t, ,', ',,');

describe('etagMatches', () => {
  it.each([
    ['W/"1"', '"1"', true],
    ['"1"', '"1"', true],
    ['*', '"1"', true],
    ['"0", "1"', '"1"', true],
    ['"0",W/"1"', '"1"', true],
    ['W/"1","1"', '"1"', true],
    [', "1" ,', '"1"', true],
    ['"a,b"', '"a,b"', true],
    ['"x","a,b"', '"b"', false],
    ['""', '""', true],
    // By proxies: nginx and Cloudflare, Apache, Caddy.
    ['W/"1-gzip"', '"1"', true],
    ['"1-gzip"', '"1"', true],
    ['W/"1-zstd"', '"1"', true],
    ['"1-gzipped"', '"1"', false],
    ['"1', '"1"', false],
    ['1', '"1"', false],
    ['', '"1"', false],
    [',', '"1"', false],
    ['"1" "2"', '"1"', false],
    ['"1", *', '"1"', false],
    ['*, "1"', '"1"', false],
    ['w/"1"', '"1"', false],
    ['W/ "1"', '"1"', false],
    ['"1";q=1', '"1"', false],
    ['"1", "2', '"1"', false],
    ['"a b"', '"a b "', false],
    ["'1'", '"1"', false],
    [undefined, '"1"', false],
  ])('%j names %j: %s', (header, etag, isNamed) => {
    expect(etagMatches(header, etag)).toBe(isNamed);
  });

  it('finds a tag anywhere in a list, weak or not', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(tag, separator), { minLength: 1, maxLength: 6 }),
        opaque,
        (list, other) => {
          const header = list.flat().join('');
          const bare = list.map(([named]) => named.replace(/^W\//, ''));
          for (const etag of [...bare, other]) {
            expect(etagMatches(header, etag)).toBe(bare.includes(etag));
          }
        },
      ),
      { numRuns: tries(1000) },
    );
  });

  it('ends on any header', () => {
    const header = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'W/", \t*a') }));
    fc.assert(
      fc.property(header, opaque, (text, etag) => {
        expect(etagMatches(text, etag)).toBeTypeOf('boolean');
      }),
      { numRuns: tries(2000) },
    );
  });

  it('reads a long hostile header in linear time', () => {
    const before = process.threadCpuUsage();
    for (const text of [
      '"a",'.repeat(20_000),
      ' ,\t'.repeat(20_000),
      ' '.repeat(60_000),
      `"${'a'.repeat(60_000)}`,
    ]) {
      expect(etagMatches(`${text}x`, '"1"')).toBe(false);
    }
    expect(process.threadCpuUsage(before).user).toBeLessThan(500_000);
  });
});
