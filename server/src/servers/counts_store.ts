// How many exit IPs and nodes servers have, and how they stand: one statement for all, however many there are.
import type { Reader } from '../db/database.ts';

export interface ExitCounts {
  ok: number;
  warn: number;
  crit: number;
  unknown: number;
}

/** Of one server, or of all. A health report of `fresh_after` or before says nothing of now: unknown. */
export function exitCounts(
  db: Reader,
  fresh_after: number,
  server_id?: number,
): Promise<Array<ExitCounts & { server_id: number }>> {
  return db.all(
    `select server_id, count(*) filter (where shown = 'ok') as ok,
       count(*) filter (where shown = 'warn') as warn, count(*) filter (where shown = 'crit') as crit,
       count(*) filter (where shown = 'unknown') as unknown
     from (select server_id, case when status_time > $1 then status else 'unknown' end as shown
       from exit_ips ${server_id === undefined ? '' : 'where server_id = $2'}) e
     group by server_id`,
    server_id === undefined ? [fresh_after] : [fresh_after, server_id],
  );
}

export interface NodeCounts {
  server_id: number;
  nodes: number;
  /** Those that were heard of lately. */
  live_nodes: number;
}

/** Of one server, or of all; those without a node are left out. */
export function nodeCounts(db: Reader, server_id?: number): Promise<NodeCounts[]> {
  return db.all(
    `select server_id, count(*) as nodes, sum(live) as live_nodes from nodes
     where revoked_at is null ${server_id === undefined ? '' : 'and server_id = $1'} group by server_id`,
    server_id === undefined ? [] : [server_id],
  );
}

/** Of the servers of a contract. */
export function nodesOfContract(db: Reader, account_id: number): Promise<NodeCounts[]> {
  return db.all(
    `select n.server_id, count(*) as nodes, sum(n.live) as live_nodes
     from contract_servers c join nodes n on n.server_id = c.server_id
     where c.account_id = $1 and n.revoked_at is null group by n.server_id`,
    [account_id],
  );
}
