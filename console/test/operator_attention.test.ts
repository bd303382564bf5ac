// The things that need attention on the operator's overview, and how servers and accounts stand.
import { expect, test } from 'vitest';
import { attention, type Network } from '../src/operator/attention.ts';
import {
  type Account,
  accountStates,
  lagText,
  nodeGroups,
  nodeState,
  serverState,
} from '../src/operator/states.ts';

const now = 1_800_000_000;
const day = 86_400;

function network(changes: Partial<Network> = {}): Network {
  return {
    now,
    status: {
      version: '0.1.0',
      may_find_connections: false,
      operator: 'alice',
      has_users: true,
      has_usage: true,
      now,
      maintenance: false,
      database: {
        ...{ engine: 'sqlite', schema: 5, epoch: 'e', revision: 9 },
        ...{ answers: true, fault: null },
      },
      accounts: 1,
      servers: 1,
      nodes: { all: 1, live: 1, lagging: 0 },
      exits: { ok: 2, warn: 0, crit: 0, unknown: 0 },
      geoip: [],
      geofeed: null,
      tls: null,
      backups: null,
      joining: { url: 'https://exitward.example', obstacles: [] },
    },
    accounts: sentences([]),
    servers: servers(),
    nodes: [node()],
    misplaced: [],
    notices: { limits: [], rising: [], tries: [] },
    ...changes,
  };
}

/** As the server finds them by their states. */
const sentences = (of: ReturnType<typeof account>[]) => {
  const by = (is: (row: ReturnType<typeof account>) => boolean) => {
    const rows = of.filter(is);
    return { found: rows.length, rows };
  };
  return {
    over: by(({ over_limit }) => over_limit),
    ended: by(({ expiry }) => expiry <= now),
    ending: by(({ expiry }) => expiry > now && expiry <= now + 30 * day),
    suspended: by(({ suspended }) => suspended),
  };
};

const account = (changes: Partial<Account> = {}) => ({
  name: 'acme',
  plan: 'Team',
  start: now - day,
  expiry: now + 365 * day,
  limit_bytes: 1000,
  period: { start: now - day, end: now + day, usage: 0 },
  over_limit: false,
  on_limit: 'refuse' as const,
  detailed_billing: false,
  suspended: false,
  port_scheme: 'default',
  token_lifetime_seconds: day,
  created_at: now - day,
  ...changes,
});

const server = (name = 'fra1', exits: object = {}) => ({
  name,
  exits: { ok: 2, warn: 0, crit: 0, unknown: 0, ...exits },
});

/** Servers by what is wrong with them, as the server finds them. */
const servers = (
  listed: Partial<Record<keyof Network['servers'], Array<ReturnType<typeof server>>>> = {},
) => {
  const of = (first: Array<ReturnType<typeof server>> = []) => ({ first, found: first.length });
  return {
    dark: of(listed.dark),
    bare: of(listed.bare),
    crit: of(listed.crit),
    warn: of(listed.warn),
  };
};

const counts = (of: object) => ({ all: 1, live: 1, drained: 0, lag: 0, ...of });

const node = (changes: Partial<Network['nodes'][number]> = {}) => ({
  id: 1,
  max_bytes_per_second: null,
  bytes_per_second: 0,
  server: 'fra1',
  name: 'fra1-a',
  version: '0.1.0',
  is_behind: false,
  drained_at: null,
  connections: 0,
  certificate_expiry: null,
  connection_log: null,
  live: true,
  joined_at: now - day,
  seen_at: now,
  applied_revision: 9,
  lag: 0,
  faults: [],
  ...changes,
});

const keysOf = (changes: Partial<Network>) => attention(network(changes)).map(({ key }) => key);

test('a network in order needs nothing', () => {
  expect(attention(network())).toEqual([]);
});

test('an offline node is named, or its server where no other node is online: never both', () => {
  const lost = node({ live: false, seen_at: now - 600 });
  const dark = servers({ dark: [server()] });
  const sentencesOf = (changes: Partial<Network>) =>
    attention(network(changes)).map(({ sentence }) => sentence);
  expect(sentencesOf({ nodes: [lost], servers: dark })).toEqual([
    '1 server has no online node: fra1 (last seen 10 minutes ago). Changes don’t reach it.',
  ]);
  expect(sentencesOf({ nodes: [lost, node({ id: 2, name: 'fra1-b' })] })).toEqual([
    '1 node is offline: fra1-a on fra1 (seen 10 minutes ago).',
  ]);
});

test('each item leads to the rows that it names, by the rules that the page filters by', () => {
  const fault = { kind: 'disk', subject: null, message: 'It is full.', since: now };
  const nodes = [
    node({ live: false }),
    node({ id: 4, server: 'ams1', live: false }),
    node({ id: 2, server: 'ams1', drained_at: now }),
    node({ id: 3, server: 'ams1', lag: 2, faults: [fault] }),
  ];
  const accounts = sentences(['a', 'b'].map((name) => account({ name, over_limit: true })));
  const first = servers({ dark: [server()], bare: [server('syd1')] });
  const items = attention(network({ nodes, accounts, servers: first }));
  expect(Object.fromEntries(items.map(({ key, link }) => [key, link?.path]))).toEqual({
    lost: '/operator/nodes?state=lost',
    lagging: '/operator/nodes?state=lagging',
    drained: '/operator/nodes?state=drained',
    faulty: '/operator/nodes?state=faulty',
    dark: '/operator/servers?nodes=bad',
    bare: '/operator/servers?nodes=neutral',
    over: '/operator/accounts?state=over',
  });
  expect(nodes.filter(nodeGroups.drained.has).map(({ id }) => id)).toEqual([2]);
});

test('a lost node beside a live one leaves its server served', () => {
  const nodes = [node(), node({ id: 2, name: 'fra1-b', live: false })];
  expect(keysOf({ nodes })).toEqual(['lost']);
  expect(serverState(counts({ all: 2 }))).toEqual({ tone: 'warn', text: '1 of 2 nodes online' });
});

test('a live node that lags is shown, an offline one only as offline', () => {
  expect(keysOf({ nodes: [node({ lag: 7 })] })).toEqual(['lagging']);
  expect(keysOf({ nodes: [node({ lag: 7, live: false })] })).not.toContain('lagging');
  expect(serverState(counts({ lag: 7 }))).toEqual({ tone: 'warn', text: '7 changes behind' });
});

test('a drained node is named until it takes connections again, and a server says whether others do', () => {
  const drained = node({ drained_at: now - 7200, connections: 3 });
  const [item, ...others] = attention(network({ nodes: [drained] }));
  expect(others).toEqual([]);
  expect(item).toMatchObject({
    key: 'drained',
    sentence:
      '1 node is drained and accepts no new connections: fra1-a on fra1 (drained 2 hours ago).',
  });
  expect(nodeState(drained)).toEqual({ tone: 'warn', text: 'drained, 3 open' });
  expect(nodeState({ ...drained, connections: 0 }).text).toBe('drained');
  const old = { ...drained, connections: null, is_behind: true };
  expect(nodeState(old)).toEqual({ tone: 'bad', text: 'agent too old to drain' });
  expect(serverState(counts({ drained: 1 }))).toEqual({ tone: 'bad', text: 'drained' });
  const both = counts({ all: 2, live: 2, drained: 1 });
  expect(serverState(both)).toEqual({ tone: 'warn', text: '1 of 2 nodes drained' });
  expect(keysOf({ nodes: [{ ...drained, live: false }] })).not.toContain('drained');
});

test('a live node that reports faults is named, with their kinds and since when', () => {
  const fault = { kind: 'exit_address', subject: '192.0.2.1', message: 'It is not there.' };
  const faults = [
    { ...fault, since: now - 3600 },
    { ...fault, since: now - 60 },
    { kind: 'disk', subject: null, message: 'It is full.', since: now + 5 },
  ];
  const [item, ...others] = attention(network({ nodes: [node({ faults })] }));
  expect(others).toEqual([]);
  expect(item).toMatchObject({
    key: 'faulty',
    tone: 'warn',
    sentence: '1 node reports problems: fra1-a on fra1 (exit address, disk; first 1 hour ago).',
  });
  expect(keysOf({ nodes: [node({ faults, live: false })] })).not.toContain('faulty');
});

test('10000 stands for that many changes or more', () => {
  expect(lagText(1)).toBe('1 change behind');
  expect(lagText(10_000)).toBe('10,000 changes or more to apply');
});

test('a server without a node is distinguished from one whose nodes are offline', () => {
  expect(keysOf({ nodes: [], servers: servers({ bare: [server()] }) })).toEqual(['bare']);
  expect(serverState(counts({ all: 0, live: 0 }))).toEqual({
    tone: 'neutral',
    text: 'no node yet',
  });
});

test('exit IPs that are down or degraded are shown by server, and unknown ones are not', () => {
  const fra1 = server('fra1', { ok: 0, crit: 2 });
  const ams1 = server('ams1', { warn: 1, crit: 1 });
  const listed = servers({ crit: [fra1, ams1], warn: [ams1] });
  const status = { ...network().status, exits: { ok: 2, warn: 1, crit: 3, unknown: 1 } };
  const items = attention(network({ servers: listed, status }));
  expect(items.map(({ key, tone, sentence }) => [key, tone, sentence])).toEqual([
    ['exits-crit', 'bad', '3 exit IPs are down: 2 on fra1 and 1 on ams1.'],
    ['exits-warn', 'warn', '1 exit IP is degraded: 1 on ams1.'],
  ]);
  expect(items.map(({ link }) => link?.text)).toEqual(['Servers', 'ams1']);
});

test('of many servers the first ones are named, and how many more there are', () => {
  const first = ['a', 'b', 'c', 'd'].map((name) => server(name));
  const listed = { ...servers(), dark: { first, found: 606 } };
  const [item] = attention(network({ servers: listed }));
  expect(item?.sentence).toContain('606 servers have no online node: a, b, c and 603 more.');
});

test('an exit IP that two providers see elsewhere counts once, as long as they are asked', () => {
  const exit = { server: 'fra1', ip: '192.0.2.1' };
  const misplaced = [exit, exit];
  const { status } = network();
  const geoip = [{ provider: 'db-ip', type: 'City', built_at: now, file: 'a.mmdb', fault: null }];
  const [item] = attention(network({ misplaced, status: { ...status, geoip } }));
  expect(item?.sentence).toContain('1 exit IP in another country');
  expect(attention(network({ misplaced }))).toEqual([]);
});

test('accounts over the limit, ended, ending within 30 days and suspended are shown, the worst first', () => {
  const accounts = sentences([
    account({ name: 'soon', expiry: now + 30 * day }),
    account({ name: 'later', expiry: now + 30 * day + 1 }),
    account({ name: 'held', suspended: true }),
    account({ name: 'over', over_limit: true }),
    account({ name: 'gone', expiry: now }),
  ]);
  const items = attention(network({ accounts }));
  expect(items.map(({ key }) => key)).toEqual(['over', 'ended', 'ending', 'suspended']);
  expect(items[2]?.sentence).toContain('soon (in 1 month)');
  expect(items.map(({ sentence }) => sentence).join(' ')).not.toContain('later');
});

test('maintenance, a lost database file and a geo-IP file with a fault are shown', () => {
  const { status } = network();
  const geoip = [
    { provider: 'dbip', file: '/dbip.mmdb', type: 'City', built_at: now, fault: 'it is cut off' },
    { provider: 'other', file: '/other.mmdb', type: 'City', built_at: now, fault: null },
  ];
  const database = { ...status.database, fault: 'The file was removed.' };
  expect(keysOf({ status: { ...status, maintenance: true, database, geoip } })).toEqual([
    'maintenance',
    'database',
    'geoip-dbip',
  ]);
});

test('a certificate that is missing, ends soon or is not renewed is shown with the reason', () => {
  const { status } = network();
  const tls = {
    source: 'acme' as const,
    names: ['control.example.net'],
    not_after: now + 60 * day,
    renewal_due: now + 46 * day,
    last_error: null as string | null,
    last_error_code: null,
    rejection: null as string | null,
    next_try: now + day,
  };
  const sentences = (changes: Partial<NonNullable<Network['status']['tls']>>) =>
    attention(network({ status: { ...status, tls: { ...tls, ...changes } } }));
  expect(sentences({})).toEqual([]);
  const rejection = 'Clients that verify the certificate reject it: it is signed by itself.';
  expect(sentences({ rejection })).toMatchObject([{ tone: 'bad', sentence: rejection }]);
  const last_error = 'ca.example does not reach it.';
  expect(sentences({ last_error })).toMatchObject([
    { tone: 'warn', sentence: `No new certificate: ${last_error}` },
  ]);
  expect(sentences({ source: 'self_signed', last_error })).toMatchObject([
    { tone: 'bad', sentence: `There is no certificate yet: ${last_error}` },
  ]);
  expect(sentences({ not_after: now + 14 * day, renewal_due: now })).toMatchObject([
    { tone: 'warn', sentence: expect.stringMatching(/^The certificate of control.* expires /) },
  ]);
  expect(sentences({ not_after: now + 2 * day, renewal_due: now + day })).toEqual([]);
  expect(sentences({ not_after: now, renewal_due: now - day, last_error })).toMatchObject([
    {
      tone: 'bad',
      sentence: expect.stringMatching(/ expired .*\. ca\.example does not reach it\.$/),
    },
  ]);
});

test('an account may be suspended and over its limit at once', () => {
  const states = accountStates(account({ suspended: true, over_limit: true }), now);
  expect(states.map(({ text }) => text)).toEqual(['suspended', 'over the limit']);
});

test('backups need attention when they fail, and more so when there is no good one for long', () => {
  const backups = {
    folder: '/b',
    every_seconds: day,
    keep: 14,
    verify: true,
    last: { file: '/b/2.db', at: now - day, bytes: 1 },
    last_verified: { file: '/b/1.db', at: now - 3 * day, verified_at: now - 3 * day },
    fault: null,
    late: false,
  };
  const items = (changes: Partial<typeof backups> | { fault: string }) =>
    attention(network({ status: { ...network().status, backups: { ...backups, ...changes } } }));
  expect(items({})).toEqual([]);
  expect(items({ fault: 'The disk is full.' })).toMatchObject([
    {
      key: 'backups',
      tone: 'warn',
      sentence: expect.stringMatching(/^The last good .*: The disk is full\.$/),
    },
  ]);
  expect(items({ late: true })).toMatchObject([{ key: 'backups', tone: 'bad' }]);
});

test('accounts whose refusals rise are named with what is usual, and addresses that try many users', () => {
  const rose = { account: 'acme', at: now, refusals: 1319, usual_refusals: 32 };
  const tries = [{ network: '2001:db8:1:2::/64', users: 14, at: now }];
  const items = attention(network({ notices: { limits: [], rising: [rose], tries } }));
  expect(items).toMatchObject([
    {
      tone: 'warn',
      sentence:
        '1 account has far more refused connections than usual: acme (1,319 within an hour, usually 32).',
      link: { path: '/operator/refusals?account=acme' },
    },
    {
      tone: 'warn',
      sentence:
        '1 address tries many users with wrong VPN passwords: 2001:db8:1:2::/64 (14 users).',
      link: { path: '/operator/refusals?reason=bad_token' },
    },
  ]);
  const rising = [rose, { ...rose, account: 'other', usual_refusals: 0 }];
  const [several] = attention(network({ notices: { limits: [], rising, tries: [] } }));
  expect(several?.sentence).toContain('acme (1,319 within an hour, usually 32) and other (1,319');
  expect(several?.link?.path).toBe('/operator/refusals');
});

test('users who used up their own limit are named apart from those who are near it', () => {
  const of = { account: 'acme', limit_bytes: 10e9, on_limit: 'refuse' as const, until: now + day };
  const limits = [
    { ...of, user: 'alice', usage: 10e9, used_up: true },
    { ...of, user: 'bob', usage: 8.59e9, used_up: false },
    { ...of, user: 'carol', usage: 9.999e9, used_up: false },
  ];
  const itemsOf = (users: typeof limits) =>
    attention(network({ notices: { limits: users, rising: [], tries: [] } }));
  const items = itemsOf(limits);
  expect(items).toMatchObject([
    {
      tone: 'bad',
      sentence: 'alice (acme) used up the user’s limit of 10 GB; the next period begins in 1 day.',
      link: { path: '/operator/accounts/acme/users/alice', text: 'alice' },
    },
    {
      tone: 'warn',
      sentence: '2 users used 80% or more of their limits: bob (acme, 85%) and carol (acme, 99%).',
      link: { path: '/operator/accounts' },
    },
  ]);
  expect(itemsOf(limits.slice(1, 2))).toMatchObject([
    {
      sentence:
        'bob (acme) used 85% of the user’s limit of 10 GB; the next period begins in 1 day.',
    },
  ]);
});
