// The undo of a removal: its entries come back under their ids, as one change.
import { setImmediate } from 'node:timers/promises';
import type { HourlyCap } from '../bounds/hourly.ts';
import { audit } from '../changes/audit.ts';
import { countHeld, heldCount, nextId, recordChange } from '../changes/changes.ts';
import type { Transaction } from '../db/database.ts';
import { slice } from '../db/slices.ts';
import { conflict } from '../errors.ts';
import { batchesOf, type Counted, endRemoval } from './batches.ts';
import { forget, type KeptRemoval, words } from './removals.ts';

/** The outcome of an undo. */
export interface Restored {
  restored: number;
  left_out: number;
}

/** An undo, by the rules of its list. */
interface Undo<Row> {
  /** The rows of the removal's batches. */
  counted: Counted;
  /** The kept entries that come back. */
  back: readonly Row[];
  /** How many entries the list may have, and how many of those counted on it have expired. */
  maxEntries: number;
  expired?: number;
  /** How many entries an account may bring back. */
  restored: HourlyCap | undefined;
  /** Removes what is in the way of an entry that comes back. */
  makeRoom: () => Promise<void>;
  putBack: (tx: Transaction, rows: Array<Row & { revision: number }>) => Promise<void>;
}

/**
 * Undoes a removal: its batches and kept entries are on the list again. That is one change, or one
 * for each selected entry. If nothing comes back, its rows stay off the list for good. Errors: 409
 * when the list has no room for all. Nothing is written before that, so a refusal doesn't disturb
 * other actions of the group.
 */
export async function restore<Row extends { id: number; server_id?: number }>(
  tx: Transaction,
  account_id: number,
  { list, removal_id, entries, chosen }: KeptRemoval<Row>,
  { counted, back, maxEntries, expired = 0, restored: cap, makeRoom, putBack }: Undo<Row>,
): Promise<Restored> {
  const restored = counted.shown + back.length;
  const count = (await heldCount(tx, account_id, list)) - expired;
  if (restored > 0 && count + restored > maxEntries) {
    throw conflict(
      `The list holds ${count} entries, and ${restored} would come back: an account may have ${maxEntries}; remove some first.`,
      { code: 'list_full' },
    );
  }
  await makeRoom();
  const { entry: kind } = words[list];
  let revision = 0;
  if (restored > 0 && chosen === 0) {
    revision = await recordChange(tx, { kind, account_id });
    await endRemoval(tx, account_id, removal_id, revision);
  }
  await forget(tx, account_id, removal_id);
  const batches = await batchesOf(tx, account_id, list);
  for (let at = 0; at < back.length; at += slice) {
    const placed: Array<Row & { revision: number }> = [];
    for (const row of back.slice(at, at + slice)) {
      // A later removal may have taken the batch of the old id.
      const isOff = batches.find(({ up_to }) => row.id <= up_to)?.removal_id !== null;
      const id = isOff ? await nextId(tx, account_id, list) : row.id;
      const change = { kind, account_id, server_id: row.server_id ?? null, record_id: id };
      if (chosen === 1) revision = await recordChange(tx, change);
      placed.push({ ...row, id, revision });
    }
    await putBack(tx, placed);
    await setImmediate();
  }
  if (restored > 0) await countHeld(tx, account_id, list, counted.rows + back.length);
  cap?.count(tx, account_id, restored);
  const outcome = { restored, left_out: Math.max(0, entries - restored) };
  const after = { removal_id, ...outcome };
  await audit(tx, { account_id, action: `${kind}.restore`, target: list, after });
  return outcome;
}
