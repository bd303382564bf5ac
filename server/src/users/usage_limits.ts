// The bytes of users in a billing period against their limits, evaluated for the users of a report,
// after a change of the limit, and when the period ends.
import { type Account, requireAccount } from '../accounts/accounts.ts';
import { recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import type { Key } from '../db/one_of.ts';
import { bytesOfUsers } from '../usage/usage.ts';
import { periodAt } from '../values/periods.ts';
import * as store from './store.ts';

/** The bytes that a user may still transfer, until the next billing period (epoch seconds). */
export interface UserBytesLeft {
  account: number;
  user: number;
  left_bytes: number;
  until: number;
}

type LimitState = Pick<store.UserRow, 'over_limit' | 'over_until' | 'near_until'>;

/** With this part of the limit used, a user is near it. */
const nearPart = 0.8;

function stateOf({ limit_bytes }: store.LimitColumns, bytes: number, until: number): LimitState {
  const isOver = limit_bytes !== null && bytes >= limit_bytes;
  const isNear = limit_bytes !== null && bytes >= limit_bytes * nearPart;
  const near = { near_until: isNear ? until : 0 };
  return { over_limit: isOver ? 1 : 0, over_until: isOver ? until : 0, ...near };
}

/** Whether the limit of the running period is reached, and when to evaluate that again. */
export async function limitState(
  tx: Transaction,
  account: Account,
  user: store.UserRow,
): Promise<LimitState> {
  if (user.limit_bytes === null) return stateOf(user, 0, 0);
  const { start, end } = periodAt(account.start, tx.now);
  const bytesOf = await bytesOfUsers(tx, account.id, start, [user.id]);
  return stateOf(user, bytesOf(user.id), end);
}

/** Those of these users who have a limit of bytes, each with the bytes and end of the period. */
async function* limitedUsers(tx: Transaction, keys: readonly Key[]) {
  const users = await store.findLimitedUsers(tx, keys);
  const ofAccounts = Map.groupBy(users, ({ account_id }) => account_id);
  for (const [account_id, ofAccount] of ofAccounts) {
    const { start, end } = periodAt((await requireAccount(tx, account_id)).start, tx.now);
    const ids = ofAccount.map(({ id }) => id);
    const bytesOf = await bytesOfUsers(tx, account_id, start, ids);
    for (const user of ofAccount) yield { user, bytes: bytesOf(user.id), end };
  }
}

/** Evaluates the limits of these users again, after new usage or at the end of a period. */
export async function evaluateUserLimits(tx: Transaction, keys: readonly Key[]): Promise<void> {
  for await (const { user, bytes, end } of limitedUsers(tx, keys)) {
    const limit = stateOf(user, bytes, end);
    const { over_until, near_until } = limit;
    if (over_until === user.over_until && near_until === user.near_until) continue;
    await store.update(tx, { ...user, ...limit });
    if (limit.over_limit === user.over_limit) continue;
    await recordChange(tx, { kind: 'user', account_id: user.account_id, record_id: user.id });
  }
}

/** The bytes that their own limits leave these users, as far as nodes enforce the limits. */
export async function bytesLeftOfUsers(
  tx: Transaction,
  keys: readonly Key[],
): Promise<UserBytesLeft[]> {
  const limits: UserBytesLeft[] = [];
  for await (const { user, bytes, end: until } of limitedUsers(tx, keys)) {
    if (user.on_limit !== 'refuse') continue;
    const left_bytes = Math.max(0, (user.limit_bytes ?? 0) - bytes);
    limits.push({ account: user.account_id, user: user.id, left_bytes, until });
  }
  return limits;
}

/** Active users who have used most of their limit of this period or all of it, these first. */
export async function usersNearLimit(
  db: Reader,
  account_id: number | undefined,
  now: number,
  maxUsers: number,
): Promise<store.UserRow[]> {
  const over = await store.nearLimit(db, 1, account_id, now, maxUsers);
  return [...over, ...(await store.nearLimit(db, 0, account_id, now, maxUsers))];
}

/** Returns a function that answers the bytes of these users, of any account, in this period. */
export async function usageOfUsers(
  db: Reader,
  users: readonly store.UserRow[],
  now: number,
): Promise<(user: store.UserRow) => number> {
  const usage = new Map<store.UserRow, number>();
  for (const [account_id, ofAccount] of Map.groupBy(users, (user) => user.account_id)) {
    const periodOf = await periodOfUsers(db, account_id, ofAccount, now);
    for (const user of ofAccount) usage.set(user, periodOf(user).usage);
  }
  return (user) => usage.get(user) ?? 0;
}

/**
 * Evaluates users again who were over their limit in a billing period that has ended, a batch at a
 * time. Returns how many.
 */
export async function sweepUserLimits(tx: Transaction, maxUsers: number): Promise<number> {
  const users = await store.overLimit(tx, tx.now, maxUsers);
  await evaluateUserLimits(
    tx,
    users.map(({ account_id, id }) => [account_id, id]),
  );
  return users.length;
}

/** Where a user stands in the running billing period. */
export interface UserPeriod {
  start: number;
  end: number;
  /** Bytes. */
  usage: number;
}

/** Returns a function that answers where these users of an account stand. */
export async function periodOfUsers(
  db: Reader,
  account_id: number,
  users: ReadonlyArray<Pick<store.UserRow, 'id'>>,
  now: number,
): Promise<(user: Pick<store.UserRow, 'id'>) => UserPeriod> {
  const { start, end } = periodAt((await requireAccount(db, account_id)).start, now);
  const ids = users.map(({ id }) => id);
  const bytesOf = await bytesOfUsers(db, account_id, start, ids);
  return ({ id }) => ({ start, end, usage: bytesOf(id) });
}
