// Removed ranges: which ids of an account's list are off it, though their rows are still there; lists are read around them.
import { setImmediate } from 'node:timers/promises';
import type { Reader, Transaction } from '../db/database.ts';
import { type Ids, slice } from '../db/slices.ts';

export type RemovableList = 'authlist' | 'overrides';

/** Ids of a list: after_id < id <= up_to. */
export interface IdRange {
  account_id: number;
  after_id: number;
  up_to: number;
}

export interface RemovedRange extends IdRange {
  list: RemovableList;
  /** 0: nothing brings it back. */
  removal_id: number;
  /** The change that brought its entries back; null while they are removed. */
  restored_revision: number | null;
}

/** Rows are counted so many at a time. */
const countedAtOnce = 10_000;

const rangeOf = (list: RemovableList, row: string) =>
  `from removed_ranges r where r.account_id = ${row}.account_id and r.list = '${list}'
     and r.up_to >= ${row}.id and r.after_id < ${row}.id`;

/** SQL: whether a row of a list is removed. */
export const isRemoved = (list: RemovableList, row: string) =>
  `exists (select 1 ${rangeOf(list, row)} and r.restored_revision is null)`;

/** SQL: the change that brought a row of a list back last, or null. */
export const restoredRevision = (list: RemovableList, row: string) =>
  `(select r.restored_revision ${rangeOf(list, row)})`;

/** The ranges of a list that are not as if nothing had been removed, by id. */
export function rangesOf(
  db: Reader,
  account_id: number,
  list: RemovableList,
): Promise<RemovedRange[]> {
  return db.all('select * from removed_ranges where account_id = $1 and list = $2 order by up_to', [
    account_id,
    list,
  ]);
}

/** Those that are removed now. */
export async function removedOf(
  db: Reader,
  account_id: number,
  list: RemovableList,
): Promise<RemovedRange[]> {
  const ranges = await rangesOf(db, account_id, list);
  return ranges.filter(({ restored_revision }) => restored_revision === null);
}

/** Whether an id lies in one of the ranges: one of before there were any may; its entry comes back under a new one. */
export const isWithin = (ranges: readonly IdRange[], id: number) =>
  ranges.some(({ after_id, up_to }) => after_id < id && id <= up_to);

/** The first ids after `after` that are not removed; its end is none where nothing is removed behind them. */
async function firstLive(db: Reader, list: RemovableList, account_id: number, after: number) {
  const removed = await db.all<IdRange>(
    `select * from removed_ranges where account_id = $1 and list = $2 and up_to > $3
       and restored_revision is null order by up_to`,
    [account_id, list, after],
  );
  let after_id = after;
  for (const range of removed) {
    if (range.after_id > after_id) return { after_id, up_to: range.after_id };
    after_id = range.up_to;
  }
  return { after_id, up_to: undefined };
}

/**
 * The slices of an account's rows that are on its list, whichever of them are wanted. Each passes over what is removed
 * when it is read: a removal that comes meanwhile ends them.
 */
export async function* liveSlices(
  db: Reader,
  list: RemovableList,
  account_id: number,
  rows = slice,
): AsyncGenerator<Ids, void, void> {
  for (let from = 0; ; ) {
    const { after_id: after, up_to } = await firstLive(db, list, account_id, from);
    const row = await db.one<{ id: number }>(
      `select id from ${list} where account_id = $1 and id > $2 and id <= $3
       order by id limit 1 offset ${rows - 1}`,
      [account_id, after, up_to ?? Number.MAX_SAFE_INTEGER],
    );
    const to = row?.id ?? up_to ?? Number.MAX_SAFE_INTEGER;
    const isLast = to === Number.MAX_SAFE_INTEGER;
    yield { after, to, isLast };
    if (isLast) return;
    from = to;
    await setImmediate();
  }
}

/** The rows in ranges of a list. */
export interface Counted {
  rows: number;
  /** Those that expire after the time that was asked for. */
  shown: number;
  /** Epoch seconds: the latest expiry. */
  expiry: number;
}

export async function countIn(
  db: Reader,
  list: RemovableList,
  ranges: readonly IdRange[],
  since: number,
): Promise<Counted> {
  const sum: Counted = { rows: 0, shown: 0, expiry: 0 };
  for (const { account_id, after_id, up_to } of ranges) {
    for (let after = after_id; ; ) {
      const found = await db.one<Counted & { last: number }>(
        `select count(*) as rows, coalesce(sum(case when expiry > $4 then 1 else 0 end), 0) as shown,
           coalesce(max(expiry), 0) as expiry, coalesce(max(id), 0) as last
         from (select id, expiry from ${list} where account_id = $1 and id > $2 and id <= $3
           order by id limit ${countedAtOnce}) counted`,
        [account_id, after, up_to, since],
      );
      if (!found) break;
      sum.rows += found.rows;
      sum.shown += found.shown;
      sum.expiry = Math.max(sum.expiry, found.expiry);
      if (found.rows < countedAtOnce) break;
      after = found.last;
      await setImmediate();
    }
  }
  return sum;
}

/** The ids of a list that are not removed, up to its newest: few ranges, however many rows are removed. */
export async function liveRanges(
  db: Reader,
  account_id: number,
  list: RemovableList,
): Promise<IdRange[]> {
  const removed = await removedOf(db, account_id, list);
  const newest = await db.one<{ id: number | null }>(
    `select max(id) as id from ${list} where account_id = $1`,
    [account_id],
  );
  const live: IdRange[] = [];
  let after_id = 0;
  for (const range of [...removed, { after_id: newest?.id ?? 0, up_to: 0 }]) {
    if (range.after_id > after_id) live.push({ account_id, after_id, up_to: range.after_id });
    after_id = Math.max(after_id, range.up_to);
  }
  return live;
}

/** Writes a list's ranges anew; final ones that lie side by side become one. */
export async function writeRanges(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  ranges: readonly RemovedRange[],
): Promise<void> {
  const joined: RemovedRange[] = [];
  for (const range of ranges.toSorted((one, other) => one.up_to - other.up_to)) {
    const last = joined.at(-1);
    const isSame = last?.up_to === range.after_id && last.removal_id === range.removal_id;
    if (last && isSame) last.up_to = range.up_to;
    else joined.push({ ...range });
  }
  await tx.run('delete from removed_ranges where account_id = $1 and list = $2', [
    account_id,
    list,
  ]);
  await tx.insertMany('removed_ranges', joined as never);
}

/** Brings a removal's ranges back, as of a change. */
export function reviveRanges(
  tx: Transaction,
  account_id: number,
  { list, removal_id }: Pick<RemovedRange, 'list' | 'removal_id'>,
  revision: number,
): Promise<number> {
  return tx.run(
    `update removed_ranges set removal_id = 0, restored_revision = $4
     where account_id = $1 and list = $2 and removal_id = $3`,
    [account_id, list, removal_id, revision],
  );
}

/** Makes a removal's ranges final. */
export function endRanges(
  tx: Transaction,
  account_id: number,
  { list, removal_id }: Pick<RemovedRange, 'list' | 'removal_id'>,
): Promise<number> {
  return tx.run(
    `update removed_ranges set removal_id = 0 where account_id = $1 and list = $2 and removal_id = $3`,
    [account_id, list, removal_id],
  );
}

/**
 * Purges what is removed for good, `most` rows at a time: `removeIn` deletes so many rows of a range at most, and answers how
 * many. A range that is empty goes too, and counts as one.
 */
export async function purgeRanges(
  tx: Transaction,
  list: RemovableList,
  most: number,
  removeIn: (range: IdRange, most: number) => Promise<number>,
): Promise<number> {
  let taken = 0;
  while (taken < most) {
    const range = await tx.one<RemovedRange>(
      `select * from removed_ranges
       where list = $1 and removal_id = 0 and restored_revision is null limit 1`,
      [list],
    );
    if (!range) break;
    taken += await removeIn(range, most - taken);
    if (taken >= most) break;
    await tx.run('delete from removed_ranges where account_id = $1 and list = $2 and up_to = $3', [
      range.account_id,
      list,
      range.up_to,
    ]);
    taken += 1;
  }
  return taken;
}
