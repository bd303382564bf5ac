// The command line of the agent, as an operator uses it.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Journal } from '../src/usage/journal.ts';
import { outcomeOf, runCommand, startCommand } from './cli_process.ts';
import { listed } from './fake_engine.ts';
import { ScriptedControl } from './scripted_control.ts';

let control: ScriptedControl;
let parent: string;
let stateDir: string;
let folders = 0;

beforeAll(async () => {
  control = await ScriptedControl.start();
  parent = mkdtempSync(join(tmpdir(), 'exitward-agent-cli-'));
});
afterAll(async () => {
  await control.stop();
  rmSync(parent, { recursive: true, force: true });
});
beforeEach(() => {
  stateDir = join(parent, `${++folders}`);
  control.rejections.clear();
});

const settings = () => ({
  EXITWARD_AGENT_STATE_DIR: stateDir,
  EXITWARD_AGENT_ENGINE: 'embedded',
  EXITWARD_AGENT_METRICS_LISTEN: 'off',
  EXITWARD_AGENT_LISTEN_HOST: '127.0.0.1',
});
const start = (args: string[]) => startCommand(args, settings());
const run = (...args: string[]) => runCommand(args, settings());
const node = () => JSON.parse(readFileSync(join(stateDir, 'node.json'), 'utf8'));

describe('join', () => {
  test('keeps the token in a file for this user alone, and prints it nowhere', async () => {
    const { code, stdout, stderr } = await run('join', `${control.url}/`, 'ewi_x', '--json');
    expect([code, stderr]).toEqual([
      0,
      'This machine is node 7 of fra1 now; start it with exitward-agent run.\n',
    ]);
    expect(JSON.parse(stdout)).toEqual({ url: control.url, node: 7, server: 'fra1' });
    expect(node()).toEqual({ url: control.url, node: 7, server: 'fra1', token: 'ewn_secret' });
    expect(statSync(join(stateDir, 'node.json')).mode & 0o777).toBe(0o600);
    expect(statSync(stateDir).mode & 0o777).toBe(0o700);
  });

  test('reads the code from standard input', async () => {
    const { code, stdout } = await outcomeOf(start(['join', control.url, '-']), 'ewi_x\n');
    expect([code, stdout]).toEqual([0, '']);
    expect(node().node).toBe(7);
  });

  test('refuses a machine that has joined, unless --again: then the old policy is gone', async () => {
    mkdirSync(join(stateDir, 'policy'), { recursive: true });
    await run('join', control.url, 'ewi_x');
    writeFileSync(join(stateDir, 'policy'), 'of the old server');
    const requests = control.asked.length;
    const refused = await run('join', control.url, 'ewi_y');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `exitward-agent: ${stateDir} has joined already, as a node of fra1; add --again to join once more, or set EXITWARD_AGENT_STATE_DIR.\n`,
    ]);
    expect(control.asked.length).toBe(requests);
    expect(existsSync(join(stateDir, 'policy'))).toBe(true);
    expect((await run('join', control.url, 'ewi_y', '--again')).code).toBe(0);
    expect(existsSync(join(stateDir, 'policy'))).toBe(false);
  });

  test('with --again puts the usage of the old node aside: the new one reports nothing of it', async () => {
    await run('join', control.url, 'ewi_x');
    const path = join(stateDir, 'usage.journal');
    const log = pino({ level: 'silent' });
    const old = await Journal.open(path, { log });
    const row = { account: 1, user: 1, at: 1_800_000_000, up: 10, down: 200 };
    const open = { connection: 'c1', account: 1, user: 1, up: 10, down: 200 };
    const tick = { cursor: 'there', counted: [open], settled: [], carry: [] };
    await old.append({ ...tick, rows: [row] });
    await old.next();
    await old.append({ ...tick, rows: [{ ...row, up: 5, down: 0 }] });
    await old.close();
    const { code, stdout, stderr } = await run('join', control.url, 'ewi_y', '--again', '--json');
    expect(code).toBe(0);
    const { usage_left } = JSON.parse(stdout);
    expect(usage_left).toEqual({
      path: expect.stringMatching(/\/usage\.journal\.7-\d{10}\.left$/),
      bytes: 215,
    });
    expect(stderr).toContain(
      `The usage of the old node was moved to ${usage_left.path}; 215 bytes of it were not acknowledged, and none of it will be sent.\n`,
    );
    expect(readFileSync(usage_left.path, 'utf8')).toContain('"up":5');
    expect(node()).not.toHaveProperty('usage_left');
    const begun = await Journal.open(path, { log });
    expect(begun.pending()).toEqual([]);
    expect(begun.boot).not.toBe(old.boot);
    // The engine's counts continue, so traffic that it reports again is not counted twice.
    expect([begun.cursor, [...begun.counted.values()]]).toEqual(['there', [open]]);
    await begun.close();
  });

  test('with --again puts a damaged journal aside, too', async () => {
    await run('join', control.url, 'ewi_x');
    writeFileSync(join(stateDir, 'node.json'), 'damaged');
    writeFileSync(join(stateDir, 'usage.journal'), 'no journal\n');
    const { code, stdout } = await run('join', control.url, 'ewi_y', '--again', '--json');
    expect([code, JSON.parse(stdout).usage_left]).toEqual([
      0,
      { path: expect.stringMatching(/\.unknown-\d{10}\.left$/), bytes: null },
    ]);
    expect(existsSync(join(stateDir, 'usage.journal'))).toBe(false);
  });

  test.each([
    ['http://192.0.2.1:8080', /^url: http.* would send the node's token unencrypted; expected /],
    ['http://exitward.example', /token unencrypted/],
    ['http://127.evil.example', /token unencrypted/],
    ['ftp://exitward.example', /^url: "ftp:.* is not valid; expected the control plane's/],
    ['exitward.example', /^url: .* is not valid/],
    ['http://127.0.0.1:9', /^url: http:\/\/127.0.0.1:9 cannot be used: .*ECONNREFUSED/],
  ])('says what is wrong with %s, and keeps nothing', async (url, says) => {
    const { code, stdout, stderr } = await run('join', url, 'ewi_x');
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/^exitward-agent: /)]);
    expect(stderr.slice('exitward-agent: '.length)).toMatch(says);
    expect(existsSync(join(stateDir, 'node.json'))).toBe(false);
  });

  test.each([
    [
      {
        status: 401,
        body: { message: 'code: the invitation is over.' },
        headers: { 'www-authenticate': 'Bearer', 'x-request-id': 'r1' },
      },
      'code: the invitation',
    ],
    [{ status: 404, body: '<html>' }, 'answered 404; expected the URL'],
    [{ status: 200, body: '<html>' }, 'the answer is not one of a control plane'],
  ])('says what is wrong when the answer is %j', async (refusal, says) => {
    control.rejections.set('POST /join', refusal);
    const { code, stderr } = await run('join', control.url, 'ewi_x');
    expect([code, stderr]).toEqual([1, expect.stringContaining(says)]);
    expect(existsSync(join(stateDir, 'node.json'))).toBe(false);
  });
});

test('status and explain say that no agent runs', async () => {
  for (const args of [['status'], explain('192.0.2.1')]) {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout], stderr).toEqual([1, '']);
    expect(stderr).toMatch(
      /^exitward-agent: No agent runs on .*; start one with exitward-agent run/,
    );
  }
});

test.each([
  [['frobnicate']],
  [['join', 'http://127.0.0.1']],
  [['explain', '--from', '192.0.2.1']],
  [['explain', '--from', '192.0.2.1', '--host', 'a', '--port', '0']],
  [[...explain('192.0.2.1'), '--user', 'alice']],
])('%j is not understood', async (args) => {
  const { code, stdout, stderr } = await run(...args);
  expect([code, stdout], stderr).toEqual([2, '']);
  expect(stderr).toContain('Add --help for what is expected.');
});

test('faults of the settings are reported, a line each', async () => {
  const env = { EXITWARD_AGENT_ENGINE: 'steam', EXITWARD_AGENT_POLL_SECONDS: '0' };
  const { code, stderr } = await runCommand(['run'], { ...settings(), ...env });
  expect([code, stderr]).toEqual([
    1,
    [
      'exitward-agent: EXITWARD_AGENT_ENGINE: "steam" is not valid; expected one of squid, embedded.',
      'EXITWARD_AGENT_POLL_SECONDS: "0" is not valid; expected a whole number of 1 to 60.\n',
    ].join('\n'),
  ]);
});

test('a missing program ends a start, with its remedy, and join reports it', async () => {
  const lacking = {
    ...settings(),
    EXITWARD_AGENT_ENGINE: 'squid',
    EXITWARD_AGENT_SQUID: '/nowhere/squid',
    EXITWARD_AGENT_GUARD: 'nftables',
    // The path has no program at all.
    PATH: stateDir,
  };
  const remedies = [
    'There is no /nowhere/squid. To fix it: apt-get install squid-openssl, or name another one (EXITWARD_AGENT_SQUID); or set EXITWARD_AGENT_ENGINE=embedded, the engine that needs neither Squid nor root.',
    'There is no ss. To fix it: apt-get install iproute2.',
    'There is no setpriv. To fix it: apt-get install util-linux.',
    'There is no nft. To fix it: apt-get install nftables.',
  ].join(' ');
  const joining = await runCommand(['join', control.url, 'ewi_x'], lacking);
  expect([joining.code, joining.stderr]).toEqual([0, expect.stringContaining(remedies)]);
  const { code, stdout, stderr } = await outcomeOf(startCommand(['run'], lacking));
  expect([code, stdout, stderr]).toEqual([1, '', `exitward-agent: ${remedies}\n`]);
});

function explain(from: string): string[] {
  return ['explain', '--from', from, '--port', '10001', '--host', 'www.example.com'];
}

test('a node runs, answers, keeps its folder, and ends well on a signal', async () => {
  // The server has no exit, so no port of this machine is opened.
  const records = listed(4_000_000_000);
  const [server] = records;
  if (server?.kind === 'server' && server.value) server.value.exit_ips = [];
  control.records = records;
  await run('join', control.url, 'ewi_x');
  const child = start(['run']);
  const ended = outcomeOf(child);
  await control.until(() => control.acknowledged.length > 0);

  const shown = await run('status');
  expect(shown.code, shown.stderr).toBe(0);
  const lines = shown.stdout.trimEnd().split('\n');
  expect(lines).toEqual(
    expect.arrayContaining(['server\tfra1', 'state\tfollowing', 'revision\t1']),
  );
  expect(lines.find((line) => line.startsWith('heard\t'))).toMatch(/^heard\t\d{10}$/);
  const status = await run('status', '--json');
  expect(JSON.parse(status.stdout)).toMatchObject({ node: 7, state: 'following', faults: [] });
  expect(status.stdout + shown.stdout).not.toContain('ewn_secret');

  const answered = await outcomeOf(
    start([...explain('192.0.2.10'), '--user', 'alice', '--token', '-', '--json']),
    'ewt_x\n',
  );
  expect([answered.code, JSON.parse(answered.stdout)]).toMatchObject([
    0,
    { verdict: 'deny', status: 403, reason: 'wrong_port', revision: 1 },
  ]);

  const again = await run('join', control.url, 'ewi_x', '--again');
  expect([again.code, again.stderr]).toEqual([
    1,
    `exitward-agent: An agent runs on ${stateDir}; stop it first.\n`,
  ]);
  const rules = await run('guard', 'show');
  expect([rules.code, rules.stdout]).toEqual([0, expect.stringContaining('table inet exitward {')]);

  // A terminal sends it when it is closed; the agent ignores it.
  child.kill('SIGHUP');
  expect((await run('status')).code).toBe(0);
  child.kill('SIGTERM');
  const { code, stdout, stderr } = await ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).not.toContain('ewn_secret');
  expect(existsSync(join(stateDir, 'agent.sock'))).toBe(false);
});

test('of two agents that start at once on a folder one runs, and the other reports that', async () => {
  const records = listed(4_000_000_000);
  const [server] = records;
  if (server?.kind === 'server' && server.value) server.value.exit_ips = [];
  control.records = records;
  await run('join', control.url, 'ewi_x');
  const children = [start(['run']), start(['run'])];
  const ends = children.map((child) => outcomeOf(child));
  try {
    const index = await Promise.race(ends.map((end, at) => end.then(() => at)));
    const refused = await ends[index];
    expect([refused?.code, refused?.stderr]).toEqual([
      1,
      `exitward-agent: Another agent runs on ${stateDir} already.\n`,
    ]);
    expect((await run('status', '--json')).code).toBe(0);
    children[1 - index]?.kill('SIGTERM');
    expect((await ends[1 - index])?.code).toBe(0);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(ends);
  }
});
