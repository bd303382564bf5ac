// exw for daily work: status, doctor, and lists of addresses.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSilent } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { startTestApp, type TestApp } from '../../server/test/harness.ts';
import { deepTest } from '../../test/deep_test.ts';
import { readAddresses } from '../src/cli/address_list.ts';
import { OwnAddress } from '../src/cli/own_address.ts';
import { canonicalAddress } from '../src/cli/values.ts';
import { Exitward } from '../src/index.ts';
import { CommandLine } from './cli_process.ts';

const folder = mkdtempSync(join(tmpdir(), 'exw-daily-'));
let t: TestApp;
let acme: BuiltAccount;
let exw: CommandLine;
let proxy: Server;
let base: number;
/** The answer of the proxy to a connection. */
let says = { status: 200, reason: '', line: '' };

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  t.clock.seconds = Math.floor(Date.now() / 1000);
  await t.server('fra1');
  acme = await t.account('acme', { servers: ['fra1'] });
  exw = CommandLine.of(t.base_url, acme.api_token);
  proxy = createServer().on('connect', (_request, socket) => {
    const { status, reason, line } = says;
    const headers = reason
      ? `X-Exitward-Reason: ${reason}\r\nContent-Length: ${line.length}\r\n`
      : '';
    socket.end(`HTTP/1.1 ${status} X\r\n${headers}\r\n${line}`);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const [server] = (await t.as(acme).get('/contract/servers')).body;
  base = (proxy.address() as AddressInfo).port - server.ips[0].port_base;
});
afterAll(async () => {
  proxy?.close();
  exw?.clean();
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(async () => {
  await t.as(acme).delete('/contract/ip-authlist');
  says = { status: 200, reason: '', line: '' };
});

/** It takes connections, and says nothing. */
const createSilentServer = () => createSilent().listen(0, '127.0.0.1');

const listed = async () =>
  (await t.as(acme).get('/contract/ip-authlist')).body as Array<{ ip: string }>;
const doctor = (...more: string[]) =>
  exw.run('doctor', '--host', '127.0.0.1', '--base-port', String(base), ...more);
const states = (stdout: string) =>
  stdout.split('\n').map((line) => line.split('\t').slice(0, 2).join(' '));

test('doctor finds nothing wrong where nothing is, except that no node has reported the exit', async () => {
  await exw.run('authlist', 'add');
  const { code, stdout, stderr } = await doctor();
  expect(stderr).toBe('');
  expect(states(stdout)).toEqual([
    'ok login',
    'ok service',
    'ok token',
    'ok contract',
    'ok address',
    'warning exit',
    'ok port',
    'ok proxy',
    '',
  ]);
  expect(code).toBe(0);
});

test('doctor names the command that lists this address, and leaves no entry behind', async () => {
  says = { status: 407, reason: 'unknown_address', line: 'Exitward: no (unknown_address).\n' };
  const { code, stdout } = await doctor();
  expect(stdout).toContain(
    'fault\taddress\t127.0.0.1 is not on the authlist.\texw authlist add --user alice\n',
  );
  expect(stdout).toContain(
    'fault\tproxy\tIt refuses example.com:443: Exitward: no (unknown_address).\texw authlist add --user alice\n',
  );
  expect(code).toBe(1);
  expect(await listed()).toEqual([]);
});

test('status and doctor change no record to learn the address: nothing is in the audit log', async () => {
  const records = async () => (await t.operator.get('/audit?account=acme')).body;
  const before = await records();
  expect(before).toContainEqual(expect.objectContaining({ account: 'acme' }));
  expect((await exw.json('status')).address).toEqual({
    ...{ ip: '127.0.0.1', entry: null, message: null },
  });
  expect((await doctor()).stdout).toContain('127.0.0.1 is not on the authlist.');
  expect(await records()).toEqual(before);
});

test('status and doctor say that the address cannot be determined where the token only reads', async () => {
  const { body } = await t.operator.post('/accounts/acme/tokens', {
    name: 'reads',
    read_only: true,
  });
  const other = CommandLine.of(t.base_url, body.api_token);
  expect((await other.json('status')).address).toEqual({
    ...{ ip: null, entry: null, message: expect.stringMatching(/is read-only/) },
  });
  expect((await other.run('doctor')).stdout).toMatch(/\nwarning\taddress\tCould not check whether/);
  other.clean();
});

test('doctor distinguishes a closed port from a proxy that refuses', async () => {
  const { code, stdout } = await exw.run('doctor', '--host', '127.0.0.1', '--base-port', '0');
  expect(stdout).toMatch(
    /^fault\tport\tPort \d+ of 127\.0\.0\.1 can't be used: the connection was refused \(ECONNREFUSED\)\./m,
  );
  expect(code).toBe(1);
});

test.each([
  ['no login', {}, /^fault\tlogin\t.*\texw login --url/],
  ['no service', { EXW_URL: 'http://127.0.0.1:9', EXW_TOKEN: 'ewa_x' }, /\nfault\tservice\t/],
])('doctor stops at %s', async (_, env, says) => {
  const other = new CommandLine(env);
  const { code, stdout } = await other.run('doctor');
  expect([code, stdout]).toEqual([1, expect.stringMatching(says)]);
  other.clean();
});

test('doctor stops at a wrong token, which it does not print', async () => {
  const other = CommandLine.of(t.base_url, 'ewa_wrong');
  const { code, stdout, stderr } = await other.run('doctor');
  expect(stdout).toMatch(/\nok\tservice\t.*\nfault\ttoken\t.*with another API token\n$/);
  expect(stdout + stderr).not.toContain('ewa_wrong');
  expect(code).toBe(1);
  other.clean();
});

test('status shows the account, what ends soon, and each server with its worst exit', async () => {
  await exw.run('authlist', 'add', '203.0.113.1', '--expiry', '+1h');
  await exw.run('authlist', 'add', '203.0.113.2', '--expiry', '+30d');
  const value = await exw.json('status');
  expect(value.address).toMatchObject({ ip: '127.0.0.1', entry: null });
  expect(value.endings).toMatchObject([{ what: '203.0.113.1', for: 'alice' }]);
  expect(value.servers).toMatchObject([{ server: 'fra1', health: 'unknown' }]);
  expect((await listed()).length).toBe(2);
  await exw.run('authlist', 'add');
  const { code, stdout } = await exw.run('status');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^contract\tacme\n(.*\n)*this address\t127\.0\.0\.1, listed for alice\n/);
});

test('run names the user that the address counts as already', async () => {
  await t.operator.post('/accounts/acme/users', { name: 'bob', flags: { proxy: true } });
  await exw.run('authlist', 'add', '--user', 'bob');
  const client = new Exitward({ baseUrl: t.base_url, token: acme.api_token });
  const own = new OwnAddress(client, { user: 'alice', everySeconds: 60 });
  await own.look();
  expect(own.user).toBe('bob');
  await own.remove();
  await t.operator.patch('/accounts/acme/users/bob', { active: false });
});

test('a list of addresses is listed whole; those that are there stay as they are', async () => {
  await exw.run('authlist', 'add', '203.0.113.2', '--expiry', '+1h');
  const list = '# office\n203.0.113.1\n\n203.0.113.2 alice\n2001:db8::1 alice +2d # home\n';
  const dry = await exw.runWith(list, 'authlist', 'add', '-', '--dry-run');
  expect(dry.stderr).toBe('Dry run: 2 addresses to add for alice; 1 is already listed.\n');
  expect((await listed()).length).toBe(1);
  const { code, stdout } = await exw.runWith(list, 'authlist', 'add', '-');
  expect([code, stdout.trim().split('\n').length]).toEqual([0, 2]);
  expect((await listed()).map(({ ip }) => ip).sort()).toEqual([
    '2001:db8::1',
    '203.0.113.1',
    '203.0.113.2',
  ]);
});

test('a list with faults changes nothing, and each of them is reported with its line', async () => {
  const list =
    '203.0.113.1\nnonsense\n203.0.113.1\n203.0.113.3 nobody\n203.0.113.4 alice 2001-01-01\n';
  const { code, stderr } = await exw.runWith(list, 'authlist', 'add', '-');
  expect([code, stderr.split('\n')]).toEqual([
    1,
    [
      'exw: The list has 4 problems; nothing was changed.',
      `- line 2, ip: "nonsense" isn't an IP address; expected one such as 203.0.113.7`,
      '- line 3, ip: 203.0.113.1 is already in line 1',
      '- line 4, user: there is no active user "nobody"',
      '- line 5, expiry: 2001-01-01 has passed',
      '',
    ],
  ]);
  expect(await listed()).toEqual([]);
});

test('a list of which the service refuses one is taken off again', async () => {
  const other = await t.account('other', { servers: ['fra1'] });
  const body = { ip: '203.0.113.9', user: 'alice', expiry: t.now() + 3600 };
  await t.operator.post('/accounts/other/authlist', body);
  const { code, stderr } = await exw.runWith('203.0.113.8\n203.0.113.9\n', 'authlist', 'add', '-');
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/203\.0\.113\.9: .* Nothing was changed\.\n$/),
  ]);
  expect(await listed()).toEqual([]);
  await t.as(other).delete('/contract/ip-authlist');
});

test('ports are those of the account, as the service says; a service without a port is a failure', async () => {
  const bases = [{ base: 20_000, service: 'proxy' }];
  await t.operator.post('/port_schemes', { name: 'high', bases });
  await t.operator.patch('/servers/fra1', { port_schemes: ['default', 'high'] });
  const account = await t.account('highs');
  await t.operator.patch('/accounts/highs', { port_scheme: 'high' });
  await t.operator.put('/accounts/highs/servers/fra1', {});
  const other = CommandLine.of(t.base_url, account.api_token);
  const [exit] = await other.json('exits');
  expect(exit.port).toBeGreaterThan(20_000);
  expect((await other.run('doctor', '--host', '127.0.0.1')).stdout).toContain(
    `Port ${exit.port} of`,
  );
  const tls = await other.run('exits', '--service', 'proxy-https');
  expect([tls.code, tls.stderr]).toEqual([
    1,
    'exw: The port scheme of the account has no port for proxy-https.\n',
  ]);
  other.clean();
});

test('an address is the same in each of its spellings', () => {
  const { faults } = readAddresses('2001:db8::1\n2001:DB8:0::1');
  expect(faults).toEqual([{ line: 2, message: 'ip: 2001:DB8:0::1 is already in line 1' }]);
  expect(canonicalAddress('2001:DB8:0::1')).toBe('2001:db8::1');
});

test('what a shell completes comes from the account: servers, users, addresses, exits', async () => {
  await exw.run('authlist', 'add', '203.0.113.2');
  // Tokens and entries are refused to such a user.
  await t.operator.post('/accounts/acme/users', { name: 'carol', flags: { billing: true } });
  const completed = async (...words: string[]) =>
    (await exw.run('complete', ...words)).stdout.split('\n').filter(Boolean);
  expect(await completed('dns', 'add', 'f')).toEqual(['fra1']);
  expect(await completed('dns', 'add', 'fra1', '')).toEqual([]);
  expect(await completed('exits', '--server', 'fra1,')).toEqual(['fra1,fra1']);
  expect(await completed('authlist', 'add', '--user', '')).toEqual(['alice']);
  expect(await completed('token', 'create', '--user', '')).toEqual(['alice']);
  expect(await completed('authlist', 'remove', '203')).toEqual(['203.0.113.2']);
  expect(await completed('run', '--exit', '')).toHaveLength(1);
});

deepTest(
  'completion says nothing and ends where the service is silent, and keeps the token to itself',
  async () => {
    const silent = createSilentServer();
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const other = CommandLine.of(url, 'ewa_secret');
    // In processes of their own, which they kill.
    const { stdout, stderr } = await other
      .start('complete', 'authlist', 'add', '--user', '')
      .ended();
    expect([stdout, stderr]).toEqual(['', '']);
    const pipe = new CommandLine({ EXW_URL: url, EXW_TOKEN_FILE: '/dev/stdin' });
    expect((await pipe.start('complete', 'dns', 'add', '').ended()).stdout).toBe('');
    silent.close();
    other.clean();
    pipe.clean();
  },
);
