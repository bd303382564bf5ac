// Uses: when authlist entries last let a connection in, to the minute. No change: neither nodes nor responses of /v0 show it.
import type { Reader, Transaction } from '../db/database.ts';
import type { Ids } from '../db/slices.ts';
import type { Use } from '../observed/last_used.ts';
import * as store from './uses_store.ts';

/**
 * Writes when entries last let a connection in, to the minute. A use of no entry is left out.
 */
export function markEntriesUsed(tx: Transaction, uses: readonly Use[]): Promise<void> {
  return store.putLastUsed(
    tx,
    uses.map(({ account_id, id, at }) => ({ account_id, entry_id: id, used_at: at - (at % 60) })),
  );
}

/** Those of the uses whose entry there is: a node may tell of entries that never were. */
export async function usesOfEntries(db: Reader, uses: readonly Use[]): Promise<Use[]> {
  const nameOf = ({ account_id, id }: Pick<Use, 'account_id' | 'id'>) => `${account_id} ${id}`;
  const existingNames = new Set((await store.existing(db, uses)).map(nameOf));
  return uses.filter((use) => existingNames.has(nameOf(use)));
}

/** By id of the entry, when it last let a connection in: epoch seconds, to the minute. Of these entries of the account. */
export async function lastUses(
  db: Reader,
  account_id: number,
  ids: Pick<Ids, 'after' | 'to'> = { after: 0, to: Number.MAX_SAFE_INTEGER },
): Promise<Map<number, number>> {
  const uses = await store.lastUsedOfAccount(db, account_id, ids);
  return new Map(uses.map(({ entry_id, used_at }) => [entry_id, used_at]));
}
