// The URLs that proxyUrl makes.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { proxyUrl } from '../src/index.ts';

const server = {
  hostname: 'fra1.exitward.example',
  ips: [
    { ip: '192.0.2.1', port_base: 4 },
    { ip: '192.0.2.2', port_base: 499 },
  ],
};

describe('proxyUrl', () => {
  test.each([
    ['http://fra1.exitward.example:10004', {}],
    ['http://fra1.exitward.example:10504', { override: true }],
    ['http://fra1.exitward.example:10499', { exit: '192.0.2.2' }],
    ['http://fra1.exitward.example:11004', { basePort: 11_000 }],
    ['https://fra1.exitward.example:12004', { service: 'proxy-https' as const }],
    ['https://fra1.exitward.example:443', { service: 'proxy-https' as const, basePort: 439 }],
    ['http://alice:ewt_1@fra1.exitward.example:10004', { user: 'alice', token: 'ewt_1' }],
  ])('makes %s of %o', (url, options) => {
    expect(proxyUrl({ server, ...options })).toBe(url);
  });

  test.each([
    ['exit: fra1.exitward.example has no exit IP 192.0.2.9', { exit: '192.0.2.9' }],
    ['user, token: expected both, or neither', { user: 'alice' }],
    ['user, token: expected both, or neither', { token: 'ewt_1' }],
    ['basePort: 65500 makes 66004, which is not a port', { basePort: 65_500, override: true }],
    ['basePort: 0.5 makes 4.5, which is not a port', { basePort: 0.5 }],
  ])('refuses: %s', (message, options) => {
    expect(() => proxyUrl({ server, ...options })).toThrow(message);
  });

  test('a server without exit IPs has no proxy', () => {
    expect(() => proxyUrl({ server: { ...server, ips: [] } })).toThrow('it has none');
  });

  test('any user and token come out of the URL as they went in, and leave the host alone', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        (user, token) => {
          const url = new URL(proxyUrl({ server, user, token }));
          expect(decodeURIComponent(url.username)).toBe(user);
          expect(decodeURIComponent(url.password)).toBe(token);
          expect([url.host, url.pathname, url.search, url.hash]).toEqual([
            'fra1.exitward.example:10004',
            '/',
            '',
            '',
          ]);
        },
      ),
    );
  });
});
