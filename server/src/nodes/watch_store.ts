// The SQL of watches: which open connections people look at, and the last answer of each node.
import type { Reader, Transaction } from '../db/database.ts';

export interface WatchRow {
  id: number;
  /** JSON of a `WatchFilter`. */
  filter: string;
  /** The watcher, whose number of watches is limited. */
  watcher: string;
  /** When the nodes were first asked. */
  asked_at: number;
  lease_until: number;
}

export function findWatch(db: Reader, filter: string): Promise<WatchRow | undefined> {
  return db.one('select * from connection_watches where filter = $1', [filter]);
}

export function findWatchById(db: Reader, id: number): Promise<WatchRow | undefined> {
  return db.one('select * from connection_watches where id = $1', [id]);
}

/** The number of watches now: of this watcher, and in all. */
export async function countWatches(
  db: Reader,
  watcher: string,
  now: number,
): Promise<{ own: number; all: number }> {
  const row = await db.one<{ own: number | null; every: number }>(
    `select sum(case when watcher = $1 then 1 else 0 end) as own, count(*) as every
     from connection_watches where lease_until > $2`,
    [watcher, now],
  );
  return { own: Number(row?.own ?? 0), all: Number(row?.every ?? 0) };
}

export function insertWatch(tx: Transaction, row: WatchRow): Promise<void> {
  return tx.insertMany('connection_watches', [{ ...row }]);
}

export function renewWatch(tx: Transaction, id: number, lease_until: number): Promise<number> {
  return tx.run('update connection_watches set lease_until = $2 where id = $1', [id, lease_until]);
}

export function removeWatch(tx: Transaction, id: number): Promise<number> {
  return tx.run('delete from connection_watches where id = $1', [id]);
}

export function purgeWatches(tx: Transaction, over_since: number, maxRows: number) {
  return tx.run(
    `delete from connection_watches where id in
       (select id from connection_watches where lease_until <= $1 limit $2)`,
    [over_since, maxRows],
  );
}

/** A node that should answer a watch. */
export interface AskedNode {
  id: number;
  name: string;
  server_id: number;
  server: string;
  live: number;
  version: string;
}

/** The nodes that are not revoked, of one server, one account's servers, or all; by name. */
export function nodesToAsk(
  db: Reader,
  of: { account_id?: number; server_id?: number; node_id?: number },
): Promise<AskedNode[]> {
  const conditions = ['n.revoked_at is null'];
  const values: number[] = [];
  const also = (value: number | undefined, condition: (place: string) => string) => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  also(of.server_id, (place) => `n.server_id = ${place}`);
  also(of.node_id, (place) => `n.id = ${place}`);
  also(
    of.account_id,
    (place) =>
      `n.server_id in (select server_id from contract_servers where account_id = ${place})`,
  );
  return db.all(
    `select n.id, n.name, n.server_id, s.name as server, n.live, n.version
     from nodes n join servers s on s.id = n.server_id
     where ${conditions.join(' and ')} order by s.name, n.name, n.id`,
    values,
  );
}

/** Replaces a node's answer. False: the watch is over. */
export async function putAnswer(
  tx: Transaction,
  answer: { watch_id: number; node_id: number; sealed: string },
): Promise<boolean> {
  const rows = await tx.put(
    `insert into connection_answers (watch_id, node_id, answered_at, sealed)
     select id, cast($2 as bigint), cast($3 as bigint), $4 from connection_watches
       where id = $1 and lease_until > $3
     on conflict (watch_id, node_id) do update
       set answered_at = excluded.answered_at, sealed = excluded.sealed
     returning watch_id`,
    [answer.watch_id, answer.node_id, tx.now, answer.sealed],
  );
  return rows.length > 0;
}

/** The nodes that have answered after a time. */
export async function answeredBy(
  db: Reader,
  watch_id: number,
  after: number,
): Promise<Set<number>> {
  const rows = await db.all<{ node_id: number }>(
    'select node_id from connection_answers where watch_id = $1 and answered_at > $2',
    [watch_id, after],
  );
  return new Set(rows.map(({ node_id }) => node_id));
}

/** A node's last answer, sealed. */
export async function findAnswer(
  db: Reader,
  watch_id: number,
  node_id: number,
): Promise<string | undefined> {
  const row = await db.one<{ sealed: string }>(
    'select sealed from connection_answers where watch_id = $1 and node_id = $2',
    [watch_id, node_id],
  );
  return row?.sealed;
}
