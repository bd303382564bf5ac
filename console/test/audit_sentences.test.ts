// The audit log in words: a sentence for each action that the server records.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { auditActions } from '../../kit/src/audit_sentences.ts';
import {
  type AuditRecord,
  accountKinds,
  actionsOf,
  auditPieces,
  auditSentence,
  differences,
  kindOf,
  networkKinds,
} from '../src/activity/sentences.ts';
import { actorName } from '../src/format.ts';

const source = join(import.meta.dirname, '../../server/src');
const lists = ['authlist', 'override'];
const nouns = new Set(auditActions.map((action) => action.replace(/\..*/, '')));
const actions = globSync('**/*.ts', { cwd: source, exclude: ['cli/**'] }).flatMap((file) => {
  const text = readFileSync(join(source, file), 'utf8');
  // Those of `action: isNew ? 'a.create' : 'a.change'`, of any noun; those handed to a function, of
  // a known one; and those of both lists by `${entry}.restore`.
  const lines = text.match(/^.*\b(action: |(record|audit)\w+\().*['`].*$/gm) ?? [];
  const inText = [...text.matchAll(/'([a-z_]+)\.[a-z_]+'/g)].filter(([, noun = '']) =>
    nouns.has(noun),
  );
  return [
    ...inText.map(([literal]) => literal.slice(1, -1)),
    ...lines.flatMap((line) => [
      ...[...line.matchAll(/'([a-z_]+\.[a-z_]+)'/g)].map((match) => match[1] as string),
      ...[...line.matchAll(/(?:entry|kind)\}\.([a-z_]+)`/g)].flatMap(([, verb]) =>
        lists.map((list) => `${list}.${verb}`),
      ),
    ]),
  ];
});

const record = (rest: Partial<AuditRecord>): AuditRecord => ({
  actor_kind: 'user',
  actor: 'acme/alice',
  action: 'authlist.create',
  target: 'authlist/1',
  before: null,
  after: null,
  ...rest,
});

test('the source of the server was found', () => {
  expect(actions.length).toBeGreaterThan(40);
  expect(actions).toContain('contract_server.add');
});

test.each([...new Set(actions)].sort())('%s has a sentence', (action) => {
  expect(auditActions).toContain(action);
  // Also where the record holds nothing of what the sentence would name.
  expect(auditSentence(record({ action, target: 'fra1' }))).toMatch(/^alice [a-z].*[^ ]\.$/);
});

test('a sentence that no action of the server has is none of the audit log', () => {
  expect(auditActions.filter((action) => !actions.includes(action))).toEqual([]);
});

test('every action is named after one thing: its noun has no plural', () => {
  expect([...nouns].filter((noun) => noun.endsWith('s'))).toEqual([]);
});

test('an action without a sentence is shown as it is', () => {
  const sentence = auditSentence(record({ action: 'moon.paint', target: 'moon/1' }));
  expect(sentence).toBe('alice did moon.paint on moon/1.');
});

describe('sentences', () => {
  test('an entry is described by its address, user and end', () => {
    const after = { ip: '203.0.113.7', user: 'ci', expiry: 1_795_229_104 };
    expect(auditSentence(record({ after }))).toMatch(
      /^alice added 203\.0\.113\.7 to the authlist for ci, until \d+ Nov 2026, \d\d:\d\d\.$/,
    );
  });

  test('a change is described by the fields that changed', () => {
    const before = { ip: '203.0.113.7', user: 'ci', expiry: 1 };
    const after = { ip: '203.0.113.8', user: 'ci', expiry: 1 };
    expect(auditSentence(record({ action: 'authlist.change', before, after }))).toBe(
      'alice changed the authlist entry 203.0.113.7 of ci: now 203.0.113.8.',
    );
  });

  test('limits of a user are described by each that changed, from its old value to the new one', () => {
    const bob = { name: 'bob', active: 1, proxy: 1 };
    const limits = { limit_bytes: 5e10, on_limit: 'refuse', max_connections: 3, servers: null };
    const sentence = (before: object, after: object) =>
      auditSentence(record({ action: 'user.change', target: 'bob', before, after }));
    expect(sentence(bob, { ...bob, ...limits })).toBe(
      'alice changed the limits of bob: bytes in a billing period none → 50 GB; connections at once none → 3.',
    );
    const others = { ...limits, on_limit: 'notify', max_connections: null, servers: ['fra1'] };
    expect(sentence({ ...bob, ...limits }, { ...bob, ...others })).toBe(
      'alice changed the limits of bob: the action over these refuse → notify; connections at once 3 → none; servers all → fra1.',
    );
    expect(sentence({ ...bob, ...others }, { ...bob, ...others, servers: [] })).toBe(
      'alice changed the limits of bob: servers fra1 → none.',
    );
    expect(sentence({ ...bob, ...limits }, bob)).toMatch(
      /billing period 50 GB → none; connections/,
    );
  });

  test('a user who is disabled and loses permissions is described by both', () => {
    const before = { active: 1, admin: 1, billing: 0, proxy: 1, display_name: 'Bob' };
    const after = { active: 0, admin: 0, billing: 0, proxy: 1, display_name: 'Bob' };
    expect(auditSentence(record({ action: 'user.change', target: 'bob', before, after }))).toBe(
      'alice disabled the user bob, and set the permissions of bob to proxy.',
    );
  });

  test('a change of the contract says what was, and what is', () => {
    const before = { limit_bytes: 5e12, token_lifetime_seconds: 3600 };
    const after = { limit_bytes: 6e12, token_lifetime_seconds: 86_400 };
    expect(auditSentence(record({ action: 'account.change', before, after }))).toBe(
      'alice changed the limit of a period: 5 TB → 6 TB, and changed the lifetime of proxy access tokens: 1 hour → 24 hours.',
    );
  });

  test('the actor and what was changed stand out', () => {
    const after = { ip: '203.0.113.7', user: 'ci' };
    expect(auditPieces(record({ after })).filter(({ isName }) => isName)).toEqual(
      ['alice', '203.0.113.7', 'ci'].map((text) => ({ text, isName: true })),
    );
  });

  test('actors are people, tokens, operators, nodes and Exitward itself', () => {
    const names = ['user', 'account', 'operator', 'node', 'system'].map((actor_kind) =>
      actorName({ actor_kind, actor: actor_kind === 'operator' ? 'ops' : 'acme/ci' }),
    );
    expect(names).toEqual([
      'ci',
      'API token ci',
      'Operator ops',
      'Node acme/ci',
      'Exitward (acme/ci)',
    ]);
  });
});

test('the filter of kinds offers each that an action has; an account has none of the network', () => {
  expect([...new Set(auditActions.map(kindOf))].sort()).toEqual(networkKinds);
  expect(networkKinds.filter((kind) => !accountKinds.includes(kind))).toEqual(['Network']);
});

test('the server is asked for every action of a kind, and for those of no other', () => {
  const all = networkKinds.flatMap(actionsOf);
  expect(new Set(all).size).toBe(all.length);
  for (const action of actions) {
    const [noun = ''] = action.split('.');
    expect(networkKinds.filter((kind) => actionsOf(kind).includes(noun))).toEqual([kindOf(action)]);
  }
  expect(actionsOf('')).toEqual([]);
});

describe('differences', () => {
  test('of a change, only what differs', () => {
    const before = { ip: '203.0.113.7', user: 'ci', limit_bytes: 1000, revision: 1 };
    const after = { ip: '203.0.113.7', user: 'bob', limit_bytes: 2000, revision: 2 };
    expect(differences({ before, after })).toEqual([
      { field: 'User', before: 'ci', after: 'bob' },
      { field: 'Limit', before: '1 kB', after: '2 kB' },
    ]);
  });

  test('of a record that is new or gone, all of it', () => {
    expect(differences({ before: null, after: { ip: '203.0.113.7', own: null } })).toEqual([
      { field: 'Address', before: '', after: '203.0.113.7' },
      { field: 'Own', before: '', after: 'none' },
    ]);
    expect(differences({ before: null, after: null })).toEqual([]);
  });
});
