// The forty-eighth schema: accounts whose refusals rise, and addresses that try many users.
import type { Engine } from '../database.ts';

/** As in the first: see there for `clustered`. `network`: '' where no user's password is guessed. */
export function refusalNotices(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    // `usual`: those of the seven days before.
    `create table refusal_hours (
      account_id bigint not null,
      hour bigint not null,
      count bigint not null,
      usual bigint not null,
      rising smallint not null,
      primary key (account_id, hour)
    ) ${clustered}`,
    'create index refusal_hours_by_age on refusal_hours (hour)',
    'create index refusal_hours_rising on refusal_hours (hour, count) where rising = 1',
    `alter table refusals add column network text ${bytewise} not null default ''`,
    "create index refusals_guessed on refusals (network, at) where network <> ''",
    `create table user_tries (
      network text ${bytewise} not null,
      account_id bigint not null,
      at bigint not null,
      users bigint not null,
      primary key (network, account_id)
    ) ${clustered}`,
    'create index user_tries_of_account on user_tries (account_id, at)',
    'create index user_tries_by_age on user_tries (at)',
  ];
}
