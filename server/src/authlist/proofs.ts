// Proofs: an entry is proven once its address asks for it, or an operator says so; until then
// another account's proof takes its claim.
import { bumpVersion, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import * as store from './store.ts';

/** `require`: nodes don't get unproven entries. `off`: proofs are ignored, the first claim wins. */
export type ProofSetting = 'off' | 'prefer' | 'require';

/** The state of an entry, for people and operators; null if no proof is needed. */
export type ProofState = 'proven' | 'unproven' | 'waits' | null;

export function newProof(
  isProven: boolean,
  setting: ProofSetting | undefined,
  now: number,
): store.Proof {
  if (isProven) return { proven_at: now, waits: 0 };
  return { proven_at: null, waits: setting === 'require' ? 1 : 0 };
}

export function proofState(
  { proven_at, waits }: store.Proof,
  setting: ProofSetting | undefined,
): ProofState {
  if (setting === 'off') return null;
  if (proven_at !== null) return 'proven';
  return waits === 1 ? 'waits' : 'unproven';
}

/** Whether a caller's address is on an unproven entry of the same account. */
export async function canProve(db: Reader, callers: readonly store.Caller[]): Promise<boolean> {
  return (await store.unprovenOf(db, callers)).length > 0;
}

/** Proves the entries of these accounts for the addresses that they called from. */
export async function proveEntries(
  tx: Transaction,
  callers: readonly store.Caller[],
): Promise<void> {
  for (const row of await store.unprovenOf(tx, callers)) {
    await changeProof(tx, row, { proven_at: tx.now, waits: 0 });
  }
}

/** Makes unproven entries wait, or act, as the setting says, which may have changed. */
export async function sweepProofs(
  tx: Transaction,
  maxEntries: number,
  setting: ProofSetting,
): Promise<number> {
  const { proven_at, waits } = newProof(false, setting, tx.now);
  const rows = await store.unprovenThat(tx, 1 - waits, maxEntries);
  for (const row of rows) {
    const changed = { proven_at, waits };
    // No node is notified of a removed entry; it must be right when it comes back.
    if (row.removal_id !== null) await store.updateProof(tx, { ...row, ...changed });
    else await changeProof(tx, row, changed);
  }
  return rows.length;
}

/** Nodes are notified when an entry begins or stops acting; only people see the proof alone. */
async function changeProof(
  tx: Transaction,
  row: store.AuthlistRow,
  proof: store.Proof,
): Promise<void> {
  const { account_id, id } = row;
  await store.updateProof(tx, { ...row, ...proof });
  if (row.waits === proof.waits) await bumpVersion(tx, account_id, 'authlist');
  else await recordChange(tx, { kind: 'authlist', account_id, record_id: id });
}
