// The decision of a node, in words; and the request of a page for a proxy.
import { describe, expect, test } from 'vitest';
import { type Decision, readDecision, requestFor } from '../src/servers/decision.ts';

const allowed: Decision = {
  ...{ verdict: 'allow', status: 200, reason: 'authlist', message: 'the connection is allowed' },
  ...{ rule: 'authlist 7', account: 'acme', user: 'alice', exit_ip: '198.51.100.1' },
};
const words = (decision: Partial<Decision>) => {
  const { tone, title, sentences, remedy } = readDecision({ ...allowed, ...decision });
  return [tone, title, sentences.join(' '), remedy?.path];
};

describe('a decision', () => {
  test.each<[string, Partial<Decision>, unknown[]]>([
    [
      'that lets in says whose it is, and what the request through the exit saw',
      { checked: { address: '198.51.100.1', milliseconds: 41 } },
      [
        'good',
        'Allowed',
        'The connection counts as alice: its address is on the IP authlist. Websites see 198.51.100.1. A test request through the exit took 41 ms and arrived from there.',
        undefined,
      ],
    ],
    [
      'with another address than the exit warns',
      { reason: 'token', checked: { address: '192.0.2.1', milliseconds: 41 } },
      [
        'warn',
        'Allowed',
        'The connection counts as alice: the user name and token are valid. Websites see 198.51.100.1. A test request through the exit took 41 ms, but arrived from 192.0.2.1.',
        undefined,
      ],
    ],
    [
      'whose request failed warns, and says why',
      { dial: '203.0.113.9', checked: { fault: 'no answer within 3 seconds' } },
      [
        'warn',
        'Allowed',
        'The connection counts as alice: its address is on the IP authlist. Websites see 198.51.100.1. A custom DNS entry sends it to 203.0.113.9. A test request through the exit failed: no answer within 3 seconds.',
        undefined,
      ],
    ],
    [
      'that asks for credentials leads to the authlist',
      {
        verdict: 'challenge',
        reason: 'unknown_address',
        message: 'this address is not on an IP authlist',
        user: undefined,
      },
      ['warn', 'Asked to sign in', 'This address is not on an IP authlist.', '/authlist'],
    ],
    [
      'on a user who may not connect leads to that user',
      { verdict: 'deny', reason: 'user_expired', message: 'the time of the user is over' },
      [
        'bad',
        'Denied',
        'The time of the user is over. The connection counts as alice.',
        '/users/alice',
      ],
    ],
    [
      'on credentials that fit no user leads to all users',
      { verdict: 'challenge', reason: 'bad_token', message: 'they do not fit', user: undefined },
      ['warn', 'Asked to sign in', 'They do not fit.', '/users'],
    ],
    [
      'that refuses the address of a custom DNS entry says so, and leads to the entries',
      {
        ...{ verdict: 'deny', reason: 'other_family', message: 'one has IPv4, the other IPv6' },
        dial: '2001:db8::5',
      },
      [
        'bad',
        'Denied',
        'One has IPv4, the other IPv6. The connection counts as alice. A custom DNS entry sends it to 2001:db8::5.',
        '/dns',
      ],
    ],
    [
      'that turns away a known user names the user',
      {
        verdict: 'deny',
        reason: 'over_limit',
        message: 'the usage limit of the contract is reached',
      },
      [
        'bad',
        'Denied',
        'The usage limit of the contract is reached. The connection counts as alice.',
        '/usage',
      ],
    ],
  ])('%s', (_, decision, expected) => {
    expect(words(decision)).toEqual(expected);
  });
});

test.each([
  [
    'https://www.example.com/a?b',
    { host: 'www.example.com', method: 'CONNECT', destination_port: 443 },
  ],
  [
    'https://www.example.com:8443',
    { host: 'www.example.com', method: 'CONNECT', destination_port: 8443 },
  ],
  ['http://[2001:db8::1]/', { host: '2001:db8::1', method: 'GET', destination_port: 80 }],
  ['ftp://www.example.com/', undefined],
  ['www.example.com', undefined],
])('to open %s a client asks for %j', (page, header) => {
  expect(requestFor(page)).toEqual(header);
});
