// Proofs: an entry is verified once its account calls from its address, or an operator says so;
// until then another account's verified entry replaces it.
import { bumpVersion, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import * as store from './store.ts';

/**
 * `prefer`: a verified entry replaces another account's unverified one. `require`: nodes don't get
 * unverified entries either. `off`: the first claim wins, verified or not.
 */
export type ProofSetting = 'off' | 'prefer' | 'require';

/** The state of an entry, for people and operators; null when the setting is `off`. */
export type ProofState = 'proven' | 'unproven' | 'waits' | null;

export function newProof(
  isVerified: boolean,
  setting: ProofSetting | undefined,
  now: number,
): store.Proof {
  if (isVerified) return { proven_at: now, waits: 0 };
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

/** Whether any of the callers' addresses is on an unverified entry of the same account. */
export async function canVerify(db: Reader, callers: readonly store.Caller[]): Promise<boolean> {
  return (await store.unverifiedOf(db, callers)).length > 0;
}

/** Verifies the entries of these accounts for the addresses that they called from. */
export async function verifyEntries(
  tx: Transaction,
  callers: readonly store.Caller[],
): Promise<void> {
  for (const row of await store.unverifiedOf(tx, callers)) {
    await changeProof(tx, row, { proven_at: tx.now, waits: 0 });
  }
}

/** Sends unverified entries to the nodes, or withdraws them, after the setting has changed. */
export async function sweepProofs(
  tx: Transaction,
  maxEntries: number,
  setting: ProofSetting,
): Promise<number> {
  const { proven_at, waits } = newProof(false, setting, tx.now);
  const rows = await store.unverifiedThat(tx, 1 - waits, maxEntries);
  for (const row of rows) {
    const changed = { proven_at, waits };
    // Nodes don't have a removed entry; the row must be right if an undo restores it.
    if (row.removal_id !== null) await store.updateProof(tx, { ...row, ...changed });
    else await changeProof(tx, row, changed);
  }
  return rows.length;
}

/** Records a change for the nodes only when they get the entry, or no longer get it. */
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
