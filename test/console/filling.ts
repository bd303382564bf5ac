// Fills the demo's database past its server, in a second or two: an account with long lists, in a
// network with thousands of servers.
import type { DatabaseSync } from 'node:sqlite';

type Value = string | number | null;

/** One counter of an account's list; account 0 is the network. */
const last = (db: DatabaseSync, account_id: number, list: string) =>
  (db.prepare('select last from counters where account_id = ? and list = ?').get(account_id, list)
    ?.last as number | undefined) ?? 0;

function count(db: DatabaseSync, account_id: number, list: string, added: number): void {
  db.prepare(
    `insert into counters values (?, ?, ?) on conflict (account_id, list) do update set last = last + ${added}`,
  ).run(account_id, list, added);
}

/** Inserts `rows` rows as `rowOf` makes them, from 1 on. */
function insert(
  db: DatabaseSync,
  table: string,
  rows: number,
  rowOf: (at: number) => Record<string, Value>,
): void {
  const columns = Object.keys(rowOf(1));
  const statement = db.prepare(
    `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
  );
  for (let at = 1; at <= rows; at++) statement.run(...Object.values(rowOf(at)));
}

function accountNamed(db: DatabaseSync, name: string): { id: number; port_scheme_id: number } {
  const row = db.prepare('select id, port_scheme_id from accounts where name = ?').get(name);
  return row as { id: number; port_scheme_id: number };
}

const seconds = () => Math.floor(Date.now() / 1000);

/** Adds so many entries to the authlist of the account; returns how many it holds then. */
export function fillAuthlist(db: DatabaseSync, account: string, entries: number): number {
  const { id: account_id, port_scheme_id } = accountNamed(db, account);
  const begun = last(db, account_id, 'authlist');
  const now = seconds();
  insert(db, 'authlist', entries, (at) => ({
    account_id,
    id: begun + at,
    port_scheme_id,
    ip: `11.${at >> 16}.${(at >> 8) & 255}.${at & 255}`,
    user_id: 1,
    expiry: now + 3600 + at,
    note: at % 7 === 0 ? `Office Zürich ${at}` : '',
    added_by_kind: 'account',
    added_by: `${account}/deploy`,
    added_at: now,
  }));
  count(db, account_id, 'authlist', entries);
  count(db, account_id, 'authlist held', entries);
  return last(db, account_id, 'authlist held');
}

export interface NetworkSize {
  servers: number;
  nodes: number;
  /** Other accounts. */
  accounts: number;
  /** Users, API tokens and custom DNS entries of the account, each. */
  records: number;
}

const places = [
  ['Frankfurt am Main', 'DE', 50.11, 8.68],
  ['San Francisco', 'US', 37.77, -122.42],
  ['Singapore', 'SG', 1.29, 103.85],
  ['São Paulo', 'BR', -23.55, -46.63],
] as const;

/**
 * Adds so many of each beside what is there. All servers are on the account's contract; names are
 * as long as names get in life.
 */
export function fillNetwork(db: DatabaseSync, account: string, size: NetworkSize): void {
  const { id: account_id, port_scheme_id } = accountNamed(db, account);
  const now = seconds();
  const of = (list: string) => last(db, 0, list);
  const [server, node, other] = [of('servers'), of('nodes'), of('accounts')];
  const serverAt = (at: number) => server + 1 + (at % size.servers);

  insert(db, 'servers', size.servers, (at) => {
    const [city, country, latitude, longitude] = places[at % places.length] ?? places[0];
    const name = `${country.toLowerCase()}-${String(at).padStart(4, '0')}`;
    return {
      id: server + at,
      name,
      hostname: `${name}.large.exitward.example`,
      title: city,
      city,
      country,
      latitude,
      longitude,
      services: '["proxy","proxy-https","vpn-ikev2"]',
      applied_revision: 0,
      created_at: now,
    };
  });
  insert(db, 'server_port_schemes', size.servers, (at) => ({
    server_id: server + at,
    port_scheme_id,
  }));
  insert(db, 'exit_ips', size.servers, (at) => ({
    server_id: server + at,
    ip: `12.${at >> 16}.${(at >> 8) & 255}.${at & 255}`,
    port_base: 1,
    status: at % 50 === 0 ? 'fail' : 'ok',
    status_time: now,
  }));
  insert(db, 'contract_servers', size.servers, (at) => ({
    account_id,
    server_id: server + at,
    limit_bytes: null,
    over_limit: 0,
    over_until: 0,
    added_at: now,
    revision: 1,
  }));
  count(db, 0, 'servers', size.servers);

  insert(db, 'nodes', size.nodes, (at) => ({
    id: node + at,
    server_id: serverAt(at),
    name: `proxy-machine-${at}`,
    hash: `filled-${at}`,
    version: '0.2.0',
    applied_revision: 1,
    live: at % 8 === 0 ? 0 : 1,
    joined_at: now,
    seen_at: now,
    connections: at * 13,
  }));
  count(db, 0, 'nodes', size.nodes);

  insert(db, 'accounts', size.accounts, (at) => ({
    id: other + at,
    name: `customer-${at}`,
    plan: 'Business Premium',
    start: now - 86_400 * 100,
    expiry: now + 86_400 * (at % 400),
    limit_bytes: 2e12,
    detailed_billing: 0,
    suspended: 0,
    over_limit: 0,
    over_until: 0,
    on_limit: 'refuse',
    port_scheme_id,
    token_lifetime_seconds: 86_400,
    created_at: now,
  }));
  count(db, 0, 'accounts', size.accounts);

  const user = last(db, account_id, 'users');
  insert(db, 'users', size.records, (at) => ({
    account_id,
    id: user + at,
    name: `maximilian.mustermann-${at}`,
    display_name: `Maximilian Mustermann of the procurement department ${at}`,
    active: 1,
    proxy: 1,
    billing: at % 2,
    admin: 0,
    token_version: 1,
  }));
  count(db, account_id, 'users', size.records);

  const token = last(db, account_id, 'api_tokens');
  insert(db, 'api_tokens', size.records, (at) => ({
    account_id,
    id: token + at,
    name: `continuous integration of shop ${at}`,
    read_only: at % 2,
    hash: `filled-${at}`,
    sealed: null,
    expiry: null,
    created_at: now,
    last_used_at: null,
  }));
  count(db, account_id, 'api_tokens', size.records);

  const override = last(db, account_id, 'overrides');
  insert(db, 'overrides', size.records, (at) => ({
    account_id,
    id: override + at,
    server_id: serverAt(at),
    hostname: `preview-of-a-branch-with-a-long-name-${at}.staging.shop.example.com`,
    ip: `2001:db8:85a3:1234:5678:8a2e:370:${at.toString(16)}`,
    expiry: now + 3600 * at,
    revision: 1,
    note: at % 3 === 0 ? `The shop moves to another data centre, ticket ${at}` : '',
    added_by_kind: 'account',
    added_by: `${account}/deploy`,
    added_at: now,
  }));
  count(db, account_id, 'overrides', size.records);
  count(db, account_id, 'overrides held', size.records);
}
