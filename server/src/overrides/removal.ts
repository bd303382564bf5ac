// All custom DNS entries of an account: removed, and restored by an undo. Each is one change.
import { type Account, requireWritable } from '../accounts/accounts.ts';
import type { Transaction } from '../db/database.ts';
import { slice } from '../db/slices.ts';
import { countIn, purgeBatches } from '../lists/batches.ts';
import { type ErasedAdder, isAddedBy } from '../lists/notes.ts';
import { type Removed, recordRemoval, requireRemoval } from '../lists/removals.ts';
import { type Restored, restore } from '../lists/undo.ts';
import { giveWay, type OverrideRules, retentionSeconds } from './entries.ts';
import * as store from './store.ts';

/**
 * Removes all entries of the account; an undo is possible for seven days. Errors: 403 unless
 * `any_contract`; those of `requireMatch`.
 */
export async function removeAllOverrides(
  tx: Transaction,
  account_id: number,
  requireMatch: (before: () => AsyncIterable<store.OverrideSlice>) => unknown,
  any_contract = false,
): Promise<Removed> {
  const since = tx.now - retentionSeconds;
  await requireWritable(tx, account_id, any_contract);
  await requireMatch(() => store.slices(tx, account_id, since));
  return recordRemoval(tx, account_id, 'overrides', since);
}

/**
 * Undoes a removal: restores, with their old ids, the entries that the list still showed, whose
 * server exists and whose hostname is free, and leaves out the others. Errors: 409 when there is no
 * such removal, and when the list has no room for all; 429 when the account has restored too many
 * entries. Then none comes back, and an undo is possible later.
 */
export async function restoreOverrides(
  tx: Transaction,
  account: Account,
  removal_id: number,
  rules: Pick<OverrideRules, 'max_overrides' | 'restored'>,
): Promise<Restored> {
  const { id: account_id } = account;
  rules.restored?.rejectTooMany(tx, account_id);
  const removal = await requireRemoval<store.OverrideRow>(tx, account_id, 'overrides', removal_id);
  const { batches, kept: keptEntries } = removal;
  const counted = await countIn(tx, 'overrides', batches, tx.now - retentionSeconds);
  // A server may have been removed since, and its entries with it.
  const servers = await store.serverIds(tx);
  const wanted = keptEntries.filter((row) => tx.now < row.expiry && servers.has(row.server_id));
  const back: store.OverrideRow[] = [];
  const inTheWay: store.StoredRow[] = [];
  for (let at = 0; at < wanted.length; at += slice) {
    const ofServers = Map.groupBy(wanted.slice(at, at + slice), (row) => row.server_id);
    for (const [server_id, rows] of ofServers) {
      const hostnames = rows.map(({ hostname }) => hostname);
      const holders = await store.holders(tx, account_id, server_id, hostnames);
      const isRemoved = (holder: store.StoredRow) => holder.removal_id !== null;
      inTheWay.push(...holders.filter(isRemoved));
      const takenHostnames = new Set(
        holders.filter((row) => !isRemoved(row)).map((row) => row.hostname),
      );
      back.push(...rows.filter(({ hostname }) => !takenHostnames.has(hostname)));
    }
  }
  const makeRoom = async () => {
    for (const row of inTheWay) await giveWay(tx, row);
  };
  return restore(tx, account_id, removal, {
    ...{ counted, back, makeRoom, putBack: store.putBack, restored: rules.restored },
    maxEntries: rules.max_overrides,
  });
}

/** Forgets a user as adder in a slice of the list; answers its last id, undefined at the end. */
export async function forgetAdder(
  tx: Transaction,
  erased: ErasedAdder,
  after_id: number,
): Promise<number | undefined> {
  const rows = await store.rowsAfter(tx, erased.account_id, after_id);
  for (const row of rows.filter((entry) => isAddedBy(erased, entry))) {
    await store.update(tx, { ...row, added_by: erased.pseudonym });
  }
  return rows.at(-1)?.id;
}

/** Deletes rows of removals that are final, up to `maxRows`. */
export function purgeRemovedOverrides(tx: Transaction, maxRows: number): Promise<number> {
  return purgeBatches(tx, 'overrides', maxRows, store.removeMany);
}
