// The forty-second schema: which connections nodes refused lately, and which addresses were on an
// authlist until lately.
import type { Engine } from '../database.ts';

/**
 * As in the first: see there for `clustered`. `account_id`: the account of the user that the
 * credentials name, else the one that lists the address or did lately; 0: none. `user_id`: 0 where
 * the credentials name no user. `port`: 0 for a VPN.
 */
export function refusals(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    `create table refusals (
      id bigint primary key,
      node_id bigint not null references nodes (id) on delete cascade,
      at bigint not null,
      account_id bigint not null,
      user_id bigint not null,
      reason text ${bytewise} not null,
      source text ${bytewise} not null,
      service text ${bytewise} not null,
      port bigint not null,
      count bigint not null,
      unique (at, node_id, source, account_id, user_id, reason, service, port)
    )`,
    'create index refusals_by_account on refusals (account_id, id)',
    'create index refusals_by_source on refusals (source, id)',
    'create index refusals_by_node on refusals (node_id, id)',
    'create index refusals_of_account_by_node on refusals (node_id, account_id, id)',

    // The slot is the id of the entry modulo a number: an account has so many rows at most.
    `create table past_addresses (
      account_id bigint not null,
      slot bigint not null,
      ip text ${bytewise} not null,
      user_id bigint not null,
      ended_at bigint not null,
      primary key (account_id, slot)
    ) ${clustered}`,
    'create index past_addresses_by_ip on past_addresses (ip)',
    'create index past_addresses_by_end on past_addresses (ended_at)',
  ];
}
