// Logins to a VPN: decided as the records say, open sessions end when they would be denied, and the
// passwords are those of every server.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readLogin, vpnPassword } from '../../kit/src/vpn_password.ts';
import { effort, tries } from '../../test/effort.ts';
import { revocationOf } from '../src/policy/decide.ts';
import type { Allowed } from '../src/policy/decision.ts';
import { decideLogin } from '../src/policy/logins.ts';
import { Policy } from '../src/policy/policy.ts';
import { hear, history, moment, rules, seed, server, tell } from './histories.ts';
import type { Attempt } from './oracle.ts';

const noon = 43_200;
const vpnKey = Buffer.alloc(32, 9).toString('base64url');

const expiry = fc.constantFrom(null, null, noon - 60, noon, noon + 60);
const made = fc.record({
  account: fc.constantFrom(1, 1, 1, 2, 3),
  user: fc.constantFrom(1, 2),
  token_version: fc.constantFrom(1, 1, 1, 2),
  expiry,
});
const attempt: fc.Arbitrary<Attempt> = fc
  .record({
    service: fc.constantFrom('vpn-ikev2', 'vpn-ikev2', 'vpn-ikev2', 'vpn-ikev1'),
    exit_ip: fc.constantFrom('198.51.100.1', '198.51.100.3', '198.51.100.3', '198.51.100.9'),
    made: fc.option(made, { freq: 8, nil: undefined }),
    slip: fc.constantFrom(...Array<'none'>(9).fill('none'), 'user', 'account', 'expiry'),
    name: fc.constantFrom('own', 'acme', 'globex'),
  })
  .map(({ service, exit_ip, made, slip, name }) => {
    const own = made ?? { account: 1, user: 1, expiry: null };
    const user = (own.user === 1) === (slip !== 'user') ? 'alice' : 'bob';
    const number = slip === 'account' ? (own.account % 3) + 1 : own.account;
    return {
      ...{ service, exit_ip, made, user },
      account: name === 'own' ? `contract-${number}` : name,
      expiry: slip === 'expiry' ? noon + 120 : own.expiry,
    };
  });

const loginOf = ({ user, account, expiry }: Attempt) =>
  `${user}@${account}${expiry === null ? '' : `~${(expiry / 60).toString(36)}`}`;

test('a login is decided as the records say, whatever came in whatever order, and holds for as long', () => {
  const seen = new Map<string, number>();
  const loginsAndTimes = fc.array(fc.tuple(attempt, moment, moment), {
    minLength: 10,
    maxLength: 10,
  });
  const property = fc.property(history, history, loginsAndTimes, (records, later, attempts) => {
    let heard = tell(records);
    for (const [attempt, at, after] of attempts) {
      hear(heard, at);
      const { made } = attempt;
      const login = {
        kind: 'login' as const,
        service: attempt.service as 'vpn-ikev2',
        login: loginOf(attempt),
        exit_ip: attempt.exit_ip,
        proves: (password: string) => made !== undefined && password === vpnPassword(vpnKey, made),
      };
      const decision = decideLogin(heard.policy, rules, login, at.now);
      const expected = heard.oracle.evaluateLogin(attempt, at.now);
      const reason = decision.verdict === 'allow' ? undefined : decision.reason;
      expect(reason).toBe('reason' in expected ? expected.reason : undefined);
      seen.set(reason ?? 'allowed', (seen.get(reason ?? 'allowed') ?? 0) + 1);
      if (decision.verdict !== 'allow') continue;
      expect(decision.authority).toMatchObject(expected);

      // It may continue as long as the same login would be allowed, except for checks that are only
      // made at a login.
      for (const record of later) {
        heard.policy.apply(record);
        heard.oracle.receive(record);
      }
      const { service } = attempt;
      const ends =
        revocationOf(heard.policy, rules, decision.authority, after.now, service) !== undefined;
      const then = heard.oracle.evaluateLogin(attempt, after.now);
      const isAtDoor = 'reason' in then && ['no_service', 'drained'].includes(then.reason);
      if (!isAtDoor) {
        // Renaming a contract or server ends nothing.
        const isRenamed = 'reason' in then && then.reason === 'bad_token';
        if (!isRenamed) expect(ends).toBe('reason' in then);
      }
      heard = tell(records);
    }
  });
  fc.assert(property, { numRuns: tries(12_000, { atLeast: 3000 }), seed });
  const kinds = [
    ...['allowed', 'bad_token', 'contract_expired', 'contract_suspended', 'drained'],
    ...['expired_token', 'inactive_user', 'no_proxy_flag', 'no_service', 'not_ready'],
    ...['not_for_user', 'old_token_version', 'over_limit', 'user_expired', 'user_limit_reached'],
  ];
  expect(kinds).toEqual(expect.arrayContaining([...seen.keys()]));
  if (effort === 'deep') expect([...seen.keys()].toSorted()).toEqual(kinds.toSorted());
});

describe('one user of one account', () => {
  const account = 1;
  const contract = { ...{ name: 'Acme', expiry: 90_000, suspended: false, blocked: false } };
  const userOf = (id: number, name: string) => {
    const value = { name, active: true, proxy: true, token_version: 1 };
    return { kind: 'user' as const, account, id, value };
  };
  const policyOf = (...names: string[]) => {
    const policy = new Policy();
    policy.apply({ kind: 'server', value: server });
    policy.apply({ kind: 'contract', account, value: { ...contract, port_scheme: 'default' } });
    for (const [at, name] of names.entries()) policy.apply(userOf(at + 1, name));
    return policy;
  };
  const decide = (policy: Policy, login: string, user: number, key = vpnKey) => {
    const password = vpnPassword(key, { account, user, token_version: 1, expiry: null });
    const proves = (expected: string) => expected === password;
    const question = { service: 'vpn-ikev2' as const, exit_ip: '198.51.100.1', login, proves };
    return decideLogin(policy, rules, { kind: 'login', ...question }, noon);
  };

  test('logs in in any case of its names, as phones write them', () => {
    const policy = policyOf('alice', 'bob');
    for (const login of ['alice@Acme', 'Alice@acme', 'ALICE@ACME']) {
      expect(decide(policy, login, 1)).toMatchObject({ verdict: 'allow', user: 'alice' });
    }
    expect(decide(policy, 'bob@acme', 1)).toMatchObject({ reason: 'bad_token' });
  });

  test('is the one of the password where names differ in their case alone', () => {
    const policy = policyOf('alice', 'Alice');
    expect(decide(policy, 'alice@Acme', 1)).toMatchObject({ authority: { user: 1 } });
    expect(decide(policy, 'alice@Acme', 2)).toMatchObject({ authority: { user: 2 } });
  });

  test('loses its tunnel and its password when the server gets another key', () => {
    const policy = policyOf('alice');
    const { authority } = decide(policy, 'alice@Acme', 1) as Allowed;
    expect(revocationOf(policy, rules, authority, noon, 'vpn-ikev2')).toBeUndefined();
    const vpn_key = Buffer.alloc(32, 8).toString('base64url');
    policy.apply({ kind: 'server', value: { ...server, vpn_key, vpn_generation: 1 } });
    expect(revocationOf(policy, rules, authority, noon, 'vpn-ikev2')).toBe('bad_token');
    expect(decide(policy, 'alice@Acme', 1)).toMatchObject({ reason: 'bad_token' });
    const next = decide(policy, 'alice@Acme', 1, vpn_key) as Allowed;
    expect(revocationOf(policy, rules, next.authority, noon, 'vpn-ikev2')).toBeUndefined();
  });
});

test('a login is read in every way that it can mean, and in no other', () => {
  expect(readLogin('alice@acme')).toEqual([{ user: 'alice', account: 'acme', expiry: null }]);
  expect(readLogin('alice@acme~rs')).toEqual([{ user: 'alice', account: 'acme', expiry: 60_000 }]);
  expect(readLogin('a@b.example@acme')).toEqual([
    { user: 'a', account: 'b.example@acme', expiry: null },
    { user: 'a@b.example', account: 'acme', expiry: null },
  ]);
  for (const text of ['', 'alice', 'alice@acme~', 'alice@acme~A', 'alice@acme~1~2', '~1']) {
    expect([text, readLogin(text)]).toEqual([text, []]);
  }
});

test('passwords of all users, servers, versions and expiries differ, and have the form that people type', () => {
  const keys = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64url'));
  const all = keys.flatMap((key) =>
    [1, 11].flatMap((account) =>
      [1, 11].flatMap((user) =>
        [1, 11].flatMap((token_version) =>
          [null, 0, 60].map((expiry) => vpnPassword(key, { account, user, token_version, expiry })),
        ),
      ),
    ),
  );
  expect(new Set(all).size).toBe(all.length);
  for (const password of all) expect(password).toMatch(/^[a-z2-7]{5}(-[a-z2-7]{5}){3}$/);
  // Profiles must keep working in later versions.
  const of = { account: 1, user: 2, token_version: 3, expiry: null };
  expect(vpnPassword(keys[0] as string, of)).toMatchInlineSnapshot(`"dsh7j-eujrq-ib7a7-6y6dd"`);
});
