// The things that need attention on the overview, and those that do not.
import { describe, expect, test } from 'vitest';
import { attention } from '../src/account/overview/attention.ts';
import { contractState } from '../src/account/overview/contract_state.ts';
import type { Known } from '../src/account/overview/known.ts';
import { named } from '../src/attention/items.ts';
import type { DnsState } from '../src/dns/entries.ts';

const now = 1_795_229_104;
const day = 86_400;
const keys = (network: Omit<Known, 'now'>) => attention({ now, ...network }).map(({ key }) => key);

const contract = {
  suspended: false,
  expiry: now + 200 * day,
  over_limit: false,
  on_limit: 'refuse',
  detailed_billing: false,
  period: { usage: 10, limit: 100, end: now + 5 * day },
};
const exit = { ip: '203.0.113.1', status: 'ok', geostatus: { 'db-ip': { status: 'ok' } } };
const server = {
  server: 'fra1',
  nodes: { all: 1, live: 1 },
  ips: [exit],
};
const only = <T>(row: T) => ({ found: 1, rows: [row] });
const entry = { ip: '203.0.113.7', user: 'ci', expiry: now + 2 * day };
const override = {
  id: 1,
  server: 'fra1',
  hostname: 'a.example',
  status: 'active' as DnsState['status'],
  on_contract: true,
  nodes: [{ name: 'node-1', live: true, applied: true }],
};

test('where all is well there is nothing to say', () => {
  const network = {
    contract,
    servers: { crit: { found: 0, rows: [] } },
    tokensOver: { found: 0, rows: [] },
    tokensEnding: { found: 0, rows: [] },
    users: [{ name: 'bob', active: true, sign_in: { invited_until: null, last_sign_in_at: null } }],
    session: { has_password: true, second_factor: true },
  };
  expect(keys(network)).toEqual([]);
});

describe('the contract', () => {
  test('is shown when it ends within 30 days, has ended, or is suspended', () => {
    expect(keys({ contract: { ...contract, expiry: now + 30 * day } })).toEqual(['ending']);
    expect(keys({ contract: { ...contract, expiry: now + 30 * day + 1 } })).toEqual([]);
    expect(keys({ contract: { ...contract, expiry: now } })).toEqual(['expired']);
    expect(keys({ contract: { ...contract, suspended: true } })).toEqual(['suspended']);
  });

  test('of a user who may not see usage has no figures and no link to them', () => {
    const over = { ...contract, over_limit: true };
    const of = (seesUsage: boolean) => attention({ now, contract: over, seesUsage })[0];
    expect(of(true)).toMatchObject({ link: { path: '/usage' } });
    expect(of(true)?.sentence).toMatch(/^The limit of 100 B is used up/);
    expect(of(false)).not.toHaveProperty('link');
    expect(of(false)?.sentence).toMatch(/^The limit is used up: connections are/);
  });

  test('is not called active while nodes refuse everything', () => {
    const stateOf = (terms: object) => contractState({ ...contract, ...terms }, now);
    expect(stateOf({})).toEqual({ tone: 'good', text: 'active' });
    expect(stateOf({ over_limit: true })).toEqual({ tone: 'bad', text: 'over the limit' });
    expect(stateOf({ over_limit: true, on_limit: 'allow' }).tone).toBe('warn');
    expect(stateOf({ expiry: now }).text).toBe('ended');
    expect(stateOf({ suspended: true }).text).toBe('suspended');
  });

  test('is shown when its limit is used up, or will be before the period ends', () => {
    const forecast = { usage: 200, bytes_per_day: 40, days: 5, limit_reached_at: now + 2 * day };
    expect(keys({ contract, forecast })).toEqual(['forecast']);
    expect(keys({ contract: { ...contract, over_limit: true }, forecast })).toEqual(['over']);
    expect(keys({ contract, forecast: { ...forecast, limit_reached_at: undefined } })).toEqual([]);
  });

  test("a server's own limit counts with detailed server billing alone", () => {
    const servers = { over_limit: only(server) };
    expect(keys({ contract, servers })).toEqual([]);
    const detailed = { ...contract, detailed_billing: true };
    expect(keys({ contract: detailed, servers })).toEqual(['over-server']);
  });
});

test('servers without a live node, degraded exit IPs, and misplaced ones are shown', () => {
  const ips = ['crit', 'warn', 'unknown'].map((status) => ({ ...exit, status }));
  const misplaced = { ...exit, geostatus: { 'db-ip': { status: 'crit' } } };
  const dark = only({ ...server, nodes: { all: 1, live: 0 }, ips: [...ips, misplaced] });
  const live = only({ ...server, ips });
  const [not_connected, crit, warn] = [dark, dark, dark];
  expect(keys({ servers: { no_node: only(server) } })).toEqual(['bare']);
  const servers = { not_connected, crit, warn, unknown: live, misplaced: dark };
  expect(keys({ servers })).toEqual(['dark', 'exits-crit', 'exits-warn', 'geo', 'exits-unknown']);
  // The same cause has one line: without a node online nothing is checked.
  expect(keys({ servers: { not_connected, unknown: dark } })).toEqual(['dark']);
  // A server without an exit IP is unknown, and nothing is to be said of its exit IPs.
  expect(keys({ servers: { unknown: only({ ...server, ips: [] }) } })).toEqual([]);
});

test('exit IPs are counted where all of them are known, else their servers', () => {
  const bad = { ...exit, status: 'crit' };
  const row = { ...server, ips: [bad, { ...bad, ip: '203.0.113.2' }, exit] };
  const sentences = (count: number, rows: (typeof row)[]) =>
    attention({ now, servers: { crit: { found: count, rows } } }).map(({ sentence }) => sentence);
  expect(sentences(1, [row])).toEqual([
    '2 exit IPs are down: 203.0.113.1 (fra1) and 203.0.113.2 (fra1).',
  ]);
  expect(sentences(1200, [row, row, row, row])).toEqual([
    'On 1,200 servers exit IPs are down: fra1, fra1, fra1 and 1,197 more.',
  ]);
});

test('authlist entries that end within 24 hours, or let no connection in, are shown', () => {
  const sentences = (network: Omit<Known, 'now'>) =>
    attention({ now, ...network }).map(({ sentence }) => sentence);
  const entries = { found: 1, rows: [entry] };
  expect(sentences({ ending: entries })).toEqual([
    '1 authlist entry ends in 2 days: 203.0.113.7 (ci).',
  ]);
  expect(sentences({ idle: entries })).toEqual([
    expect.stringMatching(/^1 authlist entry has no effect, .*: 203\.0\.113\.7 \(ci\)\.$/),
  ]);
  const many = { found: 100_000, rows: [entry, entry, entry, entry] };
  expect(sentences({ ending: many })).toEqual([
    expect.stringMatching(/^100,000 authlist entries end .* and 99,997 more\.$/),
  ]);
});

describe('a pending custom DNS entry', () => {
  const behind = { name: 'node-1', live: true, applied: false };
  const pending = { ...override, status: 'pending' as const, nodes: [behind] };
  const entries = (row: DnsState) => ({ found: 1, rows: [row] });

  test('is given a minute where its nodes are there', () => {
    expect(keys({ pending: entries(pending) })).toEqual([]);
    const since = (seconds: number) => new Map([[1, now - seconds]]);
    expect(keys({ pending: entries(pending), pendingSince: since(59) })).toEqual([]);
    expect(keys({ pending: entries(pending), pendingSince: since(60) })).toEqual(['pending-1']);
  });

  test('is shown at once where a node that it waits for is offline, or there is none', () => {
    const lost = { ...pending, nodes: [{ ...behind, live: false }] };
    expect(attention({ now, pending: entries(lost) })[0]?.sentence).toContain(
      'no node is connected',
    );
    expect(keys({ pending: entries({ ...pending, nodes: [] }) })).toEqual(['pending-1']);
  });

  test('is one of many in one sentence, once the oldest ones have waited for long', () => {
    const rows = [1, 2, 3, 4].map((id) => ({ ...pending, id, nodes: [] }));
    const many = { found: 5000, rows };
    const [item, ...others] = attention({ now, pending: many });
    expect([item?.link?.path, others]).toEqual(['/dns?state=pending', []]);
    expect(item?.sentence).toMatch(/^5,000 custom DNS entries .*: (a\.example on fra1, ){2}/);
    const moving = { found: 5000, rows: rows.map((row) => ({ ...row, nodes: [behind] })) };
    expect(keys({ pending: moving })).toEqual([]);
  });
});

test('API tokens that have expired, or will within a week, are shown', () => {
  const token = (expiry: number) => ({ name: 'ci', expiry });
  const over = { found: 1, rows: [token(now)] };
  expect(keys({ tokensOver: over })).toEqual(['tokens-over']);
  const ending = { found: 1, rows: [token(now + 7 * day)] };
  expect(keys({ tokensEnding: ending })).toEqual(['tokens-ending']);
  const sentences = attention({ now, tokensEnding: { ...ending, found: 12 } });
  expect(sentences[0]?.sentence).toBe(
    '12 API tokens end within 7 days: ci and 11 more. Programs that use them stop working then.',
  );
});

test('users who were invited and have not signed in are shown', () => {
  const rows = ['a', 'b', 'c', 'd'].map((name) => ({ name }));
  const [item] = attention({ now, invited: { found: 2000, rows } });
  expect(item?.sentence).toBe(
    '2,000 invited users have not signed in yet: a, b, c and 1,997 more.',
  );
  expect(keys({ invited: { found: 0, rows: [] } })).toEqual([]);
});

test('a person without a second factor is reminded', () => {
  expect(keys({ session: { has_password: true, second_factor: false } })).toEqual([
    'second-factor',
  ]);
});

test('long lists of names are cut', () => {
  expect(named(['a'])).toBe('a');
  expect(named(['a', 'b', 'c', 'd'])).toBe('a, b, c and d');
  expect(named(['a', 'b', 'c', 'd', 'e'])).toBe('a, b, c and 2 more');
});

test('each item leads to the rows that it names, and to no others', () => {
  const paths = (network: Omit<Known, 'now'>) =>
    attention({ now, ...network }).map(({ link }) => link?.path);
  expect(
    paths({
      idle: { found: 1, rows: [entry] },
      ending: { found: 1, rows: [entry] },
    }),
  ).toEqual(['/authlist?state=idle', '/authlist?ends=24h&state=in_use']);
  const token = { name: 'ci', expiry: now + day };
  expect(paths({ tokensEnding: { found: 1, rows: [token] } })).toEqual([
    '/tokens?state=active&ends=7d',
  ]);
  const pending = { ...override, status: 'pending' as const, nodes: [] };
  expect(paths({ pending: { found: 1, rows: [pending] } })).toEqual([
    '/dns?search=a.example&server=fra1&state=pending',
  ]);
  const ips = [exit, { ...exit, status: 'crit' }];
  expect(paths({ servers: { crit: only({ ...server, ips }) } })).toEqual(['/servers?state=crit']);
  expect(paths({ servers: { not_connected: only(server) } })).toEqual([
    '/servers?state=not_connected',
  ]);
});

test('more refused connections than usual are said with both numbers', () => {
  const rose = { account: 'acme', at: now, refusals: 60, usual_refusals: 0 };
  const [item] = attention({ now, notices: { limits: [], rising: [rose], tries: [] } });
  expect(item).toMatchObject({
    key: 'rising',
    sentence: 'Far more connections than usual are refused: 60 within an hour, usually hardly any.',
  });
});
