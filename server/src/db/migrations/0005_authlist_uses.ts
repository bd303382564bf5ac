// The fifth schema: when a connection was last let in by an authlist entry.
import type { Engine } from '../database.ts';

/**
 * As in the first: see there for `clustered`. A table of its own, as it is written every minute: the
 * list itself, which answers and nodes are made from, stays as it is.
 */
export function authlistUses(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    `create table authlist_uses (
      account_id bigint not null,
      entry_id bigint not null,
      used_at bigint not null,
      primary key (account_id, entry_id)
    ) ${clustered}`,
  ];
}
