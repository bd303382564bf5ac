// The forty-third schema: users have limits of their own.
import type { Engine } from '../database.ts';

/**
 * Null is no limit. `services` and `server_ids` are JSON. `over_until`: the end of the billing
 * period in which the user's bytes are used up, when they are counted again; 0 until then.
 */
export function userLimits(engine: Engine): string[] {
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  const columns = [
    'limit_bytes bigint',
    `on_limit text ${bytewise} not null default 'refuse'`,
    'max_connections bigint',
    'max_addresses bigint',
    'address_seconds bigint not null default 300',
    'active_until bigint',
    `services text ${bytewise}`,
    `server_ids text ${bytewise}`,
    'over_limit smallint not null default 0',
    'over_until bigint not null default 0',
  ];
  return [
    ...columns.map((column) => `alter table users add column ${column}`),
    'create index users_over_limit on users (over_until) where over_limit = 1',
  ];
}
