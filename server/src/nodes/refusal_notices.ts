// Notices about refusals: accounts whose refusals rise tenfold, and addresses that try many users
// with wrong credentials. Counted with each report, so that a look reads little.
import { clientNetworks } from '../../../kit/src/client_networks.ts';
import type { Reader, Transaction } from '../db/database.ts';
import * as store from './refusal_notice_store.ts';
import { type RefusalRow, wrongCredentials } from './refusal_store.ts';

const hourSeconds = 3600;
const usualHours = 7 * 24;
/**
 * Refusals have risen in an hour with at least so many, and so many times the mean of the seven
 * days before.
 */
export const rise = { least: 50, times: 10 };
/** So many different users within an hour, from one address (IPv6: a /64), are reported. */
export const manyUsers = 10;
const maxNotices = 20;

export interface RefusalNotices {
  /** Accounts with far more refusals in a clock hour than usual. */
  rising: Array<{ account_id: number; at: number; refusals: number; usual_refusals: number }>;
  /** IPv4 addresses and IPv6 networks that sent wrong passwords for many users. */
  tries: Array<{ network: string; users: number; at: number }>;
}

/** The network from which a row guesses at a user's password; '' if it doesn't. */
export function guessedFrom({ reason, user_id, source }: Omit<RefusalRow, 'network'>): string {
  if (reason !== wrongCredentials || user_id === 0) return '';
  return clientNetworks(source)[0]?.name ?? source;
}

/** Counts the rows of a report, which are stored already. */
export async function noteRows(tx: Transaction, rows: readonly RefusalRow[]): Promise<void> {
  await noteTries(tx, rows);
  const ofAccounts = rows.filter(({ account_id }) => account_id !== 0);
  for (const [hour, ofHour] of Map.groupBy(ofAccounts, ({ at }) => at - (at % hourSeconds))) {
    const counts = new Map<number, number>();
    for (const { account_id, count } of ofHour) {
      counts.set(account_id, (counts.get(account_id) ?? 0) + count);
    }
    await addToHour(tx, hour, counts);
  }
}

async function addToHour(
  tx: Transaction,
  hour: number,
  counts: ReadonlyMap<number, number>,
): Promise<void> {
  const accounts = [...counts.keys()];
  const before = new Map(
    (await store.hoursOf(tx, hour, accounts)).map((row) => [row.account_id, row]),
  );
  const from = hour - usualHours * hourSeconds;
  const fresh = accounts.filter((account_id) => !before.has(account_id));
  const usual = await store.countsBetween(tx, from, hour, fresh);
  const rows = Array.from(counts, ([account_id, more]): store.HourRow => {
    const row = before.get(account_id) ?? { count: 0, usual: usual.get(account_id) ?? 0 };
    const count = Math.min(row.count + more, Number.MAX_SAFE_INTEGER);
    const isRising = count >= rise.least && count * usualHours >= row.usual * rise.times;
    return { account_id, hour, count, usual: row.usual, rising: isRising ? 1 : 0 };
  });
  await store.putHours(tx, rows);
}

async function noteTries(tx: Transaction, rows: readonly RefusalRow[]): Promise<void> {
  const networks = [...new Set(rows.flatMap(({ network }) => network || []))];
  if (networks.length === 0) return;
  const tried = await store.usersTriedFrom(tx, networks, tx.now - hourSeconds);
  const sums = new Map<string, number>();
  for (const { network, users } of tried) sums.set(network, (sums.get(network) ?? 0) + users);
  const all = Array.from(sums, ([network, users]) => ({ network, account_id: 0, users }));
  const many = [...all, ...tried].filter(({ users }) => users >= manyUsers);
  await store.putTries(
    tx,
    many.map((row) => ({ ...row, at: tx.now })),
  );
}

/** The notices of the last hours, of one account or of all. */
export async function refusalNotices(
  db: Reader,
  account_id: number | undefined,
  now: number,
): Promise<RefusalNotices> {
  const lastHour = now - (now % hourSeconds) - hourSeconds;
  const [hours, tries] = await Promise.all([
    store.risingSince(db, lastHour, account_id, 2 * maxNotices),
    store.triesSince(db, now - hourSeconds, account_id ?? 0, maxNotices),
  ]);
  // An account may have risen in both hours.
  const newest = hours.filter(
    ({ account_id: id }, at) => hours.findIndex((row) => row.account_id === id) === at,
  );
  return {
    rising: newest.slice(0, maxNotices).map(({ account_id, hour, count, usual }) => ({
      ...{ account_id, at: hour, refusals: count },
      usual_refusals: Math.round(usual / usualHours),
    })),
    tries: tries.map(({ network, users, at }) => ({ network, users, at })),
  };
}

export const forgetTriesOf = store.removeTriesOf;

/** Deletes the counts and tries that no notice needs any more; returns how many, at most. */
export function purgeNotices(tx: Transaction, maxRows: number): Promise<number> {
  const hours = tx.now - (usualHours + 24) * hourSeconds;
  return store.removeNotices(tx, { hours, tries: tx.now - hourSeconds }, maxRows);
}
