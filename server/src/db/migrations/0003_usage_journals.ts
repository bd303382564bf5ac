// The third schema: of each journal of a node only the last batch that was counted.
import type { Engine } from '../database.ts';

/** As in the first: one text for both engines, see there for `clustered` and `bytewise`. */
export function usageJournals(engine: Engine): string[] {
  const clustered = engine === 'sqlite' ? 'without rowid' : '';
  const bytewise = engine === 'sqlite' ? '' : 'collate "C"';
  return [
    `create table usage_journals (
      node_id bigint not null,
      boot text ${bytewise} not null,
      seq bigint not null,
      at bigint not null,
      primary key (node_id, boot)
    ) ${clustered}`,
    'create index usage_journals_by_age on usage_journals (at)',
    // Nothing may be counted between the copy and the end of the old table.
    ...(engine === 'sqlite' ? [] : ['lock table usage_batches in access exclusive mode']),
    `insert into usage_journals (node_id, boot, seq, at)
       select node_id, boot, max(seq), max(at) from usage_batches group by node_id, boot`,
    // An old process that still runs must not count by a table that new ones do not look at: it fails,
    // and the node sends its batch again.
    'drop table usage_batches',
  ];
}
