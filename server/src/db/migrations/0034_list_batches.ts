// The thirty-fourth schema: "remove all" takes the batches of a list, which follow one another by their ids, in place of ranges of ids.
import type { Engine } from '../database.ts';

/**
 * As in the first: see there for `clustered`. A row of `list_batches` is a batch: the ids after the batch before it, up to `up_to`.
 * `removal_id`: the removal that took it off the list; 0: for good; null: it is on the list. `restored_revision`: the change that
 * brought it back last. The ids behind all batches are on the list. Of ids between two ranges the first statement knows no
 * batch: they are on the list, and make one.
 */
export function listBatches(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  return [
    `create table list_batches (
      account_id bigint not null,
      list text not null,
      up_to bigint not null,
      removal_id bigint,
      restored_revision bigint,
      primary key (account_id, list, up_to)
    ) ${clustered}`,
    'create index list_batches_final on list_batches (list) where removal_id = 0',
    `insert into list_batches (account_id, list, up_to, removal_id, restored_revision)
      select account_id, list, up_to, case when restored_revision is null then removal_id end, restored_revision
      from removed_ranges`,
    `insert into list_batches (account_id, list, up_to)
      select account_id, list, after_id from removed_ranges r
      where after_id > 0 and not exists (select 1 from removed_ranges p
        where p.account_id = r.account_id and p.list = r.list and p.up_to = r.after_id)`,
    'drop table removed_ranges',
  ];
}
