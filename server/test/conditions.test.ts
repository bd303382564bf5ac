// Entity tags in If-None-Match and If-Match: lists, `*`, weak and strong comparison, nothing
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
    // RFC 9110, 8.8.3.2
    ['W/"1"', 'W/"1"', true, false],
    ['W/"1"', 'W/"2"', false, false],
    ['W/"1"', '"1"', true, false],
    ['"1"', 'W/"1"', true, false],
    ['"1"', '"1"', true, true],
    ['*', '"1"', true, true],
    ['"0", "1"', '"1"', true, true],
    ['"0",W/"1"', '"1"', true, false],
    ['W/"1","1"', '"1"', true, true],
    [', "1" ,', '"1"', true, true],
    ['"a,b"', '"a,b"', true, true],
    ['"x","a,b"', '"b"', false, false],
    ['""', '""', true, true],
    ['"1', '"1"', false, false],
    ['1', '"1"', false, false],
    ['', '"1"', false, false],
    [',', '"1"', false, false],
    ['"1" "2"', '"1"', false, false],
    ['"1", *', '"1"', false, false],
    ['*, "1"', '"1"', false, false],
    ['w/"1"', '"1"', false, false],
    ['W/ "1"', '"1"', false, false],
    ['"1";q=1', '"1"', false, false],
    ['"1", "2', '"1"', false, false],
    ['"a b"', '"a b "', false, false],
    ["'1'", '"1"', false, false],
    [undefined, '"1"', false, false],
  ])('%j names %j: weak %s, strong %s', (header, etag, weak, strong) => {
    expect(etagMatches(header, etag, 'weak')).toBe(weak);
    expect(etagMatches(header, etag, 'strong')).toBe(strong);
  });

  it('finds a tag anywhere in a list by the comparison asked for', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(tag, separator), { minLength: 1, maxLength: 6 }),
        tag,
        (list, other) => {
          const header = list.flat().join('');
          const tags = list.map(([tag]) => tag);
          for (const etag of [...tags, other]) {
            const bare = etag.replace(/^W\//, '');
            expect(etagMatches(header, etag, 'strong')).toBe(tags.includes(etag) && etag === bare);
            const weak = tags.some((tag) => tag.replace(/^W\//, '') === bare);
            expect(etagMatches(header, etag, 'weak')).toBe(weak);
          }
        },
      ),
      { numRuns: tries(1000) },
    );
  });

  it('never matches strongly what does not match weakly, and ends on any header', () => {
    const header = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'W/", \t*a') }));
    fc.assert(
      fc.property(header, opaque, (text, etag) => {
        if (etagMatches(text, etag, 'strong')) expect(etagMatches(text, etag, 'weak')).toBe(true);
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
      expect(etagMatches(`${text}x`, '"1"', 'weak')).toBe(false);
    }
    expect(process.threadCpuUsage(before).user).toBeLessThan(500_000);
  });
});
