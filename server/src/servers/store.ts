// The SQL of servers, of the port schemes that they listen on, and of their exit IPs.

import type { Address, Network } from '../../../kit/src/address.ts';
import { findWithin, startOf } from '../db/address_ranges.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { idCondition } from '../db/one_of.ts';
import { inserter } from '../db/rows.ts';
import { isRemoved } from '../lists/batches.ts';
import type { Hostname } from '../values/hostname.ts';

export interface ServerRow {
  id: number;
  name: string;
  hostname: Hostname;
  title: string;
  city: string;
  /** ISO 3166-1 alpha-2, upper case. */
  country: string;
  latitude: number;
  longitude: number;
  /** JSON: array of service names of the current variant. */
  services: string;
  /** Every node of the server has applied every change up to this revision; 0 without nodes. */
  applied_revision: number;
  created_at: number;
  /** Raised to invalidate the VPN key that its nodes had. */
  vpn_generation: number;
}

export interface ExitIpRow {
  server_id: number;
  ip: Address;
  /** Added to the bases of a port scheme, it gives the ports that lead to this address. */
  port_base: number;
  status: string;
  /** The time of the last report; 0 before the first. */
  status_time: number;
  /** Since when it has been on this server; null: an earlier version added it. */
  added_at: number | null;
}

// ---- Servers ------------------------------------------------------------------------------

export function listServers(db: Reader): Promise<Array<ServerRow & { ip_count: number }>> {
  return db.all(
    `select s.*, (select count(*) from exit_ips e where e.server_id = s.id) as ip_count
     from servers s order by s.name`,
  );
}

export function findByName(db: Reader, name: string): Promise<ServerRow | undefined> {
  return db.one('select * from servers where name = $1', [name]);
}

export function findServer(db: Reader, id: number): Promise<ServerRow | undefined> {
  return db.one('select * from servers where id = $1', [id]);
}

/** The names of these servers. */
export async function serverNames(
  db: Reader,
  ids: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const { sql, ids: values } = idCondition('id', ids);
  const rows = await db.all<Pick<ServerRow, 'id' | 'name'>>(
    `select id, name from servers where ${sql}`,
    values,
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** False when the name or the hostname is taken. */
export const insertServer = inserter<ServerRow>('servers', [
  ...(['id', 'name', 'hostname', 'title', 'city', 'country', 'latitude', 'longitude'] as const),
  ...(['services', 'applied_revision', 'created_at'] as const),
]);

/** False when another server has the hostname. */
export async function updateServer(tx: Transaction, row: ServerRow): Promise<boolean> {
  const { id, hostname, title, city, country, latitude, longitude, services } = row;
  const rows = await tx.put(
    `update servers set hostname = $2, title = $3, city = $4, country = $5, latitude = $6, longitude = $7, services = $8
     where id = $1 and not exists (select 1 from servers o where o.hostname = $2 and o.id <> $1) returning id`,
    [id, hostname, title, city, country, latitude, longitude, services],
  );
  return rows.length > 0;
}

/** Frees a hostname for another server in the same transaction; `updateServer` sets a new one. */
export function releaseHostname(tx: Transaction, id: number): Promise<number> {
  return tx.run("update servers set hostname = '~' || id where id = $1", [id]);
}

export function raiseVpnGeneration(tx: Transaction, id: number): Promise<number> {
  return tx.run('update servers set vpn_generation = vpn_generation + 1 where id = $1', [id]);
}

export function setAppliedRevision(tx: Transaction, id: number, revision: number): Promise<number> {
  return tx.run('update servers set applied_revision = $2 where id = $1', [id, revision]);
}

/** How many contracts a server is on. */
export async function contractCount(db: Reader, server_id: number): Promise<number> {
  const row = await db.one<{ contracts: number }>(
    'select count(*) as contracts from contract_servers where server_id = $1',
    [server_id],
  );
  return row?.contracts ?? 0;
}

export async function hasHeldUsage(db: Reader, server_id: number): Promise<boolean> {
  const row = await db.one(
    'select h.id from held_usage h join nodes n on n.id = h.node_id where n.server_id = $1 limit 1',
    [server_id],
  );
  return row !== undefined;
}

/** How many custom DNS entries each account has on a server, except removed ones. */
export function overridesOf(db: Reader, server_id: number) {
  return db.all<{ account_id: number; entries: number }>(
    `select o.account_id, count(*) as entries from overrides o
     where o.server_id = $1 and not ${isRemoved('overrides', 'o')} group by o.account_id`,
    [server_id],
  );
}

/** Removes a server and everything that belongs to it. */
export async function remove(tx: Transaction, id: number): Promise<void> {
  await tx.run(
    'delete from geo_statuses where ip in (select ip from exit_ips where server_id = $1)',
    [id],
  );
  await tx.run('delete from exit_ips where server_id = $1', [id]);
  await tx.run('delete from server_port_schemes where server_id = $1', [id]);
  await tx.run('delete from node_invites where server_id = $1', [id]);
  await tx.run('delete from nodes where server_id = $1', [id]);
  await tx.run('delete from servers where id = $1', [id]);
}

// ---- Port schemes -------------------------------------------------------------------------

/** The port schemes of a server. */
export function portSchemesOf(db: Reader, server_id: number) {
  return db.all<{ id: number; name: string; bases: string }>(
    `select p.* from server_port_schemes s join port_schemes p on p.id = s.port_scheme_id
     where s.server_id = $1 order by p.id`,
    [server_id],
  );
}

/** The port schemes of all servers, or of these, by name. */
export function listServerPortSchemes(db: Reader, only?: readonly number[]) {
  const { sql, ids } = idCondition('s.server_id', only);
  return db.all<{ server_id: number; name: string }>(
    `select s.server_id, p.name from server_port_schemes s join port_schemes p on p.id = s.port_scheme_id
     where ${sql} order by s.server_id, p.id`,
    ids,
  );
}

/** The ids of the servers that listen on a port scheme. */
export function serversOnScheme(db: Reader, port_scheme_id: number) {
  return db.all<{ server_id: number }>(
    'select server_id from server_port_schemes where port_scheme_id = $1',
    [port_scheme_id],
  );
}

/** The servers that listen on a port scheme: the first ones by name, and how many there are. */
export async function firstOnScheme(db: Reader, port_scheme_id: number, maxNames: number) {
  const rows = await db.all<{ name: string; all_of_them: number }>(
    `select s.name, count(*) over () as all_of_them
     from server_port_schemes p join servers s on s.id = p.server_id
     where p.port_scheme_id = $1 order by s.name limit $2`,
    [port_scheme_id, maxNames],
  );
  return { first: rows.map(({ name }) => name), all: rows[0]?.all_of_them ?? 0 };
}

/** The other port schemes of a port scheme's servers, each with its first server. */
export function otherSchemes(db: Reader, port_scheme_id: number) {
  return db.all<{ id: number; name: string; bases: string; server: string }>(
    `select p.id, p.name, p.bases, min(s.name) as server from server_port_schemes one
       join server_port_schemes other on other.server_id = one.server_id
       join port_schemes p on p.id = other.port_scheme_id join servers s on s.id = one.server_id
     where one.port_scheme_id = $1 and other.port_scheme_id <> $1
     group by p.id, p.name, p.bases order by p.id`,
    [port_scheme_id],
  );
}

/** How many accounts and servers have each port scheme. */
export function schemeUses(db: Reader) {
  return db.all<{ id: number; accounts: number; servers: number }>(
    `select p.id, (select count(*) from accounts a where a.port_scheme_id = p.id) as accounts,
       (select count(*) from server_port_schemes s where s.port_scheme_id = p.id) as servers
     from port_schemes p`,
  );
}

/** The port schemes of the contracts that each server is on; of one server, or of all. */
export function schemesInUse(
  db: Reader,
  server_id?: number,
): Promise<Array<{ server_id: number; name: string }>> {
  const only = server_id === undefined ? '' : 'where c.server_id = $1';
  return db.all(
    `select distinct c.server_id, p.name from contract_servers c join accounts a on a.id = c.account_id
     join port_schemes p on p.id = a.port_scheme_id ${only} order by c.server_id, p.name`,
    server_id === undefined ? [] : [server_id],
  );
}

export async function setPortSchemes(
  tx: Transaction,
  server_id: number,
  port_scheme_ids: number[],
): Promise<void> {
  await tx.run('delete from server_port_schemes where server_id = $1', [server_id]);
  await tx.insertMany(
    'server_port_schemes',
    port_scheme_ids.map((port_scheme_id) => ({ server_id, port_scheme_id })),
  );
}

// ---- Exit IPs -----------------------------------------------------------------------------

/** The server that has an exit, and since when. */
export function homeOfExit(
  db: Reader,
  ip: string,
): Promise<Pick<ExitIpRow, 'server_id' | 'added_at'> | undefined> {
  return db.one('select server_id, added_at from exit_ips where ip = $1', [ip]);
}

export function exitIpsOfServer(db: Reader, server_id: number): Promise<ExitIpRow[]> {
  return db.all('select * from exit_ips where server_id = $1 order by port_base', [server_id]);
}

export function listExitIps(db: Reader): Promise<ExitIpRow[]> {
  return db.all('select * from exit_ips order by server_id, port_base');
}

export interface PlacedExitIp {
  ip: string;
  server: string;
  city: string;
  country: string;
  latitude: number;
  longitude: number;
}

/** An address or hostname as it is stored. */
export interface StoredName {
  server: string;
  stored: string;
}

export function exitNames(db: Reader): Promise<StoredName[]> {
  return db.all(
    `select s.name as server, e.ip as stored
     from exit_ips e join servers s on s.id = e.server_id order by s.name, e.port_base`,
  );
}

export function hostnamesOfServers(db: Reader): Promise<StoredName[]> {
  return db.all('select name as server, hostname as stored from servers order by name');
}

/** Exit IPs with their server's place, sorted by the text of their addresses. */
export function exitIpsAfter(db: Reader, after: string, maxRows: number): Promise<PlacedExitIp[]> {
  return db.all(
    `select e.ip, s.name as server, s.city, s.country, s.latitude, s.longitude
     from exit_ips e join servers s on s.id = e.server_id where e.ip > $1 order by e.ip limit $2`,
    [after, maxRows],
  );
}

/** Exit IPs of a network, with their servers, up to a limit. */
export function findExits(db: Reader, network: Network, maxRows: number) {
  return findWithin<{ ip: string; server: string; port_base: number }>(
    network,
    maxRows,
    (range, behind, slice) =>
      db.all(
        `select e.ip, s.name as server, e.port_base from exit_ips e join servers s on s.id = e.server_id
         where e.ip >= $1 and e.ip < $2 order by e.ip limit $3`,
        [startOf(range, behind), range.to, slice],
      ),
  );
}

export interface ExitCounts {
  ok: number;
  warn: number;
  crit: number;
  unknown: number;
}

/** How many exit IPs have each status. Health reports of `fresh_after` or earlier are unknown. */
const counted = `count(*) filter (where shown = 'ok') as ok,
  count(*) filter (where shown = 'warn') as warn, count(*) filter (where shown = 'crit') as crit,
  count(*) filter (where shown = 'unknown') as unknown`;
const shownExits = (condition: string) =>
  `(select server_id, case when status_time > $1 then status else 'unknown' end as shown
    from exit_ips where ${condition}) e`;

/** For all servers, or for these. */
export function exitCounts(db: Reader, fresh_after: number, only?: readonly number[]) {
  const { sql, ids } = idCondition('server_id', only, 2);
  return db.all<ExitCounts & { server_id: number }>(
    `select server_id, ${counted} from ${shownExits(sql)} group by server_id`,
    [fresh_after, ...ids],
  );
}

/** For the whole network. */
export async function allExitCounts(db: Reader, fresh_after: number): Promise<ExitCounts> {
  const row = await db.one<ExitCounts>(`select ${counted} from ${shownExits('1 = 1')}`, [
    fresh_after,
  ]);
  return row as ExitCounts;
}

/** False when the address or the port base is taken. */
export const insertExitIp = inserter<ExitIpRow>('exit_ips', [
  'server_id',
  'ip',
  'port_base',
  'status',
  'status_time',
  'added_at',
]);

/** Inserts exit IPs that are free for sure. */
export async function insertExitIps(tx: Transaction, rows: ExitIpRow[]): Promise<void> {
  if (rows.length > 0) await tx.insertMany('exit_ips', rows as never);
}

/** False when the port base is taken on the server. */
export async function moveExitIp(
  tx: Transaction,
  server_id: number,
  ip: string,
  port_base: number,
): Promise<boolean> {
  const rows = await tx.put(
    `update exit_ips set port_base = $3 where server_id = $1 and ip = $2
       and not exists (select 1 from exit_ips o where o.server_id = $1 and o.port_base = $3) returning ip`,
    [server_id, ip, port_base],
  );
  return rows.length > 0;
}

/** Removes an exit IP that the server gets back at another port base: its geo-IP statuses stay. */
export function takeExitIp(tx: Transaction, server_id: number, ip: string): Promise<number> {
  return tx.run('delete from exit_ips where server_id = $1 and ip = $2', [server_id, ip]);
}

/** Removes an exit IP with its geo-IP statuses. */
export async function deleteExitIp(tx: Transaction, server_id: number, ip: string): Promise<void> {
  await tx.run('delete from geo_statuses where ip = $1', [ip]);
  await takeExitIp(tx, server_id, ip);
}

export function setHealth(
  tx: Transaction,
  server_id: number,
  ip: string,
  status: string,
  status_time: number,
): Promise<number> {
  return tx.run(
    `update exit_ips set status = $3, status_time = $4
     where server_id = $1 and ip = $2 and status_time <= $4`,
    [server_id, ip, status, status_time],
  );
}
