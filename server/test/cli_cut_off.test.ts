// Questions of the command line before terms of a contract that end connections at once.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountNoun } from '../src/cli/accounts.ts';
import { contractNoun } from '../src/cli/contracts.ts';
import { userNoun } from '../src/cli/users.ts';
import { recordUsage } from '../src/usage/usage.ts';
import { eachDatabase } from './databases.ts';
import { startTestApp, type TestApp } from './harness.ts';

type Values = Record<string, string | string[] | number>;

eachDatabase((database) => {
  let t: TestApp;

  beforeAll(async () => {
    t = await startTestApp(await database.url());
    for (const name of ['fra1', 'ams1']) await t.server(name);
    const acme = await t.account('acme', { servers: ['fra1', 'ams1'] });
    const terms = { limit_bytes: 1e12, on_limit: 'refuse', detailed_billing: true };
    expect((await t.operator.patch('/accounts/acme', terms)).status).toBe(200);
    const row = { account_id: acme.account.id, server_id: 1, user_id: 1, hour: t.now() };
    await t.write((tx) =>
      recordUsage(tx, [{ ...row, up: 2e11, down: 1e11 }], () => acme.account.start),
    );
  });
  afterAll(() => t.stop());

  /** The question before a command; undefined: it does what it says at once. */
  async function questionOf(name: string, args: Values = {}, options: Values = {}) {
    const commands = [...accountNoun.commands, ...contractNoun.commands, ...userNoun.commands];
    const command = commands.find((candidate) => candidate.name === name);
    const env = { EXITWARD_ADMIN_URL: t.running.admin_url, EXITWARD_ADMIN_TOKEN: t.admin_token };
    const given = { arguments: { account: 'acme', ...args }, options };
    return command?.question?.(given as never, env);
  }

  test('a limit of the account, or of a server, below what is used, is asked about with both numbers', async () => {
    expect(await questionOf('account change', {}, { limit: 1e11 })).toBe(
      'This ends all connections of acme: 300 GB of the limit of 100 GB are used already.',
    );
    expect(await questionOf('contract limit', { server: 'fra1', size: '100GB' })).toBe(
      'This ends all connections of acme on fra1: 300 GB of the limit of 100 GB are used already.',
    );
    const servers = ['ams1', 'fra1'];
    expect(await questionOf('contract add', { servers }, { limit: 1e11 })).toBe(
      'This ends all connections of acme on fra1: 300 GB of the limit of 100 GB are used already.',
    );
  });

  test('an end in the past is asked about', async () => {
    expect(await questionOf('account change', {}, { expiry: 1_700_000_000 })).toBe(
      'This ends all connections of acme: the end of the contract has passed.',
    );
  });

  test('so are limits of a user that are passed already', async () => {
    const [user, past] = [{ user: 'alice' }, { 'active-until': 1_700_000_000 }];
    expect(await questionOf('user change', user, past)).toBe(
      "This ends all connections of alice: the end of the user's access has passed.",
    );
    expect(await questionOf('user change', user, { limit: 0 })).toBe(
      'This ends all connections of alice: 300 GB of the limit of 0 B are used already.',
    );
    const harmless: Values[] = [{ limit: 0, 'on-limit': 'notify' }, { 'max-connections': 1 }, {}];
    for (const more of harmless)
      expect(await questionOf('user change', user, more)).toBeUndefined();
    await t.operator.post('/accounts/acme/users', { name: 'bob' });
    const users = { users: ['bob', 'alice', 'bob'] };
    expect(await questionOf('user limit', users, { limit: 1e11 })).toBe(
      'This ends all connections of alice: 300 GB of the limit of 100 GB are used already.',
    );
    expect(await questionOf('user limit', users, { 'max-connections': 1 })).toBeUndefined();
  });

  test('what ends no connections is not asked about', async () => {
    expect(await questionOf('account change', {}, { limit: 4e11 })).toBeUndefined();
    expect(await questionOf('account change', {}, { plan: 'Large' })).toBeUndefined();
    const allowed = { limit: 1e11, 'on-limit': 'allow' };
    expect(await questionOf('account change', {}, allowed)).toBeUndefined();
    expect(await questionOf('contract limit', { server: 'ams1', size: '1GB' })).toBeUndefined();
    expect(await questionOf('contract limit', { server: 'fra1', size: 'none' })).toBeUndefined();
    expect(await questionOf('contract add', { servers: ['fra1'] })).toBeUndefined();
  });

  test('an account whose connections are refused already is not asked about again', async () => {
    await t.operator.patch('/accounts/acme', { limit_bytes: 2e11 });
    expect(await questionOf('account change', {}, { limit: 1e11 })).toBeUndefined();
  });
});
