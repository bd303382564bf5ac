// The SQL of the operator's side: operator tokens, the audit log, and the state of the whole
// network.
import type { AuditRecord } from '../changes/audit_record.ts';
import type { Reader, Transaction, Value } from '../db/database.ts';
import { inserter } from '../db/rows.ts';
import type { Hashes } from '../keys/secrets.ts';
import type { Use } from '../observed/last_used.ts';

export interface OperatorTokenRow {
  id: number;
  name: string;
  hash: string;
  created_at: number;
  last_used_at: number | null;
  /** Whether its holder may ask who used an exit. */
  may_find_connections: number;
}

export function findOperator(db: Reader, hashes: Hashes): Promise<OperatorTokenRow | undefined> {
  return db.one('select * from admin_tokens where hash in ($1, $2, $3)', [...hashes]);
}

export function findToken(db: Reader, id: number): Promise<OperatorTokenRow | undefined> {
  return db.one('select * from admin_tokens where id = $1', [id]);
}

export function listOperatorTokens(db: Reader): Promise<OperatorTokenRow[]> {
  return db.all('select * from admin_tokens order by id');
}

export async function countTokens(db: Reader): Promise<number> {
  const row = await db.one<{ tokens: number }>('select count(*) as tokens from admin_tokens');
  return row?.tokens ?? 0;
}

/** False when the name is taken. */
export const insertToken = inserter<OperatorTokenRow>('admin_tokens', [
  'id',
  'name',
  'hash',
  'created_at',
  'last_used_at',
  'may_find_connections',
]);

export function removeToken(tx: Transaction, id: number): Promise<number> {
  return tx.run('delete from admin_tokens where id = $1', [id]);
}

export async function markOperatorTokensUsed(tx: Transaction, uses: readonly Use[]): Promise<void> {
  await Promise.all(
    uses.map(({ id, at }) =>
      tx.run(
        'update admin_tokens set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $2)',
        [id, at],
      ),
    ),
  );
}

export async function isInMaintenance(db: Reader): Promise<boolean> {
  const row = await db.one<{ maintenance: number }>('select maintenance from network');
  return row?.maintenance === 1;
}

export function setMaintenance(tx: Transaction, on: boolean): Promise<number> {
  return tx.run('update network set maintenance = $1', [on ? 1 : 0]);
}

export interface Counts {
  accounts: number;
  servers: number;
  nodes: number;
  live_nodes: number;
  /** 1 when there is at least one. */
  has_users: number;
  has_usage: number;
}

export async function counts(db: Reader): Promise<Counts> {
  const row = await db.one<Counts>(
    `select (select count(*) from accounts) as accounts, (select count(*) from servers) as servers,
       (select count(*) from nodes where revoked_at is null) as nodes,
       (select count(*) from nodes where revoked_at is null and live = 1) as live_nodes,
       (select count(*) from (select 1 from users limit 1) as one) as has_users,
       (select count(*) from (select 1 from usage_periods where bytes > 0 limit 1) as one) as has_usage`,
  );
  return row as Counts;
}

/**
 * How many revisions before the newest one are searched for a change that a node lacks; a node
 * further behind lags anyway.
 */
const searched = 10_000;

/** The changes that some node lacks. */
const lacked = `kind not in ('explain', 'connections', 'end_connections', 'exit_uses') and revision > (select revision from network) - ${searched}
  and revision > (select min(applied_revision) from nodes where revoked_at is null)`;

/**
 * Nodes, live or not, that have not applied every change that concerns their server, found with one
 * scan of the changes.
 */
export async function laggingNodes(db: Reader): Promise<number> {
  const row = await db.one<{ nodes: number }>(
    `select count(*) as nodes from nodes n left join (select server_id, max(revision) as revision from (
         select server_id, revision from changes where server_id is not null and ${lacked}
         union all
         select s.server_id, c.revision from (select account_id, max(revision) as revision from changes
             where server_id is null and account_id is not null and ${lacked} group by account_id) c
           join contract_servers s on s.account_id = c.account_id) l
       group by server_id) w on w.server_id = n.server_id
     where n.revoked_at is null and (n.applied_revision < w.revision
       or n.applied_revision < (select revision from network) - ${searched}
       or n.applied_revision < (select max(revision) from changes
         where server_id is null and account_id is null and ${lacked}))`,
  );
  return row?.nodes ?? 0;
}

/** An audit record with the name of its account. */
export type NamedAuditRecord = AuditRecord & { account: string | null };

/** The number of records that are read in one turn of the event loop. */
export const walked = 2000;

/** Conditions on the records, `u`; their values begin with `$1`. */
export interface AuditConditions {
  sql: readonly string[];
  values: readonly Value[];
}

/**
 * The oldest of the next `maxRows` records below an id, of one account or of all, and whether there
 * are that many.
 */
export async function auditSlice(
  db: Reader,
  account_id: number | null,
  before: number,
  maxRows: number,
): Promise<{ oldest: number; isLast: boolean }> {
  const ofAccount = account_id === null ? '' : 'account_id = $3 and';
  const row = await db.one<{ oldest: number | null; count: number }>(
    `select min(id) as oldest, count(*) as count
     from (select id from audit where ${ofAccount} id < $1 order by id desc limit $2) a`,
    [before, maxRows, ...(account_id === null ? [] : [account_id])],
  );
  return { oldest: row?.oldest ?? before, isLast: (row?.count ?? 0) < maxRows };
}

/** The records of these ids that meet the conditions, newest first, at most `maxRecords`. */
export function auditWithin(
  db: Reader,
  { sql, values }: AuditConditions,
  from: number,
  before: number,
  maxRecords: number,
): Promise<NamedAuditRecord[]> {
  const [first, last, limit] = [1, 2, 3].map((at) => `$${values.length + at}`);
  const where = [...sql, `u.id >= ${first}`, `u.id < ${last}`].join(' and ');
  return db.all(
    `select u.*, a.name as account from audit u left join accounts a on a.id = u.account_id
     where ${where} order by u.id desc limit ${limit}`,
    [...values, from, before, maxRecords],
  );
}

/** The id of an account; undefined when there is none with this name. */
export async function accountId(db: Reader, name: string): Promise<number | undefined> {
  return (await db.one<{ id: number }>('select id from accounts where name = $1', [name]))?.id;
}

/** The first record from an id on. */
export function auditFrom(db: Reader, id: number) {
  return db.one<{ id: number; at: number }>(
    'select id, at from audit where id >= $1 order by id limit 1',
    [id],
  );
}
