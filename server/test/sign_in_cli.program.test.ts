// exitward user …: how an operator lets people into the console, and takes it back.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CommandLine } from './cli_process.ts';
import { Browser } from './client.ts';

const cli = new CommandLine({ EXITWARD_PUBLIC_URL: 'https://proxies.example' });
const password = 'a long password of alice';

beforeAll(async () => {
  await cli.serve();
  const terms = ['--plan', 'Team', '--expiry', '+1y', '--limit', '500GB'];
  await cli.run('account', 'create', 'acme', ...terms);
  await cli.run('user', 'add', 'acme', 'alice');
});
afterAll(() => cli.clean());

/** The code behind the public address, read back from the output of a verb. */
async function codeOf(...args: string[]): Promise<string> {
  const { code, stdout } = await cli.run('user', ...args);
  expect(code).toBe(0);
  const [, path = '', text = ''] =
    /^url\thttps:\/\/proxies\.example(\/#\/\w+\/)(ewl_\w{36})\ncode\tewl_\w{36}\nexpiry\t\d+\n$/.exec(
      stdout,
    ) ?? [];
  expect(path).toBe(args[0] === 'invite' ? '/#/invite/' : '/#/enter/');
  return text;
}

test('an invited user sets a password, another signs in by link, and a reset ends both', async () => {
  const alice = new Browser(cli.base_url);
  const code = await codeOf('invite', 'acme', 'alice');
  expect((await alice.post('/invite/accept', { code, password })).status).toBe(201);
  const supporter = new Browser(cli.base_url);
  const link = await codeOf('sign-in-link', 'acme', 'alice', '--lifetime', '1h');
  expect((await supporter.post('/session/link', { code: link })).status).toBe(201);
  const run = await cli.run('user', 'reset-sign-in', 'acme', 'alice');
  expect([run.code, run.stderr]).toEqual([2, expect.stringMatching(/Add --yes/)]);
  const reset = await cli.run('user', 'reset-sign-in', 'acme', 'alice', '--yes', '--json');
  expect(JSON.parse(reset.stdout)).toEqual({ reset: 'alice' });
  for (const browser of [alice, supporter]) {
    expect((await browser.get('/session')).status).toBe(401);
  }
  const given = { account: 'acme', user: 'alice', password };
  expect((await alice.post('/session', given)).status).toBe(401);
});

test('a link for more than a day is refused, and so is one for nobody', async () => {
  const long = await cli.run('user', 'sign-in-link', 'acme', 'alice', '--lifetime', '2d');
  expect([long.code, long.stderr]).toEqual([2, expect.stringMatching(/--lifetime: /)]);
  const nobody = await cli.run('user', 'invite', 'acme', 'mallory');
  expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringMatching(/no user named/)]);
});
