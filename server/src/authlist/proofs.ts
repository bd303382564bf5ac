// Proofs: an entry is proven once its address asked for it, or an operator says so; until then another account's proof takes its claim.
import { bumpVersion, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import * as store from './store.ts';

/** `require`: an unproven entry waits, and no node hears of it. `off`: a proof changes nothing, the first comes first. */
export type ProofSetting = 'off' | 'prefer' | 'require';

/** How an entry stands, for people and operators; null where no proof is asked for. */
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

/** Whether somebody called from an address that an unproven entry of the same account lists. */
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

/** Has unproven entries wait, or act, as the setting says: it may have been another one when they were listed. */
export async function sweepProofs(
  tx: Transaction,
  maxEntries: number,
  setting: ProofSetting,
): Promise<number> {
  const { proven_at, waits } = newProof(false, setting, tx.now);
  const rows = await store.unprovenThat(tx, 1 - waits, maxEntries);
  for (const row of rows) {
    const changed = { proven_at, waits };
    // Of an entry that is removed nobody is told; it is to be right when it comes back.
    if (row.removal_id !== null) await store.updateProof(tx, { ...row, ...changed });
    else await changeProof(tx, row, changed);
  }
  return rows.length;
}

/** Nodes hear of an entry that begins or ceases to act; that it is proven alone shows to people only. */
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
