// Decisions: after every history of records the decision is the oracle's, and no odd spelling of an
// address gets past the rules.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseNetworks } from '../../kit/src/address.ts';
import type { ServerValue } from '../../kit/src/node_interface.ts';
import { effort, tries } from '../../test/effort.ts';
import { decide, explainDecision } from '../src/policy/decide.ts';
import type { Decision, Rules } from '../src/policy/decision.ts';
import { allReasons, sentenceOf, statusOf } from '../src/policy/denials.ts';
import { mayReach } from '../src/policy/destination.ts';
import { readCredentials } from '../src/policy/identify.ts';
import { Policy } from '../src/policy/policy.ts';
import {
  hear,
  history,
  moment,
  noon,
  ownCount,
  request,
  rules,
  seed,
  sourceOfAlice,
  tell,
  usual,
} from './histories.ts';
import type { Evaluation } from './oracle.ts';
import { isOnTheInternet } from './special_networks.ts';

/** A decision in the form of the oracle's. */
function inWords(decision: Decision): Evaluation {
  if (decision.verdict !== 'allow') {
    const { reason, dial } = decision;
    return { reason, ...(dial !== undefined && { dial }) };
  }
  const { authority, contract, user: name, exit_ip, dial, override } = decision;
  const { account, user } =
    authority.by === 'probe' ? { account: undefined, user: undefined } : authority;
  if (authority.by === 'vpn') throw new Error('no proxy lets a VPN in');
  return { by: authority.by, account, user, name, contract, exit_ip, dial, override };
}

test('a decision is what the records say, whatever came in whatever order', () => {
  const seen = new Map<string, number>();
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
  const requestsAndTimes = fc.array(fc.tuple(request, moment), { minLength: 10, maxLength: 10 });
  const counted = fc.array(ownCount, { maxLength: 2 });
  const property = fc.property(history, counted, requestsAndTimes, (records, own, requests) => {
    const heard = tell([...records, ...own]);
    for (const [request, at] of requests) {
      hear(heard, at);
      const verdict = decide(heard.policy, rules, request, at.now);
      const expected = heard.oracle.evaluate(request, at.now);
      expect(inWords(verdict)).toEqual(expected);
      const [what, without] = 'reason' in expected ? [expected.reason, ''] : [expected.by, ' -'];
      count(`${what}${expected.dial ? ' +' : without}`);
    }
  });
  fc.assert(property, { numRuns: tries(2000, { atLeast: 1500 }), seed });

  // A deep run must reach everything: every reason of the policy, and every authority, with an
  // override (+) and without; also a refused override.
  const reasons = allReasons.filter(
    (reason) => !['too_many_connections', 'too_many_addresses', 'no_service'].includes(reason),
  );
  const refused = ['destination_refused +', 'other_family +'];
  const kinds = [
    ...reasons,
    ...refused,
    'authlist -',
    'authlist +',
    'token -',
    'token +',
    'probe -',
  ];
  expect(kinds).toEqual(expect.arrayContaining([...seen.keys()]));
  if (effort === 'deep') expect([...seen.keys()].toSorted()).toEqual(kinds.toSorted());
});

// ---- Destinations -------------------------------------------------------------------------

const { policy } = tell(usual);
policy.heard_at = noon;
const alice = {
  kind: 'request' as const,
  ...{ source: sourceOfAlice, port: 10_001, method: 'CONNECT', credentials: undefined },
};

/** From the IPv4 exit; if the destination has only IPv6, from the IPv6 exit. */
function reach(host: string, destination_port = 443): Decision['verdict'] | string {
  for (const port of [10_001, 10_006]) {
    const verdict = decide(policy, rules, { ...alice, port, host, destination_port }, noon);
    if (verdict.verdict === 'allow') return 'allow';
    if (verdict.reason !== 'other_family') return verdict.reason;
  }
  return 'other_family';
}

/**
 * The spellings that C libraries read as an IPv4 address (inet_aton): one to four numbers, decimal,
 * octal or hexadecimal, of which the last fills what is left.
 */
function inetAton(text: string): boolean {
  const parts = text.split('.');
  if (parts.length > 4) return false;
  const numbers = parts.map((part) => {
    if (/^0x[0-9a-f]*$/i.test(part)) return Number.parseInt(part.slice(2) || '0', 16);
    if (/^0[0-7]*$/.test(part)) return Number.parseInt(part, 8);
    return /^[1-9]\d*$/.test(part) ? Number(part) : Number.NaN;
  });
  const last = numbers.at(-1) as number;
  return numbers.slice(0, -1).every((number) => number <= 255) && last < 256 ** (5 - parts.length);
}

/** The address as browsers read it. */
function whatwg(text: string): boolean {
  const { hostname = '' } = URL.parse(`http://${text}/`) ?? {};
  return /^[\d.]+$|^\[/.test(hostname);
}

describe('a destination', () => {
  test.each([
    'www.example.com',
    'WWW.EXAMPLE.COM.',
    'xn--bcher-kva.example',
    '_sip.example.com',
    '3com.example',
    '127.0.0.1.example.com',
    '0x7f.example',
    'localhost.example',
    `${'a.'.repeat(126)}a`,
    `${'a'.repeat(63)}.example`,
    '8.8.8.8',
    '2600::1',
    '[2600::1]',
    '[2600:0:0::0001]',
    '::ffff:8.8.8.8',
    '192.168.0.7',
    '[fd00:1::7]',
  ])('%j may be reached', (host) => {
    expect(reach(host)).toBe('allow');
  });

  test.each([
    // Private addresses in the usual spelling.
    ...['127.0.0.1', '10.9.9.9', '172.16.0.1', '192.168.1.1', '169.254.169.254', '0.0.0.0'],
    ...['100.64.0.1', '255.255.255.255', '[::1]', '::1', '[::]', '[fe80::1]', '[fd00:2::1]'],
    // The same in IPv6.
    ...['::ffff:127.0.0.1', '[::ffff:127.0.0.1]', '[::FFFF:7f00:1]', '[::127.0.0.1]'],
    ...['[::ffff:0:127.0.0.1]', '[64:ff9b::127.0.0.1]', '[2002:7f00:1::]', '[2001::7f00:1]'],
    ...['[0:0:0:0:0:ffff:a09:909]', '0:0:0:0:0:0:0:1', '[::1%lo]', '[fe80::1%25eth0]'],
    // Numbers that C libraries and browsers read as addresses.
    ...['127.1', '127.0.1', '2130706433', '017700000001', '0x7f000001', '0X7F000001', '0x7f.1'],
    ...['0x7f.0x0.0x0.0x1', '0177.0.0.1', '0177.0x0.1', '127.0.0.01', '00127.0.0.1', '010.9.9.9'],
    ...['10.592137', '1', '0', '0x', '8.8.8.8.', '127.0.0.1.', '127.1.', '[::1].', '0x7f000001.'],
    ...['256.256.256.256', '127.0.0.1.1', '127.0.0.256', 'a.1', 'example.0x7f', '127.0.0.-1'],
    // Dots and digits of other scripts, and what disappears when a name is made ASCII.
    ...[
      '127。0。0。1',
      '127．0．0．1',
      '１２７.0.0.1',
      '①②⑦.0.0.1',
      '١٢٧.0.0.1',
      '127.0.0.1\u00ad',
    ],
    ...['1\u200b27.0.0.1', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'bücher.example'],
    // Characters of other parts of a URL.
    ...['a@127.0.0.1', '8.8.8.8@127.0.0.1', '127.0.0.1:80', '127.0.0.1#.example', '127.0.0.1/8'],
    ...['127.0.0.1?.example', '127.0.0.1\\.example', '%31%32%37.0.0.1', '127%2e0.0.1', '[::1]:80'],
    ...['127.0.0.1%00.example', '127.0.0.1\0.example', '127.0.0.1 ', ' 127.0.0.1', '127.0.0.1\n'],
    ...[
      '\t127.0.0.1',
      '[127.0.0.1]',
      '[8.8.8.8]',
      '[[::1]]',
      '[::1',
      '::1]',
      '[]',
      '[www.a.example]',
    ],
    // No names.
    ...[
      '',
      '.',
      '..',
      '.a.example',
      'a..example',
      'a.example..',
      '-a.example',
      'a.-b.example',
      '*',
    ],
    ...['a b.example', `${'a'.repeat(64)}.example`, `${'a.'.repeat(126)}aa`, 'a.example\r\nX: y'],
  ])('%j is denied', (host) => {
    expect(reach(host)).toBe('destination_refused');
  });

  test('that is let through is no spelling of a reserved address, for nobody who resolves it', () => {
    const piece = fc.constantFrom(
      ...['0', '1', '7', '9', '10', '127', '255', '0x', '0X7f', '0177', '08', 'f', 'a', 'x', 'z'],
      ...[
        '.',
        '.',
        '.',
        '.',
        ':',
        '::',
        '[',
        ']',
        '-',
        '_',
        '%',
        '@',
        '。',
        '．',
        '１',
        '\u00ad',
        ' ',
      ],
    );
    const text = fc.oneof(
      fc.array(piece, { minLength: 1, maxLength: 9 }).map((pieces) => pieces.join('')),
      fc.ipV4Extended(),
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV6().map((ip) => `[${ip}]`),
    );
    let [names, addresses] = [0, 0];
    const property = fc.property(text, (host) => {
      if (reach(host) !== 'allow') return;
      const bare = host.replace(/^\[(.*)\]$/, '$1');
      if (isOnTheInternet(bare.toLowerCase())) addresses++;
      else {
        expect([inetAton(host.replace(/\.$/, '')), whatwg(host)]).toEqual([false, false]);
        names++;
      }
    });
    fc.assert(property, { numRuns: tries(20_000, { atLeast: 8000 }), seed });
    expect([names > 100, addresses > 100]).toEqual([true, true]);
  });

  test('may be reached on the ports that the operator names for its method', () => {
    const ask = (method: string, destination_port: number) =>
      decide(policy, rules, { ...alice, host: 'a.example', method, destination_port }, noon)
        .verdict;
    const connect = [442, 443, 444, 7999, 8000, 8999, 9000, 80, 25, 0, -1, Number.NaN];
    expect(connect.filter((port) => ask('CONNECT', port) === 'allow')).toEqual([443, 8000, 8999]);
    const plain = [79, 80, 81, 443, 1023, 1024, 65_535, 65_536];
    expect(plain.filter((port) => ask('GET', port) === 'allow')).toEqual([80, 1024, 65_535]);
  });
});

// ---- Credentials --------------------------------------------------------------------------

const basic = (text: string | Buffer) => Buffer.from(text).toString('base64');

describe('the credentials of a header', () => {
  test('are undefined when there is none, which is not the same as one that is of no use', () => {
    expect(readCredentials(undefined)).toBeUndefined();
    expect(readCredentials('')).toBeNull();
  });

  test.each([
    [`Basic ${basic('alice:secret')}`, 'alice', 'secret'],
    [`basic ${basic('alice:secret')}`, 'alice', 'secret'],
    [`BASIC   ${basic('alice:secret')}  `, 'alice', 'secret'],
    [`Basic ${basic('alice:a:b:')}`, 'alice', 'a:b:'],
    [`Basic ${basic(':secret')}`, '', 'secret'],
    [`Basic ${basic('alice:')}`, 'alice', ''],
    [`Basic ${basic('zoë:pässwörd')}`, 'zoë', 'pässwörd'],
    [`Basic ${basic('alice:secret').replaceAll('=', '')}`, 'alice', 'secret'],
    [`Basic ${basic(Buffer.from([0x61, 0xff, 0x3a, 0x62]))}`, 'a\ufffd', 'b'],
  ])('of %j are the user %j and the password %j', (header, user, password) => {
    expect(readCredentials(header)).toEqual({ user, password });
  });

  test.each([
    'Basic',
    'Basic ',
    `Basic${basic('alice:secret')}`,
    ` Basic ${basic('alice:secret')}`,
    `Basic\t${basic('alice:secret')}`,
    `Bearer ${basic('alice:secret')}`,
    `Digest username="alice"`,
    `Basic ${basic('no colon')}`,
    'Basic alice:secret',
    'Basic !!!!',
    `Basic ${basic('alice:secret')} more`,
    `Basic ${basic('alice:secret')}\r\nX: y`,
    'Negotiate',
  ])('of %j are of no use', (header) => {
    expect(readCredentials(header)).toBeNull();
  });

  test('win over the address, though they are of no use', () => {
    const request = { ...alice, host: 'a.example', destination_port: 443 };
    expect(decide(policy, rules, request, noon).verdict).toBe('allow');
    const denied = { verdict: 'challenge', reason: 'bad_token' };
    expect(decide(policy, rules, { ...request, credentials: null }, noon)).toEqual(denied);
    const wrong = { user: 'alice', password: 'secret' };
    expect(decide(policy, rules, { ...request, credentials: wrong }, noon)).toEqual(denied);
  });
});

test('the password of the checks opens nothing when the node makes none', () => {
  const credentials = { user: '-probe', password: 'of-the-probe' };
  const request = { ...alice, host: '198.51.100.250', destination_port: 7001, credentials };
  expect(decide(policy, rules, request, noon).verdict).toBe('allow');
  const without = decide(policy, { ...rules, probe: undefined }, request, noon);
  expect(without).toEqual({ verdict: 'challenge', reason: 'bad_token' });
});

test('addresses of the node itself, its interfaces or exits, are not a destination unless they are allowed', () => {
  const ownAddresses = new Set(['8.8.4.4', '2600::44']);
  for (const host of ownAddresses) {
    const port = host.includes(':') ? 10_006 : 10_001;
    const verdictBy = (rules: Rules) =>
      decide(policy, rules, { ...alice, port, host, destination_port: 443 }, noon).verdict;
    expect([host, verdictBy(rules)]).toEqual([host, 'allow']);
    expect([host, verdictBy({ ...rules, own_addresses: ownAddresses })]).toEqual([host, 'deny']);
    const allowed = parseNetworks(host);
    expect([host, verdictBy({ ...rules, own_addresses: ownAddresses, allowed })]).toEqual([
      host,
      'allow',
    ]);
  }
  const heard = new Policy();
  const exit_ips = [{ ip: '8.8.4.5', port_base: 1 }];
  heard.apply({ kind: 'server', value: { ...(policy.server as ServerValue), exit_ips } });
  expect(mayReach(policy, rules, '8.8.4.5')).toBe(true);
  expect(mayReach(heard, rules, '::ffff:8.8.4.5')).toBe(false);
  expect(mayReach(heard, { ...rules, allowed: parseNetworks('8.8.4.5') }, '8.8.4.5')).toBe(true);
});

test('a decision is explained by its reason, and by what it rests on', () => {
  const request = { ...alice, host: 'a.example', destination_port: 443 };
  const allowed = decide(policy, rules, request, noon);
  expect(explainDecision(allowed)).toEqual({
    status: 200,
    reason: 'authlist',
    message: 'the connection is allowed',
  });
  for (const reason of allReasons) {
    const status = statusOf(reason);
    const verdict = status === 407 ? 'challenge' : 'deny';
    const message = sentenceOf(reason);
    expect(explainDecision({ verdict, reason })).toEqual({ status, reason, message });
  }
});
