// exw through pipes, as programs use it, against a real server in both variants.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commandsOf } from '../../kit/src/cli/command.ts';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';
import { deepTest } from '../../test/deep_test.ts';
import { effort } from '../../test/effort.ts';
import { exw } from '../src/cli/commands.ts';
import { bin, CommandLine, type Outcome } from './cli_process.ts';
import { startScripted } from './scripted.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'exitward-exw-'));
let t: TestApp;
let stopNode: () => void;
const all: CommandLine[] = [];

const now = () => Math.floor(Date.now() / 1000);

/** Programs speak either alike: a submission tries the one of new programs. */
const variants = (['current', 'earlier'] as const).slice(0, effort === 'deep' ? 2 : 1);

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  // exw reads the real time.
  t.clock.seconds = now();
  await t.server('fra1', { exit_ips: ['192.0.2.1', '192.0.2.2'] });
  await t.server('ams1', { exit_ips: ['192.0.2.3'], city: 'Am"ster", dam', country: 'NL' });
  await t.server('vpn1', { services: ['vpn-ikev2'] });
  await t.server('par1');
  const node = await t.node('ams1');
  await node.start();
  const endAcknowledging = node.keepAcknowledging();
  stopNode = () => {
    endAcknowledging();
    node.stop();
  };
});
afterAll(async () => {
  stopNode?.();
  await t?.stop();
  for (const exw of all) exw.clean();
  rmSync(folder, { recursive: true, force: true });
});

const accountNamed = (name: string) => t.account(name, { servers: ['fra1', 'ams1', 'vpn1'] });

/** One that is logged in by its environment. */
function exwOf({ api_token }: BuiltAccount, variant?: 'current' | 'earlier'): CommandLine {
  const exw = CommandLine.of(t.base_url, api_token, variant);
  all.push(exw);
  return exw;
}
function exwWith(env: NodeJS.ProcessEnv = {}): CommandLine {
  const exw = new CommandLine(env);
  all.push(exw);
  return exw;
}

const cells = ({ stdout }: Outcome) =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t'));

describe.each(variants)('in the %s variant', (variant) => {
  let account: BuiltAccount;
  let exw: CommandLine;

  beforeAll(async () => {
    account = await accountNamed(`exw-${variant}`);
    exw = exwOf(account, variant);
  });

  test('login checks the token and keeps it for its owner alone; logout forgets it', async () => {
    const fresh = exwWith();
    // Made by somebody else before, for all to read.
    mkdirSync(dirname(fresh.loginFile), { mode: 0o755 });
    const where = ['--url', `${t.base_url}/`, '--variant', variant];
    const login = await fresh.runWith(`${account.api_token}\n`, 'login', ...where);
    expect(login).toEqual({
      code: 0,
      stdout: '',
      stderr: `You are logged in to ${t.base_url} as exw-${variant}.\n`,
    });
    expect(statSync(fresh.loginFile).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(fresh.loginFile)).mode & 0o777).toBe(0o700);
    const { stdout } = await fresh.run('whoami');
    expect(stdout).toBe(
      `contract\texw-${variant}\nurl\t${t.base_url}\nvariant\t${variant}\ntoken in\t${fresh.loginFile}\n`,
    );
    expect((await fresh.run('logout')).code).toBe(0);
    const after = await fresh.run('whoami');
    expect([after.code, after.stderr]).toEqual([1, expect.stringContaining('not logged in')]);
  });

  test('the contract, its servers and those of the network', async () => {
    const contract = await exw.run('contract');
    expect(cells(contract)[0]).toEqual(['contract', `exw-${variant}`]);
    expect(contract.stdout).toContain('fra1\tFrankfurt\tDE\t2\t0\t0\t');
    expect((await exw.json('contract')).servers[0]).toMatchObject({ usage: { current: 0 } });
    const servers = cells(await exw.run('servers'));
    expect(servers.map(([hostname]) => hostname)).toEqual([
      'ams1.exitward.example',
      'fra1.exitward.example',
      'par1.exitward.example',
      'vpn1.exitward.example',
    ]);
  });

  test('exits: those of servers with a proxy, with the port that leads to each', async () => {
    expect(cells(await exw.run('exits'))).toEqual([
      [
        'ams1',
        'ams1.exitward.example',
        '192.0.2.3',
        '10001',
        'unknown',
        '0',
        'Am"ster", dam',
        'NL',
      ],
      ['fra1', 'fra1.exitward.example', '192.0.2.1', '10001', 'unknown', '0', 'Frankfurt', 'DE'],
      ['fra1', 'fra1.exitward.example', '192.0.2.2', '10002', 'unknown', '0', 'Frankfurt', 'DE'],
    ]);
    const tls = await exw.run('exits', '--service', 'proxy-https', '--format', 'url');
    expect(tls.stdout).toContain('https://fra1.exitward.example:12002\n');
  });

  test('an address is listed, changed and removed: without one, that of this machine', async () => {
    const added = await exw.run('authlist', 'add', '--user', 'alice');
    expect(added.code, added.stderr).toBe(0);
    const entry = Object.fromEntries(cells(added));
    expect(entry).toMatchObject({ ip: '127.0.0.1', user: 'alice', 'user active': 'yes' });
    expect(Math.abs(Number(entry.expiry) - now() - 8 * 3600)).toBeLessThan(60);
    expect(added.stderr).toMatch(
      /^127\.0\.0\.1 is listed for alice until .*\. Use --expiry to set another end\.$/m,
    );

    const again = await exw.run('authlist', 'add', '--user', 'alice');
    expect(again.code, again.stderr).toBe(1);
    expect(again.stderr).toBe('exw: <ip>: 127.0.0.1 is already on the authlist.\n');

    expect((await exw.json('authlist', 'change', '--expiry', '2030-01-31')).expiry).toBe(
      Date.UTC(2030, 0, 31) / 1000,
    );
    const other = await exw.json('authlist', 'add', '2001:db8::7', '--user', 'alice');
    await exw.run('authlist', 'change', '2001:DB8:0::7', '--ip', '203.0.113.80');
    expect((await exw.json('authlist', 'list', '--ip', '203.0'))[0].id).toBe(other.id);

    const removed = await exw.json('authlist', 'remove', '--yes');
    expect(removed).toEqual({ removed: [Number(entry.id)] });
    const gone = await exw.run('authlist', 'remove', '--yes');
    expect([gone.code, gone.stderr]).toEqual([
      1,
      'exw: Your address, 127.0.0.1, is not on the authlist.\n',
    ]);
    const absent = await exw.run('authlist', 'remove', '203.0.113.99', '--yes');
    expect([absent.code, absent.stderr]).toEqual([
      1,
      'exw: 203.0.113.99 is not on the authlist of this account.\n',
    ]);
    // Looking for the own address has left nothing behind.
    expect((await exw.json('authlist', 'list')).map(({ ip }: { ip: string }) => ip)).toEqual([
      '203.0.113.80',
    ]);
    expect((await exw.run('authlist', 'clear', '--yes')).code).toBe(0);
    expect((await exw.run('authlist', 'list')).stdout).toBe('');
  });

  test('a DNS entry is added, waited for, changed and removed', async () => {
    const added = await exw.json('dns', 'add', 'ams1', 'www.example.com', '203.0.113.7');
    expect(Math.abs(added.expiry - now() - 8 * 3600)).toBeLessThan(60);
    const id = String(added.id);
    const waited = await exw.run('dns', 'wait', id);
    expect([waited.code, Object.fromEntries(cells(waited)).status]).toEqual([0, 'active']);
    const change = ['dns', 'change', id, '--ip', '203.0.113.8', '--expiry', '+1d', '--wait', '10s'];
    expect(await exw.json(...change)).toMatchObject({ ip: '203.0.113.8', status: 'active' });
    expect(cells(await exw.run('dns', 'list', '--server', 'ams1'))[0]?.slice(0, 5)).toEqual([
      id,
      'ams1',
      'www.example.com',
      '203.0.113.8',
      'active',
    ]);
    expect((await exw.run('dns', 'remove', id, '--yes')).code).toBe(0);
    expect((await exw.run('dns', 'wait', id)).stderr).toContain('There is no such');
    expect((await exw.run('dns', 'clear', '--yes')).code).toBe(0);
  });

  test('an entry that no machine applies is waited for in vain, and what for is said', async () => {
    const { id } = await exw.json('dns', 'add', 'fra1', 'a.example.com', '203.0.113.7');
    const { code, stderr } = await exw.run('dns', 'wait', String(id), '--timeout', '1s');
    expect(code, stderr).toBe(1);
    expect(stderr).toBe(
      `Waiting for the proxies of fra1 to point a.example.com at 203.0.113.7 (entry ${id}).
exw: Entry ${id} is still pending: not every proxy of fra1 has applied it within 1 seconds.\n`,
    );
  });
});

describe('a conflict shows the address of this machine', () => {
  const entry = { id: 7, ip: '203.0.113.7', user: 'alice', user_active: true, expiry: 2e9 };
  const message = 'no entry for 203.0.113.7 was made.';

  test.each([
    ['with the code unknown_user', { 'exitward-error': 'unknown_user' }, 0],
    ['with the code address_taken', { 'exitward-error': 'address_taken' }, 0],
    ['of a service without codes', {}, 0],
    ['but not with another code, whatever the message says', { 'exitward-error': 'list_full' }, 1],
  ])('%s', async (_, headers, expected) => {
    const service = await startScripted(
      { status: 409, headers: headers as Record<string, string>, body: { message } },
      { status: 200, body: [entry] },
      { status: 204 },
    );
    const exw = exwWith({ EXW_URL: service.url, EXW_TOKEN: 'ewa_x' });
    const { code, stderr } = await exw.run('authlist', 'remove', '--yes');
    await service.stop();
    expect([code, stderr]).toEqual([expected, expected ? `exw: ${message}\n` : 'Removed: 7.\n']);
    expect(JSON.parse(service.requests[0]?.body ?? '')).toMatchObject({ user: '-' });
  });
});

describe('users and tokens', () => {
  test('exist in the current variant: a token is all that is on standard output', async () => {
    const exw = exwOf(await accountNamed('tokens'));
    expect(cells(await exw.run('users'))[0]?.slice(1, 4)).toEqual(['alice', 'Alice', 'yes']);
    const created = await exw.run('token', 'create', '--user', 'alice', '--expiry', '+1h');
    expect(created.stdout).toMatch(/^ewt_\S+\n$/);
    expect(created.stderr).toContain('Proxy access token of alice, valid until ');
    // The contract's default lifetime is in the token.
    const usual = await exw.run('token', 'create', '--user', 'alice');
    expect(usual.stderr).toMatch(/ valid until \d{4}-\d\d-\d\d \d\d:\d\dZ\. At the proxy/);
  });

  test('do not exist in the earlier one', async () => {
    const exw = exwOf(await accountNamed('no-tokens'), 'earlier');
    const { code, stderr } = await exw.run('users');
    expect([code, stderr]).toEqual([1, expect.stringContaining('the earlier variant has none')]);
    const add = await exw.run('authlist', 'add');
    expect([add.code, add.stderr]).toEqual([2, expect.stringContaining('--user: expected')]);
  });

  test('without --user the only proxy user is meant; several are named', async () => {
    const account = await accountNamed('many-users');
    const exw = exwOf(account);
    expect((await exw.json('authlist', 'add', '203.0.113.81')).user).toBe('alice');
    await t.user(account, 'bob', { proxy: true });
    await t.user(account, 'carol', { billing: true });
    const { code, stderr } = await exw.run('authlist', 'add', '203.0.113.82');
    expect([code, stderr.split('\n')[0]]).toEqual([2, 'exw: --user: expected one of alice, bob']);
  });
});

describe('exits --format', () => {
  let exw: CommandLine;
  beforeAll(async () => {
    exw = exwOf(await accountNamed('formats'));
  });
  const printed = async (...args: string[]) => (await exw.run('exits', ...args)).stdout;

  test('url: a proxy URL for each, with the user and the token where they are given', async () => {
    expect(await printed('--format', 'url', '--server', 'fra1', '--override')).toBe(
      'http://fra1.exitward.example:10501\nhttp://fra1.exitward.example:10502\n',
    );
    const given = ['--format', 'url', '--server', 'ams1', '--user', 'al@ice', '--token-file'];
    expect(await printed(...given, exw.file('proxy_token', 'ewt_1\n'))).toBe(
      'http://al%40ice:ewt_1@ams1.exitward.example:10001\n',
    );
    const piped = await exw.runWith('ewt_2\n', 'exits', ...given, '-');
    expect(piped.stdout).toBe('http://al%40ice:ewt_2@ams1.exitward.example:10001\n');
  });

  test('txt: host and port', async () => {
    const where = ['--server', 'ams1', '--host', '2001:db8::1', '--base-port', '11000'];
    expect(await printed('--format', 'txt', ...where)).toBe('[2001:db8::1]:11001\n');
  });

  test('csv: quoted where it has to be', async () => {
    expect(await printed('--format', 'csv', '--server', 'ams1')).toBe(
      `server,hostname,ip,port,status,status_time,city,country,url
ams1,ams1.exitward.example,192.0.2.3,10001,unknown,0,"Am""ster"", dam",NL,http://ams1.exitward.example:10001\n`,
    );
  });

  test('json: the same as --json', async () => {
    const [first] = JSON.parse(await printed('--format', 'json'));
    expect(first).toMatchObject({ server: 'ams1', port: 10_001, city: 'Am"ster", dam' });
    expect(JSON.parse(await printed('--json'))[0]).toEqual(first);
  });

  test('a server that is not on the contract, and a base that makes no port, are refused', async () => {
    const unknown = await exw.run('exits', '--server', 'par1');
    expect([unknown.code, unknown.stderr]).toEqual([1, 'exw: par1 is not on the contract.\n']);
    const { code, stderr } = await exw.run('exits', '--format', 'url', '--base-port', '65535');
    expect([code, stderr.split('\n')[0]]).toEqual([
      2,
      'exw: --base-port: 65535 makes 65536, which is not a port',
    ]);
  });

  test('a reader that stops early is no failure', async () => {
    const { stdout } = await run(
      'bash',
      ['-c', `set -o pipefail; "$0" "$1" exits | true; echo $?`, process.execPath, bin],
      { env: exw.env },
    );
    expect(stdout).toBe('0\n');
  });
});

describe('the API token', () => {
  let account: BuiltAccount;
  beforeAll(async () => {
    account = await accountNamed('secrets');
  });

  test('is not kept when the service refuses it, and what was kept stays', async () => {
    const exw = exwWith({ EXW_URL: t.base_url });
    await exw.runWith(account.api_token, 'login');
    const before = exw.readLogin();
    const { code, stderr } = await exw.runWith('ewa_wrong', 'login');
    expect([code, stderr]).toEqual([1, expect.stringContaining('API token')]);
    expect(exw.readLogin()).toEqual(before);
  });

  test('is taken from a file or standard input, never from an argument, and never shown', async () => {
    const exw = exwWith();
    const file = exw.file('token', `${account.api_token}\n`);
    const login = await exw.run('login', '--url', t.base_url, '--token-file', file);
    expect(login.code, login.stderr).toBe(0);
    for (const wrong of [
      ['login', account.api_token],
      ['login', '--url', t.base_url, '--token', account.api_token],
      ['login', '--url', t.base_url, `--token=${account.api_token}`],
    ]) {
      const { code, stdout, stderr } = await exw.run(...wrong);
      expect([code, stdout], stderr).toEqual([2, '']);
      expect(stderr).not.toContain(account.api_token);
    }
    for (const shows of [['whoami'], ['contract'], ['whoami', '--json']]) {
      expect((await exw.run(...shows)).stdout).not.toContain(account.api_token);
    }
  });

  test('is not sent to another service than the one it was kept for', async () => {
    const exw = exwWith();
    await exw.runWith(account.api_token, 'login', '--url', t.base_url);
    const elsewhere = t.base_url.replace('127.0.0.1', 'localhost');
    // Another host, port or scheme.
    const others = [elsewhere, 'http://127.0.0.1:9', t.base_url.replace('http:', 'https:')];
    for (const other of others) {
      const { code, stderr } = await exw.run('whoami', '--url', other);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`not sent to ${other}`)]);
    }
    // The control: with a token of its own that service is spoken to.
    exw.env.EXW_TOKEN = account.api_token;
    expect((await exw.json('whoami', '--url', elsewhere)).token_from).toBe('EXW_TOKEN');
  });

  test('is not sent over plain http to another machine, unless --insecure', async () => {
    // Not a loopback address by its looks; Linux leads it to this machine all the same.
    const url = t.base_url.replace('127.0.0.1', '0.0.0.0');
    const exw = exwWith({ EXW_URL: url, EXW_TOKEN: `${account.api_token}\n` });
    const { code, stderr } = await exw.run('whoami');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^exw: EXW_URL: .*--insecure\n/)]);
    expect((await exw.run('whoami', '--insecure')).code).toBe(0);
    const login = await exwWith().runWith(account.api_token, 'login', '--url', url);
    expect([login.code, login.stderr]).toEqual([2, expect.stringContaining('--insecure')]);
  });

  test('comes from EXW_TOKEN_FILE, before EXW_TOKEN, before what is kept', async () => {
    // As an env file of Windows leaves them.
    const exw = exwWith({ EXW_URL: ` ${t.base_url}\r`, EXW_VARIANT: 'current\r' });
    await exw.runWith(account.api_token, 'login');
    expect((await exw.json('whoami')).token_from).toBe(exw.loginFile);
    exw.env.EXW_TOKEN = account.api_token;
    expect((await exw.json('whoami')).token_from).toBe('EXW_TOKEN');
    exw.env.EXW_TOKEN_FILE = `${exw.file('token', account.api_token)}\r`;
    exw.env.EXW_TOKEN = 'ewa_wrong';
    expect((await exw.json('whoami')).token_from).toBe('EXW_TOKEN_FILE');
    exw.env.EXW_TOKEN_FILE = '/nonexistent';
    expect((await exw.run('whoami')).stderr).toBe(
      "exw: /nonexistent can't be read: there is no such file or folder (ENOENT).\n",
    );
  });

  deepTest('a damaged credentials file is reported, and login fixes it', async () => {
    const exw = exwWith();
    mkdirSync(dirname(exw.loginFile));
    for (const damaged of ['{', 'null', '{"url":"https://a.example"}']) {
      writeFileSync(exw.loginFile, damaged, { mode: 0o600 });
      const { code, stderr } = await exw.run('whoami');
      expect([code, stderr]).toEqual([1, expect.stringContaining('Log in again')]);
    }
    await exw.runWith(account.api_token, 'login', '--url', t.base_url);
    expect((await exw.run('whoami')).code).toBe(0);
  });
});

describe('a command line that is not understood ends with 2, and the message names what is wrong', () => {
  test.each([
    [['whoami', '--url', 'nonsense'], '--url: expected a URL such as'],
    [['whoami', '--variant', 'newest'], '--variant: expected one of current, earlier'],
    [['whoami', '--bogus'], "unknown option '--bogus'"],
    [['whoami', '--json=yes'], '--json'],
    [['exits', '--format', 'xml'], '--format: expected one of url, txt, csv, json'],
    [['exits', '--server', 'a,,b'], '--server: "a,,b": expected names'],
    [['exits', '--user', 'alice'], '--user, --token-file: expected both'],
    [['exits', '--base-port', '70000'], `--base-port: "70000" isn't a port`],
    [['authlist', 'add', '10.0.0.0/8'], `<ip>: "10.0.0.0/8" isn't an IP address`],
    [['authlist', 'add', '--expiry', 'tomorrow'], `--expiry: "tomorrow" isn't a time`],
    [['authlist', 'add', '--expiry'], '--expiry'],
    [['authlist', 'change', '1'], '--ip, --user, --expiry: expected at least one'],
    [['authlist', 'remove', 'x', '--yes'], `<entry>: "x" isn't an id or an IP address`],
    [['authlist', 'watch', '--every', '0'], `--every: "0" isn't a span of time`],
    [['authlist', 'watch', '--expiry', '2020-01-01'], '--expiry: 2020-01-01 00:00Z has passed'],
    [['authlist', 'shrink'], "unknown command 'shrink'"],
    [['dns', 'add', 'fra1', 'a.example'], "missing required argument 'ip'"],
    [['dns', 'change', '1', '--wait', '5s'], '--server, --hostname, --ip, --expiry: expected'],
    [['dns', 'wait', 'one'], `<id>: "one" isn't an id`],
    [['token', 'create'], "required option '--user <name>' not specified"],
    [['token', 'create', '--user', 'a', '--expiry', '2020-01-01'], '--expiry: 2020-01-01 00:00Z'],
    [['run', 'curl', '-s'], "unknown option '-s'"],
    [['run', 'curl'], 'expected -- before the command'],
    [['run', '--'], "missing required argument 'command'"],
    [['run', '--expiry', '+1h', '--', 'true'], '--expiry: expected with --token'],
    [['completion', 'tcsh'], '<shell>: expected one of bash, zsh, fish'],
    [['nonsense'], "unknown command 'nonsense'"],
    [[], 'Usage: exw <command>'],
  ])('%j', async (args, message) => {
    const exw = exwOf({ api_token: 'ewa_x' } as BuiltAccount);
    const { code, stdout, stderr } = await exw.run(...args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
    expect(stderr.split('\n')[0]).toContain(message);
  });

  test.each([
    [['authlist', 'remove', '1'], 'This removes 1 address from the authlist: 1.'],
    [['authlist', 'remove'], 'This removes your address from the authlist.'],
    [['authlist', 'clear'], 'This removes all addresses from the authlist.'],
    [['dns', 'remove', '1', '2'], 'This removes 2 DNS entries: 1, 2.'],
    [['dns', 'clear'], 'This removes all DNS entries of the account.'],
  ])('%j destroys nothing unasked: off a terminal it needs --yes', async (args, question) => {
    // Were it carried out, the token would be refused: 1.
    const exw = exwOf({ api_token: 'ewa_x' } as BuiltAccount);
    const { code, stderr } = await exw.run(...args);
    expect([code, stderr.split('\n')[0]]).toEqual([2, `exw: ${question} Add --yes to confirm.`]);
    expect((await exw.run(...args, '--yes')).code).toBe(1);
  });
});

test('a service that is not there, and one that refuses the token, end with 1 and a sentence', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const nowhere = exwWith({ EXW_URL: `http://127.0.0.1:${port}`, EXW_TOKEN: 'ewa_x' });
  const none = await nowhere.run('whoami');
  expect([none.code, none.stderr]).toEqual([
    1,
    `exw: GET http://127.0.0.1:${port}/v0/contract: the connection was refused (ECONNREFUSED). The address comes from EXW_URL.\n`,
  ]);
  const refused = await exwOf({ api_token: 'ewa_x' } as BuiltAccount).run('whoami');
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toMatch(/^exw: .*API token.*\n$/);
});

describe('from the table of commands come', () => {
  test('the list of all commands', async () => {
    const { stdout } = await exwWith().run('help');
    for (const { name } of commandsOf(exw({}))) expect(stdout).toContain(`  ${name} `);
    expect((await exwWith().run('authlist', '--help')).stdout).not.toContain('dns');
    expect((await exwWith().run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  /** The words that bash offers for a line, the last word of which is unfinished. */
  async function completed(...line: string[]): Promise<string[]> {
    const exw = exwWith();
    const name = exw.file('exw', `#!/bin/sh\nexec "${process.execPath}" "${bin}" "$@"\n`);
    await run('chmod', ['+x', name]);
    const script = `source <(exw completion bash)
COMP_WORDS=(exw "$@"); COMP_CWORD=$#
_exw exw "\${!#}" "\${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = { ...exw.env, PATH: `${exw.folder}:${exw.env.PATH}` };
    const { stdout } = await run('bash', ['-c', script, 'bash', ...line], { env });
    return stdout.trim().split('\n');
  }

  deepTest('what bash completes', async () => {
    expect(await completed('au')).toEqual(['authlist']);
    expect(await completed('authlist', 'c')).toEqual(['change', 'clear']);
    expect(await completed('exits', '--f')).toEqual(['--format']);
    expect(await completed('exits', '--format', '')).toEqual(['url', 'txt', 'csv', 'json']);
    expect(await completed('completion', 'z')).toEqual(['zsh']);
    // Names of files and of commands are the shell's own matter.
    expect(await completed('login', '--token-file', '')).toEqual(['']);
    expect(await completed('run', '--', 'bas')).toContain('bash');
    expect(await completed('run', '--', 'bash', '--js')).toEqual(['']);
  });

  deepTest.each(['bash', 'zsh', 'fish'])('a script for %s', async (shell) => {
    const { code, stdout } = await exwWith().run('completion', shell);
    expect([code, stdout]).toEqual([0, expect.stringContaining('complete')]);
  });
});
