// The policy of a node depends only on its records, not on how often or how they came.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { decide } from '../src/policy/decide.ts';
import { Policy } from '../src/policy/policy.ts';
import type { NodeRecord } from '../src/policy/records.ts';
import { history, noon, request, rules, seed, usual } from './histories.ts';

function policyOf(records: Iterable<NodeRecord>): Policy {
  const policy = new Policy();
  policy.heard_at = noon;
  for (const record of records) policy.apply(record);
  return policy;
}

const requests = fc.array(request, { minLength: 15, maxLength: 15 });
const same = (change: (records: NodeRecord[], cut: number) => Iterable<NodeRecord>) => {
  let allowed = 0;
  const property = fc.property(history, fc.nat(), requests, (records, cut, questions) => {
    const [plain, other] = [policyOf(records), policyOf(change(records, cut))];
    for (const first of questions) {
      const verdict = decide(plain, rules, first, noon);
      expect(decide(other, rules, first, noon)).toEqual(verdict);
      if (verdict.verdict === 'allow') allowed++;
    }
  });
  fc.assert(property, { numRuns: tries(600, { atLeast: 400 }), seed });
  expect(allowed).toBeGreaterThan(500);
};

describe('the verdicts stay the same', () => {
  test('when each record comes twice', () => {
    same((records) => records.flatMap((record) => [record, record]));
  });

  test('when the last records come again, as after an interrupted stream', () => {
    same((records, cut) => [...records, ...records.slice(cut % (records.length + 1))]);
  });

  test('when the policy is written down at any moment and read again', () => {
    same((records, cut) => {
      const before = records.slice(0, cut % (records.length + 1));
      return [...policyOf(before).records(), ...records.slice(before.length)];
    });
  });

  test('when all that is known comes in another order', () => {
    const recordsOf = (records: NodeRecord[]) => [...policyOf(records).records()];
    same((records, cut) => {
      const all = recordsOf(records);
      const by = (at: number) => ((at + 1) * ((cut % 1000) + 1) * 7919) % 10_007;
      return all
        .map((record, at) => ({ record, at: by(at) }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ record }) => record);
    });
  });
});

// ---- What is gone is gone -----------------------------------------------------------------

const pool = ['192.0.2.10', '192.0.2.11', '2001:db8::10'];
const claims = (policy: Policy) =>
  ['default', 'high'].flatMap((scheme) => pool.map((ip) => policy.findEntry(scheme, ip)));

describe('nothing is left', () => {
  test('of accounts that are gone', () => {
    const property = fc.property(history, (records) => {
      const policy = policyOf(records);
      for (const account of [1, 2, 3]) policy.apply({ kind: 'account', account, value: null });
      expect(policy.accounts.size).toBe(0);
      expect(claims(policy)).toEqual(Array(6).fill(undefined));
      const kinds = [...policy.records()].map(({ kind }) => kind);
      expect(kinds).toEqual(['server', 'keys']);
    });
    fc.assert(property, { numRuns: tries(300, { atLeast: 200 }), seed });
  });

  test('of authlists that were cleared, nor of entries that were removed one by one', () => {
    const property = fc.property(history, fc.boolean(), (records, atOnce) => {
      const policy = policyOf(records);
      for (const account of [1, 2, 3]) {
        if (atOnce) policy.apply({ kind: 'authlist_cleared', account, value: null });
        for (const id of [1, 2, 3]) policy.apply({ kind: 'authlist', account, id, value: null });
      }
      expect(claims(policy)).toEqual(Array(6).fill(undefined));
      expect([...policy.records()].filter(({ kind }) => kind === 'authlist')).toEqual([]);
    });
    fc.assert(property, { numRuns: tries(300, { atLeast: 200 }), seed });
  });

  test('of overrides that were cleared, nor of those that were removed one by one', () => {
    const property = fc.property(history, fc.boolean(), (records, atOnce) => {
      const policy = policyOf(records);
      for (const account of [1, 2, 3]) {
        if (atOnce) policy.apply({ kind: 'overrides_cleared', account, value: null });
        for (const id of [1, 2, 3]) policy.apply({ kind: 'override', account, id, value: null });
      }
      for (const { overrides, overridesByHostname } of policy.accounts.values()) {
        expect([overrides.size, overridesByHostname.size]).toEqual([0, 0]);
      }
    });
    fc.assert(property, { numRuns: tries(300, { atLeast: 200 }), seed });
  });

  test('of an account that was never there, when parts of it are removed', () => {
    const policy = policyOf(usual);
    const account = 77;
    policy.apply({ kind: 'account', account, value: null });
    policy.apply({ kind: 'contract', account, value: null });
    policy.apply({ kind: 'user', account, id: 1, value: null });
    policy.apply({ kind: 'authlist', account, id: 1, value: null });
    policy.apply({ kind: 'authlist_cleared', account, value: null });
    policy.apply({ kind: 'override', account, id: 1, value: null });
    policy.apply({ kind: 'overrides_cleared', account, value: null });
    expect(policy.accounts.size).toBe(3);
  });
});

// ---- Overlaps -----------------------------------------------------------------------------

const entry = (account: number, id: number, expiry: number | null): NodeRecord => ({
  ...{ kind: 'authlist', account, id },
  value: expiry === null ? null : { ip: '192.0.2.99', user: 1, expiry },
});
const orders: Array<[string, (records: NodeRecord[]) => NodeRecord[]]> = [
  ['in order', (records) => records],
  ['the other way round', (records) => records.toReversed()],
];

describe.each(orders)('two claims on one address that overlap, sent %s', (_, order) => {
  const overlap = () => policyOf([...usual, ...order([entry(1, 9, noon), entry(2, 9, noon + 60)])]);
  const holder = (policy: Policy) => policy.findEntry('default', '192.0.2.99')?.account.id;

  test('count as the one that ends last', () => {
    expect(holder(overlap())).toBe(2);
  });

  test('leave the one that remains, whichever goes', () => {
    const [first, other] = [overlap(), overlap()];
    first.apply(entry(2, 9, null));
    other.apply(entry(1, 9, null));
    expect([holder(first), holder(other)]).toEqual([1, 2]);
    first.apply(entry(1, 9, null));
    expect(holder(first)).toBeUndefined();
  });

  test('leave the one that stays when the account of the other moves, is cleared or goes', () => {
    const contract = usual.find((record) => record.kind === 'contract' && record.account === 2);
    const value = { ...(contract?.value as object), port_scheme: 'high' };
    for (const record of [
      { kind: 'contract', account: 2, value } as NodeRecord,
      { kind: 'contract', account: 2, value: null } as NodeRecord,
      { kind: 'authlist_cleared', account: 2, value: null } as NodeRecord,
      { kind: 'account', account: 2, value: null } as NodeRecord,
    ]) {
      const policy = overlap();
      policy.apply(record);
      expect(holder(policy)).toBe(1);
    }
  });

  test('may be three, and more', () => {
    const policy = overlap();
    const third: NodeRecord = { kind: 'contract', account: 4, value: null };
    policy.apply(third);
    policy.apply(entry(1, 8, noon + 30));
    policy.apply(entry(1, 7, noon + 31));
    policy.apply(entry(2, 9, null));
    expect(policy.findEntry('default', '192.0.2.99')).toMatchObject({ id: 7 });
    policy.apply(entry(1, 7, null));
    expect(policy.findEntry('default', '192.0.2.99')).toMatchObject({ id: 8 });
  });
});

test('of many claims that overlap each is looked at a few times, however many go at once', () => {
  const count = 2000;
  const claims = (account: number, expiry: number) =>
    Array.from({ length: count }, (_, i): NodeRecord => {
      const value = { ip: `198.19.${i >> 8}.${i & 255}`, user: 1, expiry };
      return { kind: 'authlist', account, id: 100 + i, value };
    });
  const policy = policyOf([...usual, ...claims(1, noon + 60), ...claims(2, noon)]);
  let looks = 0;
  for (const account of [1, 2]) {
    for (const listed of policy.accounts.get(account)?.authlist.values() ?? []) {
      const { ip } = listed;
      const get = () => {
        looks += 1;
        return ip;
      };
      Object.defineProperty(listed, 'ip', { get });
    }
  }
  policy.apply({ kind: 'authlist_cleared', account: 1, value: null });
  expect(policy.findEntry('default', '198.19.7.0')?.account.id).toBe(2);
  expect(looks).toBeGreaterThan(count);
  expect(looks).toBeLessThan(20 * count);
});

// ---- Listeners ----------------------------------------------------------------------------

describe('the ports to listen on', () => {
  const ports = (policy: Policy) => [...policy.listeners.keys()].toSorted((a, b) => a - b);

  test('are base + port_base of each exit, and 500 more, for the services of the server', () => {
    const policy = policyOf(usual);
    const lows = [1, 3, 6, 501, 503, 506];
    const bases = [10_000, 12_000, 20_000];
    expect(ports(policy)).toEqual(bases.flatMap((base) => lows.map((low) => base + low)));
    const listener = { port: 12_503, exit_ip: '198.51.100.3', scheme: 'default' };
    expect(policy.listeners.get(12_503)).toEqual({ ...listener, override: true, tls: true });
    const plain = { port: 20_001, exit_ip: '198.51.100.1', scheme: 'high' };
    expect(policy.listeners.get(20_001)).toEqual({ ...plain, override: false, tls: false });
  });

  test('are none while there is no server, and of a server that only serves VPN', () => {
    expect(ports(new Policy())).toEqual([]);
    const policy = policyOf(usual);
    const vpn = { base: 30_000, service: 'vpn-ikev2' };
    policy.apply({
      kind: 'server',
      value: {
        ...{ name: 'fra1', hostname: 'fra1.example.net', services: ['vpn-ikev2', 'proxy'] },
        port_schemes: [{ name: 'vpn', bases: [vpn] }],
        exit_ips: [{ ip: '198.51.100.1', port_base: 1 }],
      },
    });
    expect(ports(policy)).toEqual([]);
    policy.apply({ kind: 'server', value: null });
    expect(ports(policy)).toEqual([]);
  });

  test('are the same object until the server changes', () => {
    const policy = policyOf(usual);
    const { listeners } = policy;
    for (const record of usual.slice(1)) policy.apply(record);
    expect(policy.listeners).toBe(listeners);
    for (const record of usual.slice(0, 1)) policy.apply(record);
    expect(policy.listeners).not.toBe(listeners);
  });
});
