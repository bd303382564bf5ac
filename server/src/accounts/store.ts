// The SQL of accounts, their contract and their API tokens.
import type { Reader, Transaction } from '../db/database.ts';
import type { Use } from '../last_used.ts';

export interface AccountRow {
  id: number;
  name: string;
  plan: string;
  /** Contract start: billing periods are counted from here. */
  start: number;
  expiry: number;
  limit_bytes: number;
  detailed_billing: number;
  suspended: number;
  over_limit: number;
  /** When `over_limit` is to be judged anew: the end of its billing period; 0 while it is not over. */
  over_until: number;
  on_limit: 'refuse' | 'allow';
  port_scheme_id: number;
  token_lifetime_seconds: number;
  created_at: number;
}

export interface ApiTokenRow {
  account_id: number;
  id: number;
  name: string;
  read_only: number;
  hash: string;
  sealed: string | null;
  expiry: number | null;
  created_at: number;
  last_used_at: number | null;
}

export interface PrincipalRow {
  account_id: number;
  account_name: string;
  token_id: number;
  token_name: string;
  read_only: number;
  token_expiry: number | null;
  contract_expiry: number;
  suspended: number;
  account_version: number;
  contract_version: number;
  usage_version: number;
  network_version: number;
  maintenance: number;
}

/** The account behind a token's hash, with the versions as of the same moment. */
export function principalByHash(db: Reader, hash: string): Promise<PrincipalRow | undefined> {
  return db.one(
    `select a.id as account_id, a.name as account_name, t.id as token_id, t.name as token_name,
       t.read_only, t.expiry as token_expiry, a.expiry as contract_expiry, a.suspended,
       coalesce(v.revision, 0) as account_version, coalesce(v.contract_revision, 0) as contract_version,
       coalesce(v.usage_revision, 0) as usage_version,
       coalesce((select revision from versions where account_id = 0), 0) as network_version,
       (select maintenance from network) as maintenance
     from api_tokens t join accounts a on a.id = t.account_id
     left join versions v on v.account_id = a.id where t.hash = $1`,
    [hash],
  );
}

export function findById(db: Reader, id: number): Promise<AccountRow | undefined> {
  return db.one('select * from accounts where id = $1', [id]);
}

export function findByName(db: Reader, name: string): Promise<AccountRow | undefined> {
  return db.one('select * from accounts where name = $1', [name]);
}

/** A page of accounts in the order of their names. */
export function page(db: Reader, after: string, most: number): Promise<AccountRow[]> {
  return db.all('select * from accounts where name > $1 order by name limit $2', [after, most]);
}

/** False when the name is taken. */
export async function insert(tx: Transaction, row: AccountRow): Promise<boolean> {
  const rows = await tx.put(
    `insert into accounts (id, name, plan, start, expiry, limit_bytes, detailed_billing, suspended,
       over_limit, over_until, on_limit, port_scheme_id, token_lifetime_seconds, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict do nothing returning id`,
    [
      row.id,
      row.name,
      row.plan,
      row.start,
      row.expiry,
      row.limit_bytes,
      row.detailed_billing,
      row.suspended,
      row.over_limit,
      row.over_until,
      row.on_limit,
      row.port_scheme_id,
      row.token_lifetime_seconds,
      row.created_at,
    ],
  );
  return rows.length > 0;
}

export function update(tx: Transaction, row: AccountRow): Promise<number> {
  return tx.run(
    `update accounts set plan = $2, start = $3, expiry = $4, limit_bytes = $5, detailed_billing = $6,
       suspended = $7, over_limit = $8, over_until = $9, on_limit = $10, port_scheme_id = $11,
       token_lifetime_seconds = $12
     where id = $1`,
    [
      row.id,
      row.plan,
      row.start,
      row.expiry,
      row.limit_bytes,
      row.detailed_billing,
      row.suspended,
      row.over_limit,
      row.over_until,
      row.on_limit,
      row.port_scheme_id,
      row.token_lifetime_seconds,
    ],
  );
}

export function insertToken(tx: Transaction, row: ApiTokenRow): Promise<void> {
  return tx.insertMany('api_tokens', [{ ...row }]);
}

export function tokens(db: Reader, account_id: number): Promise<ApiTokenRow[]> {
  return db.all('select * from api_tokens where account_id = $1 order by id', [account_id]);
}

export function findToken(
  db: Reader,
  account_id: number,
  id: number,
): Promise<ApiTokenRow | undefined> {
  return db.one('select * from api_tokens where account_id = $1 and id = $2', [account_id, id]);
}

export function removeToken(tx: Transaction, account_id: number, id: number): Promise<number> {
  return tx.run('delete from api_tokens where account_id = $1 and id = $2', [account_id, id]);
}

export async function markTokensUsed(tx: Transaction, uses: readonly Use[]): Promise<void> {
  await Promise.all(
    uses.map(({ account_id, id, at }) =>
      tx.run(
        'update api_tokens set last_used_at = $3 where account_id = $1 and id = $2 and (last_used_at is null or last_used_at < $3)',
        [account_id, id, at],
      ),
    ),
  );
}

/** True while the account lists addresses: each is claimed on the account's port scheme. */
export async function listsAddresses(db: Reader, account_id: number): Promise<boolean> {
  return (
    (await db.one('select id from authlist where account_id = $1 limit 1', [account_id])) !==
    undefined
  );
}

/** The names of the account's servers that do not listen on a port scheme. */
export async function serversWithoutScheme(
  db: Reader,
  account_id: number,
  port_scheme_id: number,
): Promise<string[]> {
  const rows = await db.all<{ name: string }>(
    `select s.name from contract_servers c join servers s on s.id = c.server_id
     where c.account_id = $1 and not exists (
       select 1 from server_port_schemes p where p.server_id = s.id and p.port_scheme_id = $2)
     order by s.name`,
    [account_id, port_scheme_id],
  );
  return rows.map((row) => row.name);
}

/** Accounts over the limit of a billing period that has ended. */
export function overLimit(db: Reader, now: number, most: number): Promise<AccountRow[]> {
  return db.all(
    'select * from accounts where over_limit = 1 and over_until <= $1 order by over_until limit $2',
    [now, most],
  );
}

export interface PortSchemeRow {
  id: number;
  name: string;
  /** JSON: `[{"base": 10000, "service": "proxy"}, …]` */
  bases: string;
}

export function portSchemes(db: Reader): Promise<PortSchemeRow[]> {
  return db.all('select * from port_schemes order by id');
}

export function findPortScheme(db: Reader, name: string): Promise<PortSchemeRow | undefined> {
  return db.one('select * from port_schemes where name = $1', [name]);
}

export async function insertPortScheme(tx: Transaction, row: PortSchemeRow): Promise<boolean> {
  const rows = await tx.put(
    'insert into port_schemes (id, name, bases) values ($1, $2, $3) on conflict do nothing returning id',
    [row.id, row.name, row.bases],
  );
  return rows.length > 0;
}
