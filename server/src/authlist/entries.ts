// The rules of one entry: what it needs, which other entry it replaces, and what is recorded of it.

import { canonicalAddress } from '../../../kit/src/address.ts';
import { type Account, requireWritable } from '../accounts/accounts.ts';
import type { HourlyCap } from '../bounds/hourly.ts';
import { audit } from '../changes/audit.ts';
import { bumpVersion, countHeld, heldCount, nextId, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { badRequest, conflict, notFound } from '../errors.ts';
import { isOfNote, newNote } from '../lists/notes.ts';
import { keepEntry } from '../lists/removals.ts';
import { findUserInGroup, isProxyUser } from '../users/users.ts';
import { parseAddress } from '../values/address.ts';
import { checkExpiry } from '../values/expiry.ts';
import { newProof, type ProofSetting } from './proofs.ts';
import * as store from './store.ts';

export interface NewEntry {
  ip: string;
  user: string;
  expiry: number;
  /** Its purpose; only people and operators give one, and see it. */
  note?: string | undefined;
}

/** `proven`: the operator's word on whose address it is. */
export type EntryChanges = Partial<NewEntry> & { proven?: boolean | undefined };

/** An entry, with the revision of its last change. */
export type ChangedEntry = store.AuthlistEntry & { revision: number };

/** The operator's settings for this list, and the client's rights. */
export interface AuthlistRules {
  addresses: 'any' | 'public';
  max_authlist_entries: number;
  /** Whether suspended and expired contracts can be changed too: for the operator. */
  any_contract?: boolean;
  /** Whether an entry needs a proof; `prefer` when omitted. */
  authlist_proof?: ProofSetting;
  /** Whether the client's word is proof enough, as an operator's is. */
  vouches?: boolean;
  /** How many addresses an account may try that are already claimed. */
  conflicts?: HourlyCap;
  /** How many entries an account may bring back. */
  restored?: HourlyCap;
}

/** Whether connections from the entry's address are accepted: its user is an active proxy user. */
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
 * Lists an address for a user, requested from `callerIp`. If that is the same address, or an
 * operator asks, the entry is proven and replaces another account's unproven claim. Errors: 403 for
 * a contract that accepts no changes; 400 for an invalid address or expiry; 409 when any account
 * lists the address on this port scheme, the user is not in the account, or the account's list is
 * full.
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
    const held = await heldCount(tx, account_id, 'authlist');
    if (held >= maxEntries) {
      throw conflict(
        `The list holds ${held} entries, as many as an account may have; remove some first.`,
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

export const expiredAtOnce = 500;

/** Expired entries are off the list, swept or not; this sweeps the account's own. */
export async function sweepOwnExpired(tx: Transaction, account_id: number): Promise<void> {
  const expired = await store.expiredOfAccount(tx, account_id, tx.now, expiredAtOnce);
  for (const row of expired) await removeRow(tx, row);
}

/** Names the address, because a client that gave none may not know it. */
export function unknownUser(name: string, ip?: string) {
  const rest = ip === undefined ? '' : `; no entry for ${ip} was made`;
  return conflict(`${JSON.stringify(name)} is not part of the account${rest}.`, {
    code: 'unknown_user',
    field: 'user',
  });
}

/** Notifies the nodes of an entry's change, and answers it with the revision. */
async function entryChanged(tx: Transaction, entry: store.AuthlistEntry): Promise<ChangedEntry> {
  const { account_id, id } = entry;
  const revision = await recordChange(tx, { kind: 'authlist', account_id, record_id: id });
  return { ...entry, revision };
}

/**
 * Ends an expired entry's claim on an address or, for a proven entry, another account's unproven
 * claim. Errors: 409 while another entry, of any account, has the address.
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
  if (holder.removal_id !== null) {
    await giveWay(tx, holder, id);
    return;
  }
  if (tx.now < holder.expiry) {
    if (!isWeaker(holder, id, { proven_at }, rules)) {
      rules.conflicts?.count(tx, id);
      throw addressTaken(ip);
    }
    await auditLoss(tx, holder);
  }
  await removeRow(tx, holder);
}

/** Whether a claim that holds gives way to one of an account, by its proof. */
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

/** Frees the address of an entry that a "remove all" removed; an undo knows that it gave way. */
export async function giveWay(tx: Transaction, row: store.StoredRow, taker: number): Promise<void> {
  await store.remove(tx, row.account_id, row.id);
  await keepEntry(tx, row, taker);
}

/** Records the loss of an address in the account's audit log, without the new holder. */
async function auditLoss(tx: Transaction, { account_id, id }: store.AuthlistRow): Promise<void> {
  const { ip, user, expiry } = await requireEntry(tx, account_id, id, tx.now);
  await audit(tx, {
    account_id,
    action: 'authlist.give_way',
    target: `authlist/${id}`,
    before: { ip, user, expiry },
    actor: { kind: 'system', name: 'authlist', address: '', request_id: '' },
  });
}

/** The same message for own and foreign claims: an answer reveals nothing about other accounts. */
export function addressTaken(ip: string) {
  return conflict(`${ip} is already on the authlist.`, { code: 'address_taken', field: 'ip' });
}

/** Removes an entry, and updates nodes and the count if it was on the list. */
export async function removeRow(
  tx: Transaction,
  { account_id, id, removal_id = null }: store.AuthlistRow & Partial<store.StoredRow>,
): Promise<void> {
  await store.remove(tx, account_id, id);
  if (removal_id !== null) return;
  await countHeld(tx, account_id, 'authlist', -1);
  await recordChange(tx, { kind: 'authlist', account_id, record_id: id });
}

/** Changes any fields; nodes don't see notes. Errors: 404; 403; 400 for none; 409 as on create. */
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
  if (ip !== before.ip) rules.conflicts?.rejectTooMany(tx, account_id);
  const name = changes.user ?? before.user;
  const user = await findUserInGroup(tx, account_id, name);
  if (!user) throw unknownUser(name);
  const isMoved = ip !== before.ip;
  const isProven =
    changes.proven ??
    (isMoved ? isVouched(ip, rules, callerIp) : before.proven_at !== null || callerIp === ip);
  const isKept = !isMoved && isProven === (before.proven_at !== null);
  const { proven_at, waits } = isKept ? before : newProof(isProven, rules.authlist_proof, tx.now);
  if (isMoved) await freeClaim(tx, account, ip, rules, { proven_at });
  const expiry = changes.expiry ?? before.expiry;
  const { note = before.note } = changes;
  const row = { ...toRow(before), ip, user_id: user.id, expiry, proven_at, waits, note };
  if (isMoved) await store.noteEnds(tx, [[account_id, before.id]]);
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
    before: { ip: before.ip, user: before.user, expiry: before.expiry, ...extras(changes, before) },
    after: { ip: entry.ip, user: entry.user, expiry: entry.expiry, ...extras(changes, entry) },
  });
  return entry;
}

/** Whether an entry is proven, if the operator set that; its note, if it changes. */
const extras = ({ proven, note }: EntryChanges, entry: store.AuthlistRow) => ({
  ...(proven === undefined ? {} : { proven: entry.proven_at !== null }),
  ...(note === undefined ? {} : { note: entry.note }),
});

function toRow({
  user: _,
  active: __,
  proxy: ___,
  ...row
}: store.AuthlistEntry): store.AuthlistRow {
  return row;
}

/** A removed entry, for the audit log. */
export const shownInLog = ({ ip, user, expiry, note }: store.AuthlistEntry) => ({
  ...{ ip, user, expiry },
  ...(note === '' ? {} : { note }),
});

/** Removes an entry. Errors: 404; 403 unless `any_contract`. */
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
    before: shownInLog(entry),
  });
}

/** Removes expired entries, a batch at a time. Nodes apply the expiry by their own clock. */
export async function sweepEntries(tx: Transaction, maxRows: number): Promise<number> {
  const rows = await store.expired(tx, tx.now, maxRows);
  for (const row of rows) await removeRow(tx, row);
  return rows.length;
}
