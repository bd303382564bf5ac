// The thirteenth schema: how much a node may report by now, and the batches beyond it, held for an operator to judge.
import type { Engine } from '../database.ts';

/**
 * As in the first: see there for `bytewise`. `reported_until` of the nodes of before is the past, as if they had
 * reported nothing yet: the first report of each brings it up to date. `usage_rows` and `accounts` are JSON.
 */
export function heldUsage(engine: Engine): string[] {
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    'alter table nodes add column reported_until double precision not null default 0',
    'alter table nodes add column max_bytes_per_second bigint',
    `create table held_usage (
      id bigint primary key,
      node_id bigint not null references nodes (id) on delete cascade,
      boot text ${bytewise} not null,
      seq bigint not null,
      received_at bigint not null,
      bytes bigint not null,
      plausible_bytes bigint not null,
      oldest_at bigint not null,
      newest_at bigint not null,
      row_count bigint not null,
      account_count bigint not null,
      accounts text not null,
      usage_rows text not null,
      unique (node_id, boot, seq)
    )`,
  ];
}
