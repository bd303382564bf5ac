// The ninth schema: authlist entries know whether their address has asked for them, and limits outlive a removal.
import type { Engine } from '../database.ts';

/**
 * As in the first: see there for `clustered`. `proven_at`: when the address itself, or an operator, said that
 * the entry is right; null while neither did, as for every entry of before. `waits`: 1 while it is kept from
 * the nodes until then. `kept_limits`: the own limits of servers that are off their contract.
 */
export function proofs(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    'alter table authlist add column proven_at bigint',
    'alter table authlist add column waits smallint not null default 0',
    'create index authlist_unproven on authlist (waits) where proven_at is null',
    `create table kept_limits (
      account_id bigint not null references accounts (id),
      server_id bigint not null references servers (id) on delete cascade,
      limit_bytes bigint not null,
      primary key (account_id, server_id)
    ) ${clustered}`,
  ];
}
