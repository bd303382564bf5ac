// The network in words, as exitward status, history and audit show it on a terminal.
import { expect, test } from 'vitest';
import { screenOf } from '../../kit/src/cli/output.ts';
import { auditInWords } from '../src/cli/audit_words.ts';
import { connectionsShown, endedShown, notesOn, usesShown } from '../src/cli/connections.ts';
import { historyInWords, type Point, sparkline } from '../src/cli/history_words.ts';
import { type Status, statusInWords } from '../src/cli/status_words.ts';

const at = 1_800_000_000;
const point = (more: Partial<Point>): Point => ({
  ...{ at, up: 0, down: 0, measured_seconds: 300, connections_peak: 0, lag_peak: 0 },
  ...{ faults_peak: 0, rejected: {}, ...more },
});

test('a sparkline has a block for each value, and a blank where nothing was measured', () => {
  expect(sparkline([0, 1, 4, 8, undefined])).toBe('▁▂▅█ ');
  expect(sparkline([0, 0])).toBe('▁▁');
});

test('a history of any span fits the width of the terminal, with its highest figures', () => {
  const points = Array.from({ length: 2016 }, (_, index) =>
    point({ at: at + index * 300, down: index * 300e3, connections_peak: index }),
  );
  const rejected = { unknown_address: 3, bad_token: 5 };
  const history = {
    ...{ from: at, to: at + 2016 * 300, step: 300 },
    points: [...points.slice(0, -1), point({ ...points.at(-1), rejected })],
  };
  for (const width of [80, 120]) {
    const text = historyInWords(history, width);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(width);
    expect(text).toMatch(/^to clients .*█ {2}max 16.1 Mbit\/s, 609 GB$/m);
    expect(text).toMatch(/^connections .*█ {2}max 2015$/m);
    expect(text).toContain('Rejected:  bad_token 5, unknown_address 3');
  }
});

test('an audit record is a sentence: who did what to which record, and what changed', () => {
  const record = { at, actor_kind: 'user', actor: 'acme/alice', address: '203.0.113.9' };
  const records = [
    {
      ...{ ...record, account: 'acme', action: 'authlist.create', target: 'authlist/7' },
      ...{ before: null, after: { ip: '203.0.113.7', user: 'bob', expiry: at + 600 } },
    },
    {
      ...{ ...record, actor_kind: 'operator', actor: 'first', account: 'acme' },
      ...{ action: 'account.change', target: 'acme' },
      ...{ before: { limit_bytes: 5e12 }, after: { limit_bytes: 6e12 } },
    },
    {
      ...{ ...record, actor_kind: 'operator', actor: 'first', account: null },
      ...{
        action: 'server.change',
        target: 'fra1',
        before: { title: 'Riga', services: ['proxy'] },
      },
      after: { title: 'Frankfurt', services: [] },
    },
    {
      ...{ ...record, at: at - 86_400, actor_kind: 'system', actor: 'expiry', account: 'acme' },
      ...{ action: 'user.raise_token_version', target: 'bob', before: null, after: null },
    },
  ];
  expect(auditInWords(records, false)).toBe(
    `2027-01-15
08:00Z  acme/alice added 203.0.113.7 to the authlist for bob, until 08:10Z
08:00Z  operator first changed the limit of a period: 5 TB → 6 TB
08:00Z  operator first changed the server fra1: title Riga → Frankfurt, services

2027-01-14
08:00Z  system expiry ended all proxy access tokens of bob (account acme)
`,
  );
  expect(auditInWords(records, true)).toContain('until 08:10Z (from 203.0.113.9)\n');
});

test('the status begins with traffic, nodes and exits, and lists what needs attention', () => {
  const status: Status = {
    ...{ version: '1.0.0', now: at, maintenance: false, accounts: 1, servers: 2 },
    database: { engine: 'sqlite', schema: 1, revision: 5, fault: null },
    nodes: { all: 3, live: 2, lagging: 0 },
    exits: { ok: 4, warn: 0, crit: 1, unknown: 0 },
    ...{ geoip: [], tls: null, backups: null, joining: { obstacles: [] } },
  };
  const latest = point({ down: 300e6, up: 30e6, connections_peak: 12 });
  expect(statusInWords(status, latest)).toBe(
    `Exitward 1.0.0, 2027-01-15 08:00Z

Traffic   8 Mbit/s to clients, 800 kbit/s from clients, 12 connections
Nodes     2 of 3 online
Exit IPs  4 healthy, 1 down
Network   2 servers, 1 account
Database  sqlite, schema 1, revision 5

Needs attention:
-  1 node is offline: exitward node list
-  1 exit IP is down: exitward server list
`,
  );
  const well = {
    ...status,
    nodes: { all: 2, live: 2, lagging: 0 },
    exits: { ...status.exits, crit: 0 },
  };
  expect(statusInWords(well, undefined)).toContain('none was measured lately');
  expect(statusInWords(well, undefined)).toContain('Nothing needs attention.');
  const notices = {
    limits: [{ account: 'acme', user: 'bob', used_up: false, usage: 8.59e9, limit_bytes: 10e9 }],
    rising: [{ account: 'acme', refusals: 1319, usual_refusals: 32 }],
    tries: [{ network: '203.0.113.7', users: 14 }],
  };
  const lines = statusInWords(well, undefined, notices).split('\n').slice(-4, -1);
  expect(lines).toEqual([
    '-  bob of acme used 85% of a limit of 10 GB: exitward user list acme',
    '-  1319 connections of acme refused within an hour, usually 32: exitward refusal list --account acme',
    '-  203.0.113.7 tries 14 users with wrong VPN passwords: exitward refusal list --reason bad_token',
  ]);
});

test('sums of open connections have columns for what they are summed by, and no others', () => {
  const sums = { groups: 3, connections: 5, up: 1e6, down: 2e6 };
  const since = at;
  const row = { account: 'acme', user: 'alice', ...sums, since, last_byte_at: since };
  const [shown = ''] = screenOf(
    connectionsShown({ connections: [], sums: [row], rest: sums, total: sums, missing: [] }),
  ).split('\n');
  expect(shown.split(/ {2,}/)).toEqual([
    ...['ACCOUNT', 'USER', 'GROUPS', 'OPEN', 'FROM CLIENTS', 'TO CLIENTS', 'SINCE', 'LAST BYTE'],
  ]);
});

test('open connections end with their sums, and the silent nodes by reason', () => {
  const none = { groups: 0, connections: 0, up: 0, down: 0 };
  const total = { groups: 1, connections: 12, up: 1.2e6, down: 310e6 };
  const silent = Array.from({ length: 52 }, (_, at) => ({
    ...{ server: `s${at}`, node: `s${at}-a`, reason: 'no_answer' as const },
  }));
  const offline = { server: 'fra1', reason: 'offline' as const };
  expect(notesOn({ connections: [], rest: none, total, missing: [...silent, offline] })).toEqual([
    '12 connections in 1 group, 1.2 MB from clients, 310 MB to clients.',
    'Not included: s0-a, s1-a, s2-a, s3-a, s4-a, s5-a, s6-a, s7-a and 44 others (no answer); fra1 (offline).',
  ]);
  expect(notesOn({ connections: [], rest: none, total: none, missing: [] })).toEqual([]);
});

test('an order to end connections says which nodes were not reached, and until when they may end some', () => {
  const acknowledged = [{ server: 'fra1', node: 'fra1-a', ended: 12 }];
  const saidOf = (...reasons: Array<'offline' | 'unfinished'>) => {
    const missing = reasons.map((reason) => ({ server: 'ams1', node: 'ams1-a', reason }));
    return endedShown({ ended: 12, acknowledged, missing, until: at + 30 }).sentence;
  };
  const done = '12 connections were ended on 1 node.';
  expect(saidOf()).toBe(done);
  expect(saidOf('offline')).toBe(
    `${done} Not reached: ams1-a (offline). They may still be ended there until 08:00:30Z.`,
  );
  expect(saidOf('unfinished')).toBe(
    `${done} Not reached: ams1-a (it has not reported how many it ended).`,
  );
  const nothing = { ended: 0, acknowledged: [{ ended: 0 }, { ended: 0 }], missing: [], until: at };
  expect(endedShown(nothing).sentence).toBe(
    'No open connection matches on the 2 nodes that answered.',
  );
});

test('who used an exit is not known while a node of it cannot say, and only otherwise is there no use', () => {
  const silent = { server: 'fra1', node: 'fra1-a', reason: 'not_logged', has_exit: true } as const;
  const answer = { server: 'fra1' as string | null, uses: [], more: 0 };
  const shown = (...missing: Array<typeof silent>) =>
    usesShown({ ...answer, missing }, '198.51.100.7');
  expect(shown().parts).toMatchObject([{ empty: { noun: 'uses of this exit at that time' } }]);
  expect(shown(silent).parts).toMatchObject([{ empty: undefined }]);
  expect(shown(silent).sentence).toMatch(
    /^Not known\. No data from: fra1-a \(no log of that time\)\./,
  );
  expect(usesShown({ ...answer, server: null, missing: [] }, '198.51.100.7').sentence).toMatch(
    /^No server of this network has the exit IP 198\.51\.100\.7 now\./,
  );
});
