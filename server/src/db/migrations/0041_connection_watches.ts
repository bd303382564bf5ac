// The forty-first schema: which open connections people look at now, and what nodes say of them.
import type { Engine } from '../database.ts';

/**
 * All rows are over within a minute, so on PostgreSQL they are not written to its log; as in the
 * first for `clustered`.
 */
export function connectionWatches(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const table = engine === 'sqlite' ? 'create table' : 'create unlogged table';
  return [
    // The filter is JSON: of those who look at the same, one watch serves all.
    `${table} connection_watches (
      id bigint primary key,
      filter text not null unique,
      watcher text not null,
      asked_at bigint not null,
      lease_until bigint not null
    )`,
    // The answer is sealed: a backup says nothing about who was connected.
    `${table} connection_answers (
      watch_id bigint not null references connection_watches (id) on delete cascade,
      node_id bigint not null references nodes (id) on delete cascade,
      answered_at bigint not null,
      sealed text not null,
      primary key (watch_id, node_id)
    ) ${clustered}`,
  ];
}
