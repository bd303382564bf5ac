// The SQL of nodes, their invitations, and the change log that they follow.
import type { LoggedChange } from '../changes.ts';
import type { Reader, Transaction } from '../db/database.ts';

export interface NodeRow {
  id: number;
  server_id: number;
  name: string;
  hash: string;
  version: string;
  /** Every change up to this revision is applied. */
  applied_revision: number;
  /** 1 while the node was heard of lately. */
  live: number;
  joined_at: number;
  seen_at: number;
  revoked_at: number | null;
}

export interface Position {
  epoch: string;
  revision: number;
}

/** Where the history of changes stands. */
export async function position(db: Reader): Promise<Position> {
  const row = await db.one<Position>('select epoch, revision from network');
  if (!row) throw new Error('The database has no network row.');
  return row;
}

/** The first revision that is still in the log; undefined when it is empty. */
export async function oldestChange(db: Reader): Promise<number | undefined> {
  const row = await db.one<{ revision: number }>(
    'select revision from changes order by revision limit 1',
  );
  return row?.revision;
}

export function changesAfter(db: Reader, revision: number, most: number): Promise<LoggedChange[]> {
  return db.all('select * from changes where revision > $1 order by revision limit $2', [
    revision,
    most,
  ]);
}

/** The next changes that concern a server. */
export function changesOfServer(
  db: Reader,
  server_id: number,
  revision: number,
  most: number,
): Promise<LoggedChange[]> {
  return db.all(
    `select * from changes where revision > $2 and (server_id = $1 or (server_id is null and
       (account_id is null or account_id in (select account_id from contract_servers where server_id = $1))))
     order by revision limit $3`,
    [server_id, revision, most],
  );
}

/** Accounts with entries for this server among the changes in from < revision <= to. */
export function accountsChanged(
  db: Reader,
  server_id: number,
  from: number,
  to: number,
): Promise<Array<{ account_id: number }>> {
  return db.all(
    `select distinct account_id from changes
     where server_id = $1 and revision > $2 and revision <= $3 and account_id is not null`,
    [server_id, from, to],
  );
}

/** True when the server served the account lately: it is on the contract, or the log tells of it. */
export async function hasServed(
  db: Reader,
  server_id: number,
  account_id: number,
): Promise<boolean> {
  const row = await db.one(
    `select 1 as yes from contract_servers where account_id = $2 and server_id = $1
     union all select 1 from changes where server_id = $1 and account_id = $2 limit 1`,
    [server_id, account_id],
  );
  return row !== undefined;
}

/** Which servers serve these accounts. */
export function serversOfAccounts(
  db: Reader,
  account_ids: number[],
): Promise<Array<{ account_id: number; server_id: number }>> {
  const places = account_ids.map((_, at) => `$${at + 1}`);
  return db.all(
    `select account_id, server_id from contract_servers where account_id in (${places})`,
    account_ids,
  );
}

export function pruneChanges(tx: Transaction, older_than: number, most: number): Promise<number> {
  return tx.run(
    `delete from changes where revision in
       (select revision from (select revision, at from changes order by revision limit $2) c where at < $1)`,
    [older_than, most],
  );
}

export function insertInvite(
  tx: Transaction,
  row: { hash: string; server_id: number; expiry: number; used_at: null },
): Promise<void> {
  return tx.insertMany('node_invites', [row]);
}

/** Uses an invitation up; answers its server, or undefined when it is unknown, used or over. */
export async function useInvite(tx: Transaction, hash: string): Promise<number | undefined> {
  const rows = await tx.put<{ server_id: number }>(
    `update node_invites set used_at = $2 where hash = $1 and used_at is null and expiry > $2
     returning server_id`,
    [hash, tx.now],
  );
  return rows[0]?.server_id;
}

export function insert(tx: Transaction, row: NodeRow): Promise<void> {
  return tx.insertMany('nodes', [{ ...row }]);
}

export function findByHash(db: Reader, hash: string): Promise<NodeRow | undefined> {
  return db.one('select * from nodes where hash = $1 and revoked_at is null', [hash]);
}

export function findById(db: Reader, id: number): Promise<NodeRow | undefined> {
  return db.one('select * from nodes where id = $1', [id]);
}

export function all(db: Reader): Promise<Array<NodeRow & { server: string }>> {
  return db.all(
    'select n.*, s.name as server from nodes n join servers s on s.id = n.server_id order by s.name, n.id',
  );
}

export function ofServer(db: Reader, server_id: number): Promise<NodeRow[]> {
  return db.all('select * from nodes where server_id = $1 and revoked_at is null', [server_id]);
}

export function update(tx: Transaction, row: NodeRow): Promise<number> {
  return tx.run(
    `update nodes set version = $2, applied_revision = $3, live = $4, seen_at = $5, revoked_at = $6
     where id = $1`,
    [row.id, row.version, row.applied_revision, row.live, row.seen_at, row.revoked_at],
  );
}

export function lost(db: Reader, not_since: number): Promise<NodeRow[]> {
  return db.all('select * from nodes where live = 1 and revoked_at is null and seen_at < $1', [
    not_since,
  ]);
}

/** How many changes that concern a server come after a revision; counting stops at `most`. */
export async function lag(
  db: Reader,
  server_id: number,
  revision: number,
  most: number,
): Promise<number> {
  return (await changesOfServer(db, server_id, revision, most)).length;
}

/** True while a live node that serves the account (server 0: any server) has not applied the revision. */
export async function isBehind(
  db: Reader,
  account_id: number,
  server_id: number,
  revision: number,
): Promise<boolean> {
  const row = await db.one(
    `select n.id from contract_servers c join nodes n on n.server_id = c.server_id
     where c.account_id = $1 and ($2 = 0 or c.server_id = $2) and n.live = 1 and n.revoked_at is null
       and n.applied_revision < $3 limit 1`,
    [account_id, server_id, revision],
  );
  return row !== undefined;
}
