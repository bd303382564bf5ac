// The proposals of clients and nodes, compared as IKE compares them, without a client or a node:
// profile_rekeys.vpn has both.
import { describe, expect, test } from 'vitest';
import { negotiation } from '../kit/src/vpn_proposals.ts';
import { profileFiles } from '../server/src/vpn_profiles/files.ts';
import { builtIn, type Speaker, wordsOf } from './vpn_words.ts';

/** The algorithms of a proposal, by what they are for. */
function transformsOf(proposal: string) {
  const parts = proposal.split('-');
  const isGroup = (part: string) => /^(ecp|modp|curve)/.test(part);
  const isCipher = (part: string) => /^(aes|3des|chacha)/.test(part);
  return {
    ciphers: parts.filter(isCipher),
    hashes: parts.filter((part) => !isCipher(part) && !isGroup(part)),
    groups: parts.some(isGroup) ? parts.filter(isGroup) : ['modpnone'],
  };
}

/** Whether one of each kind is on both lists. */
function agree(
  requested: string[],
  accepted: string[],
  { hasGroup }: { hasGroup: boolean },
): boolean {
  const meet = (first: string[], others: string[]) =>
    first.length === 0 ? others.length === 0 : first.some((item) => others.includes(item));
  return requested
    .map(transformsOf)
    .some((transforms) =>
      accepted
        .map(transformsOf)
        .some(
          (other) =>
            meet(transforms.ciphers, other.ciphers) &&
            meet(transforms.hashes, other.hashes) &&
            (!hasGroup || meet(transforms.groups, other.groups)),
        ),
    );
}

const { profile } = negotiation;
const { proposals, lifetimes } = negotiation.node;

const files = profileFiles('alice@contract1', [
  {
    server: 'fra1',
    services: ['vpn-ikev2'],
    hostname: 'fra1.example.net',
    exit_ip: '203.0.113.1',
    exit_ips: ['203.0.113.1'],
    password: 'aaaaa-bbbbb-ccccc-ddddd',
    shared_key: null,
  },
]);
const profiles: Speaker[] = files.map(({ format, content }) => {
  return { name: `the profile for ${format}`, service: 'vpn-ikev2', ...wordsOf[format](content) };
});

describe.each([...profiles, ...builtIn])('$name', ({ service, ike, esp }) => {
  const node = proposals[service];

  test('agrees with a node on IKE, which has the same list at new keys', () => {
    expect(agree(ike, node.ike, { hasGroup: true })).toBe(true);
  });

  test('agrees on ESP at the login, where IKEv2 negotiates no group, and at new keys', () => {
    expect(agree(esp, node.esp, { hasGroup: false })).toBe(true);
    expect(agree(esp, node.esp, { hasGroup: true })).toBe(true);
  });
});

test('there is a profile of each format, and each asks for forward secrecy', () => {
  expect(profiles.map(({ name }) => name.split(' ').at(-1))).toEqual(Object.keys(wordsOf));
  for (const { esp } of profiles) {
    expect(agree(esp, ['aes256gcm16'], { hasGroup: true })).toBe(false);
  }
});

test('control: a node that has no groups, or has nothing else, is found', () => {
  const [secret, plain] = [['aes256gcm16-ecp384'], ['aes256gcm16']];
  expect(agree(secret, plain, { hasGroup: false })).toBe(true);
  expect(agree(secret, plain, { hasGroup: true })).toBe(false);
  expect(agree(plain, secret, { hasGroup: true })).toBe(false);
});

test('no node takes a group of 1024 bits, MD5 or 3DES', () => {
  expect(JSON.stringify(proposals)).not.toMatch(/modp1024|modp1536|md5|3des/);
});

test.each(['ike', 'esp'] as const)(
  'new keys of %s are a client’s to begin: by its profile, or as it has it built in, before the node begins',
  (part) => {
    // Windows begins after 59 minutes, and 8 hours; strongSwan's app after 50 minutes, and 10
    // hours, which a charon takes from either side.
    const begins = { ike: [480, profile.lifetimes.ike], esp: [59, 50, profile.lifetimes.esp] };
    expect(Math.max(...begins[part])).toBeLessThan(0.9 * lifetimes[part]);
    // Apple's documentation: LifeTimeInMinutes.
    expect(profile.lifetimes[part]).toBeGreaterThanOrEqual(10);
    expect(profile.lifetimes[part]).toBeLessThanOrEqual(1440);
  },
);
