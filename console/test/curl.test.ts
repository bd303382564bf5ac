// Commands that people paste into a shell do what they say.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { curlThrough, shell } from '../src/servers/curl.ts';

const plain = { host: 'fra1.example.net', port: 10_504, service: 'proxy' };

test('a plain proxy is spoken to over http, one with TLS over https', () => {
  expect(curlThrough(plain, 'https://shop.example.com/')).toBe(
    'curl https://shop.example.com/ -x http://fra1.example.net:10504',
  );
  expect(curlThrough({ ...plain, service: 'proxy-https' }, 'http://shop.example.com:81/')).toBe(
    'curl http://shop.example.com:81/ -x https://fra1.example.net:10504',
  );
});

test('an IPv6 address of a proxy stands in brackets, which no shell expands', () => {
  expect(curlThrough({ ...plain, host: '2001:db8::1' }, 'http://a.example/')).toBe(
    "curl http://a.example/ -x 'http://[2001:db8::1]:10504'",
  );
});

test('a token goes as the password of its user', () => {
  const credentials = { user: 'alice', token: 'ewt_abc' };
  expect(curlThrough({ ...plain, credentials }, 'http://a.example/')).toBe(
    'curl http://a.example/ -x http://fra1.example.net:10504 -U alice:ewt_abc',
  );
});

test('a shell reads every word back as it was', () => {
  for (const word of [
    'a',
    "it's",
    '$HOME',
    'a b',
    '`id`',
    '"',
    '\\',
    '*',
    "''",
    '!x',
    '~',
    'a#b',
  ]) {
    expect(execFileSync('/bin/sh', ['-c', `printf %s ${shell(word)}`], { encoding: 'utf8' })).toBe(
      word,
    );
  }
});
