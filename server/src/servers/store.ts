// The SQL of servers, their exit IPs, and the servers added to a contract.
import type { Reader, Transaction } from '../db/database.ts';

export interface ServerRow {
  id: number;
  name: string;
  hostname: string;
  title: string;
  city: string;
  country: string;
  latitude: number;
  longitude: number;
  /** JSON: array of service names of the current variant. */
  services: string;
  /** Every change up to this revision is applied by every node of the server; 0 while there is none. */
  applied_revision: number;
  created_at: number;
}

export interface ExitIpRow {
  server_id: number;
  ip: string;
  port_base: number;
  status: string;
  status_time: number;
}

export interface ContractServerRow {
  account_id: number;
  server_id: number;
  limit_bytes: number | null;
  over_limit: number;
  /** When `over_limit` is to be judged anew: the end of its billing period; 0 while it is not over. */
  over_until: number;
  added_at: number;
  /** The change that told the server's nodes of this contract. */
  revision: number;
}

export function all(db: Reader): Promise<Array<ServerRow & { ip_count: number }>> {
  return db.all(
    `select s.*, (select count(*) from exit_ips e where e.server_id = s.id) as ip_count
     from servers s order by s.name`,
  );
}

export function findByName(db: Reader, name: string): Promise<ServerRow | undefined> {
  return db.one('select * from servers where name = $1', [name]);
}

export function findById(db: Reader, id: number): Promise<ServerRow | undefined> {
  return db.one('select * from servers where id = $1', [id]);
}

/** The servers of a contract, with its own limit for each. */
export function ofContract(
  db: Reader,
  account_id: number,
): Promise<
  Array<ServerRow & { own_limit_bytes: number | null; server_over_limit: number; added_at: number }>
> {
  return db.all(
    `select s.*, c.limit_bytes as own_limit_bytes, c.over_limit as server_over_limit, c.added_at
     from contract_servers c join servers s on s.id = c.server_id
     where c.account_id = $1 order by s.name`,
    [account_id],
  );
}

export function findContractServer(
  db: Reader,
  account_id: number,
  server_id: number,
): Promise<ContractServerRow | undefined> {
  return db.one('select * from contract_servers where account_id = $1 and server_id = $2', [
    account_id,
    server_id,
  ]);
}

export function accountsOf(db: Reader, server_id: number): Promise<Array<{ account_id: number }>> {
  return db.all('select account_id from contract_servers where server_id = $1', [server_id]);
}

export function exitIpsOfServer(db: Reader, server_id: number): Promise<ExitIpRow[]> {
  return db.all('select * from exit_ips where server_id = $1 order by port_base', [server_id]);
}

export function exitIpsOfContract(db: Reader, account_id: number): Promise<ExitIpRow[]> {
  return db.all(
    `select e.* from contract_servers c join exit_ips e on e.server_id = c.server_id
     where c.account_id = $1 order by e.server_id, e.port_base`,
    [account_id],
  );
}

export function exitIps(db: Reader): Promise<ExitIpRow[]> {
  return db.all('select * from exit_ips order by server_id, port_base');
}

/** False when the name or the hostname is taken. */
export async function insert(tx: Transaction, row: ServerRow): Promise<boolean> {
  const rows = await tx.put(
    `insert into servers (id, name, hostname, title, city, country, latitude, longitude, services, applied_revision, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing returning id`,
    [
      row.id,
      row.name,
      row.hostname,
      row.title,
      row.city,
      row.country,
      row.latitude,
      row.longitude,
      row.services,
      row.applied_revision,
      row.created_at,
    ],
  );
  return rows.length > 0;
}

/** False when the hostname is another server's. */
export async function update(tx: Transaction, row: ServerRow): Promise<boolean> {
  const rows = await tx.put(
    `update servers set hostname = $2, title = $3, city = $4, country = $5, latitude = $6, longitude = $7, services = $8
     where id = $1 and not exists (select 1 from servers o where o.hostname = $2 and o.id <> $1) returning id`,
    [
      row.id,
      row.hostname,
      row.title,
      row.city,
      row.country,
      row.latitude,
      row.longitude,
      row.services,
    ],
  );
  return rows.length > 0;
}

export function setApplied(tx: Transaction, id: number, revision: number): Promise<number> {
  return tx.run('update servers set applied_revision = $2 where id = $1', [id, revision]);
}

/** How many custom DNS entries each account has on a server: they go with it. */
export function overridesOf(
  db: Reader,
  server_id: number,
): Promise<Array<{ account_id: number; entries: number }>> {
  return db.all(
    'select account_id, count(*) as entries from overrides where server_id = $1 group by account_id',
    [server_id],
  );
}

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

/** False when the address or the port base is taken. */
export async function insertExitIp(tx: Transaction, row: ExitIpRow): Promise<boolean> {
  const rows = await tx.put(
    `insert into exit_ips (server_id, ip, port_base, status, status_time)
     values ($1, $2, $3, $4, $5) on conflict do nothing returning ip`,
    [row.server_id, row.ip, row.port_base, row.status, row.status_time],
  );
  return rows.length > 0;
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

/** Inserts exit IPs that are known to be free. */
export async function insertExitIps(tx: Transaction, rows: ExitIpRow[]): Promise<void> {
  if (rows.length > 0) await tx.insertMany('exit_ips', rows as never);
}

/** Takes an exit IP off a server that gets it back at another port base: what geo-IP says of it stays. */
export function takeExitIp(tx: Transaction, server_id: number, ip: string): Promise<number> {
  return tx.run('delete from exit_ips where server_id = $1 and ip = $2', [server_id, ip]);
}

export async function removeExitIp(tx: Transaction, server_id: number, ip: string): Promise<void> {
  await tx.run('delete from geo_statuses where ip = $1', [ip]);
  await tx.run('delete from exit_ips where server_id = $1 and ip = $2', [server_id, ip]);
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

export function portSchemesOf(
  db: Reader,
  server_id: number,
): Promise<Array<{ id: number; name: string; bases: string }>> {
  return db.all(
    `select p.* from server_port_schemes s join port_schemes p on p.id = s.port_scheme_id
     where s.server_id = $1 order by p.id`,
    [server_id],
  );
}

/** The port schemes of all servers, by name. */
export function schemeNames(db: Reader): Promise<Array<{ server_id: number; name: string }>> {
  return db.all(
    `select s.server_id, p.name from server_port_schemes s join port_schemes p on p.id = s.port_scheme_id
     order by s.server_id, p.id`,
  );
}

/** The port schemes of the contracts that a server is on. */
export function schemesInUse(
  db: Reader,
  server_id: number,
): Promise<Array<{ id: number; name: string }>> {
  return db.all(
    `select distinct p.id, p.name from contract_servers c join accounts a on a.id = c.account_id
     join port_schemes p on p.id = a.port_scheme_id where c.server_id = $1 order by p.id`,
    [server_id],
  );
}

/** The port schemes of all contracts, by the servers they are on. */
export function allSchemesInUse(db: Reader): Promise<Array<{ server_id: number; name: string }>> {
  return db.all(
    `select distinct c.server_id, p.name from contract_servers c join accounts a on a.id = c.account_id
     join port_schemes p on p.id = a.port_scheme_id order by c.server_id, p.name`,
  );
}

/** Frees a hostname that another server takes in the same transaction; `update` gives a new one. */
export function releaseHostname(tx: Transaction, id: number): Promise<number> {
  return tx.run("update servers set hostname = '~' || id where id = $1", [id]);
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

export async function insertContractServer(
  tx: Transaction,
  row: ContractServerRow,
): Promise<boolean> {
  const rows = await tx.put(
    `insert into contract_servers (account_id, server_id, limit_bytes, over_limit, over_until, added_at, revision)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning server_id`,
    [
      row.account_id,
      row.server_id,
      row.limit_bytes,
      row.over_limit,
      row.over_until,
      row.added_at,
      row.revision,
    ],
  );
  return rows.length > 0;
}

/** The ids of the servers that listen on a port scheme. */
export function serversOnScheme(
  db: Reader,
  port_scheme_id: number,
): Promise<Array<{ server_id: number }>> {
  return db.all('select server_id from server_port_schemes where port_scheme_id = $1', [
    port_scheme_id,
  ]);
}

export function updateContractServer(tx: Transaction, row: ContractServerRow): Promise<number> {
  return tx.run(
    `update contract_servers set limit_bytes = $3, over_limit = $4, over_until = $5
     where account_id = $1 and server_id = $2`,
    [row.account_id, row.server_id, row.limit_bytes, row.over_limit, row.over_until],
  );
}

export function removeContractServer(
  tx: Transaction,
  account_id: number,
  server_id: number,
): Promise<number> {
  return tx.run('delete from contract_servers where account_id = $1 and server_id = $2', [
    account_id,
    server_id,
  ]);
}

/** Contract servers over their own limit in a billing period that has ended. */
export function overLimit(db: Reader, now: number, most: number): Promise<ContractServerRow[]> {
  return db.all(
    'select * from contract_servers where over_limit = 1 and over_until <= $1 order by over_until limit $2',
    [now, most],
  );
}
