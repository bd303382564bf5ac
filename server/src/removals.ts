// What "remove all" took away, kept for seven days so that the operator can undo it.
import { nextId } from './changes.ts';
import type { Reader, Transaction } from './db/database.ts';

export type RemovableList = 'authlist' | 'overrides';

const kept_seconds = 7 * 86_400;

export interface Removal {
  removal_id: number;
  list: RemovableList;
  entries: number;
  at: number;
}

/** What came of a "remove all": without entries there is nothing to undo. */
export interface Removed {
  removal_id: number | null;
  entries: number;
}

/** Keeps the entries of one removal; answers its number. */
export async function keepRemoved(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  entries: ReadonlyArray<{ id: number }>,
): Promise<number> {
  const removal_id = await nextId(tx, account_id, 'removals');
  const rows = entries.map((entry) => ({
    account_id,
    removal_id,
    list,
    id: entry.id,
    entry: JSON.stringify(entry),
    at: tx.now,
  }));
  for (let at = 0; at < rows.length; at += 5000) {
    await tx.insertMany('removed_entries', rows.slice(at, at + 5000));
  }
  return removal_id;
}

/** The removals of an account that can still be undone, newest first. */
export function listRemovals(db: Reader, account_id: number, now: number): Promise<Removal[]> {
  return db.all(
    `select removal_id, list, count(*) as entries, max(at) as at from removed_entries
     where account_id = $1 and at > $2 group by removal_id, list order by removal_id desc`,
    [account_id, now - kept_seconds],
  );
}

/** Takes the entries of a removal out of keeping, to be put back. */
export async function takeRemoved<T>(
  tx: Transaction,
  account_id: number,
  removal_id: number,
  list: RemovableList,
): Promise<T[]> {
  const rows = await tx.all<{ entry: string }>(
    'select entry from removed_entries where account_id = $1 and removal_id = $2 and list = $3 and at > $4 order by id',
    [account_id, removal_id, list, tx.now - kept_seconds],
  );
  if (rows.length > 0) {
    await tx.run('delete from removed_entries where account_id = $1 and removal_id = $2', [
      account_id,
      removal_id,
    ]);
  }
  return rows.map((row) => JSON.parse(row.entry) as T);
}

/** Forgets removals that can no longer be undone, a batch at a time. */
export function purgeRemoved(tx: Transaction, most: number): Promise<number> {
  return tx.run(
    `delete from removed_entries where (account_id, removal_id, id) in
     (select account_id, removal_id, id from removed_entries where at <= $1 limit $2)`,
    [tx.now - kept_seconds, most],
  );
}
