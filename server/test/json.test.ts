// JSON bodies: as JSON.parse reads them, less what two readers could understand differently.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { parseJson } from '../src/http/json.ts';

const read = (text: string) => parseJson(Buffer.from(text));

/** The parser's value as JSON.parse would give it, or the message of its 400. */
function evaluated(text: string): { value: unknown } | { message: string } {
  try {
    return { value: read(text) };
  } catch (error) {
    expect(error).toMatchObject({ status: 400, message: expect.stringMatching(/^\S.*: ./s) });
    return { message: (error as Error).message };
  }
}

const depth = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(depth))
    : 0;

const text = (leaf: string) => leaf.isWellFormed() && !leaf.includes('\0');

const plain = (name: string) => !JSON.stringify(name).includes('\\');

/** Whether nothing in the value belongs to a refused class, depth aside. */
function clean(value: unknown): boolean {
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  if (Array.isArray(value)) return value.every(clean);
  return Object.entries(value ?? {}).every(
    ([name, item]) =>
      text(name) && plain(name) && name !== '__proto__' && name !== 'constructor' && clean(item),
  );
}

/** The same string as JSON with some of its characters as escapes. */
const spelled = (text: string, escaped: boolean[]) =>
  `"${text
    .split('')
    .map((unit, at) =>
      escaped[at % escaped.length]
        ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
        : JSON.stringify(unit).slice(1, -1),
    )
    .join('')}"`;

describe('parseJson', () => {
  it('reads every value that JSON.stringify writes as JSON.parse does, or refuses its class', () => {
    const odd = fc.string({
      unit: fc.constantFrom('a', '"', '\\', ':', '\0', '\ud83d', '\ude00', 'é'),
      maxLength: 4,
    });
    const names = fc.oneof(fc.string(), odd, fc.constantFrom('__proto__', 'constructor'));
    const leaf = fc.oneof(odd, fc.double({ noNaN: true }), fc.maxSafeInteger(), fc.boolean());
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(names, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    const values = fc.oneof(tree, fc.jsonValue({ maxDepth: 18, stringUnit: 'binary' }));
    fc.assert(
      fc.property(values, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const written = JSON.stringify(value, null, space);
        const parsed = JSON.parse(written);
        if (clean(parsed) && depth(parsed) <= 16)
          expect(evaluated(written)).toEqual({ value: parsed });
        else expect(evaluated(written)).toHaveProperty('message');
      }),
      { numRuns: tries(1500) },
    );
  });

  it('refuses whatever JSON.parse refuses, and agrees on the rest', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ':',
      ',',
      '"a"',
      '"b"',
      '"\\"',
      '"',
      '\\',
      '1',
      '-0',
      '2.5e3',
      ' ',
      'null',
      'true',
      '\n',
    ];
    const texts = fc.oneof(
      fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join('')),
      fc
        .json()
        .chain((text) => fc.nat(text.length).map((at) => text.slice(0, at) + text.slice(at + 1))),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const result = evaluated(text);
        let parsed: unknown;
        try {
          parsed = JSON.parse(Buffer.from(text).toString());
        } catch {
          expect(result).toHaveProperty('message');
          return;
        }
        if ('value' in result) expect(result.value).toStrictEqual(parsed);
        else
          expect(result.message).toMatch(
            /given twice|nested too deep|out of range|NUL|not a field/,
          );
      }),
      { numRuns: tries(5000) },
    );
  });

  it('takes different names, and refuses equal ones however they are written', () => {
    const escaped = fc.array(fc.boolean(), { minLength: 1, maxLength: 6 });
    const name = fc.oneof(
      fc.string({ maxLength: 6 }),
      fc.string({ unit: fc.constantFrom(...'":\\{}[],/é😀') }),
    );
    const fields = fc.uniqueArray(
      name.filter((text) => clean({ [text]: 1 })),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(
        fields,
        escaped,
        escaped,
        fc.nat(),
        fc.nat(3),
        (names, first, two, pick, nesting) => {
          const again = names[pick % names.length] ?? '';
          const wrap = (members: string[]) =>
            `${'{"in":['.repeat(nesting)}{${members.join(' , ')}}${']}'.repeat(nesting)}`;
          const members = names.map((text) => `${spelled(text, first)} : {"a":"\\":"}`);
          expect(evaluated(wrap(members))).toHaveProperty('value');
          const twice = evaluated(wrap([...members, `${spelled(again, two)}:1`]));
          expect(twice).toMatchObject({
            message: expect.stringMatching(/: given twice; expected each field once$/),
          });
        },
      ),
      { numRuns: tries(1000) },
    );
  });

  it.each([
    ['{"a":1,"a":1}', 'a: given twice; expected each field once'],
    ['{"a":1,"\\u0061":2}', 'a: given twice; expected each field once'],
    ['{"a":{"b":1,"c":{"b":2,"b":3}}}', 'a.c.b: given twice; expected each field once'],
    ['{"u":[[1,2],{"a":1},{"a":{"x":1},"a":2}]}', 'u.2.a: given twice; expected each field once'],
    ['{"a":{"b c":{"d":1,"d":2}}}', '"a.b c.d": given twice; expected each field once'],
    ['{"a b":1,"a b":1}', '"a b": given twice; expected each field once'],
    ['{"__proto__":{"admin":true}}', '__proto__: not a field that can be given'],
    ['{"\\u005f_proto__":1}', '__proto__: not a field that can be given'],
    ['[{"constructor":{"prototype":{}}}]', '0.constructor: not a field that can be given'],
    [
      '{"hostname":"a\\u0000b"}',
      'hostname: holds a NUL or half a surrogate pair; expected Unicode text without them',
    ],
    [
      '{"hostname":["", "\\ud800"]}',
      'hostname.1: holds a NUL or half a surrogate pair; expected Unicode text without them',
    ],
    [
      '{"\\udc00":1}',
      '"\\udc00": holds a NUL or half a surrogate pair; expected Unicode text without them',
    ],
    [
      '"\\udc00\\ud800"',
      'body: holds a NUL or half a surrogate pair; expected Unicode text without them',
    ],
    [
      '{"expiry":9007199254740992}',
      'expiry: number out of range; expected at most 9007199254740991 either way',
    ],
    [
      '{"expiry":-9007199254740993}',
      'expiry: number out of range; expected at most 9007199254740991 either way',
    ],
    [
      '{"limits":{"servers":[],"max_connections":1e16}}',
      'limits.max_connections: number out of range; expected at most 9007199254740991 either way',
    ],
    ['1e400', 'body: number out of range; expected at most 9007199254740991 either way'],
    ['', 'body: empty; expected JSON'],
    [' \n', 'body: empty; expected JSON'],
    ['{\0"\0a\0', 'body: contains NUL, as UTF-16 does; expected JSON encoded as UTF-8'],
    ['\ufeff{}', 'body: starts with a byte order mark; expected JSON without one'],
    ['{"a":1,}', 'body: not valid JSON at line 1, column 8: Expected double-quoted property name'],
    ['{\n "a" 1}', "body: not valid JSON at line 2, column 6: Expected ':' after property name"],
    [
      '{"a":1 "b":2}',
      "body: not valid JSON at line 1, column 8: Expected ',' or '}' after property value",
    ],
    ['{"token":"secret","a":x}', "body: not valid JSON: Unexpected token 'x'"],
    [
      '{"token":"secret"',
      "body: not valid JSON at line 1, column 18: Expected ',' or '}' after property value",
    ],
    ['{', "body: not valid JSON at line 1, column 2: Expected property name or '}'"],
    ['[object Object]', 'body: not valid JSON'],
    ['01', 'body: not valid JSON at line 1, column 2: Unexpected number'],
  ])('refuses %j: %s', (text, message) => {
    expect(evaluated(text)).toEqual({ message });
  });

  it.each([
    '{"a":"😀\\ud83d\\ude00"}',
    '{"a":"\\\\u0000"}',
    '{"proto":1,"x":"__proto__"}',
    '9007199254740991',
    '-9007199254740991',
    '{"a":{"a":{"a":1}}}',
    '"\\":\\":"',
    'null',
    '{"":{"":1}}',
    '1e-400',
    '{"prototype":1}',
    '{"toString":1,"hasOwnProperty":2}',
  ])('reads %s', (text) => {
    expect(read(text)).toStrictEqual(JSON.parse(text));
  });

  it('reads escaped names right after any other text, which JSON.parse of V8 13 does not', () => {
    evaluated('{"q":0,"us\\\\u":1}');
    JSON.parse('[{"q":0,"us\\\\u":1},{"q":0,"use\\\\":1}]');
    expect(read('{"q":0,"us\\u0065r":1}')).toEqual({ q: 0, user: 1 });
    expect(read('{"q":0,"use\\u0072":1}')).toEqual({ q: 0, user: 1 });
    expect(read('{"q":0,"\\u00fcn\\/a":{"\\ud83d\\ude00":"\\""}}')).toEqual({
      q: 0,
      'ün/a': { '😀': '"' },
    });
    expect(evaluated('{"q":0,"user":1,"us\\u0065r":1}')).toEqual({
      message: 'user: given twice; expected each field once',
    });
  });

  it('reads 16 levels and refuses 17, whatever they are made of', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 17, maxLength: 17 }), (kinds) => {
        const nested = (levels: boolean[]) =>
          levels.reduce((inner, list) => (list ? `[${inner}]` : `{"a":${inner}}`), '1');
        expect(evaluated(nested(kinds.slice(1)))).toHaveProperty('value');
        expect(evaluated(nested(kinds))).toMatchObject({
          message: expect.stringMatching(/nested too deep; expected at most 16 levels$/),
        });
      }),
    );
  });

  it('refuses a depth bomb without running out of stack', () => {
    const many = 2 ** 16;
    for (const text of [
      '['.repeat(many),
      '{"a":'.repeat(many),
      '['.repeat(many) + ']'.repeat(many),
      `${'{"a":'.repeat(many)}1${'}'.repeat(many)}`,
      `{"a":1,"a":${'['.repeat(many)}${']'.repeat(many)}}`,
      `{"a":1,"a":${'['.repeat(many)}${']'.repeat(many)},"a":1}`,
    ]) {
      expect(evaluated(text)).toHaveProperty('message');
    }
  });

  it('finds the repeated name behind long strings in linear time', () => {
    const long = JSON.stringify('\\":{'.repeat(2 ** 16));
    const before = process.threadCpuUsage();
    expect(evaluated(`{"a":${long},"b":${long},"a":2}`)).toEqual({
      message: 'a: given twice; expected each field once',
    });
    expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000);
  });

  it('refuses bytes that are not UTF-8', () => {
    const message = 'body: not valid UTF-8; expected JSON encoded as UTF-8';
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xc3],
      [0xff, 0xfe, 0x22, 0],
    ]) {
      expect(() => parseJson(Buffer.from(bytes))).toThrow(message);
    }
  });

  it('leaves the prototype of every object alone', () => {
    evaluated('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
