// Denials: each has a reason for programs, a status that shows whether other credentials may help,
// and a sentence.
import { expect, test } from 'vitest';
import { allReasons, bodyOf, sentenceOf, statusOf } from '../src/policy/denials.ts';

test('credentials are asked for where others may help, and nowhere else', () => {
  const of = (status: number) => allReasons.filter((reason) => statusOf(reason) === status);
  const helps = ['unknown_address', 'bad_token', 'expired_token', 'old_token_version', 'stale'];
  expect(of(407)).toEqual(helps);
  expect(of(429)).toEqual(['too_many_connections', 'too_many_addresses']);
  expect(of(503)).toEqual(['drained', 'not_ready']);
  expect(of(403)).toEqual([
    ...['inactive_user', 'no_proxy_flag', 'user_expired', 'not_for_user', 'user_limit_reached'],
    ...['server_not_on_contract', 'wrong_port', 'no_service'],
    ...['contract_expired', 'contract_suspended', 'over_limit', 'destination_refused'],
    'other_family',
  ]);
  expect(allReasons).toHaveLength(22);
});

test.each(allReasons)('%s is a word for a header, and a sentence of its own', (reason) => {
  expect(reason).toMatch(/^[a-z]+(_[a-z]+)*$/);
  const sentence = sentenceOf(reason);
  expect(sentence).toMatch(/^[a-z][^\n]*[^.\s]$/);
  expect(allReasons.filter((other) => sentenceOf(other) === sentence)).toEqual([reason]);
});

test('the body is one line that says what is wrong and names the reason', () => {
  expect(bodyOf('contract_expired')).toBe(
    'Exitward: the contract has expired (contract_expired).\n',
  );
  for (const reason of allReasons) expect(bodyOf(reason)).toMatch(/^Exitward: [^\n]+\)\.\n$/);
});
