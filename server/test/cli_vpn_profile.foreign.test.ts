// exitward user vpn-profile: values to type on the terminal, files to a pipe or for one's own eyes.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { bin, CommandLine } from './cli_process.ts';
import { Issuer } from './issuer.ts';

const issuer = new Issuer();
const { cert_file, key_file } = issuer.issue('ec', '-pkeyopt', 'ec_paramgen_curve:P-256');
const cli = new CommandLine({ EXITWARD_TLS_CERT: cert_file, EXITWARD_TLS_KEY: key_file });
const profile = (...args: string[]) => cli.run('user', 'vpn-profile', 'acme', 'bob', ...args);

beforeAll(async () => {
  await cli.serve();
  const done = async (...args: string[]) => {
    const { code, stderr } = await cli.run(...args);
    expect(code, stderr).toBe(0);
  };
  const place = ['--city', 'X', '--country', 'DE', '--latitude', '1', '--longitude', '1'];
  const terms = ['--plan', 'Team', '--expiry', '+1y', '--limit', '1TB'];
  await done('account', 'create', 'acme', ...terms);
  for (const [at, name] of ['fra1', 'ams1'].entries()) {
    const what = ['--hostname', `${name}.example.net`, '--title', name, '--services', 'vpn-ikev2'];
    await done('server', 'add', name, ...what, ...place);
    await done('exit', 'add', name, `198.18.0.${at + 1}`, '--port-base', '1');
    await done('contract', 'add', 'acme', name);
  }
  await done('exit', 'add', 'fra1', '198.18.0.3', '--port-base', '2');
  await done('user', 'add', 'acme', 'bob', '--flags', 'proxy');
});
afterAll(async () => {
  await cli.clean();
  issuer.remove();
});

test('without a server the values of all are printed, with one those of that, and of the exit that is asked for', async () => {
  const all = await profile();
  expect([all.code, all.stderr]).toEqual([0, expect.stringContaining('not stored')]);
  expect(all.stdout).toMatch(/^login\tbob@acme\nexpiry\t\nserver\tams1\n/);
  expect(all.stdout).toContain('server\tfra1\nservices\tvpn-ikev2\nhostname\tfra1.example.net\n');
  expect(all.stdout).toContain('exit IP\t198.18.0.1\nexit IPs\t198.18.0.1,198.18.0.3\n');
  const profileRun = await profile('fra1', '--exit', '198.18.0.3', '--lifetime', '30d', '--json');
  expect(JSON.parse(profileRun.stdout)).toMatchObject({
    login: expect.stringMatching(/^bob@acme~/),
    servers: [{ server: 'fra1', exit_ip: '198.18.0.3' }],
  });
});

test('a file goes to a pipe to the last byte, a signed one too, and to a file that no other user reads', async () => {
  const text = await profile('fra1', '--format', 'strongswan');
  expect(text.stdout).toMatch(/^# .*\nconnections \{/);
  const args = [bin, 'user', 'vpn-profile', 'acme', 'bob', '--format', 'apple'];
  const env = { PATH: process.env.PATH, ...cli.env };
  expect(`${issuer.verified(execFileSync(process.execPath, args, { env }))}`).toMatch(/^<\?xml/);

  const path = issuer.pathOf('phone.mobileconfig');
  writeFileSync(path, 'an older one', { mode: 0o644 });
  const { code, stdout, stderr } = await profile('--format', 'apple', '--output', path);
  expect([code, stdout, stderr]).toEqual([0, '', expect.stringContaining(`- ${path}\n`)]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(`${issuer.verified(readFileSync(path))}`).toContain('198.18.0.2');
});

deepTest('all files go into a folder, and those for Android are one for each server', async () => {
  const folder = issuer.pathOf('profiles');
  expect((await profile('--output', folder)).code).toBe(0);
  expect(readdirSync(folder).sort()).toEqual([
    'exitward-ams1.sswan',
    'exitward-fra1.sswan',
    'exitward.conf',
    'exitward.mobileconfig',
    'exitward.ps1',
    'exitward.sh',
  ]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test.each([
  [['--format', 'android'], 2, /--output: expected a folder/],
  [['--format', 'nokia'], 2, /--format: expected apple, windows/],
  [['--exit', '198.18.0.1'], 2, /--exit: needs/],
  [['fra1', '--exit', '198.18.0.2'], 1, /expected 198.18.0.1 or 198.18.0.3/],
  [['--output', '/dev/null/x'], 1, /can't be written: a part of its path is not a folder/],
])('%j is refused with exit code %d', async (args, code, says) => {
  const refused = await profile(...args);
  expect([refused.code, refused.stdout]).toEqual([code, '']);
  expect(refused.stderr).toMatch(says);
});
