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

const concerns = `(server_id = $1 or (server_id is null and (account_id is null
  or account_id in (select account_id from contract_servers where server_id = $1))))`;

/** The next changes in after < revision <= to that concern a server. */
export function changesOfServer(
  db: Reader,
  server_id: number,
  after: number,
  to: number,
  most: number,
): Promise<LoggedChange[]> {
  return db.all(
    `select * from changes where revision > $2 and revision <= $3 and ${concerns}
     order by revision limit $4`,
    [server_id, after, to, most],
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

const mostPlaces = 1000;

/** Those of the accounts that the server served lately: on the contract, or the log tells of them. */
export async function served(
  db: Reader,
  server_id: number,
  account_ids: number[],
): Promise<Set<number>> {
  const found = new Set<number>();
  for (let at = 0; at < account_ids.length; at += mostPlaces) {
    const ids = account_ids.slice(at, at + mostPlaces);
    const places = ids.map((_, index) => `$${index + 2}`);
    const rows = await db.all<{ id: number }>(
      `select id from accounts a where id in (${places}) and (
         exists (select 1 from contract_servers s where s.account_id = a.id and s.server_id = $1)
         or exists (select 1 from changes c where c.account_id = a.id and c.server_id = $1))`,
      [server_id, ...ids],
    );
    for (const { id } of rows) found.add(id);
  }
  return found;
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

/** An invitation as the operator sees it: the start of its hash names it, and tells nothing of the code. */
export interface InviteRow {
  id: string;
  server: string;
  expiry: number;
}

/** The invitations that can still be used, by their end. */
export function openInvites(db: Reader, now: number): Promise<InviteRow[]> {
  return db.all(
    `select substr(i.hash, 1, 12) as id, s.name as server, i.expiry
     from node_invites i join servers s on s.id = i.server_id
     where i.used_at is null and i.expiry > $1 order by i.expiry, i.hash`,
    [now],
  );
}

/** False when no invitation of that id can still be used. */
export async function removeInvite(tx: Transaction, id: string): Promise<boolean> {
  const removed = await tx.put(
    `delete from node_invites where substr(hash, 1, 12) = $1 and used_at is null and expiry > $2
     returning server_id`,
    [id, tx.now],
  );
  return removed.length > 0;
}

export function purgeInvites(tx: Transaction, over_since: number, most: number): Promise<number> {
  return tx.run(
    'delete from node_invites where hash in (select hash from node_invites where expiry < $1 limit $2)',
    [over_since, most],
  );
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

/**
 * How many changes that concern a server come after a revision. `most` stands for that many or more,
 * and for a revision that lies more than `most` back in the whole log: no more of it is read.
 */
export async function lag(
  db: Reader,
  server_id: number,
  revision: number,
  most: number,
): Promise<number> {
  const newest = (await position(db)).revision;
  if (newest - revision > most) return most;
  const row = await db.one<{ lag: number }>(
    `select count(*) as lag from changes where revision > $2 and revision <= $3 and ${concerns}`,
    [server_id, revision, newest],
  );
  return Number(row?.lag ?? 0);
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
