// Held usage: batches that a node reported above its allowance. An operator accepts them, which
// counts them, or discards them.
import type { UsageRow } from '../../../kit/src/node_interface.ts';
import { evaluateLimit, requireAccount } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { bumpUsage, nextId } from '../changes/changes.ts';
import { evaluateServerLimit } from '../contract_servers/contract_servers.ts';
import type { Reader, Transaction } from '../db/database.ts';
import type { Key } from '../db/one_of.ts';
import { notFound, unavailable } from '../errors.ts';
import { recordUsage, safeBytes } from '../usage/usage.ts';
import { evaluateUserLimits, existingUsers, type UserNamed } from '../users/users.ts';
import * as held from './held_store.ts';
import { addTraffic } from './history.ts';
import * as store from './store.ts';

/** The maximum that is held for one node: some 15 MB. Further batches stay in its journal. */
const maxBatches = 100;
const maxRows = 200_000;
/** The maximum number of accounts that a held batch names. */
const maxAccounts = 10;
const fullRetrySeconds = 60;

export function bytesOf(rows: readonly UsageRow[]): number {
  return rows.reduce((sum, { up, down }) => safeBytes(sum + up + down), 0);
}

/** Returns a function that says whether a row's user exists. */
export async function knownRows(
  db: Reader,
  rows: readonly UsageRow[],
): Promise<(row: UsageRow) => boolean> {
  const users = new Map<string, UserNamed>();
  for (const { account, user } of rows) {
    users.set(`${account} ${user}`, { account_id: account, user_id: user });
  }
  const existing = await existingUsers(db, Array.from(users.values()));
  const keys = new Set(existing.map(({ account_id, user_id }) => `${account_id} ${user_id}`));
  return ({ account, user }) => keys.has(`${account} ${user}`);
}

/** The users of rows, each once. */
export function usersOf(rows: readonly UsageRow[]): Key[] {
  const users = new Map(rows.map(({ account, user }) => [`${account} ${user}`, [account, user]]));
  return Array.from(users.values()) as unknown as Key[];
}

/** Counts rows of users that exist, and applies the limits. Returns the accounts. */
export async function countRows(
  tx: Transaction,
  { node_id, server_id }: { node_id: number; server_id: number },
  rows: readonly UsageRow[],
): Promise<Set<number>> {
  const ids = new Set(rows.map(({ account }) => account));
  const accounts = new Map(
    await Promise.all(Array.from(ids, async (id) => [id, await requireAccount(tx, id)] as const)),
  );
  await recordUsage(
    tx,
    rows.map(({ account, user, at, up, down }) => ({
      account_id: account,
      server_id,
      user_id: user,
      hour: at,
      up,
      down,
    })),
    (id) => accounts.get(id)?.start ?? 0,
  );
  await addTraffic(tx, node_id, rows);
  for (const account of accounts.values()) {
    await evaluateLimit(tx, account);
    await evaluateServerLimit(tx, account, server_id);
    await bumpUsage(tx, account.id);
  }
  await evaluateUserLimits(tx, usersOf(rows));
  return ids;
}

/** Holds the rows of a batch. Errors: 503 when as much of the node is held as may be. */
export async function hold(
  tx: Transaction,
  batch: {
    node_id: number;
    boot: string;
    seq: number;
    plausible_bytes: number;
    rows: readonly UsageRow[];
  },
): Promise<void> {
  const { node_id, boot, seq, plausible_bytes, rows } = batch;
  const before = await held.heldOf(tx, node_id);
  if (before.batches >= maxBatches || before.row_count + rows.length > maxRows) {
    throw unavailable(
      'This is more than the node can have carried, and too much of it is held already; an operator has to judge that first.',
      fullRetrySeconds,
      { code: 'held_usage_full' },
    );
  }
  const byAccount = Map.groupBy(rows, ({ account }) => account);
  const sums = Array.from(byAccount, ([id, ofAccount]) => ({ id, bytes: bytesOf(ofAccount) }))
    .sort((a, b) => b.bytes - a.bytes)
    .slice(0, maxAccounts);
  const accounts = await Promise.all(
    sums.map(async ({ id, bytes }) => ({ account: (await requireAccount(tx, id)).name, bytes })),
  );
  await held.insertHeld(tx, {
    id: await nextId(tx, 0, 'held_usage'),
    node_id,
    boot,
    seq,
    received_at: tx.now,
    bytes: bytesOf(rows),
    plausible_bytes,
    oldest_at: rows.reduce((oldest, { at }) => Math.min(oldest, at), tx.now),
    newest_at: rows.reduce((newest, { at }) => Math.max(newest, at), 0),
    row_count: rows.length,
    account_count: byAccount.size,
    accounts: JSON.stringify(accounts),
    usage_rows: JSON.stringify(rows),
  });
}

/**
 * Counts a held batch once, in the hours of its rows; limits apply at once. Returns its bytes.
 * Errors: 404 when it was accepted or discarded already.
 */
export async function acceptHeld(tx: Transaction, id: number): Promise<number> {
  const { batch, server_id } = await take(tx, id);
  const { node_id } = batch;
  await countRows(tx, { node_id, server_id }, JSON.parse(batch.usage_rows) as UsageRow[]);
  await auditJudgement(tx, 'held_usage.accept', batch);
  return batch.bytes;
}

/** Errors: 404 when it was accepted or discarded already. */
export async function discardHeld(tx: Transaction, id: number): Promise<void> {
  const { batch } = await take(tx, id);
  await auditJudgement(tx, 'held_usage.discard', batch);
}

async function take(
  tx: Transaction,
  id: number,
): Promise<{ batch: held.HeldRow; server_id: number }> {
  const batch = await held.takeHeld(tx, id);
  const node = batch && (await store.findById(tx, batch.node_id));
  if (!batch || !node)
    throw notFound(`There is no held batch ${id}; it may have been judged before.`);
  return { batch, server_id: node.server_id };
}

function auditJudgement(
  tx: Transaction,
  action: string,
  { usage_rows: _, accounts, ...batch }: held.HeldRow,
): Promise<void> {
  const before = { ...batch, accounts: JSON.parse(accounts) };
  return audit(tx, { account_id: null, action, target: `held_usage/${batch.id}`, before });
}
