// Explanations for an operator: the decision, with its user and record.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { forOperators } from '../../kit/src/refusal_settings.ts';
import { answerOf, answerTo, requestOf } from '../src/link/questions.ts';
import { decideWithin } from '../src/policy/decide.ts';
import type { ProxyRequest, Question, Rules } from '../src/policy/decision.ts';
import { allReasons } from '../src/policy/denials.ts';
import { Policy } from '../src/policy/policy.ts';
import type { NodeRecord } from '../src/policy/records.ts';

const rules: Rules = {
  connect_ports: [{ first: 443, last: 443 }],
  http_ports: [],
  allowed: [],
  staleness_seconds: 1000,
};
const contract = {
  name: 'acme',
  expiry: 2000,
  suspended: false,
  blocked: false,
  port_scheme: 'default',
};
const records: NodeRecord[] = [
  {
    kind: 'server',
    value: {
      name: 'fra1',
      hostname: 'fra1.example',
      services: ['proxy'],
      port_schemes: [{ name: 'default', bases: [{ base: 11_000, service: 'proxy' }] }],
      exit_ips: [{ ip: '198.51.100.1', port_base: 1 }],
    },
  },
  { kind: 'contract', account: 7, value: contract },
  {
    kind: 'user',
    account: 7,
    id: 3,
    value: { name: 'alice', active: true, proxy: true, token_version: 1 },
  },
  { kind: 'authlist', account: 7, id: 9, value: { ip: '192.0.2.1', user: 3, expiry: 1500 } },
  {
    kind: 'override',
    account: 7,
    id: 5,
    value: { hostname: 'shop.example', ip: '9.9.9.9', expiry: 1500 },
  },
];

function ask(more: Partial<ProxyRequest>, change: NodeRecord[] = []) {
  return answerOf(explained({ ...requestOf(question), ...more }, change));
}

const question = {
  from: '192.0.2.1',
  port: 11_501,
  method: 'CONNECT',
  host: 'shop.example',
  destination_port: 443,
};

function explained(question: Question, change: NodeRecord[] = []) {
  const policy = new Policy();
  for (const record of [...records, ...change]) policy.apply(record);
  policy.heard_at = 900;
  const decision = decideWithin(() => undefined, policy, rules, question, 1000);
  return { decision, position: { epoch: 'e', revision: 14 } };
}

test('an allowed connection is explained by the records that decided, exit and address', () => {
  expect(ask({})).toEqual({
    verdict: 'allow',
    status: 200,
    reason: 'authlist',
    message: 'the connection is allowed',
    rule: 'authlist 9, override 5',
    account: 'acme',
    user: 'alice',
    exit_ip: '198.51.100.1',
    dial: '9.9.9.9',
    revision: 14,
  });
});

test('a name without an address, and one that was not resolved in time, are reported as such', () => {
  const plain = { ...requestOf(question), port: 11_001 };
  expect(answerOf({ ...explained(plain), failure: 'unresolved' })).toMatchObject({
    ...{ verdict: 'deny', status: 502, reason: 'unresolved', rule: 'authlist 9', user: 'alice' },
    message: 'the name of the destination could not be resolved',
  });
  expect(answerOf({ ...explained(plain), isUnresolved: true })).toMatchObject({
    verdict: 'allow',
    message: expect.stringMatching(/^the connection is allowed; the name .* in time to check it$/),
  });
});

test('a refused one is explained with its user, where that was clear', () => {
  const suspended: NodeRecord = {
    kind: 'contract',
    account: 7,
    value: { ...contract, suspended: true },
  };
  const whose = { rule: 'authlist 9', account: 'acme', user: 'alice' };
  expect(ask({}, [suspended])).toMatchObject({ reason: 'contract_suspended', ...whose });
  expect(ask({ destination_port: 25 })).toMatchObject({ reason: 'destination_refused', ...whose });
  expect(ask({ host: '10.0.0.1' })).toMatchObject({ reason: 'destination_refused', ...whose });
});

test.each([
  ['127.0.0.1', 'a loopback address: nothing outside its machine can be reached from it'],
  ['169.254.7.1', 'a link-local address: nothing beyond its local network can be reached from it'],
])('an allowed connection that could not leave from its exit %s is said to be so', (ip, what) => {
  const value = { ...records[0]?.value, exit_ips: [{ ip, port_base: 1 }] } as NodeRecord['value'];
  const moved = [{ kind: 'server', value } as NodeRecord];
  const message = `the connection is allowed; its exit ${ip} is ${what}`;
  expect(ask({}, moved)).toMatchObject({ verdict: 'allow', exit_ip: ip, message });
});

test('operators read which settings of a node decide on a refusal, clients only that an operator does', () => {
  const reasons = [...allReasons, 'no_name_server'];
  const message = ask({ host: '10.0.0.1' }).message;
  expect(message).toContain('the operator of this node decides');
  expect(message).not.toContain('EXITWARD_');
  const documented = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  const named = reasons.flatMap(
    (reason) => forOperators({ reason, message: '' }).message.match(/EXITWARD_\w+/g) ?? [],
  );
  expect(named).toContain('EXITWARD_AGENT_ALLOW_DESTINATIONS');
  for (const name of named) expect(documented).toContain(`\`${name}\``);
});

test('of a stranger there is nothing to explain', () => {
  const answer = ask({ source: '192.0.2.2' });
  expect(answer).toMatchObject({ verdict: 'challenge', status: 407, reason: 'unknown_address' });
  expect(Object.keys(answer).sort()).toEqual([
    'message',
    'reason',
    'revision',
    'status',
    'verdict',
  ]);
});

test('credentials of the question are evaluated like those of a request', () => {
  const question = {
    from: '192.0.2.1',
    port: 1,
    method: 'GET',
    host: 'a.example',
    destination_port: 80,
  };
  expect(requestOf(question).credentials).toBeUndefined();
  expect(requestOf({ ...question, user: 'alice', token: 'ewt_x' }).credentials).toEqual({
    user: 'alice',
    password: 'ewt_x',
  });
});

test('a proxy without a VPN has no service to log in to', async () => {
  const login = { service: 'vpn-ikev2', login: 'alice@acme', exit_ip: '198.51.100.1' };
  const explain = async (question: Question) => explained(question);
  expect(await answerTo(login, { explain })).toMatchObject({
    verdict: 'deny',
    reason: 'no_service',
  });
});

test('a question with what a token says, in place of the token, is decided as with the token', () => {
  const claims = { kid: 'k1', account: 7, user: 3, token_version: 1, expiry: 1500 };
  const from = '192.0.2.99';
  const key = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x as string;
  const keys: NodeRecord = { kind: 'keys', value: [{ kid: 'k1', public_key: key }] };
  const question = {
    from,
    port: 11_501,
    method: 'CONNECT',
    host: 'shop.example',
    destination_port: 443,
  };
  const reasonOf = (value: object, change = [keys]) =>
    ask(requestOf({ ...question, user: 'alice', ...value }), change).reason;
  expect(reasonOf({ claims })).toBe('token');
  expect(reasonOf({ claims }, [])).toBe('bad_token');
  expect(reasonOf({ claims: null })).toBe('bad_token');
  expect(reasonOf({ claims, user: 'bob' })).toBe('bad_token');
  expect(reasonOf({ claims: { ...claims, expiry: 1000 } })).toBe('expired_token');
  expect(reasonOf({ claims: { ...claims, token_version: 2 } })).toBe('old_token_version');
  expect(reasonOf({ claims: { ...claims, user: 4 } })).toBe('bad_token');
});

test.each([
  [{}, false],
  [{ check_exit: true }, true],
  [{ check_exit_of: { account: 'acme' } }, true],
  [{ check_exit_of: { account: 'acme', user: 'alice' } }, true],
  [{ check_exit_of: { account: 'acme', user: 'bob' } }, false],
  [{ check_exit_of: { account: 'other' } }, false],
])(
  'a question with %j has a request sent through the exit of acme’s alice: %s',
  async (more, isSent) => {
    const checked = { address: '198.51.100.1', milliseconds: 41 };
    const request = {
      explain: async (question: Question) => explained(question),
      checkExit: async () => checked,
    };
    const answer = await answerTo({ ...question, ...more }, request);
    expect(answer.checked).toEqual(isSent ? checked : undefined);
  },
);
