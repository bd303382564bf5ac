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
  /** 1 while the node acknowledged lately; 0 once it is revoked. */
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

/** Whether more than so many changes come after a revision. */
export async function hasMoreChanges(
  db: Reader,
  revision: number,
  changes: number,
): Promise<boolean> {
  const row = await db.one(
    'select revision from changes where revision > $1 order by revision limit 1 offset $2',
    [revision, changes],
  );
  return row !== undefined;
}

export function changesAfter(db: Reader, revision: number, most: number): Promise<LoggedChange[]> {
  return db.all('select * from changes where revision > $1 order by revision limit $2', [
    revision,
    most,
  ]);
}

const concerns = `(server_id = $1 or (server_id is null and (account_id is null
  or account_id in (select account_id from contract_servers where server_id = $1))))`;

const onServer = 'select account_id from contract_servers where server_id = $1';

/**
 * The next changes in after < revision <= to that concern a server. A change of an account that has
 * left the server since counts as the account's leaving: until the node hears of that it must not
 * think that it has seen all before.
 */
export function changesOfServer(
  db: Reader,
  server_id: number,
  after: number,
  to: number,
  most: number,
): Promise<LoggedChange[]> {
  return db.all(
    `select revision, at, account_id, server_id, record_id,
       case when server_id is null and account_id is not null and account_id not in (${onServer})
         then 'account' else kind end as kind
     from changes where revision > $2 and revision <= $3 and (server_id = $1
       or (server_id is null and (account_id is null or account_id in (${onServer})
         or account_id in (select account_id from changes
           where server_id = $1 and kind = 'account' and revision > $2))))
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

export interface UserNamed {
  account_id: number;
  user_id: number;
}

/** Those of the users that exist; each is named once. */
export async function existingUsers(db: Reader, named: UserNamed[]): Promise<UserNamed[]> {
  const found: UserNamed[] = [];
  const most = mostPlaces / 2;
  for (let at = 0; at < named.length; at += most) {
    const some = named.slice(at, at + most);
    const rows = some.map(
      (_, index) => `(cast($${2 * index + 1} as bigint), cast($${2 * index + 2} as bigint))`,
    );
    found.push(
      ...(await db.all<UserNamed>(
        `select account_id, id as user_id from users where (account_id, id) in (values ${rows})`,
        some.flatMap(({ account_id, user_id }) => [account_id, user_id]),
      )),
    );
  }
  return found;
}

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

/** The servers of these accounts, and those that they have left after a revision. */
export function serversOfAccounts(
  db: Reader,
  account_ids: number[],
  after: number,
): Promise<Array<{ account_id: number; server_id: number; has_left: number }>> {
  const places = account_ids.map((_, at) => `$${at + 2}`);
  return db.all(
    `select account_id, server_id, 0 as has_left from contract_servers
       where account_id in (${places})
     union
     select account_id, server_id, 1 from changes c
       where account_id in (${places}) and server_id is not null and kind = 'account'
         and revision > $1 and not exists (select 1 from contract_servers s
           where s.account_id = c.account_id and s.server_id = c.server_id)`,
    [after, ...account_ids],
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

/** The nodes of a server that are not revoked. */
export function ofServer(db: Reader, server_id: number): Promise<NodeRow[]> {
  return db.all('select * from nodes where server_id = $1 and revoked_at is null order by id', [
    server_id,
  ]);
}

/** The ids of all nodes that are not revoked. */
export async function currentIds(db: Reader): Promise<Set<number>> {
  const rows = await db.all<{ id: number }>('select id from nodes where revoked_at is null');
  return new Set(rows.map(({ id }) => id));
}

export function update(tx: Transaction, row: NodeRow): Promise<number> {
  return tx.run(
    `update nodes set version = $2, applied_revision = $3, live = $4, seen_at = $5, revoked_at = $6
     where id = $1`,
    [row.id, row.version, row.applied_revision, row.live, row.seen_at, row.revoked_at],
  );
}

export function lost(db: Reader, not_since: number, most: number): Promise<NodeRow[]> {
  return db.all(
    'select * from nodes where live = 1 and revoked_at is null and seen_at < $1 order by id limit $2',
    [not_since, most],
  );
}

/**
 * How many changes that concern a server come after a revision; questions are none. `most` stands for that many or more,
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
    `select count(*) as lag from changes where revision > $2 and revision <= $3
       and kind <> 'explain' and ${concerns}`,
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

export interface QuestionRow {
  id: number;
  server_id: number;
  /** The question, sealed; null once it is answered. */
  sealed: string | null;
  /** JSON. */
  answer: string | null;
  /** The name of the node. */
  answered_by: string | null;
  asked_at: number;
}

export function insertQuestion(tx: Transaction, row: QuestionRow): Promise<void> {
  return tx.insertMany('node_questions', [{ ...row }]);
}

export function findQuestion(db: Reader, id: number): Promise<QuestionRow | undefined> {
  return db.one('select * from node_questions where id = $1', [id]);
}

/** False when the question is not open, or the node is not a live one of its server. */
export async function answerQuestion(
  tx: Transaction,
  node_id: number,
  id: number,
  answer: string,
): Promise<boolean> {
  const rows = await tx.put(
    `update node_questions set sealed = null, answer = $3,
       answered_by = (select name from nodes where id = $2)
     where id = $1 and answer is null
       and server_id = (select server_id from nodes where id = $2 and live = 1)
     returning id`,
    [id, node_id, answer],
  );
  return rows.length > 0;
}

export function removeQuestion(tx: Transaction, id: number): Promise<number> {
  return tx.run('delete from node_questions where id = $1', [id]);
}

export function purgeQuestions(
  tx: Transaction,
  asked_until: number,
  most: number,
): Promise<number> {
  return tx.run(
    'delete from node_questions where id in (select id from node_questions where asked_at <= $1 limit $2)',
    [asked_until, most],
  );
}

export interface HealthReport {
  ip: string;
  status: 'ok' | 'warn' | 'crit' | 'unknown';
  status_time: number;
}

/** Keeps a node's last report; false when it is an older one, or the address is not its server's. */
export async function putHealth(
  tx: Transaction,
  node: NodeRow,
  { ip, status, status_time }: HealthReport,
): Promise<boolean> {
  const rows = await tx.put(
    `insert into node_health (node_id, ip, status, status_time)
     select n.id, e.ip, $3, $4 from nodes n join exit_ips e on e.server_id = n.server_id
     where n.id = $1 and e.ip = $2
     on conflict (node_id, ip) do update set status = excluded.status, status_time = excluded.status_time
       where node_health.status_time <= excluded.status_time
     returning ip`,
    [node.id, ip, status, status_time],
  );
  return rows.length > 0;
}

/** The last reports of a server's live nodes, and of this one, as far as they came after `since`. */
export function healthSaid(db: Reader, node: NodeRow, since: number): Promise<HealthReport[]> {
  return db.all(
    `select h.ip, h.status, h.status_time from node_health h join nodes n on n.id = h.node_id
     where n.server_id = $1 and (n.live = 1 or n.id = $2) and h.status_time > $3`,
    [node.server_id, node.id, since],
  );
}
