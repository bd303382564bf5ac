// exitward as an operator uses it: in a real terminal, made by tmux, with a shell in it.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { deepTest } from '../../test/deep_test.ts';
import { effort } from '../../test/effort.ts';
import { styled, Terminal } from '../../test/terminal.ts';
import { bin, CommandLine } from './cli_process.ts';

let exitward: CommandLine;
let terminal: Terminal;

beforeAll(async () => {
  exitward = new CommandLine();
  await exitward.serve();
  const expiry = '2036-01-01';
  await exitward.run(
    'account',
    'create',
    'acme',
    '--plan',
    'Team',
    '--expiry',
    expiry,
    '--limit',
    '1TB',
  );
  await exitward.run('user', 'add', 'acme', 'alice', '--flags', 'proxy,admin');
});
afterAll(() => exitward?.clean());
beforeEach(async () => {
  terminal = new Terminal('exitward', bin);
  await terminal.open(exitward.env);
});
afterEach(() => terminal.close());

const tokenVersion = async () => {
  const { stdout } = await exitward.run('user', 'list', 'acme', '--json');
  return (JSON.parse(stdout) as Array<{ token_version: number }>)[0]?.token_version;
};

deepTest('lists are tables with a bold header; in a pipe they are tabs without one', async () => {
  await terminal.enter('exitward account list');
  await terminal.shows(/code 0/);
  expect(await terminal.screen()).toMatch(/^NAME {2}PLAN {2}USAGE .*\nacme {2}Team {4}0 B/m);
  expect(await terminal.screen('-e')).toContain(`${styled}[1mNAME`);
  await terminal.enter('exitward account list | tr "\\t" "|"');
  await terminal.shows(/code 0/);
  const piped = await terminal.screen();
  expect(piped).toMatch(/^acme\|Team\|/m);
  expect(piped).not.toContain('PLAN');
});

test('what destroys asks first, and only yes is yes', async () => {
  // The other keys are pressed at exw, all of them in a deep run.
  const others = effort === 'deep' ? [['n', 'Enter'], ['C-d']] : [];
  for (const keys of [['Enter'], ['C-c'], ...others]) {
    const before = await tokenVersion();
    await terminal.enter('exitward user raise-token-version acme alice');
    await terminal.shows(/This ends all proxy access tokens and VPN passwords of alice at once\./);
    await terminal.press(...keys);
    await terminal.shows(/code 1/);
    expect(await tokenVersion()).toBe(before);
  }
  const before = (await tokenVersion()) ?? 0;
  await terminal.enter('exitward user raise-token-version acme alice');
  await terminal.shows(/This ends all proxy access tokens/);
  await terminal.press('y', 'Enter');
  await terminal.shows(/code 0/);
  expect(await tokenVersion()).toBe(before + 1);
});

deepTest('without a terminal to ask at, what destroys says how to do it unasked', async () => {
  await terminal.enter('exitward user raise-token-version acme alice < /dev/null');
  await terminal.shows(/Add --yes to confirm\./);
  await terminal.shows(/code 2/);
});

deepTest(
  'an invitation is an address on a line of its own, and the wrong user a sentence',
  async () => {
    await terminal.enter('exitward user invite acme alice');
    await terminal.shows(/url +http:\/\/127\.0\.0\.1:\d+\/#\/invite\/ewl_\w+/);
    await terminal.enter('exitward user invite acme nadia');
    await terminal.shows(/The account has no user named "nadia"\./);
    await terminal.shows(/code 1/);
  },
);
