// Removals: the entries of a list that were removed all at once, kept for seven days so that it can be undone.
import { nextId } from './changes.ts';
import type { Reader, Transaction } from './db/database.ts';
import { conflict } from './errors.ts';

export type RemovableList = 'authlist' | 'overrides';

const kept_seconds = 7 * 86_400;

/** A removal that can still be undone. */
export interface Removal {
  removal_id: number;
  list: RemovableList;
  entries: number;
  at: number;
}

/** The outcome of a "remove all". Without `removal_id` there is nothing to undo. */
export interface Removed {
  removal_id: number | null;
  entries: number;
}

/** The outcome of an undo. */
export interface Restored {
  restored: number;
  left_out: number;
}

/** Keeps the entries of one removal; answers its number, or null where none of them holds: none could come back. */
export async function keepRemoved(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  entries: ReadonlyArray<{ id: number; expiry: number }>,
): Promise<number | null> {
  if (!entries.some(({ expiry }) => tx.now < expiry)) return null;
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

/** Takes the entries of a removal out of keeping, to be put back. Errors: 409 when it is not there, undone or too old. */
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
  if (rows.length === 0) {
    const removal =
      list === 'authlist'
        ? `authlist removal ${removal_id}`
        : `removal ${removal_id} of custom DNS entries`;
    throw conflict(`the account has no ${removal} that can be undone.`, {
      code: 'removal_gone',
      field: 'removal_id',
    });
  }
  await tx.run('delete from removed_entries where account_id = $1 and removal_id = $2', [
    account_id,
    removal_id,
  ]);
  return rows.map((row) => JSON.parse(row.entry) as T);
}

/**
 * For an undo, before its entries count. Errors: 409 when the list has no room for all of them; the undo is
 * taken back whole, so that nothing is lost.
 */
export function requireRoomAgain(held: number, restored: number, most: number): void {
  if (restored === 0 || held + restored <= most) return;
  throw conflict(
    `The list holds ${held} entries, and ${restored} would come back: an account may have ${most}; remove some first.`,
    { code: 'list_full' },
  );
}

/** Forgets removals that can no longer be undone, a batch at a time. */
export function purgeRemoved(tx: Transaction, most: number): Promise<number> {
  return tx.run(
    `delete from removed_entries where (account_id, removal_id, id) in
     (select account_id, removal_id, id from removed_entries where at <= $1 limit $2)`,
    [tx.now - kept_seconds, most],
  );
}
