// Batches: the entries that an account added to a list between one "remove all" and the next. A
// batch is on or off the list as a whole, so a removal and its undo write one row per batch, not
// per entry. Ids only rise: the batch of an entry is the first that ends at its id or later, and an
// entry after all batches is on the list.
import { setImmediate } from 'node:timers/promises';
import type { Reader, Transaction } from '../db/database.ts';
import type { Key } from '../db/one_of.ts';
import { type Ids, slice } from '../db/slices.ts';

export type RemovableList = 'authlist' | 'overrides';

/** The batch of an entry, as far as its row shows it. */
export interface OfBatch {
  /** The removal that took the batch off the list; 0: for good; null while it is on the list. */
  removal_id: number | null;
}

/** Ids of a list: after_id < id <= up_to. */
export interface Batch extends OfBatch {
  account_id: number;
  after_id: number;
  up_to: number;
}

/** How many rows are counted at a time. */
const countedAtOnce = 10_000;
const lastId = Number.MAX_SAFE_INTEGER;

const ofBatch = (column: string, list: RemovableList, row: string) =>
  `(select b.${column} from list_batches b where b.account_id = ${row}.account_id
     and b.list = '${list}' and b.up_to >= ${row}.id order by b.up_to limit 1)`;

/** SQL: the removal that removed a row of a list, from its batch. */
export const removalOf = (list: RemovableList, row: string) => ofBatch('removal_id', list, row);

/** SQL: whether a row of a list is removed. */
export const isRemoved = (list: RemovableList, row: string) =>
  `${removalOf(list, row)} is not null`;

/** SQL: the change that last brought a row of a list back, or null. */
export const restoredRevision = (list: RemovableList, row: string) =>
  ofBatch('restored_revision', list, row);

/** SQL: the id after which a batch `b` begins. */
const afterId = `coalesce((select max(p.up_to) from list_batches p
  where p.account_id = b.account_id and p.list = b.list and p.up_to < b.up_to), 0)`;

/** The batches of a list, by id. New entries are added to the last one, which has no end. */
export async function batchesOf(
  db: Reader,
  account_id: number,
  list: RemovableList,
): Promise<Batch[]> {
  const ended = await db.all<Batch>(
    `select account_id, ${afterId} as after_id, up_to, removal_id from list_batches b
     where account_id = $1 and list = $2 order by up_to`,
    [account_id, list],
  );
  const after_id = ended.at(-1)?.up_to ?? 0;
  return [...ended, { account_id, after_id, up_to: lastId, removal_id: null }];
}

/** Those that are on the list. */
export async function openBatches(
  db: Reader,
  account_id: number,
  list: RemovableList,
): Promise<Batch[]> {
  const batches = await batchesOf(db, account_id, list);
  return batches.filter(({ removal_id }) => removal_id === null);
}

/**
 * The slices of an account's rows that are on its list, wanted or not. Each skips what is removed
 * when it is read; a removal in the meantime ends them.
 */
export async function* liveSlices(
  db: Reader,
  list: RemovableList,
  account_id: number,
  rows = slice,
): AsyncGenerator<Ids, void, void> {
  for (let from = 0; from < lastId; ) {
    const batches = await openBatches(db, account_id, list);
    const next = batches.find((batch) => batch.up_to > from);
    const after = Math.max(from, next?.after_id ?? 0);
    const up_to = next?.up_to ?? lastId;
    const row = await db.one<{ id: number }>(
      `select id from ${list} where account_id = $1 and id > $2 and id <= $3
       order by id limit 1 offset ${rows - 1}`,
      [account_id, after, up_to],
    );
    const to = row?.id ?? up_to;
    yield { after, to, isLast: to === lastId };
    from = to;
    await setImmediate();
  }
}

/** The rows of batches. */
export interface Counted {
  rows: number;
  /** Those that expire after the requested time. */
  shown: number;
  /** Epoch seconds: the latest expiry. */
  expiry: number;
}

export async function countIn(
  db: Reader,
  list: RemovableList,
  batches: readonly Batch[],
  since: number,
): Promise<Counted> {
  const sum: Counted = { rows: 0, shown: 0, expiry: 0 };
  for (const { account_id, after_id, up_to } of batches) {
    for (let after: number | undefined = after_id; after !== undefined; ) {
      const counted: (Counted & { last: number }) | undefined = await db.one(
        `select count(*) as rows, coalesce(sum(case when expiry > $4 then 1 else 0 end), 0) as shown,
           coalesce(max(expiry), 0) as expiry, coalesce(max(id), 0) as last
         from (select id, expiry from ${list} where account_id = $1 and id > $2 and id <= $3
           order by id limit ${countedAtOnce}) counted`,
        [account_id, after, up_to, since],
      );
      sum.rows += counted?.rows ?? 0;
      sum.shown += counted?.shown ?? 0;
      sum.expiry = Math.max(sum.expiry, counted?.expiry ?? 0);
      after = counted?.rows === countedAtOnce ? counted.last : undefined;
      await setImmediate();
    }
  }
  return sum;
}

/** Takes everything off a list; answers how many. Adjacent batches with the same end become one. */
export async function closeBatches(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  removal_id: number,
): Promise<number> {
  const newest = await tx.one<{ id: number | null }>(
    `select max(id) as id from ${list} where account_id = $1`,
    [account_id],
  );
  const batches = await batchesOf(tx, account_id, list);
  const up_to = newest?.id ?? 0;
  if (up_to > (batches.at(-1)?.after_id ?? 0)) {
    await tx.insertMany('list_batches', [{ account_id, list, up_to }]);
  }
  await tx.run(
    `update list_batches set removal_id = $3, restored_revision = null
     where account_id = $1 and list = $2 and removal_id is null`,
    [account_id, list, removal_id],
  );
  const joined = await tx.run(
    `delete from list_batches where account_id = $1 and list = $2 and removal_id =
       (select b.removal_id from list_batches b where b.account_id = $1 and b.list = $2
          and b.up_to > list_batches.up_to order by b.up_to limit 1)`,
    [account_id, list],
  );
  return batches.length - joined;
}

/** Puts the batches of a removal back on their list as of a change; without one, off for good. */
export function endRemoval(
  tx: Transaction,
  account_id: number,
  removal_id: number,
  restored_revision: number | null = null,
): Promise<number> {
  return tx.run(
    `update list_batches set removal_id = $3, restored_revision = $4
     where account_id = $1 and removal_id = $2`,
    [account_id, removal_id, restored_revision === null ? 0 : null, restored_revision],
  );
}

/** Purges what is removed for good, `maxRows` rows at a time, by `removeMany`; answers how many. */
export async function purgeBatches(
  tx: Transaction,
  list: RemovableList,
  maxRows: number,
  removeMany: (tx: Transaction, keys: readonly Key[]) => Promise<void>,
): Promise<number> {
  const rows = await tx.all<{ account_id: number; id: number }>(
    `select a.account_id, a.id from list_batches b
       join ${list} a on a.account_id = b.account_id and a.id > ${afterId} and a.id <= b.up_to
     where b.list = $1 and b.removal_id = 0 limit $2`,
    [list, maxRows],
  );
  await removeMany(
    tx,
    rows.map(({ account_id, id }) => [account_id, id]),
  );
  // Fewer rows than requested: these were all, and the batches are now empty.
  if (rows.length < maxRows) {
    await tx.run('delete from list_batches where list = $1 and removal_id = 0', [list]);
  }
  return rows.length;
}
