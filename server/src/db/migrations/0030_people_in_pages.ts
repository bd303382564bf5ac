// The thirtieth schema: accounts are sorted by what they used in the running billing period, and users found by their display names.
import type { Engine } from '../database.ts';

/**
 * `period_start`: when the billing period of a contract began that holds `now`, as `periods.ts` says, which SQLite has from the
 * program. Text that people search is compared bytewise, as on SQLite.
 */
export function peopleInPages(engine: Engine): string[] {
  if (engine === 'sqlite') return [];
  return [
    'alter table users alter column display_name type text collate "C"',
    'alter table accounts alter column plan type text collate "C"',
    `create function period_start(start bigint, now bigint) returns bigint
       language sql immutable strict parallel safe as $$
       select cast(extract(epoch from begun + make_interval(months => greatest(0, months -
           case when begun + make_interval(months => months) > moment then 1 else 0 end))) as bigint)
         from (select begun, moment,
             cast((extract(year from moment) - extract(year from begun)) * 12
               + extract(month from moment) - extract(month from begun) as int) as months
           from (select timestamp 'epoch' + start * interval '1 second' as begun,
               timestamp 'epoch' + now * interval '1 second' as moment) times) counted $$`,
  ];
}
