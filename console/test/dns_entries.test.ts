// The words that people read about a custom DNS entry on its way.
import { describe, expect, test } from 'vitest';
import { awaited, type DnsEntry, filtered, newsOf } from '../src/dns/entries.ts';

const node = (name: string, state: 'applied' | 'behind' | 'away') => ({
  name,
  live: state !== 'away',
  applied: state === 'applied',
});

function entry(given: Partial<DnsEntry> = {}): DnsEntry {
  return {
    id: 1,
    server: 'fra1',
    hostname: 'shop.example.com',
    ip: '203.0.113.7',
    expiry: 2_000_000_000,
    status: 'pending',
    on_contract: true,
    nodes: [node('fra1-a', 'applied'), node('fra1-b', 'behind')],
    ...given,
  };
}

describe('a pending entry', () => {
  test('waits for the connected nodes that have not applied it', () => {
    expect(awaited(entry())).toBe('1 of 2 nodes; waiting for fra1-b');
    const nodes = [node('fra1-a', 'behind'), node('fra1-b', 'away')];
    expect(awaited(entry({ nodes }))).toBe('waiting for fra1-a');
  });

  test('of many nodes names the first three', () => {
    const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => node(name, 'behind'));
    expect(awaited(entry({ nodes }))).toBe('0 of 5 nodes; waiting for a, b, c and 2 more');
  });

  test('says when nobody is there to apply it', () => {
    expect(awaited(entry({ nodes: [node('fra1-a', 'away')] }))).toBe('no node is connected');
    expect(awaited(entry({ nodes: [] }))).toBe('no node serves fra1');
    expect(awaited(entry({ on_contract: false }))).toBe('fra1 is not on your contract');
  });
});

test('an active entry waits for nothing', () => {
  expect(awaited(entry({ status: 'active', nodes: [] }))).toBeUndefined();
});

test('an expiring entry names the nodes that still hold it, an expired one none', () => {
  expect(awaited(entry({ status: 'expiring' }))).toBe('still on fra1-b');
  expect(awaited(entry({ status: 'expired' }))).toBeUndefined();
});

describe('the news', () => {
  const before = new Map([
    [1, 'pending'],
    [2, 'active'],
  ]);

  test('names the entry that became active', () => {
    const entries = [entry({ status: 'active' }), entry({ id: 2, status: 'active' })];
    expect(newsOf(before, entries)).toBe('shop.example.com on fra1 is active');
  });

  test('counts them when they are several, new ones too', () => {
    const entries = [1, 2, 3].map((id) => entry({ id, status: 'active' }));
    expect(newsOf(before, entries)).toBe('2 entries are active');
  });

  test('are none while nothing became active', () => {
    expect(newsOf(before, [entry(), entry({ id: 2, status: 'expiring' })])).toBe('');
  });
});

describe('the filter', () => {
  const entries = [
    entry({ id: 1, hostname: 'b.example', status: 'expired' }),
    entry({ id: 2, hostname: 'a.example', server: 'zrh1' }),
    entry({ id: 3, hostname: 'a.example', ip: '2001:db8::7', status: 'active' }),
  ];
  const ids = (filter: Partial<Parameters<typeof filtered>[1]>) =>
    filtered(entries, { text: '', server: '', state: '', ...filter }).map(({ id }) => id);

  test('lets all through in the order of hostnames and servers', () => {
    expect(ids({})).toEqual([3, 2, 1]);
  });

  test('takes a part of a hostname or of an address, in any case', () => {
    expect(ids({ text: ' B.EX' })).toEqual([1]);
    expect(ids({ text: '2001:DB8' })).toEqual([3]);
  });

  test('takes a server, a state, or all but expired entries', () => {
    expect(ids({ server: 'zrh1' })).toEqual([2]);
    expect(ids({ state: 'expired' })).toEqual([1]);
    expect(ids({ state: 'current' })).toEqual([3, 2]);
  });
});
