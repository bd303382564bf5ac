// How refused connections stand now, for those who may fix them and those who may not.
import { describe, expect, test } from 'vitest';
import { operatorScope, type Scope } from '../src/api/scope.ts';
import { paths } from '../src/paths.ts';
import { remedyOf, standingOf } from '../src/refusals/standing.ts';
import type { Refusal } from '../src/refusals/to_test.ts';

const row: Refusal = {
  ...{ id: 'a', at: 1_798_761_600, reason: 'unknown_address', address: '203.0.113.7', count: 1 },
  ...{ server: 'fra1', service: 'proxy', port: 10_004, account: 'acme', user: 'bob' },
  ...{ listed_for: null, limit: null, is_fixed: false },
};
const admin: Scope = {
  ...operatorScope('acme'),
  ...{ isOperator: false, user: 'boss', paths: { ...paths, refusalsOf: () => '' } },
};
const person: Scope = {
  ...admin,
  ...{ user: 'bob', flags: { admin: false, billing: false, proxy: true } },
};
const of = (fields: Partial<Refusal>) => ({ ...row, ...fields });

describe('a person without the admin flag', () => {
  test('reads the own limit and who can change it, and gets no button for that', () => {
    const refusal = of({ reason: 'too_many_addresses', limit: 1, is_fixed: null });
    const text = 'Limit: 1 address at once. An admin of acme can change it.';
    expect(standingOf(refusal, person)).toEqual({ text });
    expect(remedyOf(refusal, person)).toBeUndefined();
    expect(remedyOf(refusal, admin)?.text).toBe('Change limits');
    const services = of({ reason: 'not_for_user' });
    expect(standingOf(services, person)?.text).toBe('An admin of acme can change it.');
    expect(standingOf(services, admin)).toBeUndefined();
  });

  test('without a right to see usage has no figures of the contract, and no link to them', () => {
    const refusal = of({ reason: 'over_limit', limit: 2e12 });
    expect(standingOf(refusal, person)?.text).toBe('Your provider can change it.');
    expect(remedyOf(refusal, person)).toBeUndefined();
    expect(remedyOf(refusal, admin)).toEqual({ text: 'Usage', path: '/usage' });
  });
});

test('without a limit of the user the limits of nodes count, which the operator sets', () => {
  const refusal = of({ reason: 'too_many_connections', is_fixed: null });
  expect(standingOf(refusal, admin)?.text).toMatch(/^Nodes have limits .* Your provider sets them/);
  expect(standingOf(refusal, undefined)?.text).toContain('EXITWARD_AGENT_MAX_CONNECTIONS');
  for (const scope of [admin, person, undefined]) expect(remedyOf(refusal, scope)).toBeUndefined();
});

test('an entry without effect is called not verified, and a listed address is not offered again', () => {
  const waiting = of({ listed_for: 'bob' });
  expect(standingOf(waiting, admin)).toMatchObject({ text: 'Not verified yet, listed for' });
  for (const scope of [admin, undefined]) expect(remedyOf(waiting, scope)).toBeUndefined();
  expect(remedyOf(row, undefined)?.text).toBe('Who lists it');
  const path = '/operator/accounts/acme/authlist?search=203.0.113.7';
  expect(standingOf(waiting, undefined)?.link).toEqual({ text: 'bob', path });
});

test.each([
  ['inactive_user', null, 'Active again.'],
  ['no_proxy_flag', null, 'The user has it now.'],
  ['user_expired', null, 'No longer limited in time.'],
  ['not_for_user', null, 'Allowed now.'],
  ['user_limit_reached', 5e9, 'Below the limit now.'],
  ['user_limit_reached', null, 'No longer limited.'],
  ['too_many_addresses', null, 'No longer limited.'],
  ['server_not_on_contract', null, 'On the contract now.'],
  ['contract_suspended', null, 'Active again.'],
])('a matter that is fixed needs no remedy: %s (%s)', (reason, limit, text) => {
  const fixed = of({ reason, limit, is_fixed: true });
  expect(standingOf(fixed, admin)).toEqual({ text });
  for (const scope of [admin, person, operatorScope('acme'), undefined]) {
    expect(remedyOf(fixed, scope)).toBeUndefined();
  }
});
