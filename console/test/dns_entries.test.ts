// The words that people read about a custom DNS entry on its way.
import { describe, expect, test } from 'vitest';
import { type DnsEntry, holderOf, newsOf, whyPending } from '../src/dns/entries.ts';

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
    ...{ note: '', added_by_kind: null, added_by: null, added_at: null },
    nodes: [node('fra1-a', 'applied'), node('fra1-b', 'behind')],
    ...given,
  };
}

describe('a pending entry', () => {
  test('waits for the connected nodes that have not applied it', () => {
    expect(whyPending(entry())).toBe('1 of 2 nodes; waiting for fra1-b');
    const nodes = [node('fra1-a', 'behind'), node('fra1-b', 'away')];
    expect(whyPending(entry({ nodes }))).toBe('waiting for fra1-a');
  });

  test('of many nodes names the first three', () => {
    const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => node(name, 'behind'));
    expect(whyPending(entry({ nodes }))).toBe('0 of 5 nodes; waiting for a, b, c and 2 more');
  });

  test('says when nobody is there to apply it', () => {
    expect(whyPending(entry({ nodes: [node('fra1-a', 'away')] }))).toBe('no node is connected');
    expect(whyPending(entry({ nodes: [] }))).toBe('no node serves fra1');
    expect(whyPending(entry({ on_contract: false }))).toBe('fra1 isn’t on your contract');
  });
});

test('an active entry waits for nothing', () => {
  expect(whyPending(entry({ status: 'active', nodes: [] }))).toBeUndefined();
});

test('an expiring entry names the nodes that still hold it, an expired one none', () => {
  expect(whyPending(entry({ status: 'expiring' }))).toBe('still on fra1-b');
  expect(whyPending(entry({ status: 'expired' }))).toBeUndefined();
});

describe('the news', () => {
  const before = new Map([
    [1, 'pending'],
    [2, 'active'],
  ]);

  test('names the entry that became active', () => {
    const entries = [entry({ status: 'active' }), entry({ id: 2, status: 'active' })];
    expect(newsOf(before, entries)).toBe('shop.example.com on fra1 is now active');
  });

  test('counts them when they are several, new ones too', () => {
    const entries = [1, 2, 3].map((id) => entry({ id, status: 'active' }));
    expect(newsOf(before, entries)).toBe('2 entries are now active');
  });

  test('are none while nothing became active', () => {
    expect(newsOf(before, [entry(), entry({ id: 2, status: 'expiring' })])).toBe('');
  });
});

test('the holder of a hostname is found in any spelling of it, on its server alone', () => {
  const entries = [entry({ id: 7, hostname: 'xn--mller-kva.example' }), entry({ id: 8 })];
  const of = (hostname: string, server = 'fra1') => holderOf(entries, { server, hostname })?.id;
  expect(of('Müller.example.')).toBe(7);
  expect(of('shop.example.com', 'ams1')).toBeUndefined();
});
