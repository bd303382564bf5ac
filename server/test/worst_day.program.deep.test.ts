// The worst day of docs/backups.md: its commands, on a machine that has nothing but two backups.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CommandLine } from './cli_process.ts';
import { basic } from './harness.ts';
import { TestNode } from './node.ts';

const document = readFileSync(new URL('../../docs/backups.md', import.meta.url), 'utf8');

/** The command lines of the story, with the folder of the backups in place of `/backup`. */
function commandsOfStory(backups: string): string[][] {
  const story = /## The worst day[\s\S]*?\n## /.exec(document)?.[0] ?? '';
  return [...story.matchAll(/^exitward (.*)$/gm)].map(([, words = '']) =>
    words.replaceAll('/backup/', `${backups}/`).split(' '),
  );
}

test('from two backups a new machine serves account holders, nodes and a new operator token', async () => {
  const backups = mkdtempSync(join(tmpdir(), 'exitward-worst-day-'));
  const [old, next] = [new CommandLine(), new CommandLine()];
  onTestFinished(async () => {
    await Promise.all([old.clean(), next.clean()]);
    rmSync(backups, { recursive: true });
  });
  const json = async (...args: string[]) => JSON.parse((await old.run(...args, '--json')).stdout);

  await old.serve();
  const terms = ['--plan', 'Team', '--expiry', '+1y', '--limit', '500GB'];
  const { api_token } = await json('account', 'create', 'acme', ...terms);
  const place = [
    '--hostname',
    'fra1.example.net',
    '--title',
    'F',
    '--city',
    'F',
    '--country',
    'DE',
  ];
  const where = ['--latitude', '50', '--longitude', '8', '--services', 'proxy'];
  await json('server', 'add', 'fra1', ...place, ...where);
  const { code } = await json('node', 'invite', 'fra1');
  const { id: node, token } = await TestNode.invited(old.base_url, code);
  writeFileSync(join(backups, 'passphrase'), 'correct horse battery staple', { mode: 0o600 });
  const sealed = ['keys', 'backup', join(backups, 'keys.sealed')];
  await old.run(...sealed, '--passphrase-file', join(backups, 'passphrase'));
  await old.run('backup', join(backups, 'exitward.db'));
  await old.clean();

  let stdout = '';
  for (const words of commandsOfStory(backups)) {
    if (words[0] === 'serve') {
      await next.serve();
      continue;
    }
    const outcome = await next.run(...words);
    expect([words, outcome.code, outcome.stderr]).toEqual([words, 0, expect.any(String)]);
    if (words[0] === 'restore')
      expect(outcome.stderr).toContain('operator-token create NAME --local');
    stdout += outcome.stdout;
    const [made] = /ewo_\w+/.exec(outcome.stdout) ?? [];
    if (made) next.env = { ...next.env, EXITWARD_ADMIN_TOKEN: made };
  }
  expect(stdout).toMatch(/^nodes\s+1$/m);
  expect(stdout).toMatch(/^\d+\tolga-2\t/m);
  const audited = JSON.parse((await next.run('audit', '--json')).stdout);
  expect(audited[0]).toMatchObject({
    action: 'operator_token.create',
    actor: 'exitward --local',
  });
  const headers = { authorization: basic(api_token) };
  expect((await fetch(`${next.base_url}/v0/contract`, { headers })).status).toBe(200);
  const back = new TestNode(next.base_url, node, token);
  expect((await back.send('GET', '/snapshot')).status).toBe(200);
});

test('a token is made by the right keys alone, under a name that is free', async () => {
  const cli = new CommandLine();
  onTestFinished(() => cli.clean());
  const create = (name: string) => cli.run('operator-token', 'create', name, '--local');
  const early = await create('olga');
  expect([early.code, early.stderr]).toEqual([
    1,
    expect.stringMatching(
      /There is no .*exitward.db yet: start its server first, by "exitward serve"/,
    ),
  ]);
  expect(readdirSync(cli.data_dir)).toEqual([]);
  await cli.serve();
  expect(await create('a b')).toMatchObject({ code: 1, stderr: expect.stringContaining('name: ') });
  expect((await create('olga')).stdout).toMatch(/ewo_/);
  const second = await create('olga');
  expect([second.code, second.stderr]).toEqual([1, expect.stringContaining('exists already')]);
  await cli.stop();
  rmSync(join(cli.data_dir, 'keys.json'));
  const keyless = await create('ida');
  expect([keyless.code, keyless.stderr]).toEqual([1, expect.stringContaining('no keys file')]);
});
