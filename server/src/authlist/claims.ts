// Claims: an entry claims its address on a port scheme, where one entry at most can have it.
// An entry gives its address up when it has expired or was removed, and an unverified one also when
// another account's verified entry wants the address.
import type { Account } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { countHeld, recordChange } from '../changes/changes.ts';
import type { Transaction } from '../db/database.ts';
import { conflict } from '../errors.ts';
import { keepEntry } from '../lists/removals.ts';
import type { AuthlistRules } from './rules.ts';
import * as store from './store.ts';

/**
 * Frees an address for a new entry of an account, if a claim on it gives way: a removed entry's, an
 * expired one's, or a weaker one. Errors: 409 when any account holds the address, which counts as a
 * conflict.
 */
export async function freeClaim(
  tx: Transaction,
  { id, port_scheme_id }: Account,
  ip: string,
  rules: AuthlistRules,
  { proven_at }: Pick<store.Proof, 'proven_at'>,
): Promise<void> {
  const holder = await store.claimOn(tx, port_scheme_id, ip);
  if (!holder) return;
  if (holder.removal_id !== null) return giveWay(tx, holder, id);
  if (tx.now < holder.expiry) {
    if (!isWeaker(holder, id, { proven_at }, rules)) {
      rules.conflicts?.count(tx, id);
      throw addressTaken(ip);
    }
    await auditLoss(tx, holder);
  }
  await removeRow(tx, holder);
}

/** Whether a claim gives way to an account's: only an unverified one does, to a verified one. */
export const isWeaker = (
  holder: store.AuthlistRow,
  account_id: number,
  { proven_at }: Pick<store.Proof, 'proven_at'>,
  { authlist_proof }: AuthlistRules,
): boolean =>
  authlist_proof !== 'off' &&
  proven_at !== null &&
  holder.proven_at === null &&
  holder.account_id !== account_id;

/** Deletes a removed row, whose address `taker` lists; the removal keeps the entry for its undo. */
export async function giveWay(tx: Transaction, row: store.StoredRow, taker: number): Promise<void> {
  await store.remove(tx, row.account_id, row.id);
  await keepEntry(tx, row, taker);
}

/** Records the loss of an address in the account's audit log, without the new holder. */
async function auditLoss(tx: Transaction, { account_id, id }: store.AuthlistRow): Promise<void> {
  const entry = await store.find(tx, account_id, id, tx.now);
  await audit(tx, {
    account_id,
    action: 'authlist.give_way',
    target: `authlist/${id}`,
    before: entry && { ip: entry.ip, user: entry.user, expiry: entry.expiry },
    actor: { kind: 'system', name: 'authlist', address: '', request_id: '' },
  });
}

/** 409, the same for own and other accounts' entries: it reveals nothing about other lists. */
export function addressTaken(ip: string) {
  return conflict(`${ip} is already on the authlist.`, { code: 'address_taken', field: 'ip' });
}

/** Removes an entry. Updates nodes and the count, unless a "remove all" did that before. */
export async function removeRow(
  tx: Transaction,
  { account_id, id, removal_id = null }: store.AuthlistRow & Partial<store.StoredRow>,
): Promise<void> {
  await store.remove(tx, account_id, id);
  if (removal_id !== null) return;
  await countHeld(tx, account_id, 'authlist', -1);
  await recordChange(tx, { kind: 'authlist', account_id, record_id: id });
}

/** The expired entries that an account's list still counts, up to 500. */
export const expiredOf = (tx: Transaction, account_id: number) =>
  store.expiredOfAccount(tx, account_id, tx.now, 500);

/** Removes an account's expired entries, up to 500, without waiting for the job that does it. */
export async function sweepOwnExpired(tx: Transaction, account_id: number): Promise<void> {
  for (const row of await expiredOf(tx, account_id)) await removeRow(tx, row);
}
