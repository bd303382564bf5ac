// Removals: entries of a list that were removed at once, all or some that were chosen, kept for seven days so that it can be undone.
//
// Chosen ones are kept here. The rows of a whole list stay where they are: a removal names the ranges of ids that it took (removed_ranges.ts), so that it is as short
// for a long list as for a short one. An entry whose address is listed anew meanwhile gives way, and is kept here.
import { setImmediate } from 'node:timers/promises';
import { audit } from '../changes/audit.ts';
import { countHeld, heldCount, nextId, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { slice } from '../db/slices.ts';
import { conflict } from '../errors.ts';
import { type ErasedAdder, isAddedBy, type Noted } from './notes.ts';
import {
  countIn,
  endRanges,
  liveRanges,
  type RemovableList,
  removedOf,
  reviveRanges,
  writeRanges,
} from './removed_ranges.ts';

/** A removal that can still be undone. */
export interface Removal {
  removal_id: number;
  list: RemovableList;
  entries: number;
  at: number;
  /** 1: of entries that were chosen, which are all kept here; 0: of the whole list. */
  chosen: number;
}

/** The outcome of a "remove all", or of a removal of entries that were chosen. Without `removal_id` there is nothing to undo. */
export interface Removed {
  removal_id: number | null;
  entries: number;
}

/** The outcome of an undo. */
export interface Restored {
  restored: number;
  left_out: number;
}

const kept_seconds = 7 * 86_400;
/** As many removals of a list can be undone: with the next one the oldest becomes final. */
const mostUndoable = 20;
/** As many ranges does a list fall into; a removal that would make more leaves none of before that can be undone. */
const mostRanges = 100;
/** As many entries of a removal as gave way are kept; further ones do not come back. */
const mostKept = 200;

/** The words of each list: in the log of changes, in the audit log, and in a message. */
const words = {
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
 * Removes all that is on an account's list. `since`: entries that expired by then are shown no more, and not counted. Where
 * none holds any more, there is nothing to undo.
 */
export async function recordRemoval(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  since: number,
): Promise<Removed> {
  const removed = await removedOf(tx, account_id, list);
  const live = await liveRanges(tx, account_id, list);
  const { rows, shown, expiry } = await countIn(tx, list, live, since);
  if (rows === 0) return { removal_id: null, entries: 0 };
  const removal_id = expiry > tx.now ? await nextId(tx, account_id, 'removals') : null;
  const most = removed.length + live.length > mostRanges ? 0 : mostUndoable - 1;
  const kept = removal_id === null ? mostUndoable : most;
  const undoable = await keepNewest(tx, account_id, { list, chosen: 0 }, kept);
  const place = { account_id, list, restored_revision: null };
  await writeRanges(tx, account_id, list, [
    ...removed.map((range) => ({
      ...range,
      removal_id: undoable.has(range.removal_id) ? range.removal_id : 0,
    })),
    ...live.map((range) => ({ ...range, ...place, removal_id: removal_id ?? 0 })),
  ]);
  if (removal_id !== null) {
    const counts = { entries: shown, kept: 0, lost: 0 };
    const whole = { account_id, removal_id, list, ...counts, at: tx.now, chosen: 0 };
    await tx.insertMany('removals', [whole]);
  }
  await countHeld(tx, account_id, list, -rows);
  const { cleared, entry } = words[list];
  await recordChange(tx, { kind: cleared, account_id });
  const outcome = { entries: shown, removal_id };
  await audit(tx, { account_id, action: `${entry}.remove_all`, target: list, before: outcome });
  return outcome;
}

/**
 * Keeps entries that were chosen and are removed by who calls. Answers the id of the removal; null where none of them holds
 * any more.
 */
export async function recordChosen(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  rows: ReadonlyArray<{ expiry: number }>,
): Promise<number | null> {
  if (!rows.some(({ expiry }) => tx.now < expiry)) return null;
  await keepNewest(tx, account_id, { list, chosen: 1 }, mostUndoable - 1);
  const removal_id = await nextId(tx, account_id, 'removals');
  const counts = { entries: rows.length, kept: 0, lost: 0 };
  const removal = { account_id, removal_id, list, ...counts, at: tx.now, chosen: 1 };
  await tx.insertMany('removals', [removal]);
  const slices = Array.from({ length: Math.ceil(rows.length / slice) }, (_, id) =>
    rows.slice(id * slice, (id + 1) * slice),
  );
  const kept = slices.map((some, id) => ({
    ...{ account_id, removal_id, list, id, at: tx.now, entries: some.length },
    entry: JSON.stringify(some),
  }));
  await tx.insertMany('removed_entries', kept);
  return removal_id;
}

/** Makes all removals of a list final but the newest; answers the ids of these. */
async function keepNewest(
  tx: Transaction,
  account_id: number,
  { list, chosen }: Pick<Removal, 'list' | 'chosen'>,
  most: number,
): Promise<Set<number>> {
  const removals = await tx.all<{ removal_id: number }>(
    `select removal_id from removals where account_id = $1 and list = $2 and chosen = $3
     order by removal_id desc`,
    [account_id, list, chosen],
  );
  const ids = removals.map(({ removal_id }) => removal_id);
  for (const removal_id of ids.slice(most)) await forget(tx, account_id, removal_id);
  return new Set(ids.slice(0, most));
}

async function forget(tx: Transaction, account_id: number, removal_id: number): Promise<void> {
  for (const table of ['removals', 'removed_entries']) {
    await tx.run(`delete from ${table} where account_id = $1 and removal_id = $2`, [
      account_id,
      removal_id,
    ]);
  }
}

/** The removals of an account that can still be undone, newest first. */
export function listRemovals(db: Reader, account_id: number, now: number): Promise<Removal[]> {
  return db.all(
    `select removal_id, list, entries, at, chosen from removals
     where account_id = $1 and at > $2 order by removal_id desc`,
    [account_id, now - kept_seconds],
  );
}

/** A removal that can be undone, with what has become of its entries. */
export interface KeptRemoval extends Removal {
  kept: number;
  /** Claims of other accounts on addresses of it that are not among those kept. */
  lost: number;
}

/** Errors: 409 when it is not there, undone or too old. */
export async function requireRemoval(
  db: Reader,
  account_id: number,
  { list, removal_id }: Pick<Removal, 'list' | 'removal_id'>,
  now: number,
): Promise<KeptRemoval> {
  const removal = await db.one<KeptRemoval>(
    `select removal_id, list, entries, at, chosen, kept, lost from removals
     where account_id = $1 and removal_id = $2 and list = $3 and at > $4`,
    [account_id, removal_id, list, now - kept_seconds],
  );
  if (!removal) throw removalGone(list);
  return removal;
}

/** 409: there is no such removal, or not for this client. */
export function removalGone(list: RemovableList) {
  return conflict(`the account has no such ${words[list].removal} that can be undone.`, {
    code: 'removal_gone',
    field: 'removal_id',
  });
}

/** Keeps a removed entry that gives way to an entry of `taker`, if its removal can be undone. */
export async function keepEntry(
  tx: Transaction,
  list: RemovableList,
  row: { account_id: number; id: number },
  taker: number,
): Promise<void> {
  const { account_id, id } = row;
  const removal = await tx.one<KeptRemoval>(
    `select m.* from removed_ranges r join removals m
       on m.account_id = r.account_id and m.removal_id = r.removal_id
     where r.account_id = $1 and r.list = $2 and r.up_to >= $3 and r.after_id < $3`,
    [account_id, list, id],
  );
  if (!removal) return;
  const { removal_id, at } = removal;
  const isKept = removal.kept < mostKept;
  if (!isKept && account_id === taker) return;
  await tx.run(
    `update removals set ${isKept ? 'kept = kept' : 'lost = lost'} + 1
     where account_id = $1 and removal_id = $2`,
    [account_id, removal_id],
  );
  const entry = JSON.stringify(row);
  if (isKept) {
    await tx.insertMany('removed_entries', [
      { account_id, removal_id, list, id, entry, at, entries: 1 },
    ]);
  }
}

/**
 * Forgets the authlist entries of a user that are kept here; an undo leaves them out. Of the others it forgets that the
 * user added them.
 */
export async function forgetKeptOf(tx: Transaction, erased: ErasedAdder): Promise<void> {
  const { account_id } = erased;
  const rows = await tx.all<{ removal_id: number; id: number; entry: string }>(
    'select removal_id, id, entry from removed_entries where account_id = $1',
    [account_id],
  );
  for (const { removal_id, id, entry } of rows) {
    const kept = [JSON.parse(entry)].flat() as Array<Partial<Noted> & { user_id?: number }>;
    const others = kept
      .filter((one) => one.user_id !== erased.id)
      .map((one) => (isAddedBy(erased, one) ? { ...one, added_by: erased.pseudonym } : one));
    const text = JSON.stringify(others);
    if (text === JSON.stringify(kept)) continue;
    await tx.run(
      'update removed_entries set entry = $4 where account_id = $1 and removal_id = $2 and id = $3',
      [account_id, removal_id, id, text],
    );
  }
}

/** The entries of a removal that are kept beside the list, a slice at a time. */
export async function* keptEntries<T>(
  db: Reader,
  account_id: number,
  { removal_id, kept }: KeptRemoval,
): AsyncGenerator<T[], void, void> {
  // A row of before the ranges holds a slice, each of today one entry.
  const atOnce = kept > 0 ? mostKept : 1;
  for (let after = -1; ; ) {
    const rows = await db.all<{ id: number; entry: string }>(
      `select id, entry from removed_entries where account_id = $1 and removal_id = $2 and id > $3
       order by id limit ${atOnce}`,
      [account_id, removal_id, after],
    );
    const last = rows.at(-1)?.id;
    if (last === undefined) return;
    yield rows.flatMap(({ entry }) => JSON.parse(entry) as T | T[]) as T[];
    after = last;
    await setImmediate();
  }
}

/**
 * How many of a list an account holds, `expired` of them no more. Errors: 409 when so many that come back are
 * more than it may have (`most`). Asked before anything is written.
 */
export async function requireRoom(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  restored: number,
  { expired = 0, most }: { expired?: number; most: number },
): Promise<void> {
  const held = (await heldCount(tx, account_id, list)) - expired;
  if (restored === 0 || held + restored <= most) return;
  throw conflict(
    `The list holds ${held} entries, and ${restored} would come back: an account may have ${most}; remove some first.`,
    { code: 'list_full' },
  );
}

/**
 * Records an undo, as one change: the removal's ranges are on the list again, with `rows` rows, and `put_back` entries that
 * were kept beside it. Where none comes back, its rows stay off the list for good.
 */
export async function recordRestore(
  tx: Transaction,
  account_id: number,
  removal: KeptRemoval,
  { restored, rows, revision }: { restored: number; rows: number; revision: number | undefined },
): Promise<Restored> {
  const { list, removal_id, entries } = removal;
  await forget(tx, account_id, removal_id);
  if (revision === undefined) await endRanges(tx, account_id, removal);
  else {
    await reviveRanges(tx, account_id, removal, revision);
    await countHeld(tx, account_id, list, rows);
  }
  const outcome = { restored, left_out: Math.max(0, entries - restored) };
  await audit(tx, {
    account_id,
    action: `${words[list].entry}.restore`,
    target: list,
    after: { removal_id, ...outcome },
  });
  return outcome;
}

/** Makes removals final that can no longer be undone, and forgets what is kept of them, a batch at a time. */
export async function purgeRemoved(tx: Transaction, most: number): Promise<number> {
  const until = tx.now - kept_seconds;
  const entries = await tx.run(
    `delete from removed_entries where (account_id, removal_id, id) in
     (select account_id, removal_id, id from removed_entries where at <= $1 limit $2)`,
    [until, most],
  );
  const removals = await tx.all<Removal & { account_id: number }>(
    'select account_id, removal_id, list from removals where at <= $1 limit $2',
    [until, most - entries],
  );
  for (const removal of removals) {
    await endRanges(tx, removal.account_id, removal);
    await forget(tx, removal.account_id, removal.removal_id);
  }
  return entries + removals.length;
}
