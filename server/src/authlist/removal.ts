// The whole IP authlist of an account: removed, and restored by an undo. Each is one change.
import { type Account, requireWritable } from '../accounts/accounts.ts';
import type { Transaction } from '../db/database.ts';
import { slice } from '../db/slices.ts';
import { countIn, purgeBatches } from '../lists/batches.ts';
import { type ErasedAdder, isAddedBy } from '../lists/notes.ts';
import {
  forgetKeptOf,
  type Removed,
  recordRemoval,
  removalGone,
  requireRemoval,
} from '../lists/removals.ts';
import { type Restored, restore } from '../lists/undo.ts';
import { expiredOf, giveWay, removeRow, sweepOwnExpired } from './claims.ts';
import type { AuthlistRules } from './rules.ts';
import * as store from './store.ts';

/**
 * Removes all entries of the account; an undo is possible for seven days. Errors: 403 unless
 * `any_contract`; those of `requireMatch`.
 */
export async function removeAllEntries(
  tx: Transaction,
  account_id: number,
  requireMatch: (before: () => AsyncIterable<store.EntrySlice>) => unknown,
  any_contract = false,
): Promise<Removed> {
  await requireWritable(tx, account_id, any_contract);
  await requireMatch(() => store.slices(tx, account_id, tx.now));
  return recordRemoval(tx, account_id, 'authlist', tx.now);
}

/**
 * Undoes a removal: restores the entries that still hold and whose address is free, with their old
 * ids, and leaves out the others. Each taken address counts as a conflict. Errors: 409 when there
 * is no such removal, and when the list has no room for all; 429 when the account would learn of
 * too many taken addresses, or has restored too many entries. Then none comes back, and an undo is
 * possible later. `only_user_id`: for this client, removals of other users' entries do not exist.
 */
export async function restoreEntries(
  tx: Transaction,
  account: Account,
  removal_id: number,
  rules: Pick<AuthlistRules, 'max_authlist_entries' | 'conflicts' | 'restored'>,
  only_user_id?: number,
): Promise<Restored> {
  const { id: account_id, port_scheme_id } = account;
  rules.restored?.rejectTooMany(tx, account_id);
  const removal = await requireRemoval<store.RemovedRow>(tx, account_id, 'authlist', removal_id);
  const { batches, chosen, kept: keptEntries, lost } = removal;
  const isOwn = chosen === 1 && keptEntries.every(({ user_id }) => user_id === only_user_id);
  if (only_user_id !== undefined && !isOwn) throw removalGone('authlist');
  // Addresses that other accounts list are shown as a number alone. So room for one conflict is
  // enough, and an undo stays possible however many they are.
  if (lost > 0) rules.conflicts?.rejectTooMany(tx, account_id);
  // The account may have moved to another port scheme, on which none of them has its address.
  const moved = await store.rowsOnOtherScheme(tx, batches, port_scheme_id);
  const counted = await countIn(tx, 'authlist', moved.length > 0 ? [] : batches, tx.now);
  const wanted = [...keptEntries, ...moved].filter(({ expiry }) => tx.now < expiry);
  const back: store.RemovedRow[] = [];
  const inTheWay: store.StoredRow[] = [];
  for (let at = 0; at < wanted.length; at += slice) {
    const rows = wanted.slice(at, at + slice).map((row) => ({ ...row, port_scheme_id }));
    const ips = rows.map(({ ip }) => ip);
    const claims = await store.claimsOnAny(tx, port_scheme_id, ips);
    const isGone = (claim: store.StoredRow) => claim.removal_id !== null || tx.now >= claim.expiry;
    inTheWay.push(...claims.filter(isGone));
    const claimed = new Set(claims.filter((claim) => !isGone(claim)).map(({ ip }) => ip));
    for (const _ of claimed) {
      rules.conflicts?.rejectTooMany(tx, account_id);
      rules.conflicts?.count(tx, account_id);
    }
    back.push(...rows.filter(({ ip }) => !claimed.has(ip)));
  }
  const expired = await expiredOf(tx, account_id);
  const makeRoom = async () => {
    for (const row of inTheWay) {
      if (row.removal_id === null) await removeRow(tx, row);
      else await giveWay(tx, row, account_id);
    }
    await sweepOwnExpired(tx, account_id);
    await store.removeMany(
      tx,
      moved.map(({ id }) => [account_id, id]),
    );
    for (let at = 0; at < lost; at += 1) rules.conflicts?.count(tx, account_id);
  };
  return restore(tx, account_id, removal, {
    ...{ counted, back, makeRoom, putBack: store.putBack, restored: rules.restored },
    ...{ maxEntries: rules.max_authlist_entries, expired: expired.length },
  });
}

/**
 * Forgets the entries of an erased user, also those that an undo would restore. For other entries,
 * forgets that the user added them. Reads a slice of the list after an id; answers its last id,
 * undefined at the end.
 */
export async function forgetEntriesOf(
  tx: Transaction,
  erased: ErasedAdder,
  after_id: number,
): Promise<number | undefined> {
  const { account_id, id, pseudonym } = erased;
  if (after_id === 0) await forgetKeptOf(tx, erased);
  const rows = await store.rowsAfter(tx, account_id, after_id);
  for (const row of rows) {
    if (row.user_id === id) await removeRow(tx, row);
    else if (isAddedBy(erased, row)) await store.update(tx, { ...row, added_by: pseudonym });
  }
  return rows.at(-1)?.id;
}

/** Deletes rows of removals that are final, up to `maxRows`. */
export function purgeRemovedEntries(tx: Transaction, maxRows: number): Promise<number> {
  return purgeBatches(tx, 'authlist', maxRows, store.purgeMany);
}
