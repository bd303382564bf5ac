// Removals: entries that were removed together, all of a list or a selection. For seven days an
// undo can bring them back (undo.ts).
//
// Selected entries are kept here. The rows of a whole list stay where they are: a removal takes
// their batches (batches.ts), so it is as short for a long list as for a short one. An entry whose
// address is listed again gives way, and is kept here.
import { audit } from '../changes/audit.ts';
import { countHeld, nextId, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict } from '../errors.ts';
import {
  type Batch,
  batchesOf,
  closeBatches,
  countIn,
  endRemoval,
  type OfBatch,
  openBatches,
  type RemovableList,
} from './batches.ts';
import { type ErasedAdder, isAddedBy, type Noted } from './notes.ts';

/** A removal that can still be undone. */
export interface Removal {
  removal_id: number;
  list: RemovableList;
  entries: number;
  at: number;
  /** 1: selected entries, all kept here; 0: the whole list. */
  chosen: number;
}

/** The outcome of removing all or selected entries. `removal_id` is null without an undo. */
export interface Removed {
  removal_id: number | null;
  entries: number;
}

const keptSeconds = 7 * 86_400;
/** How many removals of a list can be undone: the next one makes the oldest final. */
const maxUndoable = 20;
/** A removal of a list with more batches than this makes all earlier ones final. */
const maxBatches = 100;
/** How many entries that gave way are kept for a removal; further ones do not come back. */
const maxKept = 200;

/** The words for each list: in the log of changes, in the audit log, and in a message. */
export const words = {
  authlist: {
    cleared: 'authlist_cleared',
    entry: 'authlist',
    removal: 'authlist removal',
  },
  overrides: {
    cleared: 'overrides_cleared',
    entry: 'override',
    removal: 'removal of custom DNS entries',
  },
} as const;

/**
 * Removes everything on an account's list. Entries that expired by `since` are no longer shown, and
 * not counted. If none is left that holds, there is nothing to undo.
 */
export async function recordRemoval(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  since: number,
): Promise<Removed> {
  const batches = await openBatches(tx, account_id, list);
  const { rows, shown, expiry } = await countIn(tx, list, batches, since);
  if (rows === 0) return { removal_id: null, entries: 0 };
  const removal = { account_id, list, entries: shown, chosen: 0 };
  const removal_id = expiry > tx.now ? await addRemoval(tx, removal) : null;
  const count = await closeBatches(tx, account_id, list, removal_id ?? 0);
  if (count > maxBatches) await keepNewest(tx, removal, 1);
  await countHeld(tx, account_id, list, -rows);
  const { cleared, entry } = words[list];
  await recordChange(tx, { kind: cleared, account_id });
  const outcome = { entries: shown, removal_id };
  await audit(tx, { account_id, action: `${entry}.remove_all`, target: list, before: outcome });
  return outcome;
}

/** Keeps selected entries, which the caller removes. Answers the removal's id, if any holds. */
export async function recordChosen(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  rows: ReadonlyArray<{ expiry: number }>,
): Promise<number | null> {
  if (!rows.some(({ expiry }) => tx.now < expiry)) return null;
  const removal_id = await addRemoval(tx, { account_id, list, entries: rows.length, chosen: 1 });
  const batch = { account_id, removal_id, list, id: 0, at: tx.now, entries: rows.length };
  await tx.insertMany('removed_entries', [{ ...batch, entry: JSON.stringify(rows) }]);
  return removal_id;
}

type NewRemoval = Pick<Removal, 'list' | 'entries' | 'chosen'> & { account_id: number };

async function addRemoval(tx: Transaction, removal: NewRemoval): Promise<number> {
  await keepNewest(tx, removal, maxUndoable - 1);
  const removal_id = await nextId(tx, removal.account_id, 'removals');
  await tx.insertMany('removals', [{ ...removal, removal_id, kept: 0, lost: 0, at: tx.now }]);
  return removal_id;
}

/** Makes all but the newest removals of this list and kind final. */
async function keepNewest(
  tx: Transaction,
  { account_id, list, chosen }: NewRemoval,
  count: number,
): Promise<void> {
  const removals = await tx.all<{ removal_id: number }>(
    `select removal_id from removals where account_id = $1 and list = $2 and chosen = $3
     order by removal_id desc`,
    [account_id, list, chosen],
  );
  for (const { removal_id } of removals.slice(count)) await forget(tx, account_id, removal_id);
}

/** Makes a removal final: entries that have not come back by now never do. */
export async function forget(
  tx: Transaction,
  account_id: number,
  removal_id: number,
): Promise<void> {
  await endRemoval(tx, account_id, removal_id);
  const key = [account_id, removal_id];
  await tx.run('delete from removals where account_id = $1 and removal_id = $2', key);
  await tx.run('delete from removed_entries where account_id = $1 and removal_id = $2', key);
}

/** The removals of an account that can still be undone, newest first. */
export function listRemovals(db: Reader, account_id: number, now: number): Promise<Removal[]> {
  return db.all(
    `select removal_id, list, entries, at, chosen from removals
     where account_id = $1 and at > $2 order by removal_id desc`,
    [account_id, now - keptSeconds],
  );
}

/** A removal that can be undone, and the state of its entries. */
export interface KeptRemoval<Row> extends Removal {
  /** Addresses of it that other accounts claim, in addition to the kept entries. */
  lost: number;
  batches: Batch[];
  /** The entries that are kept outside the list. */
  kept: Row[];
}

/** Errors: 409 when it does not exist, is undone or too old. */
export async function requireRemoval<Row>(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  removal_id: number,
): Promise<KeptRemoval<Row>> {
  const removal = await tx.one<Removal & { lost: number }>(
    `select removal_id, list, entries, at, chosen, lost from removals
     where account_id = $1 and removal_id = $2 and list = $3 and at > $4`,
    [account_id, removal_id, list, tx.now - keptSeconds],
  );
  if (!removal) throw removalGone(list);
  const batches = await batchesOf(tx, account_id, list);
  const keptRows = await tx.all<{ entry: string }>(
    'select entry from removed_entries where account_id = $1 and removal_id = $2 order by id',
    [account_id, removal_id],
  );
  return {
    ...removal,
    batches: batches.filter((batch) => batch.removal_id === removal_id),
    // One entry that gave way, or an array of selected ones.
    kept: keptRows.flatMap(({ entry }) => JSON.parse(entry) as Row | Row[]),
  };
}

/** 409: the removal does not exist, or not for this client. */
export function removalGone(list: RemovableList) {
  return conflict(`the account has no such ${words[list].removal} that can be undone.`, {
    code: 'removal_gone',
    field: 'removal_id',
  });
}

/** Keeps a removed entry that gives way to `taker`'s, if it holds and an undo is possible. */
export async function keepEntry(
  tx: Transaction,
  { removal_id, ...entry }: OfBatch & { account_id: number; id: number; expiry: number },
  taker: number,
): Promise<void> {
  const { account_id, id } = entry;
  const removal = await tx.one<Pick<Removal, 'list' | 'at'> & { kept: number }>(
    'select list, at, kept from removals where account_id = $1 and removal_id = $2',
    [account_id, removal_id],
  );
  if (!removal || tx.now >= entry.expiry) return;
  const { list, at, kept: keptCount } = removal;
  const isKept = keptCount < maxKept;
  if (!isKept && account_id === taker) return;
  await tx.run(
    `update removals set ${isKept ? 'kept = kept' : 'lost = lost'} + 1
     where account_id = $1 and removal_id = $2`,
    [account_id, removal_id],
  );
  if (!isKept) return;
  const row = { account_id, removal_id, list, id, at, entries: 1 };
  await tx.insertMany('removed_entries', [{ ...row, entry: JSON.stringify(entry) }]);
}

/** Forgets a user's kept authlist entries, for an undo to leave out, and the user as adder. */
export async function forgetKeptOf(tx: Transaction, erased: ErasedAdder): Promise<void> {
  const { account_id } = erased;
  const rows = await tx.all<{ removal_id: number; id: number; entry: string }>(
    'select removal_id, id, entry from removed_entries where account_id = $1',
    [account_id],
  );
  for (const { removal_id, id, entry } of rows) {
    const keptEntries = [JSON.parse(entry)].flat() as Array<Partial<Noted> & { user_id?: number }>;
    const others = keptEntries
      .filter((row) => row.user_id !== erased.id)
      .map((row) => (isAddedBy(erased, row) ? { ...row, added_by: erased.pseudonym } : row));
    const text = JSON.stringify(others);
    if (text === JSON.stringify(keptEntries)) continue;
    await tx.run(
      'update removed_entries set entry = $4 where account_id = $1 and removal_id = $2 and id = $3',
      [account_id, removal_id, id, text],
    );
  }
}

/** Makes old removals final, and forgets their kept entries, a batch at a time. */
export async function purgeRemoved(tx: Transaction, maxRows: number): Promise<number> {
  const until = tx.now - keptSeconds;
  const entries = await tx.run(
    `delete from removed_entries where (account_id, removal_id, id) in
     (select account_id, removal_id, id from removed_entries where at <= $1 limit $2)`,
    [until, maxRows],
  );
  const removals = await tx.all<Removal & { account_id: number }>(
    'select account_id, removal_id from removals where at <= $1 limit $2',
    [until, maxRows - entries],
  );
  for (const { account_id, removal_id } of removals) await forget(tx, account_id, removal_id);
  return entries + removals.length;
}
