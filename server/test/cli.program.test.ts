// The command line as people and scripts use it: the real program, a real server, pipes and exit
// codes.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bareEnvironment } from '../../test/bare_environment.ts';
import { deepTest } from '../../test/deep_test.ts';
import { bin, CommandLine, type Outcome, runCommand, runNode } from './cli_process.ts';
import { eachDatabase } from './databases.ts';
import { basic } from './harness.ts';

const server = [
  '--hostname',
  'ams1.example.net',
  '--title',
  'Amsterdam',
  '--city',
  'Amsterdam',
  '--country',
  'NL',
  '--latitude',
  '52.37',
  '--longitude',
  '-4.9',
  '--services',
  'proxy,proxy-https',
];
const terms = ['--plan', 'Team', '--expiry', '+1y', '--limit', '500GB'];
const login = ['--service', 'vpn-ikev2', '--user', 'bob@acme'];

describe('against a running server', () => {
  const cli = new CommandLine();
  let token: string;

  beforeAll(async () => {
    await cli.serve();
    const made = await cli.run('account', 'create', 'acme', ...terms, '--json');
    token = JSON.parse(made.stdout).api_token;
  });
  afterAll(() => cli.clean());

  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli.run(...args, '--json');
    expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
    return JSON.parse(stdout);
  };
  const expectUsageFault = ({ code, stdout, stderr }: Outcome, says: RegExp) => {
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(says)]);
  };
  const expectFailure = ({ code, stdout, stderr }: Outcome, says: RegExp) => {
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(says)]);
    expect(stderr).toMatch(/^exitward: [^\n]/);
  };

  test('account create prints the API token that opens the account', async () => {
    const { code, stdout, stderr } = await cli.run('account', 'create', 'fresh', ...terms);
    expect([code, stderr]).toEqual([0, 'The account was created.\n']);
    const [, text = ''] = /^account\tfresh\napi token\t(ewa_\w{36})\n$/.exec(stdout) ?? [];
    const answer = await fetch(`${cli.base_url}/v0/contract`, {
      headers: { authorization: basic(text) },
    });
    expect(await answer.json()).toMatchObject({
      name: 'fresh',
      plan: 'Team',
      period: { limit: 500e9 },
    });
  });

  test('account create adds servers, and prints the token also when it cannot', async () => {
    const create = (name: string, servers: string) =>
      cli.run('account', 'create', name, ...terms, '--servers', servers);
    const failed = await create('unserved', 'nowhere');
    expect([failed.code, failed.stdout]).toEqual([1, expect.stringMatching(/\tewa_\w{36}\n$/)]);
    expect(failed.stderr).toMatch(
      /created, but without servers: .*"nowhere"\. Next: exitward contract add unserved nowhere\n$/,
    );
    expect(await json('contract', 'list', 'unserved')).toEqual([]);
    const where = ['--city', 'Riga', '--country', 'LV', '--latitude', '1', '--longitude', '2'];
    const facts = ['--hostname', 'rix1.example.net', '--title', 'Riga', '--services', 'proxy'];
    await json('server', 'add', 'rix1', ...where, ...facts);
    const { code, stderr } = await create('served', 'rix1');
    expect([code, stderr]).toEqual([0, 'The account was created with 1 server.\n']);
    expect(await json('contract', 'list', 'served')).toMatchObject([{ server: 'rix1' }]);
    await json('contract', 'remove', 'served', 'rix1', '--yes');
    await json('server', 'remove', 'rix1', '--yes');
  });

  test('off a terminal a list is tab-separated: no header, no colour, plain numbers', async () => {
    const { stdout } = await cli.run('account', 'list');
    expect(stdout).toMatch(/^acme\tTeam\t0\t500000000000\tno\tno\t\d{10}\n/);
    expect(stdout).not.toContain('\x1b');
  });

  test('every command does what it says, and prints what the server said with --json', async () => {
    expect((await json('account', 'list')).map(({ name }: { name: string }) => name)).toContain(
      'acme',
    );
    expect(await json('account', 'show', 'acme')).toMatchObject({
      name: 'acme',
      on_limit: 'refuse',
    });
    const changed = await json(
      'account',
      'change',
      'acme',
      '--on-limit',
      'allow',
      '--detailed-billing',
      'yes',
      '--token-lifetime',
      '30d',
    );
    expect(changed).toMatchObject({
      on_limit: 'allow',
      detailed_billing: true,
      token_lifetime_seconds: 2_592_000,
    });
    expect(await json('account', 'suspend', 'acme')).toMatchObject({ suspended: true });
    expect(await json('account', 'resume', 'acme')).toMatchObject({ suspended: false });

    const made = await json(
      'token',
      'create',
      'acme',
      'watcher',
      '--read-only',
      '--expiry',
      '+30d',
    );
    expect(made).toMatchObject({
      name: 'watcher',
      read_only: true,
      api_token: expect.stringMatching(/^ewa_/),
    });
    expect(await json('token', 'view', 'acme', String(made.id))).toEqual({
      api_token: made.api_token,
    });
    expect(await json('token', 'list', 'acme')).toHaveLength(2);
    expect(await json('token', 'revoke', 'acme', String(made.id), '--yes')).toEqual({
      revoked: String(made.id),
    });

    expect(await json('server', 'add', 'ams1', ...server)).toMatchObject({
      longitude: -4.9,
      services: ['proxy', 'proxy-https'],
    });
    expect(await json('server', 'change', 'ams1', '--title', 'West')).toMatchObject({
      title: 'West',
    });
    expect(await json('exit', 'add', 'ams1', '2001:DB8::1', '--port-base', '4')).toMatchObject({
      ip_count: 1,
    });
    expectUsageFault(
      await cli.run('explain', '--server', 'ams1', ...login, '--from', 'x'),
      /--from: "x" is not an IP address/,
    );
    expect(await json('server', 'show', 'ams1')).toMatchObject({
      exit_ips: [{ ip: '2001:db8::1', port_base: 4 }],
    });
    const loopback = ['ams1', '127.0.0.1'];
    const { stderr } = await cli.run('exit', 'add', ...loopback, '--port-base', '5');
    expect(stderr).toContain('127.0.0.1 is a loopback address: nothing outside its machine');
    await json('exit', 'remove', ...loopback, '--yes');
    expect(await json('server', 'list')).toHaveLength(1);
    expect((await cli.run('server', 'list')).stdout).toContain('\t1\t1 unknown\t');

    expect(await json('contract', 'add', 'acme', 'ams1', '--limit', '1TiB')).toMatchObject({
      limit_bytes: 2 ** 40,
    });
    expect(await json('contract', 'limit', 'acme', 'ams1', 'none')).toMatchObject({
      limit_bytes: null,
    });
    expect(await json('contract', 'add', 'acme', 'ams1', '--limit', 'none')).toMatchObject({
      limit_bytes: null,
    });
    expect(await json('contract', 'list', 'acme')).toHaveLength(1);
    await json('server', 'add', 'ams2', ...server.with(1, 'ams2.example.net'));
    expect(await json('contract', 'add', 'acme', 'ams1', 'ams2')).toMatchObject([
      { server: 'ams1' },
      { server: 'ams2' },
    ]);
    await json('contract', 'remove', 'acme', 'ams2', '--yes');
    const slip = await cli.run('contract', 'add', 'acme', 'ams2', 'no such');
    expectFailure(slip, /no such.*Already added: ams2\./);
    await json('contract', 'remove', 'acme', 'ams2', '--yes');
    await json('server', 'remove', 'ams2', '--yes');

    expect(await json('user', 'add', 'acme', 'bob', '--flags', 'proxy,billing')).toMatchObject({
      flags: { proxy: true, admin: false },
    });
    expect(
      await json('user', 'change', 'acme', 'bob', '--flags', 'no-billing', '--active', 'no'),
    ).toMatchObject({ active: false, flags: { proxy: true, billing: false } });
    expect(await json('user', 'raise-token-version', 'acme', 'bob', '--yes')).toMatchObject({
      token_version: 2,
    });
    expect(await json('user', 'list', 'acme')).toHaveLength(1);

    expect(await json('node', 'invite', 'ams1', '--lifetime', '2h')).toMatchObject({
      code: expect.stringMatching(/^ewi_/),
    });
    const { stdout: invited } = await cli.run('node', 'invite', 'ams1');
    expect(invited).toMatch(/^ {2}echo ewi_\w+ \| exitward-agent join http\S+ - && /m);
    expect(invited).not.toContain('/etc/exitward');
    expect(await json('node', 'list')).toEqual([]);
    expect(
      await json('port-scheme', 'add', 'high', '20000:proxy', '22000:proxy-https'),
    ).toMatchObject({ name: 'high' });
    expect((await json('port-scheme', 'list'))[1].bases[1]).toEqual({
      base: 22_000,
      service: 'proxy-https',
    });
    expect(await json('port-scheme', 'change', 'high', '21000:proxy')).toMatchObject({
      bases: [{ base: 21_000, service: 'proxy' }],
    });
    expect(await json('port-scheme', 'remove', 'high', '--yes')).toEqual({ removed: 'high' });

    expect(await json('undo', 'list', 'acme')).toEqual([]);
    for (const [noun, path, more] of [
      ['authlist', 'ip-authlist', { user: 'carol' }],
      ['override', 'overrides', { server: 'ams1', hostname: 'a.example' }],
    ] as const) {
      if (noun === 'authlist') await json('user', 'add', 'acme', 'carol', '--flags', 'proxy');
      for (const at of [1, 2]) {
        const hostname = noun === 'override' ? { hostname: `h${at}.example` } : {};
        const body = { ip: `192.0.2.${at}`, expiry: 2_000_000_000, ...more, ...hostname };
        const made = await fetch(`${cli.base_url}/v0/contract/${path}`, {
          method: 'POST',
          headers: { authorization: basic(token), 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        expect([noun, made.status]).toEqual([noun, 201]);
      }
      expect(await json(noun, 'list', 'acme')).toHaveLength(2);
      expect(await json(noun, 'note', 'acme', '2', 'office Berlin')).toMatchObject({ id: 2 });
      const sought = ['--search', 'BERLIN', '--sort', 'ip', '--ends-before', '+30y'];
      expect(await json(noun, 'list', 'acme', ...sought)).toMatchObject([
        { note: 'office Berlin' },
      ]);
      expect(await json(noun, 'extend', 'acme', '1', '2', '--expiry', '+1y')).toEqual({
        changed: 2,
      });
      expect(await json(noun, 'remove', 'acme', '1', '--yes')).toEqual({ removed: '1' });
      if (noun === 'authlist') {
        expect(await json(noun, 'find', '192.0.2.1')).toMatchObject({ authlist: [], more: [] });
        const holders = { network: '192.0.2.0/24', authlist: [{ account: 'acme', id: 2 }] };
        expect(await json(noun, 'find', '192.0.2.0/24')).toMatchObject(holders);
        expect(await json(noun, 'prove', 'acme', '2')).toMatchObject({ id: 2, proof: 'proven' });
        expect(await json(noun, 'unprove', 'acme', '2')).toMatchObject({ proof: 'unproven' });
        const added = ['acme', '192.0.2.9', 'carol', '--expiry', '+1y'];
        expect(await json(noun, 'add', ...added)).toMatchObject({ id: 3, proof: 'proven' });
        const file = join(cli.data_dir, 'addresses.txt');
        writeFileSync(file, '# offices\n192.0.2.20 # Zürich\n192.0.2.9\n');
        const given = ['acme', file, 'carol', '--expiry', '+1y', '--note', 'office'];
        expect(await json(noun, 'import', ...given, '--dry-run')).toMatchObject({ added: 1 });
        const outcome = (await json(noun, 'import', ...given)) as { lines: object[] };
        expect(outcome.lines).toEqual([
          { line: 2, ip: '192.0.2.20', outcome: 'new', id: 4 },
          { line: 3, ip: '192.0.2.9', outcome: 'listed' },
        ]);
      }
      expect(await json(noun, 'clear', 'acme', '--yes')).toEqual({ cleared: 'acme' });
      expect(await json(noun, 'list', 'acme')).toEqual([]);
    }
    expect(await json('undo', 'list', 'acme')).toHaveLength(2);

    expect(await json('maintenance', 'on')).toEqual({ on: true });
    expect(await json('maintenance', 'status')).toEqual({ on: true });
    expect(await json('maintenance', 'off')).toEqual({ on: false });
    // The tests before created accounts, too.
    const { length: accounts } = (await json('account', 'list')) as object[];
    expect(await json('usage')).toHaveLength(accounts);
    expect(await cli.run('usage', '--by', 'server')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--by: expected with --account'),
    });
    expect(
      await json('usage', '--account', 'acme', '--by', 'user', '--from', '2026-01-01'),
    ).toMatchObject({ by: 'user', from: 1_767_225_600, rows: [] });
    const operator = await json('operator-token', 'create', 'second');
    expect(operator.admin_token).toMatch(/^ewo_/);
    expect(await json('operator-token', 'list')).toHaveLength(2);
    expect(await json('operator-token', 'revoke', String(operator.id), '--yes')).toEqual({
      revoked: String(operator.id),
    });
    expect(
      (await json('audit', '--limit', '3')).map(({ action }: { action: string }) => action),
    ).toEqual(['operator_token.remove', 'operator_token.create', 'maintenance.off']);
    const [newest, second] = await json('audit', '--limit', '2');
    expect(await json('audit', '--limit', '1', `--before=${newest.id}`)).toEqual([second]);
    const search = ['audit', '--search', 'OPERATOR_token second', '--action', 'operator_token'];
    expect(await json(...search, '--since', '1h', '--until', '+10y')).toHaveLength(2);
    expect(await json(...search, '--actor', 'nobody')).toEqual([]);
    expect(await json(...search, '--until', '7d')).toEqual([]);
    expect((await json('audit', '--account', 'acme', '--limit', '2'))[0]).toMatchObject({
      account: 'acme',
    });
    expect(await json('status')).toMatchObject({ accounts, servers: 1, maintenance: false });

    expect(await json('contract', 'remove', 'acme', 'ams1', '--yes')).toEqual({ removed: 'ams1' });
    expect(await json('exit', 'remove', 'ams1', '2001:db8::1', '--yes')).toEqual({
      removed: '2001:db8::1',
    });
    expect(await json('server', 'remove', 'ams1', '--yes')).toEqual({ removed: 'ams1' });
  }, 300_000);

  test('what destroys is not done off a terminal without --yes', async () => {
    for (const args of [
      ['token', 'revoke', 'acme', '1'],
      ['server', 'remove', 'ams1'],
      ['exit', 'remove', 'ams1', '192.0.2.1'],
      ['contract', 'remove', 'acme', 'ams1'],
      ['user', 'raise-token-version', 'acme', 'bob'],
      ['user', 'erase', 'acme', 'bob'],
      ['node', 'revoke', '1'],
      ['authlist', 'remove', 'acme', '1'],
      ['authlist', 'clear', 'acme'],
      ['override', 'remove', 'acme', '1'],
      ['override', 'clear', 'acme'],
      ['operator-token', 'revoke', '1'],
      ['inventory', 'import', 'x.json', '--remove-missing'],
      ['restore', 'x'],
    ]) {
      expectUsageFault(
        await cli.run(...args),
        /^exitward: This .*Add --yes to confirm\.\nAdd --help .*\n$/,
      );
    }
    expect(
      (await fetch(`${cli.base_url}/v0`, { headers: { authorization: basic(token) } })).status,
    ).toBe(200);
  }, 300_000);

  test('a refusal of the server is its message, on standard error, with exit code 1', async () => {
    expectFailure(
      await cli.run('account', 'create', 'acme', ...terms),
      /<name>: an account named "acme" exists/,
    );
    expectFailure(await cli.run('account', 'show', 'nobody'), /no account named "nobody"/);
    expectFailure(
      await cli.run('contract', 'limit', 'acme', 'none', '5'),
      /none is not on the contract/,
    );
  });

  test.each([
    [['nonsense'], /unknown command 'nonsense'/],
    [['account', 'create', 'x'], /required option '--plan <plan>' not specified/],
    [
      ['account', 'change', 'acme', '--expiry', 'tomorrow'],
      /--expiry: "tomorrow" isn't a time; expected /,
    ],
    [
      ['account', 'change', 'acme', '--limit', '5XB'],
      /--limit: "5XB" isn't a size; expected whole bytes/,
    ],
    [
      ['account', 'change', 'acme', '--detailed-billing', 'maybe'],
      /--detailed-billing: expected one of yes, no/,
    ],
    [
      ['contract', 'limit', 'acme', 'ams1', 'much'],
      /<size>: "much" isn't a size; expected whole bytes/,
    ],
    [['port-scheme', 'add', 'x', '20000'], /<bases>: "20000": expected a port and its service/],
    [
      ['user', 'change', 'acme', 'bob', '--flags', 'root'],
      /--flags: expected proxy, billing, admin/,
    ],
    [['inventory', 'import', 'network.xml'], /ends in .json or .csv/],
    [['account', 'show'], /missing required argument 'account'/],
    [['refusal', 'list', '--limit', '0'], /--limit: expected a whole number of at least 1/],
    [['connection', 'list', '--limit', '1001'], /--limit: expected a whole number from 1 to 1000/],
    [
      ['refusal', 'list', '--node', 'fra1-a'],
      /--node: "fra1-a" isn't the id of a node; .*node list/,
    ],
    [['user', 'limit', 'acme', 'bob', '--services', 'none'], /--services: expected names, or all/],
    // The server refuses these, by the names that were typed.
    [['connection', 'list', '--user', 'bob'], /--user: .*; expected --account as well\./],
    [
      ['connection', 'end', '--service', 'proxy'],
      /--account: is missing; expected one of --account, --address, --exit, --server, --node\./,
    ],
    [['connection', 'list', '--exit', '1'], /--exit: "1" is not an IP address/],
    [
      ['refusal', 'list', '--reason', 'expired-token'],
      /--reason: expected one of unknown_address, .*expired_token, .*other\./,
    ],
    [
      ['audit', '--action', 'connections.find'],
      /--action: there is no "connections.find"; expected an action such as .*connection, /,
    ],
    [
      ['audit', '--action', 'authlist,node.paint'],
      /--action: there is no "node.paint"; expected node, node.invite, /,
    ],
    [['usage', '--account', 'acme', '--from', '+2h'], /--from: .* is not before --to, 2/],
    [
      ['user', 'add', 'acme', 'eve', '--max-addresses', '2', '--address-window', '30'],
      /--address-window: expected at least 1 minute\./,
    ],
    [['explain', '--server', 'ams1', ...login, '--port', '1'], /--port: only without --service/],
    [['explain', '--server', 'ams1', '--exit', '192.0.2.1'], /--exit: only with --service/],
    [['status', '--colour'], /unknown option '--colour'/],
  ])('%j is not understood: exit code 2', async (args, says) => {
    expectUsageFault(await cli.run(...args), says);
  });

  deepTest(
    'an inventory is imported from JSON and CSV; every fault is reported and nothing done',
    async () => {
      const [good, bad] = [join(cli.data_dir, 'good.csv'), join(cli.data_dir, 'bad.json')];
      const row = (ip: number) =>
        `fra1,fra1.example.net,Main,Frankfurt,DE,50,8.6,proxy,192.0.2.${ip},${ip}\n`;
      writeFileSync(
        good,
        `name,hostname,title,city,country,latitude,longitude,services,ip,port_base\n${row(1)}${row(2)}`,
      );
      writeFileSync(bad, JSON.stringify({ servers: [{ name: 'x', country: 'de', exit_ips: [] }] }));
      const dry = await cli.run('inventory', 'import', good, '--dry-run');
      expect([dry.code, dry.stdout, dry.stderr]).toEqual([
        0,
        'added\tfra1\t\n',
        'Would add 1 server, add 2 exit IPs.\n',
      ]);
      expect(await json('server', 'list')).toEqual([]);
      expect(await json('inventory', 'import', good)).toMatchObject({
        added: ['fra1'],
        exit_ips_added: 2,
      });
      expect(await json('inventory', 'import', good)).toMatchObject({ unchanged: 1 });
      const exported = await cli.run('inventory', 'export');
      expect(exported.stdout).toBe(
        `name,hostname,title,city,country,latitude,longitude,services,port_schemes,ip,port_base\r\n${[1, 2].map((ip) => `fra1,fra1.example.net,Main,Frankfurt,DE,50,8.6,proxy,default,192.0.2.${ip},${ip}\r\n`).join('')}`,
      );
      for (const document of [
        exported.stdout,
        (await cli.run('inventory', 'export', '--json')).stdout,
      ]) {
        expect(
          await cli.runWith(
            document,
            'inventory',
            'import',
            '-',
            '--remove-missing',
            '--yes',
            '--json',
          ),
        ).toMatchObject({ code: 0, stdout: expect.stringContaining('"unchanged": 1') });
      }
      const refused = await cli.run('inventory', 'import', bad, '--remove-missing', '--yes');
      expectFailure(refused, /7 faults; nothing was changed/);
      expect(refused.stderr.match(/\n- servers\[0\], /g)).toHaveLength(7);
      expectFailure(
        await cli.run('inventory', 'import', 'none.csv'),
        /none.csv can't be read: there is no such file or folder \(ENOENT\)/,
      );
      expect(await json('server', 'list')).toHaveLength(1);
    },
  );

  test('an account is exported whole, as one JSON document without secrets', async () => {
    // Two billing periods ago.
    const day = Math.floor(Date.now() / 86_400_000 - 65) * 86_400;
    const db = new DatabaseSync(join(cli.data_dir, 'exitward.db'), { timeout: 30_000 });
    db.exec(`update accounts set start = ${day} where name = 'acme';
      insert into usage_days (account_id, day, server_id, user_id, up, down)
      select id, ${day}, 1, 1, 3, 4 from accounts where name = 'acme'`);
    db.close();
    const { stdout, code } = await cli.run('account', 'export', 'acme');
    expect(code).toBe(0);
    const document = JSON.parse(stdout);
    for (const by of ['day', 'server', 'user']) {
      expect(document[`usage_by_${by}`]).toEqual([expect.objectContaining({ up: 3, down: 4 })]);
    }
    expect(document).toMatchObject({ format: 1, account: { name: 'acme' }, authlist: [] });
    for (const list of ['users', 'tokens']) {
      expect(document[list]).toEqual(
        await json(list === 'users' ? 'user' : 'token', 'list', 'acme'),
      );
    }
    const whole = await json('audit', '--account', 'acme', '--limit', '1000');
    expect(document.audit).toEqual(whole);
    expect(document.audit.length).toBeGreaterThan(5);
    expect(stdout).not.toMatch(/ew[a-z]_\w{20}/);
    expect((await cli.run('account', 'export', 'acme', '--json')).stdout.length).toBe(
      stdout.length,
    );
    expectFailure(await cli.run('account', 'export', 'nobody'), /no account named "nobody"/);
  });

  test('text that others stored cannot steer the terminal or break a line', async () => {
    await cli.run(
      'user',
      'add',
      'fresh',
      'mallory',
      '--display-name',
      'a\x1b[2Jb\u009bt\u202ec\tc\nd',
    );
    const exported = (await cli.run('account', 'export', 'fresh')).stdout;
    expect(exported).toContain('a\\u001b[2Jb\\u009bt\\u202ec\\tc\\nd');
    await cli.run('user', 'change', 'fresh', 'mallory', '--display-name', 'a\x1b[2Jb\tc\nd');
    const { stdout } = await cli.run('user', 'list', 'fresh');
    expect(stdout).toContain('\ta\\x1b[2Jb\\x09c\\x0ad\t');
    expect(stdout.trim().split('\n')).toHaveLength(1);
  });

  test('the table of users has each permission in the column of its name', async () => {
    await cli.run('account', 'create', 'flags', ...terms);
    const all = ['proxy', 'billing', 'admin'];
    for (const name of all) {
      const flags = all.map((flag) => (flag === name ? flag : `no-${flag}`)).join(',');
      await cli.run('user', 'add', 'flags', name, '--flags', flags);
    }
    const { stdout } = await cli.run('user', 'list', 'flags');
    const rows = stdout.trim().split('\n');
    expect(rows.map((row) => row.split('\t').slice(4, 7))).toEqual([
      ['yes', 'no', 'no'],
      ['no', 'yes', 'no'],
      ['no', 'no', 'yes'],
    ]);
  });

  test('limits of a user to names are lifted by all, and none of them is not an empty cell', async () => {
    await cli.run('account', 'create', 'limited', ...terms);
    await cli.run('user', 'add', 'limited', 'bob', '--services', 'proxy', '--servers', 'none');
    const shown = async () => (await cli.run('user', 'show', 'limited', 'bob')).stdout;
    expect(await shown()).toMatch(/\nservices\tproxy\nservers\tnone\n$/);
    expect((await json('user', 'show', 'limited', 'bob')).limits.servers).toEqual([]);
    await cli.run('user', 'limit', 'limited', 'bob', '--services', 'all', '--servers', 'all');
    expect(await shown()).toMatch(/\nservices\t\nservers\t\n$/);
  });

  test('the operator token comes from the environment or a file, never from the command line, and is not repeated', async () => {
    const wrong = `ewo_${'x'.repeat(36)}`;
    const run = (env: Record<string, string | undefined>) =>
      runCommand(['status'], { ...cli.env, ...env });
    const refused = await run({ EXITWARD_ADMIN_TOKEN: wrong });
    expectFailure(refused, /operator token was not recognised/);
    expect(refused.stderr).not.toContain(wrong);
    const right = readFileSync(join(cli.data_dir, 'admin-token'), 'utf8');
    const elsewhere = { EXITWARD_DATA_DIR: '/nonexistent' };
    expectFailure(
      await run(elsewhere),
      /no operator token: .*admin-token cannot be read \(ENOENT\)/,
    );
    expect((await run({ ...elsewhere, EXITWARD_ADMIN_TOKEN: right })).code).toBe(0);
    const file = { ...elsewhere, EXITWARD_ADMIN_TOKEN_FILE: join(cli.data_dir, 'admin-token') };
    expect((await run(file)).code).toBe(0);
  });

  test('without a setting it asks the server whose URL is beside the token, and a 401 says which that was', async () => {
    const run = (env: Record<string, string>) =>
      runCommand(['status'], { ...cli.env, EXITWARD_ADMIN_URL: '', ...env });
    expect((await run({})).code).toBe(0);
    const file = join(cli.data_dir, 'admin-url');
    const [wrong, url] = [`ewo_${'x'.repeat(36)}`, cli.env.EXITWARD_ADMIN_URL];
    expectFailure(
      await run({ EXITWARD_ADMIN_TOKEN: wrong }),
      new RegExp(`The token went to ${url} \\(by ${file}\\)`),
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o666);
    expectFailure(await run({}), /chmod/);
    chmodSync(file, 0o600);
  });

  test('without that file it asks where a server with these settings listens', async () => {
    const file = join(cli.data_dir, 'admin-url');
    const text = readFileSync(file);
    rmSync(file);
    const run = (EXITWARD_ADMIN_LISTEN: string) =>
      runCommand(['status'], { ...cli.env, EXITWARD_ADMIN_URL: '', EXITWARD_ADMIN_LISTEN });
    const { host } = new URL(cli.env.EXITWARD_ADMIN_URL ?? '');
    expect((await run(host)).code).toBe(0);
    expectFailure(await run('127.0.0.1:9'), /answers at http:\/\/127.0.0.1:9 /);
    // Operators' own listener has TLS except on loopback.
    expectFailure(await run('[2001:db8::1]:9'), /answers at https:\/\/\[2001:db8::1\]:9 /);
    writeFileSync(file, text, { mode: 0o600 });
  });

  deepTest('serve does not take the data of the demo for those of a network', () => {
    const folder = mkdtempSync(join(tmpdir(), 'exitward-cli-'));
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'data/demo.json'), '{}');
    const { status, stderr } = spawnSync(process.execPath, [bin, 'serve'], {
      cwd: folder,
      encoding: 'utf8',
      env: bareEnvironment,
    });
    expect([status, stderr]).toEqual([
      1,
      'data/ holds the demo of "npm start". For a network of your own, use another folder: EXITWARD_DATA_DIR=network exitward serve\n',
    ]);
    rmSync(folder, { recursive: true });
  });

  test('a server that does not run, or is none, is reported in one sentence', async () => {
    const run = (url: string) => runCommand(['status'], { ...cli.env, EXITWARD_ADMIN_URL: url });
    expectFailure(
      await run('http://127.0.0.1:9'),
      /^exitward: No Exitward server answers at http:\/\/127.0.0.1:9 \(by EXITWARD_ADMIN_URL\): .*\n$/,
    );
    expectFailure(await run('mailbox'), /EXITWARD_ADMIN_URL: expected a URL/);
    expectFailure(await run('http://a:b@127.0.0.1'), /without a name or password/);
    // The account API does not serve operators.
    expectFailure(await run(cli.base_url), /There is nothing at GET \/admin\/status/);
  });

  test('the operator token goes to another machine by https alone, unless a flag allows http', async () => {
    const run = (url: string, insecure = '') =>
      runCommand(['status'], {
        ...cli.env,
        EXITWARD_ADMIN_URL: url,
        EXITWARD_ADMIN_INSECURE: insecure,
      });
    // An address of this machine that it would go out by, in the eyes of the command line.
    const other = cli.env.EXITWARD_ADMIN_URL?.replace('127.0.0.1', '0.0.0.0') ?? '';
    for (const insecure of ['', 'no']) {
      expectFailure(
        await run(other, insecure),
        /^exitward: EXITWARD_ADMIN_URL: http:\/\/0\.0\.0\.0:\d+ would send the operator token unencrypted; expected https, or EXITWARD_ADMIN_INSECURE=yes .*\n$/,
      );
    }
    expect(await run(other, 'yes')).toMatchObject({ code: 0, stderr: '' });
    for (const url of ['http://127.0.0.1:9', 'http://localhost:9', 'http://[::1]:9']) {
      expectFailure(await run(url), /No Exitward server answers/);
    }
    expectFailure(await run('http://localhost.example:9'), /unencrypted/);
  });

  test('help and version are asked for, not faults', async () => {
    expect(await cli.run('--version')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    const help = await cli.run('account', 'create', '--help');
    expect([help.code, help.stdout]).toEqual([0, expect.stringContaining('--limit <size>')]);
  });
});

test('an old Node prints which one is needed', async () => {
  const old = "Object.defineProperty(process,'versions',{value:{node:'20.1.0'}})";
  const outcome = await runNode(
    ['--import', `data:text/javascript,${encodeURIComponent(old)}`, bin, 'status'],
    {},
  );
  expect([outcome.code, outcome.stderr]).toEqual([
    1,
    expect.stringMatching(/this is Node 20.1.0; Node 24 or newer is needed/),
  ]);
});

describe('serve', () => {
  test('says what a new network waits for, and ends with 0 on SIGTERM; a fault of the settings is reported in one sentence with 1', async () => {
    const cli = new CommandLine();
    await cli.serve();
    const next =
      /\nSign in at http:\S+ with the operator token in \S+\/admin-token\.\nNext: add a server, by "exitward server add" .* at http:\S+\.\n$/;
    expect(await cli.stop()).toMatchObject({ code: 0, stderr: expect.stringMatching(next) });
    await cli.clean();
    const faulty = new CommandLine({ EXITWARD_LISTEN: 'everywhere' });
    const outcome = await faulty.run('serve');
    expect([outcome.code, outcome.stderr]).toEqual([
      1,
      expect.stringMatching(/EXITWARD_LISTEN: "everywhere" is not valid/),
    ]);
    await faulty.clean();
  });
});

describe('backup and restore', () => {
  const cli = new CommandLine();
  const copy = join(cli.data_dir, 'copy.db');
  const database = join(cli.data_dir, 'exitward.db');
  afterAll(() => cli.clean());
  const epochNow = async () =>
    JSON.parse((await cli.run('status', '--json')).stdout).database.epoch;

  test('a backup is made while the server runs, says what is not inside, and overwrites nothing', async () => {
    await cli.serve();
    await cli.run('account', 'create', 'kept', ...terms);
    const made = await cli.run('backup', copy);
    expect([made.code, made.stdout]).toEqual([0, '']);
    expect(made.stderr).toContain(`Not inside: the keys file ${join(cli.data_dir, 'keys.json')}`);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(await cli.run('backup', copy)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/already exists/),
    });
    await cli.run('account', 'create', 'lost', ...terms);
  });

  test('restore refuses while a server has the database open, and leaves it alone', async () => {
    const refused = await cli.run('restore', copy, '--yes');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/is in use; stop the server first/),
    ]);
    expect((await cli.run('account', 'list')).stdout).toMatch(/^kept\t.*\nlost\t/);
  });

  test('restore puts the backup in place under a new epoch, and sets the old database aside', async () => {
    const before = await epochNow();
    await cli.stop();
    const { code, stdout } = await cli.run('restore', copy, '--yes', '--json');
    expect(code).toBe(0);
    const { set_aside, keys_fit, file } = JSON.parse(stdout);
    expect([file, keys_fit]).toEqual([database, true]);
    await cli.serve();
    expect((await cli.run('account', 'list')).stdout).toMatch(/^kept\t[^\n]*\n$/);
    expect(await epochNow()).not.toBe(before);
    const newest = JSON.parse((await cli.run('audit', '--limit', '50', '--json')).stdout);
    expect(newest.map(({ action }: { action: string }) => action)).toContain('database.restore');
    await cli.stop();
    // The database that was set aside is whole: it can be restored in turn.
    expect(await cli.run('restore', set_aside, '--yes')).toMatchObject({ code: 0 });
    await cli.serve();
    expect((await cli.run('account', 'list')).stdout).toMatch(/^kept\t.*\nlost\t/);
    await cli.stop();
  });

  test('what is no whole database of Exitward, or no file, is refused and nothing touched', async () => {
    const before = readFileSync(database);
    const [text, foreign, cut, newer] = ['text', 'foreign', 'cut', 'newer'].map((name) =>
      join(cli.data_dir, name),
    ) as [string, string, string, string];
    writeFileSync(text, 'no database');
    const other = new DatabaseSync(foreign);
    other.exec('create table network (id); create table notes (id)');
    other.close();
    writeFileSync(cut, readFileSync(copy).subarray(0, 20_000));
    writeFileSync(newer, readFileSync(copy));
    const future = new DatabaseSync(newer);
    future.exec("insert into migrations (id, name) values (999, 'future')");
    future.close();
    for (const [file, says] of [
      [join(cli.data_dir, 'none'), /There is no file/],
      [cli.data_dir, /is a folder; name a backup in it/],
      [text, /not a whole SQLite database/],
      [cut, /not a whole SQLite database/],
      [foreign, /not of Exitward/],
      [newer, /has schema 999; this program knows/],
    ] as const) {
      const { code, stderr } = await cli.run('restore', file, '--yes');
      expect([file, code, stderr]).toEqual([file, 1, expect.stringMatching(says)]);
    }
    expect(readFileSync(database).equals(before)).toBe(true);
  }, 300_000);

  deepTest('restore helps where the database is damaged, or there is none', async () => {
    writeFileSync(database, 'damaged beyond recognition');
    expect(await cli.run('restore', copy, '--yes')).toMatchObject({ code: 0 });
    await cli.serve();
    expect((await cli.run('account', 'list')).stdout).toMatch(/^kept\t/);
    await cli.stop();
    const elsewhere = new CommandLine();
    const { code, stderr } = await elsewhere.run('restore', copy, '--yes');
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/keys file .* does not belong to this database/),
    ]);
    await elsewhere.clean();
  });
});

eachDatabase(({ name, url, emptyUrl }) => {
  test('migrate says what ran, then that there is nothing to do', async () => {
    const cli = new CommandLine({ EXITWARD_DATABASE_URL: await emptyUrl() });
    const first = await cli.run('migrate', '--json');
    expect([first.code, JSON.parse(first.stdout)]).toEqual([
      0,
      { ran: expect.arrayContaining(['network']), schema: expect.any(Number) },
    ]);
    const second = await cli.run('migrate');
    expect([second.code, second.stderr]).toEqual([0, 'Nothing to do.\n']);
    if (name === 'PostgreSQL') {
      for (const args of [
        ['backup', 'x.db'],
        ['restore', 'x.db', '--yes'],
      ]) {
        const { code, stderr } = await cli.run(...args);
        expect([code, stderr]).toEqual([1, expect.stringMatching(/pg_dump/)]);
      }
    }
    await cli.clean();
  });

  deepTest('serve and the commands work the same', async () => {
    const cli = new CommandLine({ EXITWARD_DATABASE_URL: await url() });
    await cli.serve();
    await cli.run('account', 'create', 'acme', ...terms);
    const status = JSON.parse((await cli.run('status', '--json')).stdout);
    expect(status).toMatchObject({
      accounts: 1,
      database: { engine: name === 'SQLite' ? 'sqlite' : 'postgres' },
    });
    await cli.clean();
  });
});
