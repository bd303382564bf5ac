// A program that is given a URL of proxyUrl presents the user and token that were meant.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { proxyUrl } from '../src/index.ts';

const run = promisify(execFile);

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
