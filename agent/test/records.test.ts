// Records: one that cannot be applied is detected before it is stored, with the place and the
// expectation.
import { expect, test } from 'vitest';
import { checkRecord } from '../src/policy/records.ts';
import { usual } from './histories.ts';

const [server, contract, user] = ['server', 'contract', 'user'].map((kind) =>
  usual.find((record) => record.kind === kind),
) as Array<{ value: object }>;
const changed = (record: { value: object } | undefined, value: object) => ({
  ...record,
  value: { ...record?.value, ...value },
});

test('the usual ones are fine, and so are kinds and fields that are not known', () => {
  for (const record of usual) expect(checkRecord(record)).toBe(record);
  checkRecord({ kind: 'weather', value: 7 });
  checkRecord({ kind: 'constructor' });
  checkRecord({ ...changed(contract, { colour: 'red' }), mood: 1 });
  checkRecord(changed(user, { limits: {} }));
  const atOnce = { connections: 2, addresses: 1, address_seconds: 60 };
  const rights = { until: 1, services: ['proxy'], not_here: true, over: true, colours: 3 };
  checkRecord(changed(user, { limits: { ...atOnce, ...rights } }));
});

test('those that say that something is gone are fine', () => {
  checkRecord({ kind: 'server', value: null });
  for (const kind of ['account', 'contract', 'authlist_cleared', 'overrides_cleared']) {
    checkRecord({ kind, account: 1, value: null });
  }
  for (const kind of ['user', 'authlist', 'override']) {
    checkRecord({ kind, account: 1, id: 1, value: null });
  }
  checkRecord({ kind: 'explain', id: 1, value: null });
});

test.each<[string, unknown]>([
  ['record: expected an object', null],
  ['record.kind: expected a text', { kind: 7 }],
  ['server.value: expected an object', { kind: 'server' }],
  ['server.value.port_schemes: expected a list', changed(server, { port_schemes: undefined })],
  [
    'server.value.port_schemes[0].bases[0].base: expected a whole number',
    changed(server, { port_schemes: [{ name: 'a', bases: [{ base: '1', service: 'proxy' }] }] }),
  ],
  [
    'server.value.exit_ips[0].ip: expected an address',
    changed(server, { exit_ips: [{ ip: 'fra1', port_base: 1 }] }),
  ],
  ['keys.value: expected a list', { kind: 'keys', value: null }],
  [
    'keys.value[0].public_key: expected an Ed25519 public key in base64url',
    { kind: 'keys', value: [{ kid: 'k', public_key: 'short' }] },
  ],
  ['account.value: expected null', { kind: 'account', account: 1, value: {} }],
  ['contract.account: expected a whole number', { kind: 'contract', value: null }],
  ['contract.value.expiry: expected a whole number', changed(contract, { expiry: Number.NaN })],
  ['contract.value.blocked: expected true or false', changed(contract, { blocked: 0 })],
  ['user.id: expected a whole number', { ...user, id: '1' }],
  ['user.value.name: expected a text', changed(user, { name: null })],
  ['user.value.limits: expected an object', changed(user, { limits: null })],
  [
    'user.value.limits.connections: expected a whole number above 0',
    changed(user, { limits: { connections: 0 } }),
  ],
  ['user.value.limits.until: expected a whole', changed(user, { limits: { until: '1' } })],
  ['user.value.limits.services: expected a list', changed(user, { limits: { services: 'proxy' } })],
  ['user.value.limits.over: expected true', changed(user, { limits: { over: false } })],
  ['authlist.value.ip: expected a text', { kind: 'authlist', account: 1, id: 1, value: {} }],
  [
    'override.value.hostname: expected a text',
    { kind: 'override', account: 1, id: 1, value: { ip: '8.8.8.8', expiry: 1 } },
  ],
  ['explain.value.from: expected a text', { kind: 'explain', id: 1, value: {} }],
])('%s', (says, record) => {
  expect(() => checkRecord(record)).toThrow(says);
});
