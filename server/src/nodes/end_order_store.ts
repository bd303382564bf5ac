// The SQL of orders to end connections: each lives for a minute, and a node takes it once.
import type { Reader, Transaction } from '../db/database.ts';

export interface EndOrderRow {
  id: number;
  /** JSON of an `EndFilter`, sealed. */
  sealed: string;
  /** The orderer, whose number of orders is limited. */
  ordered_by: string;
  ordered_at: number;
}

export function findOrder(db: Reader, id: number): Promise<EndOrderRow | undefined> {
  return db.one('select * from end_orders where id = $1', [id]);
}

/** The number of orders after a time, by orderer. */
export async function countOrders(db: Reader, after: number): Promise<Map<string, number>> {
  const rows = await db.all<{ ordered_by: string; orders: number }>(
    `select ordered_by, count(*) as orders from end_orders
     where ordered_at > $1 group by ordered_by`,
    [after],
  );
  return new Map(rows.map(({ ordered_by, orders }) => [ordered_by, Number(orders)]));
}

export function insertOrder(tx: Transaction, row: EndOrderRow): Promise<void> {
  return tx.insertMany('end_orders', [{ ...row }]);
}

export function purgeOrders(tx: Transaction, ordered_until: number, maxRows: number) {
  return tx.run(
    `delete from end_orders where id in
       (select id from end_orders where ordered_at <= $1 limit $2)`,
    [ordered_until, maxRows],
  );
}

/** Stores that a node takes an order. False: it has taken it before. */
export async function takeOrder(tx: Transaction, order_id: number, node_id: number) {
  const rows = await tx.put(
    `insert into taken_end_orders (order_id, node_id) values ($1, $2)
     on conflict (order_id, node_id) do nothing returning node_id`,
    [order_id, node_id],
  );
  return rows.length > 0;
}

/**
 * Stores how many connections a node ended. False: it did not take the order, or has reported this
 * before.
 */
export async function noteEnded(
  tx: Transaction,
  order_id: number,
  node_id: number,
  ended: number,
): Promise<boolean> {
  const rows = await tx.run(
    `update taken_end_orders set ended = $3
     where order_id = $1 and node_id = $2 and ended is null`,
    [order_id, node_id, ended],
  );
  return rows > 0;
}

/** By node that took an order: how many connections it ended; null: it has not reported. */
export async function takenBy(db: Reader, order_id: number): Promise<Map<number, number | null>> {
  const rows = await db.all<{ node_id: number; ended: number | null }>(
    'select node_id, ended from taken_end_orders where order_id = $1',
    [order_id],
  );
  return new Map(rows.map(({ node_id, ended }) => [node_id, ended]));
}
