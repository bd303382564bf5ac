// The whole IP authlist of an account at once: removed, and put back by an undo. Each is one change.
import { setImmediate } from 'node:timers/promises';
import { type Account, requireWritable } from '../accounts/accounts.ts';
import { nextId, recordChange } from '../changes/changes.ts';
import type { Transaction } from '../db/database.ts';
import { slice } from '../db/slices.ts';
import { type ErasedAdder, isAddedBy, noteOf } from '../lists/notes.ts';
import {
  forgetKeptOf,
  type KeptRemoval,
  keptEntries,
  type Removed,
  type Restored,
  recordRemoval,
  recordRestore,
  removalGone,
  requireRemoval,
  requireRoom,
} from '../lists/removals.ts';
import { countIn, type IdRange, isWithin, purgeRanges, rangesOf } from '../lists/removed_ranges.ts';
import {
  type AuthlistRules,
  expiredAtOnce,
  giveWay,
  removeRow,
  sweepOwnExpired,
} from './entries.ts';
import * as store from './store.ts';

/** Removes all entries of the account; it can be undone for seven days. Errors: as on remove. */
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
 * Undoes a removal: puts back the entries that still hold and whose address is free, under their
 * old ids; the others are left out. Each address that is taken counts as being told so once. Errors: 409 when there is
 * no such removal, and when the list has no room for all that would come back; 429 when the account would be told of
 * too many addresses that they are taken, or has brought back too many entries. Then none comes back, and it can be
 * undone later. `only_user_id`: a removal of other users' entries is not there for the client.
 */
export async function restoreEntries(
  tx: Transaction,
  account: Account,
  removal_id: number,
  rules: Pick<AuthlistRules, 'max_authlist_entries' | 'conflicts' | 'restored'>,
  only_user_id?: number,
): Promise<Restored> {
  const { id: account_id, port_scheme_id } = account;
  rules.restored?.rejectTooMany(account_id, tx.now);
  const which = { list: 'authlist', removal_id } as const;
  const removal = await requireRemoval(tx, account_id, which, tx.now);
  if (only_user_id !== undefined) await requireOwn(tx, account_id, removal, only_user_id);
  const ranges = await rangesOf(tx, account_id, 'authlist');
  const own = ranges.filter((range) => range.removal_id === removal_id);
  const others = ranges.filter((range) => !own.includes(range) && range.restored_revision === null);
  const isMoved = await isOnAnotherScheme(tx, own, port_scheme_id);
  const { rows, shown } = await countIn(tx, 'authlist', isMoved ? [] : own, tx.now);
  const tell = () => {
    rules.conflicts?.rejectTooMany(account_id, tx.now);
    rules.conflicts?.count(account_id, tx.now);
  };
  // The number alone is told of these, and they stay lost: however many they are, they end no undo for good.
  if (removal.lost > 0) rules.conflicts?.rejectTooMany(account_id, tx.now);
  const back: store.AuthlistRow[] = [];
  const inTheWay: store.StoredRow[] = [];
  const putBack = async (some: readonly store.RemovedRow[]) => {
    const wanted = some
      .filter(({ expiry }) => tx.now < expiry)
      .map((row) => ({ proven_at: null, waits: 0, ...row, ...noteOf(row), port_scheme_id }));
    const ips = wanted.map(({ ip }) => ip);
    const claims = ips.length > 0 ? await store.claimsOnAny(tx, port_scheme_id, ips) : [];
    const taken = new Set<string>();
    for (const claim of claims) {
      if (claim.removed === 1 || tx.now >= claim.expiry) {
        inTheWay.push(claim);
        continue;
      }
      tell();
      taken.add(claim.ip);
    }
    back.push(...wanted.filter(({ ip }) => !taken.has(ip)));
  };
  for await (const some of keptEntries<store.RemovedRow>(tx, account_id, removal)) {
    await putBack(some);
  }
  if (isMoved) for await (const some of store.rowsIn(tx, own)) await putBack(some);
  const restored = shown + back.length;
  const expired = await store.expiredOfAccount(tx, account_id, tx.now, expiredAtOnce);
  const room = { expired: expired.length, most: rules.max_authlist_entries };
  await requireRoom(tx, account_id, 'authlist', restored, room);
  // Only now is anything written: a refusal disturbs no other action of the group.
  for (const row of inTheWay) {
    if (row.removed === 1) await giveWay(tx, row, account_id);
    else await removeRow(tx, row);
  }
  await sweepOwnExpired(tx, account_id);
  if (isMoved) for (const range of own) await store.removeIn(tx, range, Number.MAX_SAFE_INTEGER);
  for (let at = 0; at < back.length; at += slice) {
    const some = back.slice(at, at + slice);
    for (const row of some) {
      if (isWithin(others, row.id)) row.id = await nextId(tx, account_id, 'authlist');
    }
    await store.putBack(tx, some);
    await setImmediate();
  }
  // Of few entries nodes are told one by one; else they are sent the whole list.
  const told = removal.chosen === 1 ? back.map(({ id }) => id) : restored > 0 ? [null] : [];
  let revision: number | undefined;
  for (const record_id of told) {
    revision = await recordChange(tx, { kind: 'authlist', account_id, record_id });
  }
  rules.restored?.count(account_id, tx.now, restored);
  for (let told = 0; told < removal.lost; told += 1) rules.conflicts?.count(account_id, tx.now);
  return recordRestore(tx, account_id, removal, { restored, rows: rows + back.length, revision });
}

/** Errors: 409, as if it were not there, unless all that the removal took are entries of this user. */
async function requireOwn(
  tx: Transaction,
  account_id: number,
  removal: KeptRemoval,
  user_id: number,
): Promise<void> {
  let isOwn = removal.chosen === 1;
  for await (const some of keptEntries<store.RemovedRow>(tx, account_id, removal)) {
    isOwn &&= some.every((row) => row.user_id === user_id);
  }
  if (!isOwn) throw removalGone('authlist');
}

/** Whether the account has got another port scheme since: the removed entries' claims are none on the present one. */
async function isOnAnotherScheme(
  tx: Transaction,
  ranges: readonly IdRange[],
  port_scheme_id: number,
): Promise<boolean> {
  for await (const [first] of store.rowsIn(tx, ranges)) {
    return first?.port_scheme_id !== port_scheme_id;
  }
  return false;
}

/**
 * Forgets the entries of a user who is erased, those too that an undo would bring back: it leaves them out. Of the others it
 * forgets that the user added them. Looks at a slice of the list behind an id; answers the last id of it, undefined at the end.
 */
export async function forgetEntriesOf(
  tx: Transaction,
  erased: ErasedAdder,
  after_id: number,
): Promise<number | undefined> {
  const { account_id, id, pseudonym } = erased;
  if (after_id === 0) await forgetKeptOf(tx, erased);
  const removed = (await rangesOf(tx, account_id, 'authlist')).filter(
    ({ restored_revision }) => restored_revision === null,
  );
  const behind = { account_id, after_id, up_to: Number.MAX_SAFE_INTEGER };
  for await (const rows of store.rowsIn(tx, [behind])) {
    for (const row of rows) {
      if (row.user_id !== id) {
        if (isAddedBy(erased, row)) await store.update(tx, { ...row, added_by: pseudonym });
      } else if (isWithin(removed, row.id)) await store.remove(tx, account_id, row.id);
      else await removeRow(tx, row);
    }
    return rows.at(-1)?.id;
  }
  return undefined;
}

/** Deletes the rows of removals that are final, a batch at a time. */
export function purgeRemovedEntries(tx: Transaction, most: number): Promise<number> {
  return purgeRanges(tx, 'authlist', most, (range, some) => store.removeIn(tx, range, some));
}
