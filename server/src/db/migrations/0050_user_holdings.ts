// The fiftieth schema: the connections and addresses of users with limits on them, by node.
import type { Engine } from '../database.ts';

/**
 * Nodes report them again each minute, so on PostgreSQL they are not written to its log; as in the
 * first for `clustered`.
 */
export function userHoldings(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const table = engine === 'sqlite' ? 'create table' : 'create unlogged table';
  return [
    // The addresses are sealed: a backup does not say where people are.
    `${table} user_holdings (
      account_id bigint not null,
      user_id bigint not null,
      node_id bigint not null references nodes (id) on delete cascade,
      since bigint not null,
      connections bigint not null,
      sealed text not null,
      primary key (account_id, user_id, node_id)
    ) ${clustered}`,
    'create index user_holdings_of_node on user_holdings (node_id)',
  ];
}
