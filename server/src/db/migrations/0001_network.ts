// The first schema: everything that the control plane stores.
import type { Engine } from '../database.ts';

/**
 * One text for both engines. Times are epoch seconds, sizes bytes, flags 0 or 1; ids count per account.
 * `clustered` keeps a table in the order of its key on SQLite, so that an account's rows lie together;
 * `bytewise` makes PostgreSQL compare text as SQLite does.
 */
export function network(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    // One row: the network itself. `revision` counts every change; `epoch` names this history of revisions.
    `create table network (
      id bigint primary key check (id = 1),
      epoch text not null,
      revision bigint not null,
      maintenance smallint not null default 0,
      newest_time bigint not null default 0,
      key_id text
    )`,
    // The revision of the last change that can be seen in an account's answers, and of the last one to its
    // contract or API tokens; account 0 is the network.
    `create table stamps (
      account_id bigint primary key,
      revision bigint not null,
      contract_revision bigint not null
    ) ${clustered}`,
    // The log that nodes follow, in order. server_id or account_id null: all of them.
    `create table changes (
      revision bigint primary key,
      account_id bigint,
      server_id bigint,
      kind text not null,
      record_id bigint,
      at bigint not null
    ) ${clustered}`,
    // Few changes name one server: those whose acknowledgement shows in an account's answers.
    'create index changes_of_server on changes (server_id, revision) where server_id is not null',
    'create index changes_of_account on changes (account_id, server_id) where server_id is not null',
    `create table counters (
      account_id bigint not null,
      list text not null,
      last bigint not null,
      primary key (account_id, list)
    ) ${clustered}`,
    `create table audit (
      id bigint primary key,
      at bigint not null,
      actor_kind text not null,
      actor text not null,
      address text not null,
      request_id text not null,
      account_id bigint,
      action text not null,
      target text not null,
      before text,
      after text
    )`,
    'create index audit_by_account on audit (account_id, id)',
    `create table idempotency_keys (
      account_id bigint not null,
      key text ${bytewise} not null,
      request_hash text not null,
      status bigint not null,
      headers text not null,
      body text not null,
      at bigint not null,
      primary key (account_id, key)
    ) ${clustered}`,
    'create index idempotency_keys_by_age on idempotency_keys (at)',

    `create table port_schemes (
      id bigint primary key,
      name text ${bytewise} not null unique,
      bases text not null
    )`,
    `create table accounts (
      id bigint primary key,
      name text ${bytewise} not null unique,
      plan text not null,
      start bigint not null,
      expiry bigint not null,
      limit_bytes bigint not null,
      detailed_billing smallint not null,
      suspended smallint not null,
      over_limit smallint not null,
      over_until bigint not null,
      on_limit text not null,
      port_scheme_id bigint not null references port_schemes (id),
      token_lifetime_seconds bigint not null,
      created_at bigint not null
    )`,
    // over_until: the end of the billing period in which the limit was reached; then it is judged anew.
    'create index accounts_over_limit on accounts (over_until) where over_limit = 1',
    `create table api_tokens (
      account_id bigint not null references accounts (id),
      id bigint not null,
      name text not null,
      read_only smallint not null,
      hash text ${bytewise} not null unique,
      sealed text,
      expiry bigint,
      created_at bigint not null,
      last_used_at bigint,
      primary key (account_id, id)
    ) ${clustered}`,
    `create table admin_tokens (
      id bigint primary key,
      name text ${bytewise} not null unique,
      hash text ${bytewise} not null unique,
      created_at bigint not null,
      last_used_at bigint
    )`,

    `create table servers (
      id bigint primary key,
      name text ${bytewise} not null unique,
      hostname text ${bytewise} not null unique,
      title text not null,
      city text not null,
      country text not null,
      latitude double precision not null,
      longitude double precision not null,
      services text not null,
      applied_revision bigint not null,
      created_at bigint not null
    )`,
    `create table server_port_schemes (
      server_id bigint not null references servers (id),
      port_scheme_id bigint not null references port_schemes (id),
      primary key (server_id, port_scheme_id)
    ) ${clustered}`,
    `create table exit_ips (
      server_id bigint not null references servers (id),
      ip text ${bytewise} not null unique,
      port_base bigint not null check (port_base between 0 and 499),
      status text not null,
      status_time bigint not null,
      primary key (server_id, port_base)
    ) ${clustered}`,
    `create table geo_statuses (
      ip text ${bytewise} not null,
      provider text ${bytewise} not null,
      status text not null,
      status_time bigint not null,
      country text,
      distance_km double precision,
      primary key (ip, provider)
    ) ${clustered}`,
    `create table contract_servers (
      account_id bigint not null references accounts (id),
      server_id bigint not null references servers (id),
      limit_bytes bigint,
      over_limit smallint not null,
      over_until bigint not null,
      added_at bigint not null,
      revision bigint not null,
      primary key (account_id, server_id)
    ) ${clustered}`,
    'create index contract_servers_by_server on contract_servers (server_id, account_id)',
    'create index contract_servers_over_limit on contract_servers (over_until) where over_limit = 1',

    `create table users (
      account_id bigint not null references accounts (id),
      id bigint not null,
      name text ${bytewise} not null,
      display_name text not null,
      active smallint not null,
      proxy smallint not null,
      billing smallint not null,
      admin smallint not null,
      token_version bigint not null,
      primary key (account_id, id),
      unique (account_id, name)
    ) ${clustered}`,

    `create table authlist (
      account_id bigint not null,
      id bigint not null,
      port_scheme_id bigint not null,
      ip text ${bytewise} not null,
      user_id bigint not null,
      expiry bigint not null,
      primary key (account_id, id),
      unique (port_scheme_id, ip)
    ) ${clustered}`,
    'create index authlist_by_expiry on authlist (expiry)',

    // removed_revision: the change that told the nodes of its end; null while it is wanted.
    `create table overrides (
      account_id bigint not null,
      id bigint not null,
      server_id bigint not null references servers (id) on delete cascade,
      hostname text ${bytewise} not null,
      ip text ${bytewise} not null,
      expiry bigint not null,
      revision bigint not null,
      removed_revision bigint,
      primary key (account_id, id)
    ) ${clustered}`,
    `create unique index overrides_wanted on overrides (account_id, server_id, hostname)
      where removed_revision is null`,
    'create index overrides_by_server on overrides (server_id)',
    'create index overrides_to_end on overrides (expiry) where removed_revision is null',
    'create index overrides_to_purge on overrides (expiry) where removed_revision is not null',
    `create table removed_entries (
      account_id bigint not null,
      removal_id bigint not null,
      list text not null,
      id bigint not null,
      entry text not null,
      at bigint not null,
      primary key (account_id, removal_id, id)
    ) ${clustered}`,
    'create index removed_entries_by_age on removed_entries (at)',

    `create table nodes (
      id bigint primary key,
      server_id bigint not null references servers (id),
      name text not null,
      hash text ${bytewise} not null unique,
      version text not null,
      applied_revision bigint not null,
      live smallint not null,
      joined_at bigint not null,
      seen_at bigint not null,
      revoked_at bigint
    )`,
    'create index nodes_by_server on nodes (server_id)',
    `create table node_invites (
      hash text ${bytewise} primary key,
      server_id bigint not null references servers (id),
      expiry bigint not null,
      used_at bigint
    )`,
    `create table usage_batches (
      node_id bigint not null,
      boot text ${bytewise} not null,
      seq bigint not null,
      at bigint not null,
      primary key (node_id, boot, seq)
    ) ${clustered}`,
    'create index usage_batches_by_age on usage_batches (at)',
    // The truth about traffic: one bucket for each contract, server, user and hour.
    `create table usage_hours (
      account_id bigint not null,
      server_id bigint not null,
      user_id bigint not null,
      hour bigint not null,
      up bigint not null,
      down bigint not null,
      primary key (account_id, hour, server_id, user_id)
    ) ${clustered}`,
    // Sums kept beside it, so that an answer reads a few rows: per server by hour, and by billing period.
    `create table usage_server_hours (
      account_id bigint not null,
      server_id bigint not null,
      hour bigint not null,
      bytes bigint not null,
      primary key (account_id, hour, server_id)
    ) ${clustered}`,
    `create table usage_periods (
      account_id bigint not null,
      period_start bigint not null,
      server_id bigint not null,
      bytes bigint not null,
      primary key (account_id, period_start, server_id)
    ) ${clustered}`,
  ];
}
