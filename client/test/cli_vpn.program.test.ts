// exw vpn: a person signs in for one command, takes a profile or looks at the exits, and is signed
// out.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOTP } from 'otpauth';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { passwordOf, startTestApp, type TestApp } from '../../server/test/harness.ts';
import { CommandLine } from './cli_process.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-exw-vpn-'));
let t: TestApp;
let exw: CommandLine;
/** With no API token at all. */
let bare: CommandLine;
const password = `${passwordOf('alice')}\n`;

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  t.clock.seconds = Math.floor(Date.now() / 1000);
  await t.server('fra1', {
    exit_ips: ['198.18.0.1', '198.18.0.2'],
    services: ['vpn-ikev2', 'vpn-ikev1'],
  });
  await t.server('ams1', { exit_ips: ['127.0.0.1'], services: ['vpn-ikev2'] });
  await t.server('par1', { exit_ips: ['198.18.0.4'], services: ['proxy'] });
  const { api_token } = await t.account('acme', { servers: ['fra1', 'ams1', 'par1'] });
  for (const name of ['alice', 'bob']) {
    await t.operator.post('/accounts/acme/users', { name, flags: { proxy: true } });
  }
  await t.signIn('acme', 'alice');
  exw = CommandLine.of(t.base_url, api_token);
  bare = new CommandLine({ EXW_URL: t.base_url });
});
afterAll(async () => {
  exw.clean();
  bare.clean();
  await t.stop();
  rmSync(folder, { recursive: true, force: true });
});

const vpn = (...args: string[]) => exw.runWith(password, 'vpn', ...args, '--user', 'alice');

test('login prints what is typed into a device: of all servers with a VPN, or of one and its exit', async () => {
  const all = await vpn('login');
  expect([all.code, all.stderr]).toEqual([0, '']);
  expect(all.stdout).toMatch(/^login\talice@acme\nexpiry\t\nserver\tams1\n/);
  expect(all.stdout).toContain('exit IP\t198.18.0.1\nexit IPs\t198.18.0.1,198.18.0.2\npassword\t');
  expect(all.stdout).not.toContain('par1');
  const profile = await vpn('login', 'fra1', '--exit', '198.18.0.2', '--expiry', '+30d', '--json');
  const value = JSON.parse(profile.stdout);
  expect(value).toMatchObject({
    login: expect.stringMatching(/^alice@acme~/),
    servers: [{ server: 'fra1', exit_ip: '198.18.0.2' }],
  });
  expect(value.files).toBeUndefined();
});

test('profile prints one file, and writes files that no other user reads', async () => {
  const file = await vpn('profile', 'fra1', '--format', 'strongswan');
  expect([file.code, file.stderr]).toEqual([0, '']);
  expect(file.stdout).toMatch(/^# .*\nconnections \{/);
  const into = join(folder, 'profiles');
  expect((await vpn('profile', '--output', into)).code).toBe(0);
  expect(readdirSync(into)).toContain('exitward-ams1.sswan');
  const path = join(folder, 'phone');
  const written = await vpn('profile', '--format', 'apple', '--output', path);
  expect([written.code, written.stderr]).toEqual([
    0,
    `Written for you alone to read:\n- ${path}\n`,
  ]);
  expect(readFileSync(path, 'utf8')).toContain('<plist');
  for (const written of [path, join(into, 'exitward.conf')]) {
    expect(statSync(written).mode & 0o777).toBe(0o600);
  }
});

test('status lists the exits with a VPN, and says whether this machine uses one', async () => {
  const used = await vpn('status');
  expect([used.code, used.stderr]).toEqual([0, 'This machine uses 127.0.0.1, an exit of ams1.\n']);
  expect(used.stdout).toBe(`ams1\tams1.exitward.example\t127.0.0.1\tvpn-ikev2 unknown\tyes
fra1\tfra1.exitward.example\t198.18.0.1\tvpn-ikev2 unknown,vpn-ikev1 unknown\tno
fra1\tfra1.exitward.example\t198.18.0.2\tvpn-ikev2 unknown,vpn-ikev1 unknown\tno
`);
});

test('no session is left, and no API token is needed where the account is named', async () => {
  const { code, stderr } = await bare.runWith(
    password,
    ...['vpn', 'login', 'fra1', '--user', 'alice', '--account', 'acme'],
  );
  expect([code, stderr]).toEqual([0, '']);
  const { body } = await t.operator.get('/accounts/acme/users/alice');
  // That of the browser in which the password was set.
  expect(body.sign_in.sessions).toBe(1);
});

test('a second factor is asked for; off a terminal it is given by --code', async () => {
  const browser = await t.signIn('acme', 'bob');
  const { secret } = (await browser.post('/second-factor', { password: passwordOf('bob') })).body;
  const totp = new TOTP({ secret });
  const code = (later: number) => totp.generate({ timestamp: (t.now() + later) * 1000 });
  expect((await browser.put('/second-factor', { code: code(0) })).status).toBe(200);
  const login = (...args: string[]) =>
    exw.runWith(`${passwordOf('bob')}\n`, 'vpn', 'login', 'fra1', '--user', 'bob', ...args);
  const without = await login();
  expect([without.code, without.stdout]).toEqual([2, '']);
  expect(without.stderr).toMatch(/--code: expected a code of your second factor/);
  const given = await login('--code', code(30));
  expect([given.code, given.stderr]).toEqual([0, '']);
});

test.each([
  [['profile'], 2, /--format: expected apple, .*; or a folder as --output/],
  [['profile', '--format', 'android', '--exit', '198.18.0.1'], 2, /--exit: needs <server>/],
  [['login', 'none'], 1, /"none" is not added to the account/],
  [['login', 'par1'], 1, /"par1" has no VPN/],
])('%j is refused with exit code %d and a sentence', async (args, code, says) => {
  const refused = await vpn(...args);
  expect([refused.code, refused.stdout]).toEqual([code, '']);
  expect(refused.stderr).toMatch(says);
});

test('a wrong password, and an account that is not named, are reported in a sentence', async () => {
  const wrong = await exw.runWith('not the password\n', 'vpn', 'login', '--user', 'alice');
  expect([wrong.code, wrong.stdout]).toEqual([1, '']);
  expect(wrong.stderr).toMatch(/^exw: .*password/i);
  const unnamed = await bare.runWith(password, 'vpn', 'login', '--user', 'alice');
  expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('--account: ')]);
});
