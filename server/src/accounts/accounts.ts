// Accounts: the contract with each customer, its state, and the changes that it allows.
import { createApiToken } from '../api_tokens/api_tokens.ts';
import { audit } from '../changes/audit.ts';
import { heldCount, nextId, recordChange } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { checkAll, conflict, forbidden, invalidField, notFound } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { requirePortScheme } from '../port_schemes/port_schemes.ts';
import { hasUsage, periodUsage } from '../usage/usage.ts';
import { latestTime } from '../values/expiry.ts';
import { periodAt } from '../values/periods.ts';
import { visibleText } from '../values/texts.ts';
import * as store from './store.ts';

/**
 * A customer: owns users, authlist entries, custom DNS entries and API tokens. Its contract sets
 * when it starts and expires, on which ports it is served, and how many bytes each billing period
 * holds.
 */
export type Account = store.AccountRow;
export { showAccounts } from './metrics.ts';
export { accountPageSlices, accountSorts, accountStates } from './page_store.ts';
export { accountNames, accountsOnScheme, accountsWithIds, pageOfAccounts } from './store.ts';

export interface NewAccount {
  name: string;
  plan: string;
  /** Contract start, epoch seconds; now when omitted. */
  start?: number | undefined;
  expiry: number;
  /** Bytes per billing period for the whole network. */
  limit_bytes: number;
  detailed_billing?: boolean | undefined;
  on_limit?: 'refuse' | 'allow' | undefined;
  port_scheme?: string | undefined;
  token_lifetime_seconds?: number | undefined;
}

export type AccountChanges = Partial<Omit<NewAccount, 'name'>> & {
  suspended?: boolean | undefined;
};

const yearSeconds = 365 * 86_400;

/** An account by id. Errors: 404. */
export async function requireAccount(db: Reader, id: number): Promise<Account> {
  return existing(await store.findById(db, id));
}

function existing(account: Account | undefined): Account {
  if (!account) throw notFound('There is no such account.');
  return account;
}

/** An account by name. Errors: 404. */
export async function requireAccountNamed(db: Reader, name: string): Promise<Account> {
  const account = await store.findByName(db, name);
  if (!account) throw notFound(`There is no account named ${JSON.stringify(name)}.`);
  return account;
}

/** Undefined when no account has this name. */
export function findAccountNamed(db: Reader, name: string): Promise<Account | undefined> {
  return store.findByName(db, name);
}

/**
 * The account, for a change of its records. Errors: 404; 403 when the contract is suspended or has
 * expired, unless the caller may change `any_contract` (operators).
 */
export async function requireWritable(
  tx: Transaction,
  id: number,
  any_contract = false,
): Promise<store.AccountRow> {
  const account = existing(await store.findAccountInGroup(tx, id));
  if (!any_contract) rejectUnlessWritable(account, tx.now);
  return account;
}

/**
 * Errors: 403 when a contract is suspended or expired, and so takes no changes. Reads stay open.
 */
export function rejectUnlessWritable(
  contract: { suspended: number | boolean; expiry: number },
  now: number,
): void {
  if (contract.suspended) {
    throw forbidden(
      'The contract is suspended: it can be read, not changed. Ask your provider to lift the suspension.',
      { code: 'contract_suspended' },
    );
  }
  if (now >= contract.expiry) {
    throw forbidden(
      'The contract has expired: it can be read, not changed. Renew it with your provider.',
      { code: 'contract_expired' },
    );
  }
}

/**
 * Creates an account with its first API token. Returns both. The token's text can be shown again
 * later only where the operator's setting keeps it viewable. Errors: those of `checkTerms`; 409
 * when the name is taken, or the port scheme does not exist.
 */
export async function createAccount(
  tx: Transaction,
  secrets: Secrets,
  viewable: boolean,
  body: NewAccount,
): Promise<{ account: Account; api_token: string }> {
  const start = body.start ?? tx.now;
  const [, scheme] = await checkAll([
    () => checkTerms({ ...body, start }),
    () => requirePortScheme(tx, body.port_scheme ?? 'default'),
  ]);
  const account: Account = {
    id: await nextId(tx, 0, 'accounts'),
    name: body.name,
    plan: body.plan,
    start,
    expiry: body.expiry,
    limit_bytes: body.limit_bytes,
    detailed_billing: body.detailed_billing ? 1 : 0,
    suspended: 0,
    over_limit: 0,
    over_until: 0,
    on_limit: body.on_limit ?? 'refuse',
    port_scheme_id: scheme.id,
    token_lifetime_seconds: body.token_lifetime_seconds ?? yearSeconds,
    created_at: tx.now,
  };
  if (!(await store.insert(tx, account))) {
    throw conflict(`an account named ${JSON.stringify(body.name)} exists already.`, {
      code: 'name_taken',
      field: 'name',
    });
  }
  const token = await createApiToken(tx, secrets, viewable, account, { name: 'default' });
  await recordContractChange(tx, account.id);
  await auditContract(tx, 'account.create', undefined, account);
  return { account, api_token: token.text };
}

/**
 * Changes a contract. `within` is the path to it in the body, for messages. Errors: 400; 409 for an
 * unknown port scheme, or one that listed addresses depend on.
 */
export async function changeAccount(
  tx: Transaction,
  account: Account,
  changes: AccountChanges,
  within = '',
): Promise<Account> {
  const { detailed_billing, suspended, port_scheme, ...plain } = changes;
  const after: Account = { ...account, ...defined(plain) };
  if (detailed_billing !== undefined) after.detailed_billing = detailed_billing ? 1 : 0;
  if (suspended !== undefined) after.suspended = suspended ? 1 : 0;
  await checkAll([
    () => checkTerms(after, account, within),
    async () => {
      if (port_scheme === undefined) return;
      after.port_scheme_id = (await requirePortScheme(tx, port_scheme)).id;
      if (after.port_scheme_id === account.port_scheme_id) return;
      await rejectSchemeInUse(tx, account.id, after.port_scheme_id, port_scheme);
    },
    async () => {
      if (after.start === account.start || !(await hasUsage(tx, account.id))) return;
      throw conflict(
        'the contract has usage, and its billing periods are counted from its start.',
        { field: 'start' },
      );
    },
  ]);
  Object.assign(after, await limitState(tx, after));
  await store.update(tx, after);
  await recordContractChange(tx, account.id);
  await auditContract(tx, 'account.change', account, after);
  return after;
}

function recordContractChange(tx: Transaction, account_id: number): Promise<number> {
  return recordChange(tx, { kind: 'contract', account_id });
}

function auditContract(
  tx: Transaction,
  action: string,
  before: Account | undefined,
  after: Account,
): Promise<void> {
  return audit(tx, { account_id: after.id, action, target: after.name, before, after });
}

/**
 * Checks the terms that are given; `before`: those of the contract, if it exists. `within` is the
 * path to them in the body. Errors: 400, with all faults listed, for a blank plan, a time that no
 * calendar has, such as one in milliseconds, and an end before the start.
 */
export function checkTerms(
  { plan, start, expiry }: Partial<Pick<NewAccount, 'plan' | 'start' | 'expiry'>>,
  before?: Pick<Account, 'plan' | 'start' | 'expiry'>,
  within = '',
): Promise<unknown> {
  const isBeyond = (field: 'start' | 'expiry', moment = 0) =>
    moment > latestTime && moment !== before?.[field];
  const checkMoment = (field: 'start' | 'expiry', moment: number | undefined) => () => {
    if (!isBeyond(field, moment)) return;
    throw invalidField(
      `${within}${field}`,
      `${moment} is beyond the year 9999; expected epoch seconds, not milliseconds.`,
    );
  };
  return checkAll([
    checkMoment('start', start),
    checkMoment('expiry', expiry),
    () => plan !== undefined && visibleText(`${within}plan`, plan, before?.plan),
    () => {
      if (isBeyond('start', start) || expiry === undefined || (start ?? 0) < expiry) return;
      throw invalidField(`${within}expiry`, "expected a time after the contract's start.");
    },
  ]);
}

/**
 * Errors: 409 while the account is served on its present port scheme, or could not be on the new
 * one.
 */
async function rejectSchemeInUse(
  tx: Transaction,
  account_id: number,
  port_scheme_id: number,
  name: string | undefined,
): Promise<void> {
  // Each listed address is claimed on the account's port scheme.
  if ((await heldCount(tx, account_id, 'authlist')) > 0) {
    throw conflict(
      'the account lists addresses on its present port scheme; clear its authlist first.',
      { code: 'port_scheme_in_use', field: 'port_scheme' },
    );
  }
  const lacking = await store.serversWithoutScheme(tx, account_id, port_scheme_id);
  if (lacking.length === 0) return;
  throw conflict(
    `${lacking.slice(0, 5).join(', ')} on this contract do not listen on ${JSON.stringify(name)}.`,
    { code: 'port_scheme_missing', field: 'port_scheme' },
  );
}

/** The members of `changes` that are not undefined. */
function defined<T extends object>(changes: T): T {
  return Object.fromEntries(
    Object.entries(changes).filter(([, value]) => value !== undefined),
  ) as T;
}

/** Whether the limit of the current billing period is reached, and when to evaluate that again. */
async function limitState(
  tx: Transaction,
  account: Account,
): Promise<Pick<Account, 'over_limit' | 'over_until'>> {
  const { start, end } = periodAt(account.start, tx.now);
  const { total } = await periodUsage(tx, account.id, start);
  return total >= account.limit_bytes
    ? { over_limit: 1, over_until: end }
    : { over_limit: 0, over_until: 0 };
}

/** Evaluates an account's limit again, after new usage or at the end of a period. */
export async function evaluateLimit(tx: Transaction, account: Account): Promise<void> {
  const limit = await limitState(tx, account);
  if (limit.over_until === account.over_until) return;
  await store.update(tx, { ...account, ...limit });
  if (limit.over_limit === account.over_limit) return;
  await recordContractChange(tx, account.id);
}

/**
 * Evaluates accounts again that were over their limit in a billing period that has ended, a batch
 * at a time. Returns how many.
 */
export async function sweepLimits(tx: Transaction, maxAccounts: number): Promise<number> {
  const accounts = await store.overLimit(tx, tx.now, maxAccounts);
  for (const account of accounts) await evaluateLimit(tx, account);
  return accounts.length;
}
