// Records that cannot be read: each is left out, with the rights that it granted before, and does
// not affect the others.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tries } from '../../test/effort.ts';
import { decide } from '../src/policy/decide.ts';
import { Policy } from '../src/policy/policy.ts';
import { BadRecord, checkRecord, type NodeRecord, readRecord } from '../src/policy/records.ts';
import { Replica } from '../src/store/replica.ts';
import { Store } from '../src/store/store.ts';
import { history, noon, request, rules, seed, usual } from './histories.ts';

/** A record as it came, and its readable part. */
interface Broken {
  received: unknown;
  left: NodeRecord;
}

const pick = <T>(list: readonly T[], how: number): T => list[how % list.length] as T;
const without = <T>(list: readonly T[], at: number) => list.filter((_, index) => index !== at);
const noExits = [
  { ip: '127.0.0.300', port_base: 9 },
  { ip: 'fe80::1%eth0', port_base: 9 },
  { ip: ' 198.51.100.9', port_base: 9 },
  { ip: 7, port_base: 9 },
  { ip: '198.51.100.9', port_base: 500 },
  { ip: '198.51.100.9', port_base: -1 },
  { ip: '198.51.100.9', port_base: '9' },
  { ip: '198.51.100.9' },
  null,
];

function brokenServer(record: NodeRecord & { kind: 'server' }, how: number): Broken {
  const { value } = record;
  const none: NodeRecord = { kind: 'server', value: null };
  if (!value) return { received: { kind: 'server', value: 'gone' }, left: none };
  const next = Math.floor(how / 6);
  const of = (change: object) => ({ kind: 'server' as const, value: { ...value, ...change } });
  switch (how % 6) {
    case 0:
      return { received: of({ name: undefined }), left: none };
    case 1:
      return {
        received: { kind: 'server', value: pick([7, 'x', {}, undefined], next) },
        left: none,
      };
    case 2:
      return { received: of({ exit_ips: { 0: value.exit_ips } }), left: of({ exit_ips: [] }) };
    case 3: {
      const at = next % value.exit_ips.length;
      const exit_ips = value.exit_ips.with(at, pick(noExits, next) as never);
      return { received: of({ exit_ips }), left: of({ exit_ips: without(value.exit_ips, at) }) };
    }
    case 4: {
      const exit_ips = [pick(noExits, next), ...value.exit_ips];
      return { received: of({ exit_ips, services: [...value.services, 7] }), left: record };
    }
    default: {
      const at = next % value.port_schemes.length;
      const bases = [{ base: pick([0, 64_537, '1'], next), service: 'proxy' }];
      const port_schemes = value.port_schemes.with(at, { name: 'odd', bases } as never);
      const remaining = of({ port_schemes: without(value.port_schemes, at) });
      return { received: of({ port_schemes }), left: remaining };
    }
  }
}

function broken(record: NodeRecord, how: number): Broken {
  if (record.kind === 'server') return brokenServer(record, how);
  if (record.kind === 'keys') {
    const bad = { kid: 'k1', public_key: 'short' };
    const remaining: NodeRecord = { ...record, value: how % 2 === 0 ? [] : record.value };
    return {
      received: { kind: 'keys', value: how % 2 === 0 ? null : [bad, ...record.value] },
      left: remaining,
    };
  }
  const { value } = record;
  const remaining = { ...record, value: null } as NodeRecord;
  if (value === null || how % 3 === 0) {
    return {
      received: { ...record, value: pick([7, 'x', [], false, undefined], how) },
      left: remaining,
    };
  }
  const field = pick(Object.keys(value), how);
  // A user may have no limits.
  const odd = field === 'limits' ? { addresses: 0 } : {};
  return {
    received: { ...record, value: { ...value, [field]: pick([odd, null], how) } },
    left: remaining,
  };
}

function policyOf(records: Iterable<NodeRecord>): Policy {
  const policy = new Policy();
  policy.heard_at = noon;
  for (const record of records) policy.apply(record);
  return policy;
}

/** Selects which records of a list are broken, and how. */
const breaks = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 10_000 })), { maxLength: 8 });

function breakSome(records: readonly NodeRecord[], breaks: ReadonlyArray<[number, number]>) {
  const received: unknown[] = [...records];
  const remaining: NodeRecord[] = [...records];
  for (const [at, how] of breaks) {
    const index = at % records.length;
    const record = broken(records[index] as NodeRecord, how);
    [received[index], remaining[index]] = [record.received, record.left];
  }
  return { received, remaining };
}

const requests = fc.array(request, { minLength: 15, maxLength: 15 });
const verdicts = (policy: Policy, questions: readonly Parameters<typeof decide>[2][]) =>
  questions.map((question) => decide(policy, rules, question, noon));

test('a history decides as one in which what cannot be read is gone, whatever it granted before', () => {
  let [allowed, unreadable] = [0, 0];
  const property = fc.property(history, breaks, requests, (records, breaks, questions) => {
    fc.pre(records.length > 0);
    const { received, remaining } = breakSome(records, breaks);
    const policy = policyOf(received.flatMap(readRecord));
    const expected = verdicts(policyOf(remaining), questions);
    expect(verdicts(policy, questions)).toEqual(expected);
    allowed += expected.filter(({ verdict }) => verdict === 'allow').length;
    unreadable += policy.unreadable.size;
  });
  fc.assert(property, { numRuns: tries(600, { atLeast: 500 }), seed });
  expect(Math.min(allowed, unreadable)).toBeGreaterThan(500);
});

test('a broken record is one that cannot be applied, and what is left of it can', () => {
  for (const record of usual) {
    for (let how = 0; how < 60; how += 1) {
      const { received } = broken(record, how);
      expect(() => checkRecord(received), JSON.stringify(received)).toThrow(BadRecord);
      for (const record of readRecord(received)) expect(checkRecord(record)).toBe(record);
    }
  }
});

const snapshotOf = async function* (records: readonly unknown[]) {
  const lines = [{ kind: 'snapshot', epoch: 'e1', revision: 1 }, ...records];
  yield `${[...lines, { kind: 'end', records: records.length }].map((line) => JSON.stringify(line)).join('\n')}\n`;
};

test('on disk as in memory: after a snapshot and changes, a restart, and when they are folded', async () => {
  const property = fc.asyncProperty(
    history,
    breaks,
    breaks,
    requests,
    async (changes, early, late, questions) => {
      fc.pre(changes.length > 0);
      const dir = mkdtempSync(join(tmpdir(), 'exitward-unreadable-'));
      try {
        const first = breakSome(usual, early);
        const then = breakSome(changes, late);
        // JSON leaves out members without a value.
        const received = JSON.parse(JSON.stringify(then.received)) as unknown[];
        const wanted = policyOf([...first.remaining, ...then.remaining]);
        const expected = verdicts(wanted, questions);
        let store = await Store.open(dir);
        await store.replace(snapshotOf(first.received), noon);
        for (const [at, record] of received.entries()) {
          store.append(at + 2, noon, readRecord(record));
        }
        const faults = store.unreadable.faults();
        const check = async () => {
          const replica = new Replica(dir);
          await replica.load();
          expect(verdicts(replica.policy, questions)).toEqual(expected);
          expect(store.unreadable.faults().toSorted(bySubject)).toEqual(faults.toSorted(bySubject));
          replica.close();
        };
        await check();
        await store.close();
        store = await Store.open(dir);
        await check();
        await store.compact();
        await check();
        await store.close();
        store = await Store.open(dir);
        await check();
        // A snapshot without a fault ends them all.
        await store.replace(snapshotOf(usual), noon);
        expect(store.unreadable.faults()).toEqual([]);
        await store.close();
      } finally {
        rmSync(dir, { recursive: true });
      }
    },
  );
  await fc.assert(property, { numRuns: tries(25), seed });
});

const bySubject = (a: { subject?: string }, b: { subject?: string }) =>
  (a.subject ?? '') < (b.subject ?? '') ? -1 : 1;

test('a record that does not say which one it is grants nothing in a snapshot, and stops a change', async () => {
  const nameless = [
    {},
    { kind: 7 },
    { kind: 'user', account: 1, value: null },
    { kind: 'account' },
  ];
  for (const record of nameless) expect(() => readRecord(record)).toThrow(BadRecord);
  const dir = mkdtempSync(join(tmpdir(), 'exitward-unreadable-'));
  const store = await Store.open(dir);
  await store.replace(snapshotOf([...usual, ...nameless]), noon);
  expect(store.unreadable.faults()).toMatchObject([{ kind: 'record', subject: 'unnamed' }]);
  await store.close();
  rmSync(dir, { recursive: true });
});

test('a fault names the record and what is wrong, and ends with the next state of the record', () => {
  const policy = policyOf(usual);
  const take = (record: unknown) => {
    for (const item of readRecord(record)) policy.apply(item);
    return policy.unreadable.faults().map(({ subject }) => subject);
  };
  const user = { kind: 'user', account: 1, id: 1, value: { name: 7 } };
  expect(take(user)).toEqual(['user 1 1']);
  expect(policy.unreadable.faults()[0]?.message).toBe(
    "The record user 1 of account 1 can't be read: user.value.name: expected a text. What can't be read is left out; all else is in force. Correct or remove it.",
  );
  const entry = { kind: 'authlist', account: 1, id: 9, value: { ip: 7 } };
  const override = { kind: 'override', account: 1, id: 9, value: {} };
  expect(take(entry)).toEqual(['user 1 1', 'authlist 1 9']);
  expect(take(override)).toEqual(['user 1 1', 'authlist 1 9', 'override 1 9']);
  expect(take({ kind: 'authlist_cleared', account: 1, value: null })).toEqual([
    'user 1 1',
    'override 1 9',
  ]);
  expect(take({ kind: 'overrides_cleared', account: 1, value: null })).toEqual(['user 1 1']);
  expect(take({ ...user, account: 2 })).toEqual(['user 1 1', 'user 2 1']);
  expect(take({ kind: 'account', account: 1, value: null })).toEqual(['user 2 1']);
  expect(take({ kind: 'user', account: 2, id: 1, value: null })).toEqual([]);
  for (let id = 1; id <= 25; id += 1) take({ ...entry, id });
  const faults = policy.unreadable.faults();
  expect([faults.length, faults.at(-1)?.message]).toEqual([
    21,
    "5 more records can't be read. They are left out; all others are in force.",
  ]);
});
