// Removals: the entries of a list that were removed all at once, kept for seven days so that it can be undone.
import { setImmediate } from 'node:timers/promises';
import { audit } from './audit.ts';
import { countHeld, heldCount, nextId, recordChange } from './changes.ts';
import type { Reader, Transaction } from './db/database.ts';
import { conflict } from './errors.ts';

export type RemovableList = 'authlist' | 'overrides';

const kept_seconds = 7 * 86_400;
/** Rows of a removal that are read at once; each holds a slice. */
const keptAtOnce = 1;

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
 * Records that an account's list is emptied, whose rows `removed` tells a slice at a time as it takes them off. Those
 * that were still shown are kept. Where none of these holds any more, there is nothing to undo.
 */
export async function recordRemoval<Row extends { id: number; expiry: number }>(
  tx: Transaction,
  account_id: number,
  list: RemovableList,
  removed: AsyncIterable<Row[]>,
  isShown: (row: Row) => boolean,
): Promise<Removed> {
  let rows = 0;
  let entries = 0;
  let canBeUndone = false;
  let removal_id: number | null = null;
  for await (const some of removed) {
    rows += some.length;
    const shown = some.filter(isShown);
    const [first] = shown;
    if (!first) continue;
    entries += shown.length;
    canBeUndone ||= shown.some(({ expiry }) => tx.now < expiry);
    removal_id ??= await nextId(tx, account_id, 'removals');
    const entry = JSON.stringify(shown);
    const kept = { account_id, removal_id, list, id: first.id, entry, at: tx.now };
    await tx.insertMany('removed_entries', [{ ...kept, entries: shown.length }]);
  }
  if (rows === 0) return { removal_id: null, entries: 0 };
  if (removal_id !== null && !canBeUndone) {
    await forget(tx, account_id, removal_id);
    removal_id = null;
  }
  await countHeld(tx, account_id, list, -rows);
  const { cleared, entry } = words[list];
  await recordChange(tx, { kind: cleared, account_id });
  const outcome = { entries, removal_id };
  await audit(tx, { account_id, action: `${entry}.remove_all`, target: list, before: outcome });
  return outcome;
}

function forget(tx: Transaction, account_id: number, removal_id: number): Promise<number> {
  return tx.run('delete from removed_entries where account_id = $1 and removal_id = $2', [
    account_id,
    removal_id,
  ]);
}

/** The removals of an account that can still be undone, newest first. */
export function listRemovals(db: Reader, account_id: number, now: number): Promise<Removal[]> {
  return db.all(
    `select removal_id, list, cast(sum(entries) as bigint) as entries, max(at) as at from removed_entries
     where account_id = $1 and at > $2 group by removal_id, list order by removal_id desc`,
    [account_id, now - kept_seconds],
  );
}

/** The entries of a removal, a slice at a time. Errors: 409 when it is not there, undone or too old. */
export async function* keptEntries<T>(
  db: Reader,
  account_id: number,
  { list, removal_id }: Pick<Removal, 'list' | 'removal_id'>,
  now: number,
): AsyncGenerator<T[], void, void> {
  for (let after = -1; ; ) {
    const rows = await db.all<{ id: number; entry: string }>(
      `select id, entry from removed_entries where account_id = $1 and removal_id = $2 and id > $5
         and list = $3 and at > $4 order by id limit ${keptAtOnce}`,
      [account_id, removal_id, list, now - kept_seconds, after],
    );
    const last = rows.at(-1)?.id;
    if (last === undefined) {
      if (after >= 0) return;
      throw conflict(`the account has no ${words[list].removal(removal_id)} that can be undone.`, {
        code: 'removal_gone',
        field: 'removal_id',
      });
    }
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

/** Records an undo, as one change: so many entries are back in the list, `left_out` are not. */
export async function recordRestore(
  tx: Transaction,
  account_id: number,
  { list, removal_id }: Pick<Removal, 'list' | 'removal_id'>,
  outcome: Restored,
): Promise<Restored> {
  await forget(tx, account_id, removal_id);
  await countHeld(tx, account_id, list, outcome.restored);
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
