// Many entries of the IP authlist at once, all or none. Nodes and audit log get each one singly.
import { requireWritable } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { countHeld, recordChange } from '../changes/changes.ts';
import type { Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { notFound } from '../errors.ts';
import { type Removed, recordChosen } from '../lists/removals.ts';
import { checkExpiries } from '../values/expiry.ts';
import { auditRemoval, toRow } from './entries.ts';
import * as store from './store.ts';

/** The client's rights: whether it can change any contract, and which entries are theirs. */
export interface Asking {
  any_contract?: boolean;
  isOwn: (entry: store.AuthlistEntry) => boolean;
}

/** The entries, in the order given. Errors: 403; 404 naming the first missing or foreign one. */
async function requireMany(
  tx: Transaction,
  account_id: number,
  ids: readonly number[],
  fieldOf: (at: number) => string,
  { any_contract, isOwn }: Asking,
): Promise<store.AuthlistEntry[]> {
  await requireWritable(tx, account_id, any_contract);
  const find = await store.findMany(tx, account_id, ids, tx.now);
  return ids.map((id, at) => {
    const entry = find(id);
    if (entry && isOwn(entry)) return entry;
    throw notFound(
      `there is no entry ${id} on your list; it may have expired or been removed. Nothing was done.`,
      { field: fieldOf(at) },
    );
  });
}

/** Removes these entries; an undo is possible for seven days. Errors: 403; 404 naming the entry. */
export async function removeEntries(
  tx: Transaction,
  account_id: number,
  ids: readonly number[],
  asking: Asking,
): Promise<Removed> {
  const entries = await requireMany(tx, account_id, ids, (at) => `ids.${at}`, asking);
  await store.removeMany(
    tx,
    entries.map(({ id }) => [account_id, id]),
  );
  await countHeld(tx, account_id, 'authlist', -entries.length);
  for await (const entry of inTurns(entries)) {
    await recordChange(tx, { kind: 'authlist', account_id, record_id: entry.id });
    await auditRemoval(tx, entry);
  }
  const removal_id = await recordChosen(tx, account_id, 'authlist', entries.map(toRow));
  return { entries: entries.length, removal_id };
}

/** Sets the expiry of each of these entries. Errors: 400; 403; 404 naming the entry. */
export async function changeExpiries(
  tx: Transaction,
  account_id: number,
  changes: ReadonlyArray<{ id: number; expiry: number }>,
  asking: Asking,
): Promise<void> {
  checkExpiries(changes, tx.now);
  const ids = changes.map(({ id }) => id);
  const entries = await requireMany(tx, account_id, ids, (at) => `entries.${at}.id`, asking);
  await store.updateExpiries(
    tx,
    account_id,
    changes.map(({ id, expiry }) => [id, expiry]),
  );
  const numbered = entries.map((entry, at) => ({ ...entry, to: changes[at]?.expiry }));
  for await (const { id, ip, user, expiry, to } of inTurns(numbered)) {
    await recordChange(tx, { kind: 'authlist', account_id, record_id: id });
    await audit(tx, {
      account_id,
      action: 'authlist.change',
      target: `authlist/${id}`,
      before: { ip, user, expiry },
      after: { ip, user, expiry: to },
    });
  }
}
