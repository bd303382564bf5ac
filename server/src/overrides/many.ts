// Many custom DNS entries at once, all or none. Nodes and the audit log get each change singly.
import { requireWritable } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { countHeld } from '../changes/changes.ts';
import type { Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { conflict, notFound } from '../errors.ts';
import { type Removed, recordChosen } from '../lists/removals.ts';
import { checkExpiries } from '../values/expiry.ts';
import {
  auditRemoval,
  endOverride,
  giveWay,
  hostnameTaken,
  overrideChanged,
  retentionSeconds,
  shownInLog,
  toRow,
} from './entries.ts';
import * as store from './store.ts';

/** The entries, in the order given. Errors: 403; 404 naming the first that does not exist. */
async function requireMany(
  tx: Transaction,
  account_id: number,
  ids: readonly number[],
  fieldOf: (at: number) => string,
  any_contract: boolean,
): Promise<store.Override[]> {
  await requireWritable(tx, account_id, any_contract);
  const find = await store.findMany(tx, account_id, ids, tx.now - retentionSeconds);
  return ids.map((id, at) => {
    const entry = find(id);
    if (entry) return entry;
    const sentence = `there is no custom DNS entry ${id}; it may have been removed. Nothing was done.`;
    throw notFound(sentence, { field: fieldOf(at) });
  });
}

/** Removes these entries, with an undo for unexpired ones. Errors: 403; 404 naming the entry. */
export async function removeOverrides(
  tx: Transaction,
  account_id: number,
  ids: readonly number[],
  any_contract = false,
): Promise<Removed> {
  const entries = await requireMany(tx, account_id, ids, (at) => `ids.${at}`, any_contract);
  await store.removeMany(
    tx,
    entries.map(({ id }) => [account_id, id]),
  );
  await countHeld(tx, account_id, 'overrides', -entries.length);
  for await (const entry of inTurns(entries)) {
    await overrideChanged(tx, entry);
    await auditRemoval(tx, entry);
  }
  const removal_id = await recordChosen(tx, account_id, 'overrides', entries.map(toRow));
  return { entries: entries.length, removal_id };
}

/**
 * Sets the expiry of each of these entries: they are pending again, and expired ones revive.
 * Errors: 400 for an invalid expiry; 403; 404 naming the entry; 409 if its server is not on the
 * contract, or another entry now overrides its hostname.
 */
export async function changeOverrideExpiries(
  tx: Transaction,
  account_id: number,
  changes: ReadonlyArray<{ id: number; expiry: number }>,
  any_contract = false,
): Promise<void> {
  checkExpiries(changes, tx.now);
  const ids = changes.map(({ id }) => id);
  const entries = await requireMany(tx, account_id, ids, (at) => `entries.${at}.id`, any_contract);
  const offContract = entries.find(({ contract_revision }) => contract_revision === null);
  if (offContract) {
    throw conflict(
      `${offContract.server}, the server of ${offContract.hostname}, is not on the contract. Nothing was done.`,
      { code: 'server_not_on_contract', field: `entries.${entries.indexOf(offContract)}.id` },
    );
  }
  await freeHostnames(tx, account_id, entries);
  const rows: Array<Pick<store.OverrideRow, 'id' | 'expiry' | 'revision'>> = [];
  const numbered = entries.map((entry, at) => ({ entry, to: changes[at]?.expiry }));
  for await (const { entry, to } of inTurns(numbered)) {
    const { id } = entry;
    const expiry = to ?? entry.expiry;
    rows.push({ id, expiry, revision: await overrideChanged(tx, entry) });
    await audit(tx, {
      account_id,
      action: 'override.change',
      target: `overrides/${id}`,
      before: shownInLog(entry),
      after: shownInLog({ ...entry, expiry }),
    });
  }
  await store.updateExpiries(tx, account_id, rows);
}

/** Frees the hostnames of entries that revive. Errors: 409 if one is overridden, or named twice. */
async function freeHostnames(
  tx: Transaction,
  account_id: number,
  entries: readonly store.Override[],
): Promise<void> {
  const conflictAt = ({ server, hostname }: store.Override, id: number, at: number) =>
    hostnameTaken(hostname, server, id, ' Nothing was done.', { field: `entries.${at}.id` });
  const seen = new Map<string, number>();
  for (const [at, entry] of entries.entries()) {
    const key = `${entry.server_id} ${entry.hostname}`;
    const other = seen.get(key);
    if (other !== undefined) throw conflictAt(entry, other, at);
    seen.set(key, entry.id);
  }
  const ended = entries.filter(({ removed_revision }) => removed_revision !== null);
  for (const [server_id, of] of Map.groupBy(ended, (entry) => entry.server_id)) {
    const hostnames = of.map(({ hostname }) => hostname);
    for (const row of await store.holders(tx, account_id, server_id, hostnames)) {
      const entry = of.find(({ hostname }) => hostname === row.hostname);
      if (entry && row.removal_id === null && tx.now < row.expiry) {
        throw conflictAt(entry, row.id, entries.indexOf(entry));
      }
      if (row.removal_id !== null) await giveWay(tx, row);
      else await endOverride(tx, row);
    }
  }
}
