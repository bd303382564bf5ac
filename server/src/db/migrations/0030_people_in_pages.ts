// The thirtieth schema: accounts are sorted by what they used in the running billing period, and users found by their display names.
import type { Engine } from '../database.ts';

const begun = "timestamp 'epoch' + start * interval '1 second'";
const moment = "timestamp 'epoch' + now * interval '1 second'";
const of = (field: string) =>
  `cast(extract(${field} from ${moment}) as int) - cast(extract(${field} from ${begun}) as int)`;
const months = `((${of('year')}) * 12 + ${of('month')})`;

/**
 * `period_start`: when the billing period of a contract began that holds `now`, as `periods.ts` says, which SQLite has from the
 * program. It is one expression and not strict, so that PostgreSQL puts it in the place of the call. Text that people search is
 * compared bytewise, as on SQLite.
 */
export function peopleInPages(engine: Engine): string[] {
  if (engine === 'sqlite') return [];
  return [
    'alter table users alter column display_name type text collate "C"',
    'alter table accounts alter column plan type text collate "C"',
    `create function period_start(start bigint, now bigint) returns bigint
       language sql immutable parallel safe as $$
       select cast(extract(epoch from ${begun} + make_interval(months => greatest(0, ${months}
         - case when ${begun} + make_interval(months => ${months}) > ${moment} then 1 else 0 end))) as bigint) $$`,
  ];
}
