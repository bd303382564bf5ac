// The whole IP authlist of an account at once: removed, and put back by an undo. Each is one change.
import { setImmediate } from 'node:timers/promises';
import { type Account, requireWritable } from '../accounts/accounts.ts';
import { recordChange } from '../changes.ts';
import type { Transaction } from '../db/database.ts';
import { slice } from '../db/slices.ts';
import {
  keptEntries,
  type Removed,
  type Restored,
  recordRemoval,
  recordRestore,
  requireRoom,
} from '../removals.ts';
import { type AuthlistRules, expiredAtOnce, removeRow, sweepOwnExpired } from './authlist.ts';
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
  const removed = takeOff(tx, account_id);
  return recordRemoval(tx, account_id, 'authlist', removed, ({ expiry }) => tx.now < expiry);
}

async function* takeOff(tx: Transaction, account_id: number): AsyncGenerator<store.AuthlistRow[]> {
  for (;;) {
    const rows = await store.authlistPage(tx, account_id, 0, slice);
    const last = rows.at(-1);
    if (!last) return;
    await store.removeUpTo(tx, account_id, last.id);
    yield rows;
    await setImmediate();
  }
}

/**
 * Undoes a "remove all": puts back the entries that still hold and whose address is free, under their
 * old ids; the others are left out. Each address that is taken counts as being told so once. Errors: 409 when there is
 * no such removal, and when the list has no room for all that would come back; 429 when the account would be told of
 * too many addresses that they are taken, or has brought back too many entries. Then none comes back, and it can be
 * undone later.
 */
export async function restoreEntries(
  tx: Transaction,
  account: Account,
  removal_id: number,
  rules: Pick<AuthlistRules, 'max_authlist_entries' | 'conflicts' | 'restored'>,
): Promise<Restored> {
  const { id: account_id, port_scheme_id } = account;
  const removal = { list: 'authlist', removal_id } as const;
  rules.restored?.rejectTooMany(account_id, tx.now, 'entries brought back');
  const back: store.AuthlistRow[] = [];
  const outdated: store.AuthlistRow[] = [];
  let kept = 0;
  for await (const rows of keptEntries<store.RemovedRow>(tx, account_id, removal, tx.now)) {
    kept += rows.length;
    const wanted = rows
      .filter(({ expiry }) => tx.now < expiry)
      .map((row) => ({ proven_at: null, waits: 0, ...row, port_scheme_id }));
    const ips = wanted.map(({ ip }) => ip);
    const claims = ips.length > 0 ? await store.claimsOnAny(tx, port_scheme_id, ips) : [];
    const taken = new Set<string>();
    for (const claim of claims) {
      if (tx.now >= claim.expiry) {
        outdated.push(claim);
        continue;
      }
      rules.conflicts?.rejectTooMany(account_id, tx.now);
      rules.conflicts?.count(account_id, tx.now);
      taken.add(claim.ip);
    }
    back.push(...wanted.filter(({ ip }) => !taken.has(ip)));
  }
  const expired = await store.expiredOfAccount(tx, account_id, tx.now, expiredAtOnce);
  const room = { expired: expired.length, most: rules.max_authlist_entries };
  await requireRoom(tx, account_id, 'authlist', back.length, room);
  // Only now is anything written: a refusal disturbs no other action of the group.
  for (const row of outdated) await removeRow(tx, row);
  await sweepOwnExpired(tx, account_id);
  for (let at = 0; at < back.length; at += slice) {
    await store.putBack(tx, back.slice(at, at + slice));
    await setImmediate();
  }
  if (back.length > 0) await recordChange(tx, { kind: 'authlist', account_id });
  rules.restored?.count(account_id, tx.now, back.length);
  const outcome = { restored: back.length, left_out: kept - back.length };
  return recordRestore(tx, account_id, removal, outcome);
}
