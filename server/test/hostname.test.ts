// Hostnames: one canonical spelling each, and everything that is no hostname rejected.

import { isIP } from 'node:net';
import fc from 'fast-check';
import { toASCII } from 'tr46';
import { describe, expect, it } from 'vitest';
import { tries } from '../../test/effort.ts';
import { parseHostname } from '../src/values/hostname.ts';

const accepted = (text: string): string | undefined => {
  try {
    return parseHostname('hostname', text);
  } catch (error) {
    expect(error).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^hostname: ".*; expected /s),
    });
    return undefined;
  }
};

const word = fc
  .stringMatching(/^[a-z_](?:[a-z0-9_-]{0,20}[a-z0-9])?$/)
  .filter((label) => label !== 'localhost');
const names = fc.array(word, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));
const anything = fc.oneof(
  names,
  fc.domain(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(...'aZ09-_.*x。．１ａßÄäא٠ⅷ\u00ad\u200d\u0301') }),
  fc.string({ unit: 'grapheme' }).map((text) => `${text}.example`),
  fc.string({ unit: fc.constantFrom(...'abz09-') }).map((text) => `xn--${text}.example`),
);

describe('parseHostname', () => {
  it('folds case and cuts one trailing dot', () => {
    fc.assert(
      fc.property(names, fc.boolean(), (name, dot) => {
        const text = name.toUpperCase() + (dot ? '.' : '');
        // A label that starts with xn-- has to be a valid A-label, which letters at random are not.
        fc.pre(!name.includes('xn--'));
        expect(accepted(text)).toBe(name);
      }),
    );
  });

  it.each([
    ['München.Example', 'xn--mnchen-3ya.example'],
    ['xn--MNCHEN-3ya.example', 'xn--mnchen-3ya.example'],
    ['mu\u0308nchen.example', 'xn--mnchen-3ya.example'],
    ['faß.de', 'xn--fa-hia.de'],
    ['日本。jp。', 'xn--wgv71a.jp'],
    ['ｗｗｗ．example', 'www.example'],
    ['\u212a.example', 'k.example'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['ab--cd.example', 'ab--cd.example'],
    ['printer', 'printer'],
    ['1.2.3.4.example', '1.2.3.4.example'],
    ['3com.com', '3com.com'],
    ['0xg', '0xg'],
    ['localhost.example', 'localhost.example'],
    ['mylocalhost', 'mylocalhost'],
  ])('reads %j as %s', (text, name) => {
    expect(parseHostname('hostname', text)).toBe(name);
  });

  it.each([
    ['', 'is empty'],
    ['.', 'has an empty label'],
    ['a..b', 'has an empty label'],
    ['.a', 'has an empty label'],
    ['a.b..', 'has an empty label'],
    ['\u00ad.com', 'has an empty label'],
    ['*', 'is a wildcard'],
    ['*.example.com', 'is a wildcard'],
    ['www.*.com', 'is a wildcard'],
    ['＊.example.com', 'is a wildcard'],
    ['-a.com', 'is not a hostname'],
    ['a-.com', 'is not a hostname'],
    ['a b.com', 'is not a hostname'],
    [' a.com', 'is not a hostname'],
    ['a.com\n', 'is not a hostname'],
    ['a.com\0', 'is not a hostname'],
    ['foo.com/bar', 'is not a hostname'],
    ['℀.com', 'is not a hostname'],
    ['user@a.com', 'is not a hostname'],
    ['a.com:80', 'is not a hostname'],
    ['a%2ecom', 'is not a hostname'],
    ['::1', 'is not a hostname'],
    ['[::1]', 'is not a hostname'],
    ['xn--a.example', 'is not a valid internationalised name'],
    ['xn--.example', 'is not a valid internationalised name'],
    ['\ud800.com', 'is not a valid internationalised name'],
    ['אב.1a', 'is not a valid internationalised name'],
    ['127.0.0.1', 'reads as an IP address'],
    ['127.0.0.1.', 'reads as an IP address'],
    ['127.1', 'reads as an IP address'],
    ['0x7f.1', 'reads as an IP address'],
    ['0x7F000001', 'reads as an IP address'],
    ['1.0x', 'reads as an IP address'],
    ['2130706433', 'reads as an IP address'],
    ['017700000001', 'reads as an IP address'],
    ['999.999', 'reads as an IP address'],
    ['example.123', 'reads as an IP address'],
    ['１２７.０.０.１', 'reads as an IP address'],
    ['localhost', 'always means the machine itself'],
    ['LOCALHOST.', 'always means the machine itself'],
    ['ｌocalhost', 'always means the machine itself'],
    ['a.b.localhost', 'always means the machine itself'],
    [`${'a'.repeat(64)}.com`, 'has a label longer than 63 characters'],
    [`${'ü'.repeat(60)}.com`, 'has a label longer than 63 characters'],
    [`${'a.'.repeat(127)}`, undefined],
    [`${'a.'.repeat(127)}b`, 'is longer than 253 characters'],
    ['a'.repeat(65_536), 'is longer than 253 characters'],
  ])('evaluates %j: %s', (text, why) => {
    if (why === undefined) expect(parseHostname('hostname', text)).toBe(text.slice(0, -1));
    else
      expect(() => parseHostname('hostname', text)).toThrow(`" ${why}; expected one full hostname`);
  });

  it('takes labels of 63 and names of 253 characters', () => {
    const label = 'a'.repeat(63);
    const name = `${label}.${label}.${label}.${'a'.repeat(61)}`;
    expect(name.length).toBe(253);
    expect(parseHostname('hostname', `${name}.`)).toBe(name);
    expect(accepted(`${name}a`)).toBeUndefined();
  });

  it('is its own canonical form, whatever it was made from', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const name = accepted(text);
        if (name !== undefined) expect(accepted(name)).toBe(name);
      }),
      { numRuns: tries(3000) },
    );
  });

  it('gives only lower-case LDH names that no address parser takes', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const name = accepted(text);
        if (name === undefined) return;
        expect(name).toMatch(/^(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*$/);
        expect(name.length).toBeLessThanOrEqual(253);
        expect(isIP(name)).toBe(0);
        const url = URL.parse(`http://${name}/`);
        if (url) expect(isIP(url.hostname)).toBe(0);
      }),
      { numRuns: tries(3000) },
    );
  });

  it('takes the short way for ASCII only where the long way says the same', () => {
    fc.assert(
      fc.property(fc.oneof(names, anything), (text) => {
        const name = accepted(text);
        if (name === undefined) return;
        const long = toASCII(text, { checkBidi: true, checkJoiners: true });
        expect(long?.replace(/\.$/, '')).toBe(name);
      }),
      { numRuns: tries(3000) },
    );
  });
});
