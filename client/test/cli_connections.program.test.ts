// exw connections and refusals: a person signs in for one command, and asks in the words of the
// command line.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { passwordOf, startTestApp, type TestApp } from '../../server/test/harness.ts';
import type { TestNode } from '../../server/test/node.ts';
import { CommandLine } from './cli_process.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-exw-connections-'));
let t: TestApp;
let node: TestNode;
let exw: CommandLine;
const ids = { account: 0, alice: 0, bob: 0 };

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  t.clock.seconds = Math.floor(Date.now() / 1000);
  await t.server('fra1', { exit_ips: ['198.18.0.1'] });
  const acme = await t.account('acme', { servers: ['fra1'] });
  await t.user(acme, 'bob', { proxy: true });
  await t.operator.patch('/accounts/acme/users/alice', { flags: { admin: true } });
  for (const { id, name } of (await t.operator.get('/accounts/acme/users')).body) {
    ids[name as 'alice' | 'bob'] = id;
  }
  ids.account = acme.account.id;
  await t.signIn('acme', 'alice');
  node = await t.node('fra1');
  await node.start();
  exw = CommandLine.of(t.base_url, acme.api_token);
});
afterAll(async () => {
  exw?.clean();
  node?.stop();
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const asAlice = (...args: string[]) =>
  exw.runWith(`${passwordOf('alice')}\n`, ...args, '--user', 'alice');

/** The node has two connections of alice and five of bob. */
async function answerLooks(): Promise<void> {
  const watchesOf = () => node.heard('connections').filter(({ value }) => value);
  const before = watchesOf().length;
  await node.until(() => watchesOf().length > before);
  const at = { since: t.now() - 60, last_byte_at: t.now(), exit_ip: '198.18.0.1', by: ['token'] };
  const group = { service: 'proxy', account: ids.account, up: 10, down: 1000, ...at };
  await node.send('POST', '/connections', {
    watch: watchesOf().at(-1)?.id,
    groups: [
      { ...group, user: ids.alice, address: '192.0.2.1', connections: 2 },
      { ...group, user: ids.bob, address: '192.0.2.2', connections: 5 },
    ],
    rest: { groups: 0, connections: 0, up: 0, down: 0 },
  });
}

test('connections are listed by group, or as the sums of each user, server or address', async () => {
  const [, { code, stdout, stderr }] = await Promise.all([answerLooks(), asAlice('connections')]);
  expect([code, stderr]).toEqual([0, '7 connections in 2 groups, 20 B sent, 2 kB received.\n']);
  expect(stdout.split('\n').map((line) => line.split('\t').slice(0, 5))).toEqual([
    ['bob', '192.0.2.2', 'fra1', '198.18.0.1', '5'],
    ['alice', '192.0.2.1', 'fra1', '198.18.0.1', '2'],
    [''],
  ]);
  const sumsBy = async (by: string) => {
    const lines = (await asAlice('connections', '--by', by)).stdout.trim().split('\n');
    return lines.map((line) => line.split('\t').slice(0, 5).join(' '));
  };
  expect(await sumsBy('user')).toEqual(['bob 1 5 10 1000', 'alice 1 2 10 1000']);
  expect(await sumsBy('address')).toEqual(['192.0.2.2 1 5 10 1000', '192.0.2.1 1 2 10 1000']);
  expect(await sumsBy('server')).toEqual(['fra1 2 7 20 2000']);
  expect((await asAlice('connections', '--limit', '1')).stderr).toBe(
    '7 connections in 2 groups, 20 B sent, 2 kB received. 1 smaller group with 2 connections not listed.\n',
  );
});

test.each([
  [['connections', '--of', 'nobody'], 1, 'The account has no user named "nobody".'],
  [['connections', '--limit', '0'], 2, '--limit: expected a whole number from 1 to 1000'],
  [['connections', '--by', 'account'], 2, '--by: expected one of user, server, address'],
  [['connections', '--of', 'x'.repeat(256)], 2, '--of: expected at most 255 characters.'],
  [['connections', 'end', '--yes', '--service', 'http'], 2, '--service: expected one of proxy, '],
  [['refusals', '--reason', 'expired'], 2, '--reason: expected one of unknown_address, '],
  [['refusals', '--here', '--address', '192.0.2.1'], 2, '--address: is not for --here; send one'],
  [['refusals', '--since', 'lately'], 2, '--since: "lately" isn\'t a time; expected 2h, 7d, '],
  [['refusals', '--server', 'x'.repeat(256)], 2, '--server: expected at most 255 characters.'],
])('%j is refused in the words of the command line', async (args, code, says) => {
  const refused = await asAlice(...args);
  expect([refused.code, refused.stdout, refused.stderr]).toEqual([
    code,
    '',
    expect.stringContaining(`exw: ${says}`),
  ]);
});

test('refusals are those of a time, if one is named', async () => {
  const at = t.now() - 3600;
  const row = { at, reason: 'expired_token', source: '192.0.2.9', service: 'proxy', port: 11_000 };
  const refusals = [{ ...row, account: ids.account, user: ids.bob, count: 3 }];
  expect((await node.send('POST', '/refusals', { boot: 'b', seq: 1, refusals })).status).toBe(204);
  const listed = async (...args: string[]) => (await asAlice('refusals', ...args)).stdout;
  expect(await listed('--since', '2h', '--reason', 'expired_token')).toMatch(
    /^\d+\t192\.0\.2\.9\texpired_token\t3\tbob\tfra1\t/,
  );
  expect(await listed('--since', '30m')).toBe('');
  expect(await listed('--until', '2h')).toBe('');
});

test('refusals are searched to the end, also where a page of the server has none of them', async () => {
  const account_id = ids.account;
  const row = { account_id, user_id: ids.alice, network: '', source: '192.0.2.9', count: 1 };
  const rows = Array.from({ length: 20_100 }, (_, at) => ({
    ...{
      ...row,
      id: at + 1000,
      at: t.now() - 21_000 + at,
      node_id: node.id,
      service: 'proxy',
      port: 11_000,
    },
    reason: at === 0 ? 'drained' : 'bad_token',
  }));
  await t.write((tx) => tx.insertMany('refusals', rows));
  expect((await asAlice('refusals', '--reason', 'drained')).stdout).toMatch(
    /\tdrained\t1\talice\t/,
  );
  const { stdout, stderr } = await asAlice('refusals', '--limit', '1200');
  expect(stdout.trim().split('\n')).toHaveLength(1200);
  expect(stderr).toBe('These are the newest 1200; --limit lists more.\n');
});

test('no password is a command line that was not understood', async () => {
  const refused = await exw.runWith('', 'connections', '--user', 'alice');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--password-file: ')]);
});

test('a field of the sign-in names its own option, and no session is left', async () => {
  const long = 'a'.repeat(256);
  const refused = await exw.runWith('x\n', 'connections', '--user', long);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringMatching(/^exw: --user: /)]);
  const { body } = await t.operator.get('/accounts/acme/users/alice');
  // That of the browser in which the password was set.
  expect(body.sign_in.sessions).toBe(1);
});
