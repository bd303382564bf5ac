// Removals: the entries of a list that were removed all at once, kept for seven days so that it can be undone.
import { audit } from './audit.ts';
import { countHeld, heldCount, nextId, recordChange } from './changes.ts';
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

/** The words of each list: in the log of changes, in the audit log, and in a message. */
const words = {
  authlist: {
    cleared: 'authlist_cleared',
    entry: 'authlist',
    removal: (id: number) => `authlist removal ${id}`,
  },
  overrides: {
    cleared: 'overrides_cleared',
    entry: 'override',
    removal: (id: number) => `removal ${id} of custom DNS entries`,
  },
} as const;

/**
 * Records that an account's list was emptied of `rows`, and keeps `entries`, those of them that were still
 * shown. Where none of these holds any more, there is nothing to undo.
 */
export async function recordRemoval(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  rows: number,
  entries: ReadonlyArray<{ id: number; expiry: number }>,
): Promise<Removed> {
  if (rows === 0) return { removal_id: null, entries: 0 };
  await countHeld(tx, account_id, list, -rows);
  const canBeUndone = entries.some(({ expiry }) => tx.now < expiry);
  const removal_id = canBeUndone ? await keepEntries(tx, account_id, list, entries) : null;
  const { cleared, entry } = words[list];
  await recordChange(tx, { kind: cleared, account_id });
  const removed = { entries: entries.length, removal_id };
  await audit(tx, { account_id, action: `${entry}.remove_all`, target: list, before: removed });
  return removed;
}

async function keepEntries(
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
    throw conflict(`the account has no ${words[list].removal(removal_id)} that can be undone.`, {
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
 * Records an undo: so many entries are back in the list, `left_out` are not. Errors: 409 when an account
 * may not have that many (`most`); the undo is then taken back whole, so that nothing is lost.
 */
export async function recordRestore(
  tx: Transaction,
  account_id: number,
  { list, removal_id }: Pick<Removal, 'list' | 'removal_id'>,
  outcome: Restored,
  most: number,
): Promise<Restored> {
  const held = await heldCount(tx, account_id, list);
  const { restored } = outcome;
  if (restored > 0 && held + restored > most) {
    throw conflict(
      `The list holds ${held} entries, and ${restored} would come back: an account may have ${most}; remove some first.`,
      { code: 'list_full' },
    );
  }
  await countHeld(tx, account_id, list, restored);
  await audit(tx, {
    account_id,
    action: `${words[list].entry}.restore`,
    target: list,
    after: { removal_id, ...outcome },
  });
  return outcome;
}

/** Forgets removals that can no longer be undone, a batch at a time. */
export function purgeRemoved(tx: Transaction, most: number): Promise<number> {
  return tx.run(
    `delete from removed_entries where (account_id, removal_id, id) in
     (select account_id, removal_id, id from removed_entries where at <= $1 limit $2)`,
    [tx.now - kept_seconds, most],
  );
}
