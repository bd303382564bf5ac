// exitward apply: a YAML file, its plan, its faults with line and field, and exit codes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Count, countsInWords } from '../src/cli/actions.ts';
import { runCommand } from './cli_process.ts';
import { startTestApp, type TestApp } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'exitward-apply-'));
const file = join(folder, 'network.yaml');
let t: TestApp;

beforeAll(async () => {
  t = await startTestApp(`sqlite:${join(folder, 'exitward.db')}`);
  await t.server('fra1');
});
afterAll(async () => {
  await t?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function apply(text: string, ...more: string[]) {
  writeFileSync(file, text);
  const env = { EXITWARD_ADMIN_URL: t.running.admin_url, EXITWARD_ADMIN_TOKEN: t.admin_token };
  return runCommand(['apply', '-f', file, ...more], env);
}

const network = `manifest: net
accounts:
  - name: acme
    plan: small
    expiry: 2033-05-18
    limit: 500GB
    users:
      - { name: alice, flags: { proxy: true } }
    servers:
      - name: fra1
        limit: 1GB
`;

test.each<[boolean, number[], string]>([
  [false, [4, 0, 0, 0], 'Created 4.'],
  [false, [4, 2, 1, 1], 'Created 4, changed 2, adopted 1, removed 1.'],
  [true, [0, 2, 0, 1], 'Would change 2, remove 1.'],
  [true, [0, 0, 0, 0], 'Nothing to change.'],
])('the counts of a dry run (%s) %j are a sentence', (isDryRun, counts, sentence) => {
  const verbs = ['create', 'change', 'adopt', 'remove'];
  const pairs = verbs.map((verb, n): Count => [verb, counts[n] as number]);
  expect(countsInWords(pairs, isDryRun)).toBe(sentence);
});

test('counts name their things where a command counts several kinds', () => {
  const counts: Count[] = [
    ['add', 1, 'server'],
    ['remove', 2, 'exit IP'],
  ];
  expect(countsInWords(counts, false)).toBe('Added 1 server, removed 2 exit IPs.');
});

test('a plan comes first and is carried out when it is said so; the second time there is nothing to do', async () => {
  const check = await apply(network, '--check');
  expect([check.code, check.stdout]).toEqual([
    3,
    'create\taccount\tacme\t\ncreate\tuser\tacme/alice\t\ncreate\tcontract_server\tacme/fra1\t\n',
  ]);
  expect((await apply(network, '--dry-run')).code).toBe(0);
  const unasked = await apply(network);
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining('Add --yes')]);
  expect((await t.operator.get('/accounts')).body).toEqual([]);
  const done = await apply(network, '--yes');
  expect([done.code, done.stderr]).toEqual([0, 'Created 3.\n']);
  const [account] = (await t.operator.get('/accounts')).body;
  expect([account.limit_bytes, account.expiry]).toEqual([500_000_000_000, 1_999_987_200]);
  const again = await apply(network, '--check');
  expect([again.code, again.stdout]).toEqual([0, '']);
  const changed = await apply(network.replace('500GB', '1TB'), '--yes', '--json');
  expect(JSON.parse(changed.stdout).changes).toEqual([
    {
      ...{ action: 'change', kind: 'account', name: 'acme', fields: ['limit_bytes'] },
      differences: [{ field: 'limit_bytes', before: 500_000_000_000, after: 1_000_000_000_000 }],
    },
  ]);
  const late = network.replace('500GB', '5TB').replace('2033-05-18', '2034-05-18');
  const shown = await apply(late, '--dry-run');
  expect(shown.stdout).toBe(
    'change\taccount\tacme\texpiry: 2033-05-18 00:00Z → 2034-05-18 00:00Z,limit_bytes: 1 TB → 5 TB\n',
  );
});

test('all faults that the server finds are reported together, each with its line', async () => {
  const faulty = network
    .replace('2033-05-18', '2033-05-18\n    start: 2034-01-01')
    .replaceAll('acme', 'other')
    .concat(
      '  - { name: third, plan: x, expiry: 2033-05-18, limit: 1GB, servers: [{ name: nowhere }] }\n',
    );
  const { code, stderr } = await apply(faulty, '--dry-run');
  expect([code, stderr.split('\n').slice(1)]).toEqual([
    1,
    [
      expect.stringMatching(/^- line 5, accounts\/0\/expiry: account other: /),
      expect.stringMatching(
        /^- line 13, accounts\/1\/servers\/0: contract_server third\/nowhere: /,
      ),
      '',
    ],
  ]);
});

test('all faults of one record are reported, each with its line', async () => {
  const faulty = network
    .replace('plan: small', "plan: ' '")
    .replace('2033-05-18', '2033-05-18\n    start: 2034-01-01\n    colour: red')
    .replace('500GB', '-5');
  for (const flag of ['--check', '--dry-run']) {
    const { code, stderr } = await apply(faulty, flag);
    expect([code, stderr.split('\n').slice(1).sort()]).toEqual([
      1,
      [
        '',
        expect.stringMatching(/^- line 4, accounts\/0\/plan: /),
        expect.stringMatching(/^- line 5, accounts\/0\/expiry: /),
        expect.stringMatching(/^- line 7, accounts.0.colour: /),
        expect.stringMatching(/^- line 8, accounts\/0\/limit: /),
      ],
    ]);
  }
});

test('a file without records removes those that it owned with --remove-all alone', async () => {
  const empty = 'manifest: net\naccounts: []\n';
  const refused = await apply(empty, '--yes');
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--remove-all')]);
  const plan = await apply(empty, '--dry-run', '--remove-all');
  expect([plan.code, plan.stdout.split('\n').length]).toEqual([0, 4]);
});

test('a file without a name has its other faults reported too, each with its line', async () => {
  const nameless = network.replace('manifest: net\n', '').replace('users:', 'usrs:');
  const { code, stderr } = await apply(nameless.replace('500GB', 'much'), '--yes');
  expect([code, stderr.split('\n').slice(1)]).toEqual([
    1,
    [
      expect.stringMatching(/^- line 1, manifest: expected a short name/),
      `- line 5, accounts/0/limit: "much" isn't a size; expected whole bytes such as 500GB, 1TiB or 1000000`,
      expect.stringMatching(/^- line 6, accounts.0.usrs: /),
      '',
    ],
  ]);
});

test.each([
  ['no name', 'accounts: []\n', 'line 1, manifest: expected a short name'],
  ['a size', network.replace('500GB', 'much'), `line 6, accounts/0/limit: "much" isn't a size`],
  [
    'a time that moves',
    network.replace('2033-05-18', '+1y'),
    'line 5, accounts/0/expiry: "+1y" is another',
  ],
  ['YAML', 'manifest: net\naccounts: [\n', 'line 3'],
  [
    'a field that there is not',
    network.replace('plan: small', 'plann: small'),
    'line 3, accounts.0.plan: is missing from the body.',
  ],
  [
    'a server that there is not',
    network.replace('name: fra1', 'name: nowhere'),
    'network.yaml, line 10, accounts/0/servers/0: contract_server acme/nowhere:',
  ],
])('a fault of %s is reported with its line', async (_, text, says) => {
  const { code, stdout, stderr } = await apply(text, '--yes');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(says);
});

test.each([
  ['a: 1\n\tb: 2\n', 'line 2: '],
  ['manifest: net\nmanifest: net\n', 'line 2: a field is given twice; expected it once'],
  ['manifest: net: work\n', 'line 1: a second colon; expected each field on its own line'],
  ['manifest: "net\n', ': a quote, a bracket, a comma or a colon is missing'],
  ['manifest: @net\n', 'line 1: a text that begins with @ or ` is expected in quotes'],
])('a file that is not YAML is refused in words of its own: %j', async (text, fault) => {
  const { code, stderr } = await apply(text);
  expect([code, stderr]).toEqual([1, expect.stringContaining(fault)]);
  expect(stderr).not.toMatch(/mapping|flow|scalar|implicit|collection|node/i);
});

test('aliases that stand for nothing are refused in one sentence', async () => {
  const { code, stderr } = await apply('manifest: *net\n');
  expect([code, stderr]).toEqual([1, expect.stringMatching(/alias|not valid YAML/)]);
});

test('limits of users are set and ended, with their faults on their lines', async () => {
  const limited = (limits: string) =>
    network
      .replace(': net', ': limits')
      .replaceAll('acme', 'limited')
      .replace('flags: { proxy: true }', `limits: ${limits}`);
  const first = '{ limit: 50GB, max_connections: 9, active_until: 2033-01-01, servers: [fra1] }';
  expect((await apply(limited(first), '--yes')).stderr).toBe('Created 3.\n');
  const shown = async () => (await t.operator.get('/accounts/limited/users/alice')).body.limits;
  expect(await shown()).toMatchObject({
    ...{ limit_bytes: 50_000_000_000, max_connections: 9, active_until: 1_988_150_400 },
    servers: ['fra1'],
  });
  expect((await apply(limited(first), '--check')).code).toBe(0);
  const other = limited(first).replace('9', '7').replace('[fra1]', 'null');
  expect((await apply(other, '--dry-run')).stdout).toBe(
    'change\tuser\tlimited/alice\tmax_connections: 9 → 7,servers: fra1 → none\n',
  );
  const faulty = await apply(limited('{ max_connections: 0, servers: [nowhere] }'), '--dry-run');
  expect(faulty.stderr).toMatch(/line 8, accounts.0.users.0.limits.max_connections: /);
  const nowhere = await apply(limited('{ servers: [nowhere] }'), '--dry-run');
  expect(nowhere.stderr).toMatch(
    /line 8, accounts\/0\/users\/0\/limits\/servers: user limited\/alice: /,
  );
  expect((await apply(limited('null'), '--yes')).code).toBe(0);
  expect(await shown()).toMatchObject({ limit_bytes: null, active_until: null, servers: null });
});
