// exw as a person uses it: in a real terminal, made by tmux, with a shell in it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { BuiltAccount } from '../../server/test/builders.ts';
import { passwordOf, startTestApp, type TestApp } from '../../server/test/harness.ts';
import { until } from '../../server/test/waiting.ts';
import { deepTest } from '../../test/deep_test.ts';
import { effort } from '../../test/effort.ts';
import { styled, Terminal } from '../../test/terminal.ts';
import { bin, CommandLine } from './cli_process.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-terminal-'));
let t: TestApp;
let acme: BuiltAccount;
let exw: CommandLine;
let terminal: Terminal;
const open = (env: NodeJS.ProcessEnv = {}) => terminal.open({ ...exw.env, ...env });

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  t.clock.seconds = Math.floor(Date.now() / 1000);
  await t.server('fra1');
  acme = await t.account('acme', { servers: ['fra1'] });
});
afterAll(async () => {
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  exw = new CommandLine();
  terminal = new Terminal('exw', bin);
});
afterEach(async () => {
  await terminal.close();
  exw.clean();
  await t.as(acme).delete('/contract/ip-authlist');
});

const loggedIn = () => ({ EXW_URL: t.base_url, EXW_TOKEN: acme.api_token });
const listed = async () => (await t.as(acme).get('/contract/ip-authlist')).body.length as number;

test('login asks for the token, and nobody sees it', async () => {
  await open();
  await terminal.enter(`exw login --url ${t.base_url}`);
  await terminal.shows(/^Token: /m);
  await terminal.type(acme.api_token);
  await terminal.press('Enter');
  await terminal.shows(/code 0/);
  const screen = await terminal.screen('-S', '-');
  expect(screen).toContain(`Token:\nYou are logged in to ${t.base_url} as acme.\ncode 0`);
  expect(screen).not.toContain(acme.api_token.slice(0, 8));
});

deepTest.each(['C-c', 'C-d'])(
  '%s where the token is asked for leaves, and keeps nothing',
  async (key) => {
    await open();
    await terminal.enter(`exw login --url ${t.base_url}`);
    await terminal.shows(/^Token: /m);
    await terminal.press(key);
    await terminal.shows(/^Token: *\nexw: There is no token\. *\ncode 1/m);
    expect(() => exw.readLogin()).toThrow('ENOENT');
    // The terminal is as it was: it echoes again.
    await terminal.type('echo se""en');
    await terminal.press('Enter');
    await terminal.shows(/echo se""en *\nseen/);
  },
);

test('lists are tables with a bold header, and with NO_COLOR plain ones', async () => {
  await open(loggedIn());
  await terminal.enter('exw exits');
  await terminal.shows(/code 0/);
  expect(await terminal.screen()).toMatch(
    /^SERVER {2}HOSTNAME {15,}EXIT IP {2,}PORT {2,}STATUS .*COUNTRY *\nfra1 {4}fra1\.exitward\.example {2}198/m,
  );
  expect(await terminal.screen('-e')).toContain(`${styled}[1mSERVER`);
  await terminal.enter('NO_COLOR=1 exw exits');
  await terminal.shows(/code 0/);
  expect(await terminal.screen('-e')).not.toContain(styled);
  await terminal.enter('exw authlist list');
  await terminal.shows(/^No addresses\. Next: exw authlist add *\ncode 0/m);
  await terminal.enter('exw exits | cat');
  await terminal.shows(/code 0/);
  expect(await terminal.screen()).not.toContain('HOSTNAME');
});

test('what destroys asks first, and only yes is yes', async () => {
  await open(loggedIn());
  // Each start is expensive: the test of the other command line presses the other keys, and a deep
  // run presses all.
  const others = effort === 'deep' ? [['Enter'], ['C-d']] : [];
  for (const keys of [['n', 'Enter'], ['C-c'], ...others]) {
    const body = { ip: '203.0.113.5', user: 'alice', expiry: t.now() + 3600 };
    await t.as(acme).post('/contract/ip-authlist', body);
    await terminal.enter('exw authlist clear');
    await terminal.shows(
      /from the authlist\. There are 1; Exitward's console can restore them for seven days\. Continue\? \[y\/N\]/,
    );
    await terminal.press(...keys);
    await terminal.shows(/^exw: Nothing was changed\. *\ncode 1/m);
    expect(await listed()).toBe(1);
  }
  await terminal.enter('exw authlist clear');
  await terminal.shows(/Continue/);
  await terminal.press('y', 'Enter');
  await terminal.shows(/^The authlist is empty\. *\ncode 0/m);
  expect(await listed()).toBe(0);
});

test('Ctrl-C ends authlist watch, which takes the address off', async () => {
  await open(loggedIn());
  await terminal.enter('exw authlist watch');
  await terminal.shows(/127\.0\.0\.1 {2}alice/);
  expect(await listed()).toBe(1);
  await terminal.press('C-c');
  await terminal.shows(/code 0/);
  expect(await listed()).toBe(0);
});

deepTest('a watched list is drawn in its place, and Ctrl-C leaves it there', async () => {
  await open(loggedIn());
  await terminal.enter('exw authlist list --watch --every 1s');
  await terminal.shows(/^Refreshed every 1 s\. Ctrl-C to stop\. *\nNo addresses\./m);
  const body = { ip: '203.0.113.5', user: 'alice', expiry: t.now() + 3600 };
  await t.as(acme).post('/contract/ip-authlist', body);
  await terminal.shows(/203\.0\.113\.5/);
  await terminal.press('C-c');
  await terminal.shows(/code 0/);
  const screen = await terminal.screen();
  expect(screen.match(/every 1 s/g)).toHaveLength(1);
  expect(screen).not.toMatch(/^No addresses/m);
  await terminal.enter('exw authlist list --watch | cat');
  await terminal.shows(/--watch: expected a terminal/);
});

/** A command that hears Ctrl-C and goes on, until a file has it end with 5. */
function deafCommand(): { words: string; end(): void } {
  const script = exw.file(
    'command.mjs',
    `import { existsSync } from 'node:fs';
process.on('SIGINT', () => console.log('heard'));
setInterval(() => existsSync(process.argv[1] + '.end') && process.exit(5), 50);
console.log('ready');`,
  );
  return {
    words: `${process.execPath} ${script}`,
    end: () => void exw.file('command.mjs.end', ''),
  };
}

deepTest('Ctrl-C reaches the command of exw run, and exw ends after it', async () => {
  await open(loggedIn());
  const command = deafCommand();
  await terminal.enter(`exw run -- ${command.words}`);
  await terminal.shows(
    /^Through 198\.51\.100\.\d+ of fra1, as alice\. Directly: localhost, 127\.0\.0\.1, ::1\. *\nready/m,
  );
  expect(await listed()).toBe(1);
  await terminal.press('C-c');
  await terminal.shows(/heard/);
  expect(await listed()).toBe(1);
  command.end();
  await terminal.shows(/code 5/);
  expect(await listed()).toBe(0);
});

deepTest('exw does not send what the terminal sends already', async () => {
  await open(loggedIn());
  const command = deafCommand();
  // In a session of its own the command does not hear the terminal.
  await terminal.enter(`exw run -- setsid ${command.words}`);
  await terminal.shows(/^ready/m);
  await terminal.press('C-c');
  await sleep(500);
  command.end();
  await terminal.shows(/code 5/);
  expect(await terminal.screen()).not.toContain('heard');
});

test('a list of a person who signs in is watched with one session, which ends with it', async () => {
  await t.operator.patch('/accounts/acme/users/alice', { flags: { admin: true } });
  await t.signIn('acme', 'alice');
  const sessions = async () =>
    (await t.operator.get('/accounts/acme/users/alice')).body.sign_in.sessions as number;
  expect(await sessions()).toBe(1);
  await open(loggedIn());
  await terminal.enter('exw connections --user alice --watch --every 1s');
  await terminal.shows(/^Password: /m);
  await terminal.type(passwordOf('alice'));
  await terminal.press('Enter');
  await terminal.shows(/Refreshed every 1 s\. Ctrl-C to stop\..*\nNo open connections\./);
  await sleep(1500);
  expect(await sessions()).toBe(2);
  await terminal.press('C-c');
  await terminal.shows(/code 0/);
  expect(await sessions()).toBe(1);

  const file = exw.file('password', passwordOf('alice'));
  await terminal.enter(`exw refusals --user alice --password-file ${file} --watch`);
  await terminal.shows(/No refusals\./);
  expect(await sessions()).toBe(2);
  await terminal.close();
  await until(async () => (await sessions()) === 1);
});
