// The eighteenth schema: usage by day, into which hours are rolled up when they are old.
import type { Engine } from '../database.ts';

/** As in the first: see there for `clustered`. `day`: start of the day (UTC), or of the billing period that begins within it. */
export function usageDays(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    `create table usage_days (
      account_id bigint not null,
      server_id bigint not null,
      user_id bigint not null,
      day bigint not null,
      up bigint not null,
      down bigint not null,
      primary key (account_id, day, server_id, user_id)
    ) ${clustered}`,
  ];
}
