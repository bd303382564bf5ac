// Users of a contract: their flags, their token_version, and the proxy access tokens made for them.
//
// A user is { id, name, display_name, active, proxy, billing, admin, token_version } with limits
// (limits.ts), and is never deleted, only made inactive, or erased: then a pseudonym replaces the
// name. Verbs: list, find, require, create, change, raise token_version (ends all earlier proxy
// tokens), disable and rename (to erase), create proxy token.
import { type Account, requireAccount } from '../accounts/accounts.ts';
import { audit } from '../changes/audit.ts';
import { above, nextId, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { findByKeys, type Key } from '../db/one_of.ts';
import { conflict, notFound } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { keyToSign } from '../keys/signing_keys.ts';
import { visibleText } from '../values/texts.ts';
import { changedLimits, hasLimits, type LimitChanges, limitsOfUsers, noLimits } from './limits.ts';
import * as store from './store.ts';
import { limitState } from './usage_limits.ts';

export type User = store.UserRow;
export {
  hasLimits,
  type LimitChanges,
  limitsOfUsers,
  maxAddresses,
  maxAddressSeconds,
  maxServers,
  mayUseServer,
  minAddressSeconds,
  noLimits,
  servicesOfUser,
  userServices,
} from './limits.ts';
export {
  existingUsers,
  findUserInGroup,
  findUserNamed,
  listActiveUsers,
  listUsers,
  type UserNamed,
  userSlices,
} from './store.ts';
export {
  bytesLeftOfUsers,
  evaluateUserLimits,
  periodOfUsers,
  sweepUserLimits,
  type UserBytesLeft,
  usageOfUsers,
  usersNearLimit,
} from './usage_limits.ts';

export interface Flags {
  proxy: boolean;
  billing: boolean;
  admin: boolean;
}

export interface NewUser {
  name: string;
  display_name?: string | undefined;
  flags?: Partial<Flags> | undefined;
  limits?: LimitChanges | null | undefined;
}

export interface UserChanges {
  display_name?: string | undefined;
  active?: boolean | undefined;
  flags?: Partial<Flags> | undefined;
  /** Limits that are left out stay as they are; null ends all. */
  limits?: LimitChanges | null | undefined;
}

/** True for a user whose connections the proxy network accepts. */
export function isProxyUser(user: Pick<store.UserRow, 'active' | 'proxy'>): boolean {
  return user.active === 1 && user.proxy === 1;
}

/** A user by name. Errors: 404. */
export async function requireUserNamed(
  db: Reader,
  account_id: number,
  name: string,
): Promise<store.UserRow> {
  const user = await store.findUserNamed(db, account_id, name);
  if (!user) throw notFound(`The account has no user named ${JSON.stringify(name)}.`);
  return user;
}

/** The users with these keys, each account's id and their own. */
export function usersByKey(
  db: Reader,
  keys: readonly Key[],
): Promise<(...key: Key) => store.UserRow | undefined> {
  return findByKeys<store.UserRow>(
    keys,
    (user) => [user.account_id, user.id],
    (batch) => store.findUsers(db, batch),
  );
}

/** The users with these ids, in their order. Errors: 404 naming the first that does not exist. */
export async function requireUsers(
  db: Reader,
  account_id: number,
  ids: readonly number[],
  fieldOf: (at: number) => string,
): Promise<store.UserRow[]> {
  const find = await usersByKey(
    db,
    ids.map((id) => [account_id, id]),
  );
  return ids.map((id, at) => {
    const user = find(account_id, id);
    if (user) return user;
    throw notFound(`the account has no user ${id}. Nothing was done.`, { field: fieldOf(at) });
  });
}

/**
 * Creates an active user. Errors: 400 for a blank name to show; 409 when the account has one of
 * that name, or `maxUsers` users, or for a limit to a server that does not exist.
 */
export async function createUser(
  tx: Transaction,
  account: Account,
  body: NewUser,
  maxUsers = Number.POSITIVE_INFINITY,
): Promise<store.UserRow> {
  const id = await nextId(tx, account.id, 'users');
  // Ids begin at 1, so up to `maxUsers` there is nothing to count.
  if (id > maxUsers && (await store.countUsers(tx, account.id)) >= maxUsers) {
    throw conflict(`an account may have ${maxUsers} users, inactive ones included.`, {
      code: 'list_full',
      field: 'name',
    });
  }
  const user: store.UserRow = {
    account_id: account.id,
    id,
    name: body.name,
    display_name: visibleText('display_name', body.display_name ?? body.name),
    active: 1,
    proxy: body.flags?.proxy ? 1 : 0,
    billing: body.flags?.billing ? 1 : 0,
    admin: body.flags?.admin ? 1 : 0,
    token_version: 1,
    ...(await changedLimits(tx, noLimits, body.limits ?? null)),
    over_limit: 0,
    over_until: 0,
    near_until: 0,
  };
  Object.assign(user, await limitState(tx, account, user));
  if (!(await store.insert(tx, user))) {
    throw conflict(`the account has a user named ${JSON.stringify(body.name)} already.`, {
      code: 'name_taken',
      field: 'name',
    });
  }
  await userChanged(tx, user);
  await audit(tx, {
    account_id: account.id,
    action: 'user.create',
    target: user.name,
    after: await audited(tx, user),
  });
  return user;
}

/** A user as the audit log shows one: with limits only where there are some. */
async function audited(tx: Transaction, user: store.UserRow) {
  const { account_id, id, name, display_name, active, proxy, billing, admin, token_version } = user;
  const record = { account_id, id, name, display_name, active, proxy, billing, admin };
  const limits = hasLimits(user) ? (await limitsOfUsers(tx, [user]))(user) : {};
  return { ...record, token_version, ...limits };
}

const isActiveAdmin = ({ active, admin }: store.UserRow) => active === 1 && admin === 1;

/** Whether the changes turn a user into an active admin. */
export function makeAdmin(changes: UserChanges, user: store.UserRow): boolean {
  const { active = user.active === 1, flags } = changes;
  return !isActiveAdmin(user) && active && (flags?.admin ?? user.admin === 1);
}

/**
 * For a change by an admin of the account. Errors: 409 when no active user with the admin flag
 * would be left: only the operator could help then.
 */
export async function requireOtherAdmin(
  db: Reader,
  user: store.UserRow,
  changes: UserChanges,
  field: string,
): Promise<void> {
  const isToGo = changes.active === false || changes.flags?.admin === false;
  if (!isActiveAdmin(user) || !isToGo) return;
  if (await store.hasOtherAdmin(db, user)) return;
  throw conflict(
    `${JSON.stringify(user.name)} is the last active user with the admin flag; give it to another one first.`,
    { code: 'last_admin', field },
  );
}

/**
 * Changes a user; users are never deleted, only made inactive. `revokeSessions` then ends the
 * user's access to the console, which this module does not know. Errors: 400 for a blank name to
 * show; 409 for a limit to a server that does not exist.
 */
export async function changeUser(
  tx: Transaction,
  user: store.UserRow,
  changes: UserChanges,
  revokeSessions?: (tx: Transaction, user: store.UserRow) => Promise<void>,
): Promise<store.UserRow> {
  const flag = (sent: boolean | undefined, now: number) =>
    sent === undefined ? now : sent ? 1 : 0;
  const after: store.UserRow = {
    ...user,
    display_name: visibleText(
      'display_name',
      changes.display_name ?? user.display_name,
      user.display_name,
    ),
    active: flag(changes.active, user.active),
    proxy: flag(changes.flags?.proxy, user.proxy),
    billing: flag(changes.flags?.billing, user.billing),
    admin: flag(changes.flags?.admin, user.admin),
  };
  if (changes.limits !== undefined) {
    Object.assign(after, await changedLimits(tx, user, changes.limits));
    const account = await requireAccount(tx, user.account_id);
    Object.assign(after, await limitState(tx, account, after));
  }
  await store.update(tx, after);
  if (user.active && !after.active) await revokeSessions?.(tx, after);
  await userChanged(tx, after);
  await audit(tx, {
    account_id: user.account_id,
    action: 'user.change',
    target: user.name,
    before: await audited(tx, user),
    after: await audited(tx, after),
  });
  return after;
}

/**
 * Raises token_version: every earlier proxy access token of the user stops working. It only rises.
 */
export async function raiseTokenVersion(
  tx: Transaction,
  user: store.UserRow,
): Promise<store.UserRow> {
  // Tokens of a version that was given in a lost history may still exist.
  const after = { ...user, token_version: await above(tx, user.token_version) };
  await store.update(tx, after);
  await userChanged(tx, after);
  await audit(tx, {
    account_id: user.account_id,
    action: 'user.raise_token_version',
    target: user.name,
    before: { token_version: user.token_version },
    after: { token_version: after.token_version },
  });
  return after;
}

/**
 * The name of an erased user: it identifies the record, which usage names as well, and reveals
 * nothing about the person.
 */
export const pseudonymOf = ({ id }: Pick<store.UserRow, 'id'>) => `erased-${id}`;

/**
 * Permanently ends the access of a user who will be erased: flags and tokens too. Repeating it is
 * harmless. Errors: 409 when another user has the pseudonym.
 */
export async function disableUser(
  tx: Transaction,
  user: store.UserRow,
  revokeSessions: (tx: Transaction, user: store.UserRow) => Promise<void>,
): Promise<void> {
  const other = await store.findUserNamed(tx, user.account_id, pseudonymOf(user));
  if (other && other.id !== user.id) throw pseudonymTaken(user);
  const flags = { proxy: false, billing: false, admin: false };
  const changes = { active: false, flags };
  await raiseTokenVersion(tx, await changeUser(tx, user, changes, revokeSessions));
}

/** Replaces a user's names with the pseudonym. Errors: 409 when another user has it. */
export async function renameErased(tx: Transaction, user: store.UserRow): Promise<void> {
  if (!(await store.changeName(tx, user, pseudonymOf(user)))) throw pseudonymTaken(user);
  await userChanged(tx, user);
  await audit(tx, { account_id: user.account_id, action: 'user.erase', target: pseudonymOf(user) });
}

function pseudonymTaken(user: store.UserRow) {
  return conflict(`the account has another user named ${JSON.stringify(pseudonymOf(user))}.`, {
    code: 'name_taken',
    field: 'user',
  });
}

function userChanged(tx: Transaction, { account_id, id }: store.UserRow): Promise<number> {
  return recordChange(tx, { kind: 'user', account_id, record_id: id });
}

/** A proxy access token, its user, and its expiry. */
export interface ProxyToken {
  token: string;
  user: string;
  expiry: number;
}

/**
 * Creates a proxy access token. `wanted` is a user id, a name, or failing that an id in digits;
 * `lifetime_seconds` is the contract's default when undefined. Errors: 409 for a user who is
 * unknown, inactive or without the proxy flag.
 */
export async function createProxyToken(
  tx: Transaction,
  secrets: Secrets,
  account: Account,
  wanted: number | string,
  lifetime_seconds: number | undefined,
): Promise<ProxyToken> {
  const user = await requireUserOfProxies(tx, account.id, wanted);
  const expiry = tx.now + (lifetime_seconds ?? account.token_lifetime_seconds);
  await audit(tx, {
    account_id: account.id,
    action: 'proxy_token.create',
    target: user.name,
    after: { token_version: user.token_version, expiry },
  });
  const kid = await keyToSign(tx, expiry);
  const token = secrets.signProxyToken(
    { account_id: account.id, user_id: user.id, token_version: user.token_version, expiry },
    kid,
  );
  return { token, user: user.name, expiry };
}

/**
 * The claims of a token that a user could present now; whether they allow anything is for a node to
 * decide. Errors: 409 for an unknown user.
 */
export async function claimsOfUser(tx: Transaction, account_id: number, name: string) {
  const user = await store.findUserNamed(tx, account_id, name);
  if (!user) throw unknownUser(name);
  const { id, token_version } = user;
  const expiry = tx.now + 60;
  return { kid: await keyToSign(tx, expiry), account: account_id, user: id, token_version, expiry };
}

/**
 * A user who may connect. `wanted` as for `createProxyToken`. Errors: 409 for a user who is
 * unknown, inactive or without the proxy flag.
 */
export async function requireUserOfProxies(
  db: Reader,
  account_id: number,
  wanted: number | string,
): Promise<store.UserRow> {
  const user = await findWanted(db, account_id, wanted);
  const shown = JSON.stringify(wanted);
  if (!user) throw unknownUser(wanted);
  if (!user.active) throw conflict(`${shown} is inactive.`, { field: 'user' });
  if (!user.proxy) throw conflict(`${shown} does not have the proxy flag.`, { field: 'user' });
  return user;
}

function unknownUser(wanted: number | string) {
  return conflict(`${JSON.stringify(wanted)} is not a user of the account.`, {
    code: 'unknown_user',
    field: 'user',
  });
}

async function findWanted(
  db: Reader,
  account_id: number,
  wanted: number | string,
): Promise<store.UserRow | undefined> {
  if (typeof wanted === 'number') return store.findUser(db, account_id, wanted);
  const user = await store.findUserNamed(db, account_id, wanted);
  if (user || !/^[1-9]\d{0,14}$/.test(wanted)) return user;
  return store.findUser(db, account_id, Number(wanted));
}
