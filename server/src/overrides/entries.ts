// The rules of one entry: its needs, its status, which entry it replaces, and what nodes and the
// audit log get of it.

import { canonicalAddress } from '../../../kit/src/address.ts';
import { requireWritable } from '../accounts/accounts.ts';
import type { HourlyCap } from '../bounds/hourly.ts';
import { audit } from '../changes/audit.ts';
import { bumpVersion, countHeld, heldCount, nextId, recordChange } from '../changes/changes.ts';
import { requireOnContract } from '../contract_servers/contract_servers.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { badRequest, conflict, invalidField, notFound } from '../errors.ts';
import type { PageRequest, PageSlice } from '../lists/list_pages.ts';
import { isOfNote, newNote, noteOf } from '../lists/notes.ts';
import { keepEntry } from '../lists/removals.ts';
import { parseAddress } from '../values/address.ts';
import { checkExpiry } from '../values/expiry.ts';
import { parseHostname } from '../values/hostname.ts';
import { type OverrideFilter, type OverrideSort, pageSlicesOf } from './page_store.ts';
import * as store from './store.ts';

export type OverrideStatus = 'pending' | 'active' | 'expiring' | 'expired';

/** How long expiring and expired entries stay in the system, and in lists. */
export const retentionSeconds = 30 * 86_400;

export interface NewOverride {
  server: string;
  hostname: string;
  ip: string;
  expiry: number;
  /** Its purpose. The console and operators set and see it; /v0 and nodes don't. */
  note?: string | undefined;
}

/** The operator's settings for this list, the client's rights, and a cap. */
export interface OverrideRules {
  addresses: 'any' | 'public';
  max_overrides: number;
  /** Operators can change suspended and expired contracts too. */
  any_contract?: boolean;
  /** Entries that an undo brings back, counted per account and hour; operators have no cap. */
  restored?: HourlyCap;
}

/**
 * The status of an entry: wanted or not (its expiry), and applied or not (what its server's nodes
 * have acknowledged). It is not stored.
 */
export function statusOf(override: store.Override, now: number): OverrideStatus {
  const isApplied = override.applied === 1;
  if (now < override.expiry) return isApplied ? 'active' : 'pending';
  return isApplied ? 'expiring' : 'expired';
}

/** The last change of an entry; coming back after a "remove all" is one. */
const revisionOf = ({ revision, restored_revision }: store.Override) =>
  Math.max(revision, restored_revision ?? 0);

/** The change that nodes must have applied to be up to date with the entry, if there is one. */
export function lastChangeOf(override: store.Override, now: number): number | undefined {
  const { contract_revision, removed_revision } = override;
  if (removed_revision !== null) return removed_revision;
  if (contract_revision === null || now >= override.expiry) return undefined;
  return Math.max(revisionOf(override), contract_revision);
}

/** Epoch seconds at which time alone changes an entry's answer: its expiry, then its purge. */
export function nextChangeAt(override: store.Override, now: number): number {
  return now < override.expiry ? override.expiry : override.expiry + retentionSeconds;
}

/** One entry; undefined if it no longer exists. */
export function findOverride(
  db: Reader,
  account_id: number,
  id: number,
  now: number,
): Promise<store.Override | undefined> {
  return store.find(db, account_id, id, now - retentionSeconds);
}

/** One entry. Errors: 404. */
export async function requireOverride(
  db: Reader,
  account_id: number,
  id: number | undefined,
  now: number,
): Promise<store.Override> {
  const override = id === undefined ? undefined : await findOverride(db, account_id, id, now);
  if (!override) throw notFound('There is no such custom DNS entry; it may have been removed.');
  return override;
}

/**
 * All entries, also expiring and expired ones, by id, a slice at a time; optionally of an address,
 * of servers, or with a part of a hostname or address. Errors: 400.
 */
export function overrideSlices(
  db: Reader,
  account_id: number,
  filter: {
    ip?: string | undefined;
    servers?: string[] | undefined;
    part?: string | undefined;
  },
  now: number,
): AsyncGenerator<store.OverrideSlice, void, void> {
  const ip = filter.ip === undefined ? undefined : canonicalAddress(filter.ip);
  if (filter.ip !== undefined && ip === undefined) {
    throw invalidField(
      'ip',
      `${JSON.stringify(filter.ip)} is not an IP address; expected one IPv4 or IPv6 address.`,
    );
  }
  const { servers, part } = filter;
  const since = now - retentionSeconds;
  return store.slices(db, account_id, since, { ip, servers, part: part?.toLowerCase() });
}

/** The slices of a page of them, filtered and sorted. Errors: those of `pageSlices`. */
export function overridePageSlices(
  db: Reader,
  account_id: number,
  filter: OverrideFilter,
  page: PageRequest<OverrideSort>,
  now: number,
): AsyncGenerator<PageSlice<store.Override>, void, void> {
  return pageSlicesOf(db, account_id, filter, page, { since: now - retentionSeconds, now });
}

/** The whole list at once, for callers off the event loop. Errors: 400. */
export async function listOverrides(
  ...args: Parameters<typeof overrideSlices>
): Promise<store.Override[]> {
  const all: store.Override[] = [];
  for await (const { entries } of overrideSlices(...args)) all.push(...entries);
  return all;
}

/**
 * Overrides a hostname on a server. Errors: 400 for a bad hostname, address or expiry; 403 for a
 * contract that accepts no changes; 409 when the server is not on the contract, the hostname is
 * already overridden there, or the account's list is full.
 */
export async function createOverride(
  tx: Transaction,
  account_id: number,
  body: NewOverride,
  rules: OverrideRules,
): Promise<store.Override> {
  checkExpiry(body.expiry, tx.now);
  const hostname = parseHostname('hostname', body.hostname);
  const ip = parseAddress('ip', body.ip, rules);
  await requireWritable(tx, account_id, rules.any_contract);
  const server = await requireOnContract(tx, account_id, body.server, '');
  const count = await heldCount(tx, account_id, 'overrides');
  if (count >= rules.max_overrides) {
    throw conflict(
      `The list holds ${count} entries, as many as an account may have; remove some first.`,
      { code: 'list_full' },
    );
  }
  await freeHostname(tx, account_id, server.id, hostname, body.server, '');
  const row: store.OverrideRow = {
    account_id,
    id: await nextId(tx, account_id, 'overrides'),
    server_id: server.id,
    hostname,
    ip,
    expiry: body.expiry,
    revision: 0,
    removed_revision: null,
    ...newNote(tx, body.note),
  };
  row.revision = await overrideChanged(tx, row);
  await store.insert(tx, row);
  await countHeld(tx, account_id, 'overrides', 1);
  const { expiry, note } = row;
  await audit(tx, {
    account_id,
    action: 'override.create',
    target: `overrides/${row.id}`,
    after: shownInLog({ server: body.server, hostname, ip, expiry, note }),
  });
  return requireOverride(tx, account_id, row.id, tx.now);
}

type Logged = Pick<store.Override, 'server' | 'hostname' | 'ip' | 'expiry' | 'note'>;

/** A new or removed entry, for the audit log. */
export const shownInLog = ({ server, hostname, ip, expiry, note }: Logged) => ({
  ...{ server, hostname, ip, expiry },
  ...(note === '' ? {} : { note }),
});

export function overrideChanged(
  tx: Transaction,
  { account_id, server_id, id }: store.OverrideRow,
): Promise<number> {
  return recordChange(tx, { kind: 'override', account_id, server_id, record_id: id });
}

/**
 * Frees a hostname on a server: an entry that was removed or has expired gives way. Errors: 409
 * when an entry other than `own_id` has it.
 */
async function freeHostname(
  tx: Transaction,
  account_id: number,
  server_id: number,
  hostname: string,
  server: string,
  otherwise: string,
  own_id?: number,
): Promise<void> {
  const holder = await store.holder(tx, account_id, server_id, hostname);
  if (!holder || holder.id === own_id) return;
  if (holder.removal_id !== null) {
    await giveWay(tx, holder);
    return;
  }
  if (tx.now < holder.expiry) {
    throw hostnameTaken(hostname, server, holder.id, otherwise);
  }
  await endOverride(tx, holder);
}

export const hostnameTaken = (
  hostname: string,
  server: string,
  id: number,
  otherwise: string,
  { field } = { field: 'hostname' },
) =>
  conflict(`${hostname} is already overridden on ${server}, by entry ${id}.${otherwise}`, {
    code: 'hostname_taken',
    field,
  });

/** Deletes a removed row, whose hostname is overridden again; the removal keeps it for its undo. */
export async function giveWay(tx: Transaction, row: store.StoredRow): Promise<void> {
  await store.remove(tx, row.account_id, row.id);
  await keepEntry(tx, row, row.account_id);
}

/** Ends an entry, and records that for the nodes. */
export async function endOverride(tx: Transaction, row: store.OverrideRow): Promise<void> {
  await store.update(tx, { ...row, removed_revision: await overrideChanged(tx, row) });
}

/**
 * Changes any of server, hostname, ip and expiry; the entry is pending again, and a new expiry
 * revives an expired one. Errors: as on create; 400 when no field is given; 404 without the entry;
 * 409 for an expired entry without a new expiry; those of `requireMatch`.
 */
export async function changeOverride(
  tx: Transaction,
  account_id: number,
  id: number | undefined,
  changes: Partial<NewOverride>,
  rules: OverrideRules,
  requireMatch: (before: store.Override) => void,
): Promise<store.Override> {
  const noChange = ' No changes were made.';
  if (changes.expiry !== undefined) checkExpiry(changes.expiry, tx.now);
  const before = await requireOverride(tx, account_id, id, tx.now);
  await requireWritable(tx, account_id, rules.any_contract);
  requireMatch(before);
  if (Object.values(changes).every((value) => value === undefined)) {
    throw badRequest(
      'The body changes nothing; send at least one of `server`, `hostname`, `ip`, `expiry`.',
    );
  }
  const { note = before.note } = changes;
  if (isOfNote(changes)) return changeNote(tx, before, note);
  const hostname =
    changes.hostname === undefined ? before.hostname : parseHostname('hostname', changes.hostname);
  const ip = changes.ip === undefined ? before.ip : parseAddress('ip', changes.ip, rules);
  const server = await requireOnContract(tx, account_id, changes.server ?? before.server, noChange);
  const expiry = changes.expiry ?? before.expiry;
  if (expiry <= tx.now) {
    throw conflict(
      `the entry expired at ${before.expiry}; send a new expiry to revive it.${noChange}`,
      { field: 'expiry' },
    );
  }
  await freeHostname(tx, account_id, server.id, hostname, server.name, noChange, before.id);
  if (server.id !== before.server_id) await overrideChanged(tx, before);
  const changed = { server_id: server.id, hostname, ip, expiry, note };
  const row = { ...toRow(before), ...changed, removed_revision: null };
  row.revision = await overrideChanged(tx, row);
  await store.update(tx, row);
  await audit(tx, {
    account_id,
    action: 'override.change',
    target: `overrides/${row.id}`,
    before: {
      ...shownInLog({ ...before, note: '' }),
      ...(changes.note === undefined ? {} : { note: before.note }),
    },
    after: {
      ...{ server: server.name, hostname, ip, expiry },
      ...(changes.note === undefined ? {} : { note }),
    },
  });
  return requireOverride(tx, account_id, row.id, tx.now);
}

/** Nodes don't see notes: the entry stays as it is, expired or not. */
async function changeNote(tx: Transaction, before: store.Override, note: string) {
  const { account_id, id } = before;
  await store.update(tx, { ...toRow(before), note });
  await bumpVersion(tx, account_id, 'overrides');
  await audit(tx, {
    account_id,
    action: 'override.change',
    target: `overrides/${id}`,
    before: shownInLog(before),
    after: { ...shownInLog(before), note },
  });
  return { ...before, note };
}

export function toRow(override: store.Override): store.OverrideRow {
  const { account_id, id, server_id, hostname, ip, expiry, revision, removed_revision } = override;
  const row = { account_id, id, server_id, hostname, ip, expiry, revision, removed_revision };
  return { ...row, ...noteOf(override) };
}

/** Removes an entry. Errors: 404; 403 unless `any_contract`; those of `requireMatch`. */
export async function removeOverride(
  tx: Transaction,
  account_id: number,
  id: number | undefined,
  requireMatch: (before: store.Override) => void,
  any_contract = false,
): Promise<void> {
  const before = await requireOverride(tx, account_id, id, tx.now);
  await requireWritable(tx, account_id, any_contract);
  requireMatch(before);
  await removeRow(tx, before);
  await auditRemoval(tx, before);
}

export function auditRemoval(tx: Transaction, entry: store.Override): Promise<void> {
  return audit(tx, {
    account_id: entry.account_id,
    action: 'override.remove',
    target: `overrides/${entry.id}`,
    before: shownInLog(entry),
  });
}

async function removeRow(tx: Transaction, row: store.OverrideRow): Promise<void> {
  await store.remove(tx, row.account_id, row.id);
  await countHeld(tx, row.account_id, 'overrides', -1);
  await overrideChanged(tx, row);
}

/** Notifies the nodes of entries that have expired, a batch at a time. Answers how many. */
export async function sweepOverrides(tx: Transaction, maxRows: number): Promise<number> {
  const rows = await store.toEnd(tx, tx.now, maxRows);
  for (const row of rows) {
    if (row.removal_id !== null) await store.remove(tx, row.account_id, row.id);
    else await endOverride(tx, row);
  }
  return rows.length;
}

/** Removes entries 30 days after their expiry, a batch at a time. Answers how many. */
export async function purgeOverrides(tx: Transaction, maxRows: number): Promise<number> {
  const rows = await store.toPurge(tx, tx.now - retentionSeconds, maxRows);
  for (const row of rows) {
    if (row.removal_id !== null) await store.remove(tx, row.account_id, row.id);
    else await removeRow(tx, row);
  }
  return rows.length;
}
