// The configuration of Squid as text, its file of listeners, and other parts that need no real
// Squid.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import { tries } from '../../test/effort.ts';
import { mayDial, refusedIpv4, refusedIpv6 } from '../src/address.ts';
import { allReasons, bodyOf } from '../src/policy/denials.ts';
import { dialScript } from '../src/squid/conf/destinations.ts';
import { listenersFile, readListeners } from '../src/squid/conf/listeners_file.ts';
import { errorPages } from '../src/squid/conf/pages.ts';
import { divideListeners, squidPaths } from '../src/squid/conf/squid_conf.ts';
import { unescapeWord } from '../src/squid/decider/evaluator.ts';
import { seed } from './histories.ts';
import { confOf, listener } from './squid_conf_lines.ts';

const lineOf = (lines: string[], start: string) => lines.find((line) => line.startsWith(start));

test('each listener has a line by its own name, shifted and on the host that was set', () => {
  const listeners = [listener(10_001, '198.51.100.1'), listener(12_001, '198.51.100.1', true)];
  const lines = confOf({ port_shift: 100, listen_host: '2001:db8::1' }, listeners);
  expect(lineOf(lines, 'http_port')).toMatch(/^http_port \[2001:db8::1\]:10101 name=p10001 /);
  expect(lineOf(lines, 'https_port')).toMatch(
    /^https_port \[2001:db8::1\]:12101 name=p12001 .* tls-cert=\/etc\/crt tls-key=\/etc\/key /,
  );
});

test('a connection leaves from the exit of its port, and from nowhere in the other family', () => {
  const lines = confOf({}, [
    listener(10_001, '198.51.100.1'),
    listener(10_501, '198.51.100.1'),
    listener(10_002, '2600::2'),
  ]);
  const start = lines.indexOf('acl exit_0 myportname p10001 p10501');
  expect(lines.slice(start, start + 6)).toEqual([
    'acl exit_0 myportname p10001 p10501',
    'tcp_outgoing_address 198.51.100.1 exit_0',
    'acl exit_1 myportname p10002',
    'tcp_outgoing_address 2600::2 exit_1',
    // No machine has these addresses, so binding to them fails.
    'tcp_outgoing_address 100::1',
    'tcp_outgoing_address 240.0.0.1',
  ]);
});

test('the same listeners in another order give the same configuration', () => {
  const listeners = [listener(10_002, '198.51.100.2'), listener(10_001, '198.51.100.1')];
  expect(confOf({}, listeners)).toEqual(confOf({}, listeners.toReversed()));
});

test('listeners are parted so many to a Squid, and an exit\u2019s are never parted', () => {
  const listeners = [1, 2, 3, 4, 5].flatMap((exit) =>
    [10_000, 10_500, 11_000].map((base) => listener(base + exit, `198.51.100.${exit}`)),
  );
  const parts = divideListeners(listeners, 7);
  expect(parts.map((part) => new Set(part.map(({ exit_ip }) => exit_ip)).size)).toEqual([2, 2, 1]);
  expect(parts.flat()).toHaveLength(15);
  expect(divideListeners(listeners, 2).map((part) => part.length)).toEqual([3, 3, 3, 3, 3]);
});

test('what must not be dialled is what mayDial refuses, less what is allowed', () => {
  // Those of the interfaces and the exit. Private ones are already covered.
  const own = new Set(['9.9.9.10', '8.8.4.4', '2600::44']);
  const texts = ['', '10.1.0.0/16,fc00:1::/32', '127.0.0.1,10.0.0.0/8,::1', '9.9.9.0/24,8.8.4.4'];
  for (const text of texts) {
    const allowed = parseNetworks(text);
    const refused = parseNetworks(
      (lineOf(confOf({ allowed }, [listener(10_001, '8.8.4.4')]), 'acl private dst ') ?? '')
        .replace('acl private dst ', '')
        .replaceAll(' ', ','),
    );
    const isRefused = (ip: string) => {
      const address = ipaddr.parse(ip);
      return refused.some(
        ([base, bits]) => base.kind() === address.kind() && address.match(base, bits),
      );
    };
    const probes = [
      ...[...refusedIpv4, ...refusedIpv6].flatMap((network) => network.split('/').slice(0, 1)),
      ...['10.0.255.255', '10.1.0.0', '10.1.255.255', '10.2.0.0', 'fc00:1::', 'fc00:2::', '::2'],
      ...['9.9.9.10', '9.9.9.9', '8.8.4.4', '10.0.0.1', '2600::44', '2600::45'],
      ...['8.8.8.8', '2600::1', '1fff::', '4000::', '::1', '127.0.0.1', '127.0.0.2'],
    ];
    for (const ip of probes)
      expect([ip, isRefused(ip)]).toEqual([
        ip,
        !mayDial(ip, allowed, (address) => own.has(address)),
      ]);
  }
});

test('what Squid cannot read is refused by name', () => {
  expect(() => confOf({ dns_servers: ['9.9.9.9:5353'] })).toThrow(
    'EXITWARD_AGENT_DNS_SERVERS: 9.9.9.9:5353 is not valid; Squid asks name servers on port 53 only.',
  );
  expect(() => confOf({ tls: { cert_file: '/a b', key_file: '/k' } })).toThrow('"/a b" holds');
  expect(lineOf(confOf({ dns_servers: ['9.9.9.9:53', '[2620:fe::fe]:53'] }), 'dns_n')).toBe(
    'dns_nameservers 9.9.9.9 2620:fe::fe',
  );
});

test('new name servers of the machine make a new configuration, unless the operator names others', () => {
  const before = confOf({}, undefined, ['192.0.2.1']);
  expect(before).toEqual(confOf({}, undefined, ['192.0.2.1']));
  expect(before).not.toEqual(confOf({}, undefined, ['192.0.2.1', '192.0.2.2']));
  const confWith = (server: string) => confOf({ dns_servers: ['9.9.9.9'] }, undefined, [server]);
  expect(confWith('192.0.2.1')).toEqual(confWith('192.0.2.2'));
});

test('a cap is Squid’s as far as it knows of it, and an idle tunnel has its time', () => {
  const lines = confOf({ idle_seconds: 60, caps: { address: 100 } });
  expect(lineOf(lines, 'client_ip_max')).toBe('client_ip_max_connections 116');
  // Without this line, the one above has no effect.
  expect(lines).toContain('client_db on');
  expect(lineOf(lines, 'read_timeout')).toBe('read_timeout 60 seconds');
});

test('there are more places to wait for a helper than connections, and no log of who waits', () => {
  const lines = confOf();
  const [, descriptors] = /(\d+)$/.exec(lineOf(lines, 'max_filedescriptors') ?? '') ?? [];
  const waiting = lines.flatMap((line) => /queue-size=(\d+)/.exec(line)?.[1] ?? []);
  expect(waiting).toHaveLength(2);
  for (const places of waiting) {
    expect(Number(places)).toBeGreaterThanOrEqual(Number(descriptors));
  }
  // Section 82, external ACL helpers: its warnings quote the questions.
  expect(lineOf(lines, 'debug_options')).toBe('debug_options ALL,1 82,0');
});

test('a word is what the client wrote, however Squid escapes it, and nothing that a client escaped is undone', () => {
  const unsafe = /[^!-~]|[<>"#%{}|\\^~[\]`']/g;
  const escaped = (text: string) =>
    text.replace(
      unsafe,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
    );
  const byte = fc.nat(255).map((code) => String.fromCharCode(code));
  const word = fc.array(fc.oneof(byte, fc.constantFrom('%', '%77', '%5B', '%25', '[', ']', 'w')));
  fc.assert(
    fc.property(word, (parts) => {
      expect(unescapeWord(escaped(parts.join('')))).toBe(parts.join(''));
    }),
    { numRuns: tries(1000), seed },
  );
  const acl = confOf().find((line) => line.startsWith('external_acl_type')) ?? '';
  // This modifier escapes the percent sign, too.
  expect(acl).toContain(' %#DST %PORT %#>ha{Proxy-Authorization} ');
});

test('every reason has a rule and a page', () => {
  const lines = confOf();
  const pages = errorPages();
  for (const reason of allReasons) {
    expect(lines).toContain(`http_access deny refused_${reason}`);
    expect(pages.get(`ERR_EXITWARD_${reason.toUpperCase()}`)).toBe(bodyOf(reason));
  }
});

test.each([
  ['http://www.example/', '203.0.113.7', 'http://203.0.113.7/'],
  ['http://www.example', '203.0.113.7', 'http://203.0.113.7'],
  ['http://www.example?a=//b', '203.0.113.7', 'http://203.0.113.7?a=//b'],
  ['http://a@b:www.example:81/x%2Fy?q="\\', '203.0.113.7', 'http://a@b:www.example:81/x%2Fy?q="\\'],
  ['http://u:p@www.example:8080/a@b', '203.0.113.7', 'http://203.0.113.7:8080/a@b'],
  ['http://www.example:81/%2F?q="\\', '[2600::1]', 'http://[2600::1]:81/%2F?q="\\'],
  ['http://[2600::9]:81/', '203.0.113.7', 'http://203.0.113.7:81/'],
  ['www.example:443', '203.0.113.7', '203.0.113.7:443'],
  ['[2600::9]:443', '[2600::1]', '[2600::1]:443'],
])('an override takes the place of the host, and of nothing else: %s', (url, dial, expected) => {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-dial-'));
  try {
    writeFileSync(join(dir, 'dial.sed'), dialScript);
    const answer = execFileSync('sed', ['-u', '-E', '-f', join(dir, 'dial.sed')], {
      input: `7 ${url} ${dial}\n`,
      encoding: 'utf8',
    });
    const written = expected.replace(/["\\]/g, '\\$&');
    // Nothing is replaced if the host cannot be determined.
    const isClear = url !== expected;
    expect(answer).toBe(isClear ? `7 OK rewrite-url="${written}" replaced_=1\n` : '7 BH\n');
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('the file of listeners names the ports of its squid.conf, at whatever step an agent ends', () => {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-listeners-'));
  try {
    const paths = squidPaths(dir);
    const at = (port: number) => [{ port, exit_ip: '198.51.100.1', tls: false }];
    expect(readListeners(paths)).toEqual([]);
    writeFileSync(paths.listeners, listenersFile(paths, 'first', at(10_001)));
    expect(readListeners(paths)).toEqual([]);
    writeFileSync(paths.conf, 'first');
    expect(readListeners(paths)).toEqual(at(10_001));
    // Two attempts whose configuration was never put in force.
    for (const proposed of ['second', 'third']) {
      writeFileSync(paths.listeners, listenersFile(paths, proposed, at(10_002)));
      expect(readListeners(paths)).toEqual(at(10_001));
    }
    writeFileSync(paths.conf, 'third');
    expect(readListeners(paths)).toEqual(at(10_002));
    // Listeners of a configuration that is not in force any more are dropped.
    const text = listenersFile(paths, 'fourth', at(10_003));
    expect(Object.keys(JSON.parse(text))).toHaveLength(2);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('without its listeners, or with others\u2019, it is not known what a squid.conf listens on', () => {
  const dir = mkdtempSync(join(tmpdir(), 'exitward-listeners-'));
  try {
    const paths = squidPaths(dir);
    writeFileSync(paths.conf, 'of an earlier agent');
    expect(readListeners(paths)).toBeUndefined();
    for (const text of ['', 'null', '{"half', listenersFile(paths, 'another', [])]) {
      writeFileSync(paths.listeners, text);
      expect([text, readListeners(paths)]).toEqual([text, undefined]);
    }
    const listeners = [{ port: 10_001, exit_ip: '198.51.100.1', tls: true }];
    writeFileSync(paths.listeners, listenersFile(paths, 'of an earlier agent', listeners));
    expect(readListeners(paths)).toEqual(listeners);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
