// Usage as nodes report it: a batch counts once, or is held when no such machine can have carried
// it.
import type { UsageBatch } from '../../../kit/src/node_interface.ts';
import { requireAccount } from '../accounts/accounts.ts';
import { type BytesLeft, bytesLeft } from '../contract_servers/contract_servers.ts';
import type { Transaction } from '../db/database.ts';
import { badRequest } from '../errors.ts';
import { claimBatch } from '../usage/usage.ts';
import { bytesLeftOfUsers, type UserBytesLeft } from '../users/users.ts';
import { oldestUsageSeconds, plausibleBytes, reportedUntil } from './allowance.ts';
import { isHeld } from './held_store.ts';
import { bytesOf, countRows, hold, knownRows, usersOf } from './held_usage.ts';
import * as log from './log_store.ts';
import * as store from './store.ts';

/** A node splits more rows into several batches. */
export const maxRowsOfBatch = 20_000;

export interface UsageOutcome {
  counted: boolean;
  /** It waits for an operator. */
  held: boolean;
  left_out: number[];
  limits: BytesLeft[];
  user_limits: UserBytesLeft[];
}

/**
 * Counts a batch of measured traffic once, however often it is sent: the journal's last number and
 * the counters change in one transaction. Rows of accounts or users that the server does not serve
 * are left out and reported back. A batch with more bytes than the node can have carried since its
 * last one is held as a whole; for the node it is done, as if it counted. Limits apply at once;
 * `limits` is what they leave for the accounts of the batch, `user_limits` what their own limits
 * leave for its users.
 * Errors: 400 for a row that is too old; 503 when too much is held already.
 */
export async function countReport(
  tx: Transaction,
  node: store.NodeRow,
  { boot, seq, rows }: UsageBatch,
  maxBytesPerSecond: number,
): Promise<UsageOutcome & { isHeldNow: boolean }> {
  const tooOld = rows.findIndex((row) => row.at < tx.now - oldestUsageSeconds);
  if (tooOld >= 0)
    throw badRequest('older than 40 days; usage that old is not counted any more.', {
      code: 'row_invalid',
      field: `rows.${tooOld}.at`,
    });
  const isNew = await claimBatch(tx, node.id, boot, seq);
  // The number of a journal is deleted one day, held usage is not.
  const held = await isHeld(tx, node.id, boot, seq);
  const reportedAccounts = Array.from(new Set(rows.map((row) => row.account)));
  const served = await log.served(tx, node.server_id, reportedAccounts);
  const ofServed = rows.filter(({ account }) => served.has(account));
  const limitsOf = async (accounts: Iterable<number>) => ({
    limits: await limitsLeft(tx, accounts, node.server_id),
    user_limits: await bytesLeftOfUsers(tx, usersOf(ofServed)),
  });
  if (!isNew || held) {
    return { counted: false, held, left_out: [], ...(await limitsOf(served)), isHeldNow: false };
  }
  // Rows of a node whose clock is ahead count in the current hour.
  const dated = rows.map((row) => ({ ...row, at: Math.min(row.at, tx.now) }));
  const isKnown = await knownRows(
    tx,
    dated.filter(({ account }) => served.has(account)),
  );
  const counting = dated.filter(isKnown);
  const left_out = dated.flatMap((row, at) => (isKnown(row) ? [] : [at]));
  const bytes = bytesOf(counting);
  const rate = node.max_bytes_per_second ?? maxBytesPerSecond;
  const plausible_bytes = plausibleBytes(node, rate, tx.now);
  if (bytes > plausible_bytes) {
    await hold(tx, { node_id: node.id, boot, seq, plausible_bytes, rows: counting });
    return {
      counted: false,
      held: true,
      left_out,
      ...(await limitsOf(served)),
      isHeldNow: true,
    };
  }
  if (rows.length > 0) {
    const newest_at = dated.reduce((newest, { at }) => Math.max(newest, at), 0);
    const batch = { bytes, newest_at, is_full: rows.length === maxRowsOfBatch };
    const until = reportedUntil(node, batch, rate, tx.now);
    await store.setReportedUntil(tx, node.id, until);
  }
  const of = { node_id: node.id, server_id: node.server_id };
  const accounts = await countRows(tx, of, counting);
  return {
    counted: true,
    held: false,
    left_out,
    ...(await limitsOf(accounts)),
    isHeldNow: false,
  };
}

async function limitsLeft(
  tx: Transaction,
  account_ids: Iterable<number>,
  server_id: number,
): Promise<BytesLeft[]> {
  const limits: BytesLeft[] = [];
  for (const id of account_ids) {
    const limit = await bytesLeft(tx, await requireAccount(tx, id), server_id);
    if (limit) limits.push(limit);
  }
  return limits;
}
