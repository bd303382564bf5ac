// The completions of a shell for exitward: commands from the table, values from a running server.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { completionScript } from '../../kit/src/cli/completion.ts';
import { bin, runCommand, runNode } from './cli_process.ts';
import { startTestApp, type TestApp } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-completion-'));
let t: TestApp;
let env: Record<string, string>;

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  await t.server('fra1');
  await t.server('ams1');
  await t.account('acme', { servers: ['fra1'] });
  env = { EXITWARD_ADMIN_URL: t.running.admin_url, EXITWARD_ADMIN_TOKEN: t.admin_token };
});
afterAll(async () => {
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Undefined when the server took too long for a person at the Tab key: it ends itself. */
const completed = async (...words: string[]) => {
  const ran = await runCommand(['complete', ...words], env).catch(() => undefined);
  return ran?.stdout.split('\n').filter(Boolean);
};

test.each([
  [['acc'], ['account']],
  [['account', 'sh'], ['show']],
  [['account', 'show', '--j'], ['--json']],
  [['account', 'show', ''], ['acme']],
  [['contract', 'add', 'acme', 'fra1', 'a'], ['ams1']],
  [['user', 'change', 'acme', ''], ['alice']],
  [['usage', '--by', 's'], ['server']],
  [['usage', '--account', 'ac'], ['acme']],
  [['explain', '--server', 'f'], ['fra1']],
  [['server', 'change', 'fra1', '--port-schemes', 'default,d'], ['default,default']],
  [['port-scheme', 'remove', ''], ['default']],
  [['usage', '--account=ac'], ['--account=acme']],
  [['backup', ''], ['verify']],
  [['no-such-noun', ''], []],
])('%j: %j', async (words, expected) => {
  await expect.poll(() => completed(...words)).toEqual(expected);
});

test('a server that is silent or away has no words, and says nothing of the token', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  for (const port of [(silent.address() as AddressInfo).port, 9]) {
    const url = `http://127.0.0.1:${port}`;
    const away = { EXITWARD_ADMIN_URL: url, EXITWARD_ADMIN_TOKEN: 'ewo_secret' };
    // In a process of its own, which it kills.
    const { stdout, stderr } = await runNode([bin, 'complete', 'account', 'show', ''], away);
    expect([stdout, stderr]).toEqual(['', '']);
  }
  silent.close();
});

test('bash takes the script', async () => {
  const script = `exitward() { "${process.execPath}" "${bin}" "$@"; }
source <(exitward completion bash)
COMP_WORDS=(exitward contract add acme f); COMP_CWORD=4
_exitward exitward f acme; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const shell = { env: { PATH: process.env.PATH, ...env } };
  const completed = async () => (await promisify(execFile)('bash', ['-c', script], shell)).stdout;
  // A server that does not answer within a second has no words.
  await expect.poll(completed).toBe('fra1\n');
});

test.each([
  ['exit show 2001 : db8 :: a', 'a', 'exit show 2001:db8::a', '2001:db8::ab', 'ab'],
  ['exit show 2001 :', '', 'exit show 2001:', '2001:db8::ab', 'db8::ab'],
  ['usage --account = a', 'a', 'usage --account=a', '--account=acme', 'acme'],
  ['account show a', 'a', 'account show a', 'acme', 'acme'],
])('bash’s words %s are joined, and cut again', async (words, last, line, offer, shown) => {
  const script = `exitward() { local IFS=' '; [[ "$*" == "complete ${line}" ]] && echo '${offer}'; }
${completionScript('exitward', 'bash')}
COMP_WORDS=(exitward ${words}); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
_exitward exitward '${last}' ''; printf '%s\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', script]);
  expect(stdout).toBe(`${shown}\n`);
});
