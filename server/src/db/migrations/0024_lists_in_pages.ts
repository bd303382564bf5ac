// The twenty-fourth schema: lists are sorted by address, and entries that were chosen are removed at once.
import type { Engine } from '../database.ts';

/**
 * `ip_order`: what addresses are sorted by, IPv4 first; SQLite has it from the program (`ip_order.ts`). `chosen` 1: the removal
 * took entries that were chosen, and all of them are in `removed_entries`.
 */
export function listsInPages(engine: Engine): string[] {
  return [
    'alter table removals add column chosen smallint not null default 0',
    ...(engine === 'sqlite'
      ? []
      : [
          `create function ip_order(ip text) returns text language sql immutable strict parallel safe
             as $$ select encode(inet_send(cast(ip as inet)), 'hex') $$`,
        ]),
  ];
}
