// The SQL of the log of changes as nodes follow it: by server, after a revision.
import { type LoggedChange, networkPosition } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';

/** The first revision that is still in the log; undefined when it is empty. */
export async function oldestChange(db: Reader): Promise<number | undefined> {
  const row = await db.one<{ revision: number }>(
    'select revision from changes order by revision limit 1',
  );
  return row?.revision;
}

/** Whether more than this number of changes come after a revision. */
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

/** The changes after a revision, each with the epoch of the log. */
export function changesAfter(
  db: Reader,
  revision: number,
  maxChanges: number,
): Promise<Array<LoggedChange & { epoch: string }>> {
  return db.all(
    `select changes.*, network.epoch from changes join network on network.id = 1
     where changes.revision > $1 order by changes.revision limit $2`,
    [revision, maxChanges],
  );
}

const concerns = `(server_id = $1 or (server_id is null and (account_id is null
  or account_id in (select account_id from contract_servers where server_id = $1))))`;

const onServer = 'select account_id from contract_servers where server_id = $1';

/**
 * The next changes in after < revision <= to that concern a server. A change of an account that has
 * left the server since counts as its leaving: until the node learns of that, it must not consider
 * itself up to date.
 */
export function changesOfServer(
  db: Reader,
  server_id: number,
  after: number,
  to: number,
  maxChanges: number,
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
    [server_id, after, to, maxChanges],
  );
}

/** Accounts with changes of entries for this server in from < revision <= to. */
export function accountsChanged(db: Reader, server_id: number, from: number, to: number) {
  return db.all<{ account_id: number }>(
    `select distinct account_id from changes
     where (server_id = $1 or (server_id is null and kind = 'override'))
       and revision > $2 and revision <= $3 and account_id is not null`,
    [server_id, from, to],
  );
}

/** The maximum number of values in a statement. */
const maxValues = 1000;

/**
 * The accounts among these that the server served lately: on its contract, or mentioned in the log.
 */
export async function served(
  db: Reader,
  server_id: number,
  account_ids: number[],
): Promise<Set<number>> {
  const servedIds = new Set<number>();
  for (let at = 0; at < account_ids.length; at += maxValues) {
    const ids = account_ids.slice(at, at + maxValues);
    const places = ids.map((_, index) => `$${index + 2}`);
    const rows = await db.all<{ id: number }>(
      `select id from accounts a where id in (${places}) and (
         exists (select 1 from contract_servers s where s.account_id = a.id and s.server_id = $1)
         or exists (select 1 from changes c where c.account_id = a.id and c.server_id = $1))`,
      [server_id, ...ids],
    );
    for (const { id } of rows) servedIds.add(id);
  }
  return servedIds;
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

export function pruneChanges(tx: Transaction, older_than: number, limit: number): Promise<number> {
  return tx.run(
    `delete from changes where revision in
       (select revision from (select revision, at from changes order by revision limit $2) c where at < $1)`,
    [older_than, limit],
  );
}

/**
 * The number of changes after a revision that concern a server, except questions, watches and
 * orders to end connections. `maxLag` stands for that many or more, and for a revision more than
 * `maxLag` behind the newest: the log is not read any further.
 */
export async function nodeLag(
  db: Reader,
  server_id: number,
  revision: number,
  maxLag: number,
): Promise<number> {
  const newest = (await networkPosition(db)).revision;
  if (newest <= revision) return 0;
  if (newest - revision > maxLag) return maxLag;
  const row = await db.one<{ lag: number }>(
    `select count(*) as lag from changes where revision > $2 and revision <= $3
       and kind not in ('explain', 'connections', 'end_connections', 'exit_uses') and ${concerns}`,
    [server_id, revision, newest],
  );
  return Number(row?.lag ?? 0);
}
