// Refusals: which connections nodes refused lately, by minute, reason, source and user, for people
// who ask why. Destinations are not in them. Verbs: report, list, forget, purge.
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { RefusalReport, Refusal as Reported } from '../../../kit/src/node_interface.ts';
import { forgetPast, listersOf, pastAddressesOf, purgePast } from '../authlist/authlist.ts';
import { nextId } from '../changes/changes.ts';
import type { Reader, Transaction, Value } from '../db/database.ts';
import { usersByKey } from '../users/users.ts';
import { served } from './log_store.ts';
import { forgetTriesOf, guessedFrom, noteRows, purgeNotices } from './refusal_notices.ts';
import * as store from './refusal_store.ts';
import { kindOf } from './rejection_reasons.ts';
import { type NodeRow, nodesOfServer } from './store.ts';

export type Refusal = store.ListedRefusal;

const minuteSeconds = 60;
/** The maximum number of rows in a report. */
export const maxRefusalsOfReport = 500;
/**
 * The maximum kept for each node: in all, without an account, and of an account. Wrong credentials,
 * which anybody can send, have a maximum of their own.
 */
export const maxRefusals = { node: 10_000, unnamed: 5000, account: 200, guesses: 100 };

/** Adds a node's report. A user whom its server does not serve is not named. */
export async function reportRefusals(
  tx: Transaction,
  node: NodeRow,
  report: RefusalReport,
  kept_seconds: number,
): Promise<void> {
  if (!(await store.noteReport(tx, node.id, report))) return;
  const fresh = report.refusals.flatMap((refusal) => {
    const source = canonicalAddress(refusal.source);
    const at = Math.min(refusal.at, tx.now);
    if (source === undefined || at <= tx.now - kept_seconds) return [];
    return [{ ...refusal, source, at: at - (at % minuteSeconds), reason: kindOf(refusal.reason) }];
  });
  if (fresh.length === 0) return;
  const isTrue = await namesOf(tx, node, fresh);
  const listerOf = await listersOf(
    tx,
    fresh.map(({ source }) => source),
  );
  const rows = new Map<string, store.RefusalRow>();
  for (const refusal of fresh) {
    const { at, reason, source, service, port = 0, count } = refusal;
    const [account_id, user_id] = isTrue(refusal)
      ? [refusal.account ?? 0, refusal.user ?? 0]
      : [listerOf(source, at + minuteSeconds) ?? 0, 0];
    const row = { node_id: node.id, at, account_id, user_id, reason, source, service, port };
    const key = JSON.stringify(row);
    const alike = rows.get(key);
    if (alike) alike.count += count;
    else {
      const id = await nextId(tx, 0, 'refusals');
      const added = { id, ...row, count };
      rows.set(key, { ...added, network: guessedFrom(added) });
    }
  }
  await store.addRefusals(tx, [...rows.values()]);
  await noteRows(tx, [...rows.values()]);
  await removeExcess(tx, node.id, [...rows.values()]);
}

/**
 * Removes the oldest refusals of the node beyond each maximum that these rows may have exceeded.
 */
async function removeExcess(
  tx: Transaction,
  node_id: number,
  added: readonly store.RefusalRow[],
): Promise<void> {
  const { account, guesses, unnamed, node } = maxRefusals;
  for (const account_id of new Set(added.map((row) => row.account_id))) {
    if (account_id === 0) {
      await store.removeOlderThanNewest(tx, node_id, 'unnamed', unnamed);
      continue;
    }
    for (const [isGuess, max] of [[false, account] as const, [true, guesses] as const]) {
      await store.removeOlderThanNewest(tx, node_id, { account_id, isGuess }, max);
    }
  }
  await store.removeOlderThanNewest(tx, node_id, 'all', node);
}

/**
 * Whether a refusal may name its user: the user exists, and the server serves the account.
 * Otherwise the reason must be that it does not; so a node can't fill the lists of all accounts
 * with other reasons.
 */
async function namesOf(tx: Transaction, node: NodeRow, reported: readonly Reported[]) {
  const keys = reported.flatMap(({ account, user }) =>
    account === undefined || user === undefined ? [] : [[account, user] as const],
  );
  const accounts = Array.from(new Set(keys.map(([account]) => account)));
  const [servedAccounts, userOf] = await Promise.all([
    served(tx, node.server_id, accounts),
    usersByKey(tx, keys),
  ]);
  return ({ account, user, reason }: Reported) =>
    account !== undefined &&
    user !== undefined &&
    userOf(account, user) !== undefined &&
    (servedAccounts.has(account) || reason === 'server_not_on_contract');
}

// ---- Listing ------------------------------------------------------------------------------

/** Ids; every field narrows the result. */
export interface RefusalFilter {
  account_id?: number | undefined;
  user_id?: number | undefined;
  source?: string | undefined;
  server_id?: number | undefined;
  node_id?: number | undefined;
  reason?: string | undefined;
  /** Epoch seconds: `since <= at < until`. */
  since?: number | undefined;
  until?: number | undefined;
  /** Only those that name no user, or this one; or any user of the account. */
  seen_by?: { account_id: number; user_id?: number | undefined } | undefined;
}

export interface RefusalPage {
  refusals: Refusal[];
  /** The id below which to continue; undefined at the end. */
  before: number | undefined;
}

const noConditions: store.Conditions = { sql: [], values: [] };
/** How many rows of the network, an account or an address a page looks at; a node has fewer. */
const walkedRows = 20_000;
/** Nodes that were cut off report late. */
const skewSeconds = 86_400;

/** The newest refusals below an id that match; before the end a page may have fewer, or none. */
export async function listRefusals(
  db: Reader,
  filter: RefusalFilter,
  before: number | undefined,
  limit: number,
): Promise<RefusalPage> {
  const below = before ?? Number.MAX_SAFE_INTEGER;
  const { server_id, node_id } = filter;
  if (server_id === undefined) return pageBelow(db, filter, below, limit);
  // There is an index for the refusals of one node in the order of the page, and none for several.
  const nodes = (await nodesOfServer(db, server_id)).filter(({ id }) => (node_id ?? id) === id);
  const pages = await Promise.all(
    nodes.map(({ id }) => pageBelow(db, { ...filter, node_id: id }, below, limit)),
  );
  // Down to the lowest id that all pages have reached.
  const end = Math.max(0, ...pages.map((page) => page.before ?? 0));
  const rows = pages.flatMap(({ refusals }) => refusals.filter(({ id }) => id >= end));
  rows.sort((a, b) => b.id - a.id);
  const refusals = rows.slice(0, limit);
  const last = rows.length > limit ? refusals.at(-1)?.id : end;
  return { refusals, before: last === 0 ? undefined : last };
}

async function pageBelow(
  db: Reader,
  filter: RefusalFilter,
  below: number,
  limit: number,
): Promise<RefusalPage> {
  const { sql, values, isIndexed } = conditionsOf(filter);
  const indexed = isIndexed ? { sql: sql.slice(0, 1), values: values.slice(0, 1) } : noConditions;
  const isLong = filter.node_id === undefined && sql.length > indexed.sql.length;
  const last = isLong ? await store.lastOfSlice(db, indexed, below, walkedRows) : undefined;
  const rows = await store.refusalsBelow(db, { sql, values }, below, last?.id ?? 0, limit + 1);
  if (rows.length > limit) {
    return { refusals: rows.slice(0, limit), before: rows[limit - 1]?.id };
  }
  const isEnd = !last || (filter.since !== undefined && last.at < filter.since - skewSeconds);
  return { refusals: rows, before: isEnd ? undefined : last.id };
}

/** All conditions; the first has an index in the order of the page, if `isIndexed`. */
function conditionsOf(filter: RefusalFilter): store.Conditions & { isIndexed: boolean } {
  const { account_id, source, node_id, seen_by } = filter;
  const values: Value[] = [];
  const sql: string[] = [];
  const also = (value: Value | undefined, condition: (place: string) => string) => {
    if (value !== undefined) sql.push(condition(`$${values.push(value)}`));
  };
  also(node_id, (place) => `r.node_id = ${place}`);
  also(source, (place) => `r.source = ${place}`);
  also(account_id, (place) => `r.account_id = ${place}`);
  const isIndexed = sql.length > 0;
  also(filter.user_id, (place) => `r.user_id = ${place}`);
  also(filter.reason, (place) => `r.reason = ${place}`);
  also(filter.since, (place) => `r.at >= ${place}`);
  also(filter.until, (place) => `r.at < ${place}`);
  if (seen_by) {
    const ownConditions = [`r.account_id = $${values.push(seen_by.account_id)}`];
    if (seen_by.user_id !== undefined)
      ownConditions.push(`r.user_id = $${values.push(seen_by.user_id)}`);
    sql.push(`(r.user_id = 0 or (${ownConditions.join(' and ')}))`);
  }
  return { sql, values, isIndexed };
}

// ---- Forgetting ---------------------------------------------------------------------------

export const forgetRefusalsOfNode = store.removeOfNode;

/**
 * Removes the refusals that name an erased user, those of the account that name no one, and others
 * from the addresses that the user had on the authlist, which has none of them by now.
 */
export async function forgetRefusalsOf(
  tx: Transaction,
  { account_id, id }: { account_id: number; id: number },
): Promise<void> {
  await store.removeOfUser(tx, account_id, id);
  const addresses = await pastAddressesOf(tx, account_id, id);
  for (let at = 0; at < addresses.length; at += maxRefusalsOfReport) {
    await store.removeFrom(tx, addresses.slice(at, at + maxRefusalsOfReport));
  }
  await forgetPast(tx, account_id, id);
  await forgetTriesOf(tx, account_id);
}

/** Deletes those older than this, and addresses that left an authlist before. */
export async function purgeRefusals(
  tx: Transaction,
  kept_seconds: number,
  maxRows: number,
): Promise<number> {
  const end = tx.now - kept_seconds;
  const refusals = await store.removeBefore(tx, end, maxRows);
  const past = await purgePast(tx, end, maxRows);
  return Math.max(refusals, past, await purgeNotices(tx, maxRows));
}
