// The rules of one entry: what it needs, and what nodes and the audit log get of it.

import { canonicalAddress } from '../../../kit/src/address.ts';
import { requireWritable } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { bumpVersion, countHeld, heldCount, nextId, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { badRequest, conflict, notFound } from '../errors.ts';
import { isOfNote, newNote } from '../lists/notes.ts';
import { findUserInGroup, isProxyUser } from '../users/users.ts';
import { parseAddress } from '../values/address.ts';
import { checkExpiry } from '../values/expiry.ts';
import { addressTaken, freeClaim, removeRow, sweepOwnExpired } from './claims.ts';
import { noteEnds } from './past_store.ts';
import { newProof } from './proofs.ts';
import type { AuthlistRules } from './rules.ts';
import * as store from './store.ts';

export interface NewEntry {
  ip: string;
  user: string;
  expiry: number;
  /** Its purpose. The console and operators set and see it; /v0 and nodes don't. */
  note?: string | undefined;
}

/** `proven`: whether an operator has verified the entry. */
export type EntryChanges = Partial<NewEntry> & { proven?: boolean | undefined };

/** An entry, with the revision of its last change. */
export type ChangedEntry = store.AuthlistEntry & { revision: number };

/** Whether the entry's user is an active proxy user; otherwise the address gives no access. */
export function userIsActive(entry: store.AuthlistEntry): boolean {
  return isProxyUser(entry);
}

/** One entry, while it holds. Errors: 404. */
export async function requireEntry(
  db: Reader,
  account_id: number,
  id: number | undefined,
  now: number,
): Promise<store.AuthlistEntry> {
  const entry = id === undefined ? undefined : await store.find(db, account_id, id, now);
  if (!entry) throw noSuchEntry();
  return entry;
}

/** 404: the entry does not exist, or not for this client. */
export function noSuchEntry() {
  return notFound('There is no such entry on your list; it may have expired or been removed.');
}

/**
 * The entries that hold, by id, a slice at a time. `ip`: a full address matches in any spelling,
 * other text as a part of the canonical address. `users`: names of users of the account.
 */
export function entrySlices(
  db: Reader,
  account_id: number,
  filter: { ip?: string | undefined; users?: string[] | undefined },
  now: number,
): AsyncGenerator<store.EntrySlice, void, void> {
  const { ip, users } = filter;
  const full = ip === undefined ? undefined : canonicalAddress(ip);
  const part = full ? undefined : ip?.toLowerCase();
  return store.slices(db, account_id, now, { ip: full, part, users });
}

/** The whole list at once, for callers off the event loop. */
export async function listEntries(
  ...args: Parameters<typeof entrySlices>
): Promise<store.AuthlistEntry[]> {
  const all: store.AuthlistEntry[] = [];
  for await (const { entries } of entrySlices(...args)) all.push(...entries);
  return all;
}

/**
 * Lists an address for a user. If the request comes from that address (`callerIp`) or the rules
 * vouch for it, the entry is verified, and replaces another account's unverified entry. Errors: 400
 * for an invalid address or expiry; 403 for a contract that accepts no changes; 404 without the
 * account; 409 when any account lists the address on this port scheme, the user is not in the
 * account, or the account's list is full; 429 after too many conflicts.
 */
export async function createEntry(
  tx: Transaction,
  account_id: number,
  body: NewEntry,
  rules: AuthlistRules,
  callerIp?: string,
): Promise<ChangedEntry> {
  checkExpiry(body.expiry, tx.now);
  const ip = parseAddress('ip', body.ip, rules);
  rules.conflicts?.rejectTooMany(tx, account_id);
  const maxEntries = rules.max_authlist_entries;
  if ((await heldCount(tx, account_id, 'authlist')) >= maxEntries) {
    await sweepOwnExpired(tx, account_id);
    const count = await heldCount(tx, account_id, 'authlist');
    if (count >= maxEntries) {
      throw conflict(
        `The list holds ${count} entries, as many as an account may have; remove some first.`,
        { code: 'list_full' },
      );
    }
  }
  const account = await requireWritable(tx, account_id, rules.any_contract);
  const user = await findUserInGroup(tx, account_id, body.user);
  if (!user) throw unknownUser(body.user, ip);
  const id = await nextId(tx, account_id, 'authlist');
  const proof = newProof(isVouched(ip, rules, callerIp), rules.authlist_proof, tx.now);
  const row: store.AuthlistRow = {
    ...{ account_id, id, port_scheme_id: account.port_scheme_id, ip, user_id: user.id },
    ...{ expiry: body.expiry, ...proof, ...newNote(tx, body.note) },
  };
  if (!(await store.insert(tx, row))) {
    await freeClaim(tx, account, ip, rules, proof);
    if (!(await store.insert(tx, row))) throw addressTaken(ip);
  }
  await countHeld(tx, account_id, 'authlist', 1);
  const { active, proxy } = user;
  const entry = await entryChanged(tx, { ...row, user: user.name, active, proxy });
  await audit(tx, { account_id, action: 'authlist.create', target: `authlist/${id}`, after: body });
  return entry;
}

const isVouched = (ip: string, { vouches }: AuthlistRules, callerIp: string | undefined) =>
  vouches === true || callerIp === ip;

/** 409, with the address of a new entry: a client that sent none may not know it. */
export function unknownUser(name: string, ip?: string) {
  const rest = ip === undefined ? '' : `; no entry for ${ip} was made`;
  return conflict(`${JSON.stringify(name)} is not part of the account${rest}.`, {
    code: 'unknown_user',
    field: 'user',
  });
}

/** Records an entry's change for the nodes. */
async function entryChanged(tx: Transaction, entry: store.AuthlistEntry): Promise<ChangedEntry> {
  const { account_id, id } = entry;
  const revision = await recordChange(tx, { kind: 'authlist', account_id, record_id: id });
  return { ...entry, revision };
}

/**
 * Changes any fields. Only nodes that have something to apply are notified, so not of a new note.
 * Errors: as on create; 400 when no field is given; 404 without the entry; those of `requireMatch`.
 */
export async function changeEntry(
  tx: Transaction,
  account_id: number,
  id: number | undefined,
  changes: EntryChanges,
  rules: AuthlistRules,
  requireMatch: (before: store.AuthlistEntry) => void,
  callerIp?: string,
): Promise<ChangedEntry> {
  if (changes.expiry !== undefined) checkExpiry(changes.expiry, tx.now);
  const before = await requireEntry(tx, account_id, id, tx.now);
  const account = await requireWritable(tx, account_id, rules.any_contract);
  requireMatch(before);
  if (Object.values(changes).every((value) => value === undefined)) {
    throw badRequest('The body changes nothing; send at least one of `ip`, `user`, `expiry`.');
  }
  const ip = changes.ip === undefined ? before.ip : parseAddress('ip', changes.ip, rules);
  const isMoved = ip !== before.ip;
  if (isMoved) rules.conflicts?.rejectTooMany(tx, account_id);
  const name = changes.user ?? before.user;
  const user = await findUserInGroup(tx, account_id, name);
  if (!user) throw unknownUser(name);
  const isVerified =
    changes.proven ??
    (isMoved ? isVouched(ip, rules, callerIp) : before.proven_at !== null || callerIp === ip);
  const isKept = !isMoved && isVerified === (before.proven_at !== null);
  const { proven_at, waits } = isKept ? before : newProof(isVerified, rules.authlist_proof, tx.now);
  if (isMoved) await freeClaim(tx, account, ip, rules, { proven_at });
  const expiry = changes.expiry ?? before.expiry;
  const { note = before.note } = changes;
  const row = { ...toRow(before), ip, user_id: user.id, expiry, proven_at, waits, note };
  if (isMoved) await noteEnds(tx, [[account_id, before.id]]);
  await store.update(tx, row);
  const { active, proxy } = user;
  const changed = { ...row, user: user.name, active, proxy };
  const isForNodes = !isOfNote(changes) || waits !== before.waits;
  const entry = isForNodes
    ? await entryChanged(tx, changed)
    : { ...changed, revision: await bumpVersion(tx, account_id, 'authlist') };
  await audit(tx, {
    account_id,
    action: 'authlist.change',
    target: `authlist/${before.id}`,
    before: changeInLog(changes, before),
    after: changeInLog(changes, entry),
  });
  return entry;
}

/** An entry before or after a change, for the audit log. */
const changeInLog = ({ proven, note }: EntryChanges, entry: store.AuthlistEntry) => ({
  ...{ ip: entry.ip, user: entry.user, expiry: entry.expiry },
  ...(proven === undefined ? {} : { proven: entry.proven_at !== null }),
  ...(note === undefined ? {} : { note: entry.note }),
});

/** An entry as it is stored, without the fields of its user. */
export function toRow({
  user: _,
  active: __,
  proxy: ___,
  ...row
}: store.AuthlistEntry): store.AuthlistRow {
  return row;
}

/** A removed entry, for the audit log. */
const removedInLog = ({ ip, user, expiry, note }: store.AuthlistEntry) => ({
  ...{ ip, user, expiry },
  ...(note === '' ? {} : { note }),
});

/** Removes an entry. Errors: 404; 403 unless `any_contract`; those of `requireMatch`. */
export async function removeEntry(
  tx: Transaction,
  account_id: number,
  id: number | undefined,
  requireMatch: (before: store.AuthlistEntry) => void,
  any_contract = false,
): Promise<void> {
  const before = await requireEntry(tx, account_id, id, tx.now);
  await requireWritable(tx, account_id, any_contract);
  requireMatch(before);
  await removeRow(tx, before);
  await auditRemoval(tx, before);
}

export function auditRemoval(tx: Transaction, entry: store.AuthlistEntry): Promise<void> {
  return audit(tx, {
    account_id: entry.account_id,
    action: 'authlist.remove',
    target: `authlist/${entry.id}`,
    before: removedInLog(entry),
  });
}

/** Removes expired entries, a batch at a time; nodes have denied them since they expired. */
export async function sweepEntries(tx: Transaction, maxRows: number): Promise<number> {
  const rows = await store.expired(tx, tx.now, maxRows);
  for (const row of rows) await removeRow(tx, row);
  return rows.length;
}
