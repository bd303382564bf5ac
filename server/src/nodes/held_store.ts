// The SQL of held usage: batches above a node's allowance, until an operator accepts or discards
// them.
import type { Reader, Transaction } from '../db/database.ts';

export interface HeldRow {
  id: number;
  node_id: number;
  boot: string;
  seq: number;
  received_at: number;
  bytes: number;
  /** The most that the node could have carried by then. */
  plausible_bytes: number;
  /** The oldest row, epoch seconds. */
  oldest_at: number;
  newest_at: number;
  row_count: number;
  account_count: number;
  /** JSON: the accounts with the most bytes, `{account, bytes}`. */
  accounts: string;
  /** JSON: the rows that count once the batch is accepted. */
  usage_rows: string;
}

/** As operators see it: everything except the rows, with the names of its node and server. */
export interface HeldBatch extends Omit<HeldRow, 'usage_rows'> {
  node: string;
  server: string;
  revoked_at: number | null;
}

export function insertHeld(tx: Transaction, row: HeldRow): Promise<void> {
  return tx.insertMany('held_usage', [{ ...row }]);
}

export async function isHeld(
  db: Reader,
  node_id: number,
  boot: string,
  seq: number,
): Promise<boolean> {
  const row = await db.one(
    'select id from held_usage where node_id = $1 and boot = $2 and seq = $3',
    [node_id, boot, seq],
  );
  return row !== undefined;
}

/** Removes a batch and returns it; undefined when it was accepted or discarded already. */
export async function takeHeld(tx: Transaction, id: number): Promise<HeldRow | undefined> {
  const rows = await tx.put<HeldRow>('delete from held_usage where id = $1 returning *', [id]);
  return rows[0];
}

/** How much of a node's usage is held. */
export async function heldOf(
  db: Reader,
  node_id: number,
): Promise<{ batches: number; row_count: number }> {
  const row = await db.one<{ batches: number; row_count: number | null }>(
    `select count(*) as batches, cast(sum(row_count) as bigint) as row_count
     from held_usage where node_id = $1`,
    [node_id],
  );
  return { batches: row?.batches ?? 0, row_count: row?.row_count ?? 0 };
}

/** By node; sums are doubles: exact up to 2^53, and they cannot overflow. */
export function heldByNode(
  db: Reader,
): Promise<Array<{ node_id: number; batches: number; bytes: number; since: number }>> {
  return db.all(
    `select node_id, count(*) as batches, sum(cast(bytes as double precision)) as bytes,
       min(received_at) as since
     from held_usage group by node_id order by node_id`,
  );
}

/** All held batches, oldest first, including those of revoked nodes. */
export function listHeld(db: Reader): Promise<HeldBatch[]> {
  return db.all(
    `select h.id, h.node_id, h.boot, h.seq, h.received_at, h.bytes, h.plausible_bytes, h.oldest_at,
       h.newest_at, h.row_count, h.account_count, h.accounts, n.name as node, n.revoked_at,
       s.name as server
     from held_usage h join nodes n on n.id = h.node_id join servers s on s.id = n.server_id
     order by h.id`,
  );
}
