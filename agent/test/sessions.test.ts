// Open connections: exactly those are closed that would no longer be let in.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { effort, tries } from '../../test/effort.ts';
import { decide } from '../src/policy/decide.ts';
import type { Authority, ProxyRequest } from '../src/policy/decision.ts';
import type { Reason } from '../src/policy/denials.ts';
import { Sessions } from '../src/policy/sessions.ts';
import {
  hear,
  history,
  moment,
  noon,
  request,
  rules,
  seed,
  tell,
  user,
  usual,
} from './histories.ts';

test('an open connection holds while a new one with the same proof would be let in as the same user', () => {
  const seen = new Map<string, number>();
  const requests = fc.array(request, { minLength: 20, maxLength: 20 });
  // Changes of users end far more connections than others.
  const changes = fc.tuple(history, fc.array(user, { maxLength: 6 })).map((all) => all.flat());
  const property = fc.property(
    history,
    requests,
    changes,
    moment,
    (before, questions, after, at) => {
      const heard = tell([...usual, ...before]);
      hear(heard, { now: noon - 3, silence: 0 });
      const sessions = new Sessions();
      const opened = new Map<string, ProxyRequest>();
      for (const [index, request] of questions.entries()) {
        const verdict = decide(heard.policy, rules, request, noon - 3);
        if (verdict.verdict !== 'allow') continue;
        sessions.open(`c${index}`, verdict.authority);
        opened.set(`c${index}`, request);
      }
      for (const record of after) {
        heard.policy.apply(record);
        heard.oracle.receive(record);
      }
      hear(heard, at);

      const expected = [...opened].flatMap(([connection, session]) => {
        const authority = sessions.find(connection);
        if (!authority || authority.by === 'probe') return [];
        const { account, user } = authority;
        const reason = heard.oracle.faultOf(session, account, user, at.now);
        seen.set(reason ?? 'holds', (seen.get(reason ?? 'holds') ?? 0) + 1);
        return reason ? [{ connection, reason }] : [];
      });
      const byName = (a: { connection: string }, b: { connection: string }) =>
        a.connection < b.connection ? -1 : 1;
      const revoked = [...sessions.revoked(heard.policy, rules, at.now)];
      expect(revoked.toSorted(byName)).toEqual(expected.toSorted(byName));

      const accountOf = (connection: string) => {
        const authority = sessions.find(connection);
        return authority && authority.by !== 'probe' ? authority.account : 0;
      };
      const ofSome = [...sessions.revoked(heard.policy, rules, at.now, [3, 1, 99])];
      const selected = revoked.filter(({ connection }) => [3, 1].includes(accountOf(connection)));
      expect(ofSome.toSorted(byName)).toEqual(selected.toSorted(byName));
    },
  );
  fc.assert(property, { numRuns: tries(5000, { atLeast: 500 }), seed });

  const reasons: Array<Reason | 'holds'> = [
    ...(['unknown_address', 'stale', 'bad_token', 'expired_token', 'old_token_version'] as const),
    ...(['inactive_user', 'no_proxy_flag', 'contract_suspended', 'contract_expired'] as const),
    ...(['user_expired', 'not_for_user', 'user_limit_reached'] as const),
    ...(['over_limit', 'server_not_on_contract', 'not_ready', 'holds'] as const),
  ];
  expect(reasons).toEqual(expect.arrayContaining([...seen.keys()]));
  if (effort === 'deep') expect([...seen.keys()].toSorted()).toEqual(reasons.toSorted());
});

describe('the open connections', () => {
  const ofAccount = (account: number, entry = 1): Authority => ({
    ...{ by: 'authlist', account, user: 1, entry, ip: '192.0.2.10' },
  });
  /** An empty policy, which revokes everything. */
  const { policy } = tell([]);
  const revoked = (sessions: Sessions, accounts?: number[]) =>
    [...sessions.revoked(policy, rules, noon, accounts)].map(({ connection }) => connection);

  test('are found until they are closed, and closing one again does no harm', () => {
    const sessions = new Sessions();
    sessions.open('a', ofAccount(1));
    sessions.open('b', ofAccount(1));
    expect([sessions.size, sessions.find('a')]).toEqual([2, ofAccount(1)]);
    sessions.close('a');
    sessions.close('a');
    sessions.close('never opened');
    expect([sessions.size, sessions.find('a')]).toEqual([1, undefined]);
    expect(revoked(sessions)).toEqual(['b']);
    sessions.close('b');
    expect(revoked(sessions)).toEqual([]);
  });

  test('rest on what their latest request rested on, of whichever account', () => {
    const sessions = new Sessions();
    sessions.open('a', ofAccount(1));
    sessions.open('a', ofAccount(1, 2));
    expect([sessions.size, sessions.find('a')]).toEqual([1, ofAccount(1, 2)]);
    sessions.open('a', ofAccount(2));
    expect([sessions.size, sessions.find('a')]).toEqual([1, ofAccount(2)]);
    expect([revoked(sessions, [1]), revoked(sessions, [2])]).toEqual([[], ['a']]);
  });

  test('may be closed one by one while they are reported', () => {
    const sessions = new Sessions();
    const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
    for (const [index, name] of names.entries()) sessions.open(name, ofAccount(index % 7));
    const closed: string[] = [];
    for (const { connection } of sessions.revoked(policy, rules, noon)) {
      sessions.close(connection);
      closed.push(connection);
    }
    expect([sessions.size, closed.toSorted()]).toEqual([0, names.toSorted()]);
  });

  test('of the own checks of the node hold, whatever the records say', () => {
    const sessions = new Sessions();
    sessions.open('check', { by: 'probe' });
    expect([sessions.size, revoked(sessions)]).toEqual([1, []]);
  });
});
