// The URLs that proxyUrl makes, and that a program which is given one presents the user and token that were meant.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { proxyUrl } from '../src/index.ts';

const run = promisify(execFile);
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
    ['basePort: 65500 makes 66004, which is no port', { basePort: 65_500, override: true }],
    ['basePort: 0.5 makes 4.5, which is no port', { basePort: 0.5 }],
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

  test('curl presents that user and token to the proxy', async () => {
    const [user, token] = ['alice@home/1:2?#%41 ü', 'ewt_a+b=c&d"\'!*()'];
    const presented: Array<string | undefined> = [];
    const proxy = createServer((request, response) => {
      presented.push(request.headers['proxy-authorization']);
      response.end(`asked for ${request.url}`);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const here = { hostname: '127.0.0.1', ips: [{ ip: '192.0.2.1', port_base: 0 }] };
    const url = proxyUrl({ server: here, user, token, basePort: port });
    const { stdout } = await run('curl', ['-sS', '--proxy', url, 'http://www.example.com/']);
    proxy.close();
    expect(stdout).toBe('asked for http://www.example.com/');
    const pair = Buffer.from(`${user}:${token}`).toString('base64');
    expect(presented).toEqual([`Basic ${pair}`]);
  });
});
