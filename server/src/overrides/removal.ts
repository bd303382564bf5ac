// All custom DNS entries of an account at once: removed, and put back by an undo. Each is one change.
import { setImmediate } from 'node:timers/promises';
import { type Account, requireWritable } from '../accounts/accounts.ts';
import { nextId, recordChange } from '../changes/changes.ts';
import type { Transaction } from '../db/database.ts';
import { slice } from '../db/slices.ts';
import { type ErasedAdder, isAddedBy } from '../lists/notes.ts';
import {
  keptEntries,
  type Removed,
  type Restored,
  recordRemoval,
  recordRestore,
  requireRemoval,
  requireRoom,
} from '../lists/removals.ts';
import { countIn, isWithin, purgeRanges, rangesOf } from '../lists/removed_ranges.ts';
import { giveWay, type OverrideRules, overrideChanged, retention_seconds } from './entries.ts';
import * as store from './store.ts';

/** Removes all entries of the account; it can be undone for seven days. Errors: as on remove. */
export async function removeAllOverrides(
  tx: Transaction,
  account_id: number,
  requireMatch: (before: () => AsyncIterable<store.OverrideSlice>) => unknown,
  any_contract = false,
): Promise<Removed> {
  const since = tx.now - retention_seconds;
  await requireWritable(tx, account_id, any_contract);
  await requireMatch(() => store.slices(tx, account_id, since));
  return recordRemoval(tx, account_id, 'overrides', since);
}

/**
 * Undoes a removal: puts back, under their old ids, the entries that the list still showed, whose server
 * is there and whose hostname is free; the others are left out. Errors: 409 when there is no such
 * removal, and when the list has no room for all that would come back; 429 when the account has brought back too many
 * entries. Then none comes back, and it can be undone later.
 */
export async function restoreOverrides(
  tx: Transaction,
  account: Account,
  removal_id: number,
  rules: Pick<OverrideRules, 'max_overrides' | 'restored'>,
): Promise<Restored> {
  const { id: account_id } = account;
  rules.restored?.rejectTooMany(account_id, tx.now);
  const which = { list: 'overrides', removal_id } as const;
  const removal = await requireRemoval(tx, account_id, which, tx.now);
  const ranges = await rangesOf(tx, account_id, 'overrides');
  const own = ranges.filter((range) => range.removal_id === removal_id);
  const others = ranges.filter((range) => !own.includes(range) && range.restored_revision === null);
  const { rows, shown } = await countIn(tx, 'overrides', own, tx.now - retention_seconds);
  // A server may have been removed since, and its entries with it.
  const servers = await store.serverIds(tx);
  const back: store.OverrideRow[] = [];
  const inTheWay: store.StoredRow[] = [];
  for await (const some of keptEntries<store.OverrideRow>(tx, account_id, removal)) {
    const wanted = some.filter(
      ({ expiry, server_id }) => tx.now < expiry && servers.has(server_id),
    );
    for (const [server_id, of] of Map.groupBy(wanted, (row) => row.server_id)) {
      const hostnames = of.map(({ hostname }) => hostname);
      const held = await store.holders(tx, account_id, server_id, hostnames);
      inTheWay.push(...held.filter((row) => row.removed === 1));
      const taken = new Set(held.filter((row) => row.removed === 0).map((row) => row.hostname));
      back.push(...of.filter(({ hostname }) => !taken.has(hostname)));
    }
  }
  const restored = shown + back.length;
  await requireRoom(tx, account_id, 'overrides', restored, { most: rules.max_overrides });
  // Only now is anything written: a refusal disturbs no other action of the group.
  for (const row of inTheWay) await giveWay(tx, row);
  // Of few entries nodes are told one by one; else they are sent the whole list.
  const isChosen = removal.chosen === 1;
  let revision =
    restored > 0 && !isChosen
      ? await recordChange(tx, { kind: 'override', account_id })
      : undefined;
  for (let at = 0; at < back.length; at += slice) {
    const some: store.OverrideRow[] = [];
    for (const row of back.slice(at, at + slice)) {
      const isTaken = isWithin(others, row.id);
      const id = isTaken ? await nextId(tx, account_id, 'overrides') : row.id;
      if (isChosen) revision = await overrideChanged(tx, { ...row, id });
      some.push({ ...row, id, revision: revision ?? 0, removed_revision: null });
    }
    await store.putBack(tx, some);
    await setImmediate();
  }
  rules.restored?.count(account_id, tx.now, restored);
  return recordRestore(tx, account_id, removal, { restored, rows: rows + back.length, revision });
}

/** Of a slice of the list behind an id it forgets that a user added entries; answers the last id of it, undefined at the end. */
export async function forgetAdder(
  tx: Transaction,
  erased: ErasedAdder,
  after_id: number,
): Promise<number | undefined> {
  const rows = await store.rowsAfter(tx, erased.account_id, after_id);
  for (const row of rows.filter((one) => isAddedBy(erased, one))) {
    await store.update(tx, { ...row, added_by: erased.pseudonym });
  }
  return rows.at(-1)?.id;
}

/** Deletes the rows of removals that are final, a batch at a time. */
export function purgeRemovedOverrides(tx: Transaction, most: number): Promise<number> {
  return purgeRanges(tx, 'overrides', most, (range, some) => store.removeIn(tx, range, some));
}
