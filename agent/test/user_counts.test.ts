// The counts of users with limits: at admission, over the window, with holdings elsewhere, and the
// connections that end when all together are too many.
import { beforeEach, describe, expect, test } from 'vitest';
import type { UserLimits } from '../../kit/src/node_interface.ts';
import type { Authority } from '../src/policy/decision.ts';
import { Policy } from '../src/policy/policy.ts';
import { type Elsewhere, sumOfHoldings, UserCounts, withOthers } from '../src/user_counts.ts';
import { contractRecord, userRecord } from './node_records.ts';

const noon = 1_800_000_000;
const alice: Authority = { by: 'authlist', account: 1, user: 1, entry: 1, ip: '192.0.2.1' };
const bob: Authority = { ...alice, user: 2 };

let policy: Policy;
let counts: UserCounts;
const limit = (limits: UserLimits | undefined) =>
  policy.apply(userRecord(1, limits ? { limits } : {}));
beforeEach(() => {
  policy = new Policy();
  policy.apply(contractRecord(1));
  policy.apply(userRecord(1, {}, 2));
  counts = new UserCounts(() => policy);
});

/** Undefined: it was let in. */
function open(connection: string, source = '192.0.2.1', now = noon, authority = alice) {
  const reason = counts.objectionTo(source, authority, now, connection);
  if (!reason) counts.admit(connection, source, authority, now);
  return reason;
}
const elsewhere = (change: Partial<Elsewhere>): Elsewhere => ({
  ...{ account: 1, user: 1, connections: 0, ahead: 0, networks: [] },
  ...change,
});
const ended = (now = noon) => counts.excess(now).map(({ connection }) => connection);

test('users without limits on connections or addresses are not counted', () => {
  limit({ until: noon + 60, services: ['proxy'] });
  for (const name of ['a', 'b']) expect(open(name)).toBeUndefined();
  expect(open('c', '192.0.2.2', noon, bob)).toBeUndefined();
  expect(open('d', '192.0.2.2', noon, { by: 'probe' })).toBeUndefined();
  expect([counts.held(noon), [...counts.names()]]).toEqual([[], []]);
});

describe('connections at once', () => {
  beforeEach(() => limit({ connections: 2 }));

  test('are as many as the limit allows; a further request on one does not count again', () => {
    expect([open('a'), open('b'), open('c')]).toEqual([
      undefined,
      undefined,
      'too_many_connections',
    ]);
    expect(open('a')).toBeUndefined();
    counts.close('a');
    counts.close('a');
    expect([open('c'), open('d')]).toEqual([undefined, 'too_many_connections']);
    expect(counts.held(noon)).toEqual([{ account: 1, user: 1, connections: 2, networks: [] }]);
  });

  test('count for the user of the latest request, who may have no limits', () => {
    open('a');
    counts.admit('a', '192.0.2.1', bob, noon);
    expect([open('b'), open('c')]).toEqual([undefined, undefined]);
  });

  test('include those elsewhere, and each look within two seconds shows a refusal because of them', () => {
    counts.share([elsewhere({ connections: 1 })]);
    expect([open('a'), open('b')]).toEqual([undefined, 'too_many_connections']);
    expect(counts.held(noon)).toMatchObject([{ connections: 1, was_refused: true }]);
    expect(counts.held(noon + 1)).toMatchObject([{ connections: 1, was_refused: true }]);
    expect(counts.held(noon + 2)).toEqual([{ account: 1, user: 1, connections: 1, networks: [] }]);
    counts.share([]);
    expect(open('b')).toBeUndefined();
  });

  test('that are over at once are still seen by the next look', () => {
    open('a');
    counts.close('a');
    const gone = { account: 1, user: 1, connections: 0, networks: [] };
    expect(counts.held(noon + 1)).toEqual([gone]);
    expect(counts.held(noon + 2)).toEqual([]);
  });

  test('that are too many together end where the user came later, the newest first', () => {
    for (const name of ['a', 'b']) open(name);
    counts.share([elsewhere({ connections: 2, ahead: 0 })]);
    expect(ended()).toEqual([]);
    counts.share([elsewhere({ connections: 1, ahead: 1 })]);
    expect(ended()).toEqual(['b']);
    limit({ connections: 1 });
    expect(ended()).toEqual(['a', 'b']);
    limit(undefined);
    expect(ended()).toEqual([]);
  });
});

describe('addresses at once', () => {
  beforeEach(() => limit({ addresses: 2, address_seconds: 60 }));

  test('are as many as the limit says, with any number of connections from each', () => {
    expect([open('a'), open('b', '192.0.2.2'), open('c')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(open('d', '192.0.2.3')).toBe('too_many_addresses');
    expect(open('e', '::ffff:192.0.2.2')).toBeUndefined();
  });

  test('count an IPv6 address as its /64', () => {
    expect([open('a', '2001:db8::1'), open('b', '2001:db8:0:0:ffff::2')]).toEqual([
      undefined,
      undefined,
    ]);
    expect([open('c', '2001:db8:0:1::1'), open('d', '2001:db8:0:2::1')]).toEqual([
      undefined,
      'too_many_addresses',
    ]);
  });

  test('count until the window after their last use is over, however long a connection is open', () => {
    open('a', '192.0.2.1');
    open('b', '192.0.2.2', noon + 30);
    counts.close('b');
    expect(open('c', '192.0.2.3', noon + 59)).toBe('too_many_addresses');
    expect(open('c', '192.0.2.3', noon + 60)).toBeUndefined();
    expect(open('d', '192.0.2.4', noon + 89)).toBe('too_many_addresses');
    expect(open('d', '192.0.2.4', noon + 90)).toBeUndefined();
  });

  test('are in use while a byte moves, and a connection that was idle ends if its place is gone', () => {
    open('a', '192.0.2.1');
    open('b', '192.0.2.2');
    counts.moved('a', noon + 50);
    expect(open('c', '192.0.2.3', noon + 61)).toBeUndefined();
    expect(ended(noon + 61)).toEqual([]);
    expect(counts.held(noon + 61)).toMatchObject([{ networks: ['192.0.2.1', '192.0.2.3'] }]);
    counts.moved('b', noon + 62);
    expect(ended(noon + 62)).toEqual(['b']);
  });

  test('were used no later than now: a clock that is set back makes none of them last', () => {
    open('a', '192.0.2.1', noon + 7200);
    open('b', '192.0.2.2', noon + 7200);
    counts.close('a');
    counts.close('b');
    expect(open('c', '192.0.2.3', noon)).toBe('too_many_addresses');
    expect(open('c', '192.0.2.3', noon + 61)).toBeUndefined();
  });

  test('that came first anywhere keep their places, and connections from the others end', () => {
    open('a', '192.0.2.1');
    open('b', '192.0.2.2');
    counts.share([elsewhere({ networks: ['198.51.100.1', '192.0.2.1', '192.0.2.2'] })]);
    expect(counts.excess(noon)).toEqual([{ connection: 'b', reason: 'too_many_addresses' }]);
    expect(open('c', '192.0.2.3')).toBe('too_many_addresses');
    expect(open('d', '192.0.2.1')).toBeUndefined();
    expect(open('e', '198.51.100.1')).toBeUndefined();
  });
});

test('each part of a node takes the others for elsewhere, those before it as ahead', () => {
  const held = (connections: number, ...networks: string[]) => ({
    ...{ account: 1, user: 1, connections, networks },
  });
  const others = [elsewhere({ connections: 3, ahead: 1, networks: ['a', 'b'] })];
  expect(withOthers(others, [held(2, 'c')], [held(4, 'b', 'd')])).toEqual([
    elsewhere({
      ...{ connections: 9, ahead: 3 },
      ...{ networks: ['a', 'b', 'c'], networks_behind: ['b', 'd'] },
    }),
  ]);
  expect(withOthers([], [held(2)], [])).toEqual([elsewhere({ connections: 2, ahead: 2 })]);
});

test('of two parts that let an address in at the same time, the first keeps it, and the other ends it', () => {
  limit({ addresses: 1 });
  const parts = [1, 2].map(() => new UserCounts(() => policy));
  for (const [at, part] of parts.entries()) part.admit('a', `192.0.2.${at + 1}`, alice, noon);
  const [first, second] = parts.map((part) => part.held(noon));
  parts[0]?.share(withOthers([], [], second ?? []));
  parts[1]?.share(withOthers([], first ?? [], []));
  const ended = parts.map((part) => part.excess(noon).map(({ reason }) => reason));
  expect(ended).toEqual([[], ['too_many_addresses']]);
});

test('a sum of parts names no more addresses of a user than the control plane takes', () => {
  const part = (of: number) => ({
    ...{ account: 1, user: 1, connections: 1 },
    networks: Array.from({ length: 200 }, (_, at) => `192.0.${of}.${at}`),
  });
  const [sum] = sumOfHoldings([part(1), part(2)]);
  expect(sum?.connections).toBe(2);
  expect(sum?.networks).toHaveLength(256);
});
