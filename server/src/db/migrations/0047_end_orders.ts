// The forty-seventh schema: orders to end connections, and the nodes that took them.
import type { Engine } from '../database.ts';

/**
 * All rows are over within minutes, so on PostgreSQL they are not written to its log: an order that
 * it loses is over. As in the first for `clustered`.
 */
export function endOrders(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const table = engine === 'sqlite' ? 'create table' : 'create unlogged table';
  return [
    // The filter is sealed: a backup, or a dump after an erasure, names no person.
    `${table} end_orders (
      id bigint primary key,
      sealed text not null,
      ordered_by text not null,
      ordered_at bigint not null
    )`,
    // No row: the node has not taken it. A null count: it took it, and has not said more.
    `${table} taken_end_orders (
      order_id bigint not null references end_orders (id) on delete cascade,
      node_id bigint not null references nodes (id) on delete cascade,
      ended bigint,
      primary key (order_id, node_id)
    ) ${clustered}`,
  ];
}
