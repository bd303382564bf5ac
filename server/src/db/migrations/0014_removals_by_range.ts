// The fourteenth schema: "remove all" names the ranges of ids that it took; their rows stay where they are until it is final.
import type { Engine } from '../database.ts';

/**
 * As in the first: see there for `clustered`. A row of `removed_ranges` says what became of the ids after `after_id`, up to
 * `up_to`: removed, or brought back by the change `restored_revision`. `removal_id` 0: final, and purged. `kept`: how many
 * entries of a removal gave their address up since and are in `removed_entries`; `lost`: others' claims on further ones.
 * Removals of before keep all their entries there, and have no range.
 */
export function removalsByRange(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    `create table removals (
      account_id bigint not null,
      removal_id bigint not null,
      list text not null,
      entries bigint not null,
      kept bigint not null,
      lost bigint not null,
      at bigint not null,
      primary key (account_id, removal_id)
    ) ${clustered}`,
    'create index removals_by_age on removals (at)',
    `create table removed_ranges (
      account_id bigint not null,
      list text not null,
      up_to bigint not null,
      after_id bigint not null,
      removal_id bigint not null,
      restored_revision bigint,
      primary key (account_id, list, up_to)
    ) ${clustered}`,
    'create index removed_ranges_final on removed_ranges (list) where removal_id = 0 and restored_revision is null',
    `insert into removals (account_id, removal_id, list, entries, kept, lost, at)
      select account_id, removal_id, list, sum(entries), 0, 0, max(at) from removed_entries
      group by account_id, removal_id, list`,
  ];
}
