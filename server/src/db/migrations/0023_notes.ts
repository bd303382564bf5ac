// The twenty-third schema: entries of the IP authlist and custom DNS have a note, and who added them when.
import type { Engine } from '../database.ts';

/** Text is compared bytewise, as in the first schema. Of an entry of before it is not known who added it: null. */
export function notes(engine: Engine): string[] {
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return ['authlist', 'overrides'].flatMap((list) => [
    `alter table ${list} add column note text ${bytewise} not null default ''`,
    `alter table ${list} add column added_by_kind text`,
    `alter table ${list} add column added_by text`,
    `alter table ${list} add column added_at bigint`,
  ]);
}
