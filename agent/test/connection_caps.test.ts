// Caps on connections: how they follow from the descriptors, the addresses of one client, and the
// counts.

import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import {
  CappedConnections,
  connectionCaps,
  descriptorLimit,
  maxAccepted,
} from '../src/connection_caps.ts';
import type { Authority } from '../src/policy/decision.ts';
import { Policy } from '../src/policy/policy.ts';
import { WaitingConnections } from '../src/squid/agent/waiting.ts';
import { Census } from '../src/squid/decider/census.ts';
import { UserCounts } from '../src/user_counts.ts';
import { seed } from './histories.ts';
import { contractRecord, userRecord } from './node_records.ts';
import * as t from './proxy_world.ts';

const owner = (account: number, user = 1): Authority => ({
  ...{ by: 'authlist', entry: 1, ip: '192.0.2.1' },
  ...{ account, user },
});

const noLimits = () => new UserCounts(() => new Policy());

test.each([256, 1024, 4096, 20_000, 65_536])(
  'of %d descriptors all connections together leave a reserve free, and no one of them takes all',
  (descriptors) => {
    const caps = connectionCaps({}, descriptors);
    const reserve = Math.min(256, descriptors / 4);
    expect(2 * caps.all + caps.waiting).toBeLessThanOrEqual(descriptors - reserve);
    expect(2 * caps.all + caps.waiting).toBeGreaterThan(descriptors / 3);
    for (const part of [caps.account, caps.user, caps.address]) {
      expect(part).toBeGreaterThan(1);
      expect(part).toBeLessThanOrEqual(caps.all / 4);
    }
    expect(maxAccepted(caps)).toBeGreaterThan(caps.address);
  },
);

test('a setting holds as far as the descriptors reach', () => {
  expect(connectionCaps({ all: 40, account: 30, user: 50 }, 1024)).toEqual({
    ...{ all: 40, account: 30, user: 40, address: 5 },
    waiting: 40,
  });
  expect(connectionCaps({ all: 1_000_000 }, 1024).all).toBeLessThan(512);
  expect(descriptorLimit()).toBeGreaterThanOrEqual(256);
});

test('a connection counts for its last owner, once, until it is closed; the checks of the node never', () => {
  const counted = new CappedConnections({ all: 9, account: 2, user: 2, address: 3, waiting: 9 });
  expect(counted.admit('a', '192.0.2.1', owner(1))).toBe('near');
  expect(counted.admit('a', '192.0.2.1', owner(1))).toBe('admitted');
  expect(counted.admit('b', '192.0.2.1', owner(1))).toBe('near');
  expect(counted.admit('c', '192.0.2.1', owner(1))).toBe('refused');
  expect(counted.admit('c', '192.0.2.1', { by: 'probe' })).toBe('admitted');
  expect(counted.admit('b', '192.0.2.1', owner(2))).toBe('near');
  expect(counted.isFullFor('192.0.2.1', owner(1))).toBe(false);
  expect(counted.admit('c', '192.0.2.1', owner(1))).toBe('near');
  expect(counted.isFullFor('192.0.2.1', owner(3))).toBe(true);
  expect(counted.isFullFor('192.0.2.2', owner(3))).toBe(false);
  for (const name of ['a', 'b', 'c', 'c']) counted.close(name);
  expect(counted.size).toBe(0);
  expect(counted.isFullFor('192.0.2.1', owner(1))).toBe(false);
});

test('whatever connections come, go and change their owners, a cap holds and a place that is free is given', () => {
  const caps = { all: 12, account: 6, user: 4, address: 5, waiting: 9 };
  const upTo = (max: number) => fc.integer({ min: 1, max: max });
  const step = fc.record({
    name: upTo(20),
    account: upTo(3),
    user: upTo(2),
    from: upTo(4),
    ends: fc.boolean(),
  });
  const property = fc.property(fc.array(step, { minLength: 100, maxLength: 100 }), (steps) => {
    const counted = new CappedConnections(caps);
    let open: typeof steps = [];
    for (const step of steps) {
      const { name, account, user, from, ends } = step;
      const others = open.filter((other) => other.name !== name);
      const before = open.find((other) => other.name === name);
      if (ends) {
        counted.close(`${name}`);
        open = others;
        continue;
      }
      // An open connection keeps its places.
      const isFree = (cap: number, isSame: (other: typeof step) => boolean) =>
        others.filter(isSame).length < cap || (before !== undefined && isSame(before));
      const expected =
        isFree(caps.all, () => true) &&
        isFree(caps.account, (other) => other.account === account) &&
        isFree(caps.user, (other) => other.account === account && other.user === user) &&
        isFree(caps.address, (other) => other.from === from);
      const outcome = counted.admit(`${name}`, `192.0.2.${from}`, owner(account, user));
      expect(outcome !== 'refused').toBe(expected);
      if (expected) open = [...others, step];
      expect(counted.size).toBe(open.length);
    }
  });
  fc.assert(property, { numRuns: tries(200), seed });
});

const socketsOf = (names: Iterable<string>) =>
  Array.from(names, (connection) => ({ connection, local: '127.0.0.1' }));

test('connections that are over, which Squid does not report, make room with the next list', async () => {
  const open = new Set<string>();
  const census = new Census({
    list: async () => socketsOf(open),
    users: noLimits(),
    onError: () => {},
  });
  census.caps = { all: 9, account: 4, user: 4, address: 9, waiting: 9 };
  const admit = (name: string, account = 1) => {
    open.add(name);
    return census.admit(name, '192.0.2.1', owner(account), 0);
  };
  for (const name of ['a', 'b', 'c', 'd']) expect(admit(name)).toBeUndefined();
  expect(admit('e')).toBe('too_many_connections');
  open.delete('a');
  await census.wait(owner(1));
  expect(admit('e')).toBeUndefined();
  await census.nextList();
  expect(admit('f')).toBe('too_many_connections');
});

test('of two connections from one port of a client to two addresses of the node, the first is let in until it is over', async () => {
  let open = [{ connection: 'a', local: '127.0.0.1' }];
  const census = new Census({ list: async () => open, users: noLimits(), onError: () => {} });
  census.caps = { all: 9, account: 9, user: 9, address: 9, waiting: 9 };
  const admit = (local?: string) => census.admit('a', '192.0.2.1', owner(1), 0, local);
  for (const local of ['127.0.0.1', '127.0.0.1', '-', undefined]) {
    expect(admit(local)).toBeUndefined();
  }
  await census.nextList();
  expect(admit('127.0.0.2')).toBe('too_many_connections');
  open = [{ connection: 'a', local: '127.0.0.2' }];
  for (const _ of [1, 2]) await census.nextList();
  expect(admit('127.0.0.2')).toBeUndefined();
  expect(admit('127.0.0.1')).toBe('too_many_connections');
  // The next decider learns it from the kernel.
  const next = new Census({ list: async () => open, users: noLimits(), onError: () => {} });
  next.inherit([['a', owner(1)]]);
  await next.nextList();
  expect(next.admit('a', '192.0.2.1', owner(1), 0, '127.0.0.1')).toBe('too_many_connections');
});

describe('connections of users with a new limit, of which some may be over,', () => {
  const nameOf = (account: number, port: number) => `192.0.2.${account}:${port}>10001`;
  let policy: Policy;
  let open: Set<string>;
  let census: Census;
  let users: UserCounts;
  /** The excess after each list that a user waited for. */
  let judged: string[][];
  /** Ends the list that is under way. */
  let show: () => void;
  let isListing: boolean;
  const limit = (account: number, connections?: number) =>
    policy.apply(userRecord(account, connections === undefined ? {} : { limits: { connections } }));
  const admit = (account: number, port: number) => {
    open.add(nameOf(account, port));
    const authority = owner(account);
    return census.admit(nameOf(account, port), `192.0.2.${account}`, authority, 0);
  };
  const follow = (account: number, ...ports: number[]) =>
    census.follow(ports.map((port) => [nameOf(account, port), owner(account)]));
  const excess = () =>
    census
      .excess(0)
      .map(({ connection }) => connection)
      .sort();
  const listed = async () => {
    await t.until(() => isListing);
    const next = census.nextList();
    show();
    await t.until(() => isListing);
    show();
    await next;
  };

  beforeEach(() => {
    policy = new Policy();
    for (const account of [1, 2]) {
      policy.apply(contractRecord(account));
      policy.apply(userRecord(account));
    }
    open = new Set();
    judged = [];
    isListing = false;
    users = new UserCounts(() => policy);
    const own = new Census({
      list: async () => {
        // The census of an earlier test may make another list.
        if (census !== own) return [];
        const shown = socketsOf(open);
        const { promise, resolve } = Promise.withResolvers<typeof shown>();
        isListing = true;
        show = () => {
          isListing = false;
          resolve(shown);
        };
        return promise;
      },
      users,
      onListed: () => census === own && judged.push(excess()),
      onError: () => {},
    });
    census = own;
  });

  test('wait for a list, and no user waits for another', async () => {
    for (const account of [1, 2]) for (const port of [1, 2, 3]) admit(account, port);
    limit(2, 1);
    follow(2, 1, 2, 3);
    open.delete(nameOf(2, 1));
    expect(excess()).toEqual([]);
    await listed();
    expect(judged).toEqual([[nameOf(2, 3)]]);
    limit(1, 2);
    follow(1, 1, 2, 3);
    expect(excess(), 'while another one waits').toEqual([nameOf(2, 3)]);
    await listed();
    expect(excess()).toEqual([nameOf(1, 3), nameOf(2, 3)]);
  });

  test('wait for one list, however often the limit is switched off and on', async () => {
    for (const port of [1, 2]) admit(1, port);
    const change = (connections?: number) => {
      limit(1, connections);
      follow(1, 1, 2);
    };
    change(1);
    await t.until(() => isListing);
    for (let times = 0; times < 3; times += 1) {
      expect(excess()).toEqual([]);
      for (const connections of [undefined, 1]) change(connections);
      const shown = judged.length;
      show();
      await t.until(() => judged.length > shown);
      expect(judged.at(-1)).toEqual([nameOf(1, 2)]);
      for (const connections of [undefined, 1]) change(connections);
      await t.until(() => isListing);
    }
  });

  test('do not count again once a list has shown that they are over', async () => {
    for (const port of [1, 2]) admit(1, port);
    open.delete(nameOf(1, 1));
    limit(1, 1);
    follow(1, 1, 2);
    await listed();
    for (const connections of [undefined, 1]) {
      limit(1, connections);
      follow(1, 1, 2);
    }
    expect([...users.names()]).toEqual([nameOf(1, 2)]);
  });

  test('wait as well if an earlier decider let them in', async () => {
    limit(1, 1);
    open.add(nameOf(1, 2));
    census.inherit([1, 2].map((port) => [nameOf(1, port), owner(1)]));
    expect(excess()).toEqual([]);
    await listed();
    expect(judged).toEqual([[]]);
    expect([...users.names()]).toEqual([nameOf(1, 2)]);
  });
});

test('a connection that an earlier decider let in counts, whatever the caps are now', () => {
  const census = new Census({ list: async () => [], users: noLimits(), onError: () => {} });
  census.caps = { all: 9, account: 1, user: 1, address: 9, waiting: 9 };
  const inherited = ['192.0.2.1:1>10001', '192.0.2.1:2>10001'];
  census.inherit(inherited.map((name) => [name, owner(1)]));
  census.close('192.0.2.1:1>10001');
  expect(census.objectionTo('192.0.2.1', owner(1), 0)).toBe('too_many_connections');
});

test('an account waits for a list with half of the places, and always leaves some to the others', async () => {
  const list = async () => [];
  const census = new Census({ list, users: noLimits(), onError: () => {} });
  const waits: Array<Promise<void> | undefined> = [];
  const waiting = (account: number) => {
    const more = Array.from({ length: 2000 }, () => census.wait(owner(account)));
    waits.push(...more);
    return more.filter((wait) => wait !== undefined).length;
  };
  expect([1, 2, 3, 4].map(waiting)).toEqual([500, 250, 125, 63]);
  await Promise.all(waits);
  expect(waiting(4)).toBe(500);
  await Promise.all(waits);
});

test('a list that fails leaves the counts as they are, and is reported', async () => {
  const errors: string[] = [];
  const census = new Census({
    list: () => Promise.reject(new Error('no list')),
    users: noLimits(),
    onError: ({ message }) => errors.push(message),
  });
  census.caps = { all: 1, account: 1, user: 1, address: 1, waiting: 1 };
  expect(census.admit('a', '192.0.2.1', owner(1), 0)).toBeUndefined();
  await t.until(() => errors.length > 0);
  expect(census.admit('b', '192.0.2.1', owner(1), 0)).toBe('too_many_connections');
});

test('of connections that wait the oldest are closed, of one client and in all, and none that was let in', () => {
  const caps = { all: 9, account: 9, user: 9, address: 2, waiting: 20 };
  const addresses = (from: string, count: number) =>
    Array.from({ length: count }, (_, n) => `${from}:${1000 + n}>10001`);
  const let_in = addresses('2001:db8::1', 3);
  const first = addresses('2001:db8::2', 20);
  const another = addresses('2001:db8:0:1::1', 5);
  const waiting = new WaitingConnections();
  const isWaiting = (name: string) => !let_in.includes(name);
  const listed = [...let_in, ...first, ...another];
  const tooMany = waiting.tooMany(listed, isWaiting, caps);
  expect(tooMany).toEqual(first.slice(0, listed.length - another.length - maxAccepted(caps)));
  const few = { ...caps, waiting: 4 };
  expect(waiting.tooMany(another, isWaiting, few)).toEqual(another.slice(0, 1));
  expect(waiting.tooMany([...another, ...first], () => false, few)).toEqual([]);
});

test('a client with many /64 of IPv6 has twice the cap of one in a /56, four times in a /48', () => {
  const caps = { all: 100, account: 100, user: 100, address: 2, waiting: 100 };
  const admitted = (address: (n: string) => string) => {
    const counted = new CappedConnections(caps);
    const names = Array.from({ length: 20 }, (_, n) => (n + 16).toString(16));
    return names.filter((n) => counted.admit(n, address(n), owner(1)) !== 'refused').length;
  };
  expect(admitted((n) => `2001:db8:1:${n}::1`)).toBe(4);
  expect(admitted((n) => `2001:db8:2:${n}00::1`)).toBe(8);
  expect(admitted((n) => `2001:db8:${n}::1`)).toBe(20);
});
