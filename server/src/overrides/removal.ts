// All custom DNS entries of an account at once: removed, and put back by an undo. Each is one change.
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
import { type OverrideRules, retention_seconds } from './overrides.ts';
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
  const removed = takeOff(tx, account_id);
  return recordRemoval(tx, account_id, 'overrides', removed, ({ expiry }) => expiry > since);
}

async function* takeOff(tx: Transaction, account_id: number): AsyncGenerator<store.OverrideRow[]> {
  for (;;) {
    const rows = await store.rows(tx, account_id, slice);
    const last = rows.at(-1);
    if (!last) return;
    await store.removeUpTo(tx, account_id, last.id);
    yield rows;
    await setImmediate();
  }
}

/**
 * Undoes a "remove all": puts back, under their old ids, the entries that are still wanted, whose server
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
  const removal = { list: 'overrides', removal_id } as const;
  rules.restored?.rejectTooMany(account_id, tx.now, 'entries brought back');
  // A server may have been removed since, and its entries with it.
  const servers = await store.serverIds(tx);
  const keyOf = (row: Pick<store.OverrideRow, 'server_id' | 'hostname'>) =>
    `${row.server_id} ${row.hostname}`;
  const taken = new Set<string>();
  for await (const rows of store.held(tx, account_id))
    for (const row of rows) taken.add(keyOf(row));
  const back: store.OverrideRow[] = [];
  let kept = 0;
  for await (const rows of keptEntries<store.OverrideRow>(tx, account_id, removal, tx.now)) {
    kept += rows.length;
    for (const row of rows) {
      const isWanted = tx.now < row.expiry && servers.has(row.server_id);
      if (isWanted && !taken.has(keyOf(row))) back.push(row);
    }
  }
  await requireRoom(tx, account_id, 'overrides', back.length, { most: rules.max_overrides });
  // Only now is anything written: a refusal disturbs no other action of the group.
  const revision =
    back.length > 0 ? await recordChange(tx, { kind: 'override', account_id }) : undefined;
  for (let at = 0; revision !== undefined && at < back.length; at += slice) {
    const some = back.slice(at, at + slice);
    await store.putBack(
      tx,
      some.map((row) => ({ ...row, revision, removed_revision: null })),
    );
    await setImmediate();
  }
  rules.restored?.count(account_id, tx.now, back.length);
  const outcome = { restored: back.length, left_out: kept - back.length };
  return recordRestore(tx, account_id, removal, outcome);
}
