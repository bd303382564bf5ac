// Uses: when authlist entries last let a connection in. Nodes and /v0 don't show them.
import type { Reader, Transaction } from '../db/database.ts';
import type { Ids } from '../db/slices.ts';
import type { Use } from '../observed/last_used.ts';
import * as store from './uses_store.ts';

/** Stores when entries last let a connection in, to the minute, except unknown entries. */
export function markEntriesUsed(tx: Transaction, uses: readonly Use[]): Promise<void> {
  return store.putLastUsed(
    tx,
    uses.map(({ account_id, id, at }) => ({ account_id, entry_id: id, used_at: at - (at % 60) })),
  );
}

/** The uses of existing entries: a node may report entries that never existed. */
export async function usesOfEntries(db: Reader, uses: readonly Use[]): Promise<Use[]> {
  const nameOf = ({ account_id, id }: Pick<Use, 'account_id' | 'id'>) => `${account_id} ${id}`;
  const existingNames = new Set((await store.existing(db, uses)).map(nameOf));
  return uses.filter((use) => existingNames.has(nameOf(use)));
}

/** When each of these entries last let a connection in, by id: epoch seconds, to the minute. */
export async function lastUses(
  db: Reader,
  account_id: number,
  ids: Pick<Ids, 'after' | 'to'> = { after: 0, to: Number.MAX_SAFE_INTEGER },
): Promise<Map<number, number>> {
  const uses = await store.lastUsedOfAccount(db, account_id, ids);
  return new Map(uses.map(({ entry_id, used_at }) => [entry_id, used_at]));
}
