// Accounts: the contract (plan, period, expiry, limit), its state, and the API tokens that open it.
import { audit } from '../audit.ts';
import { bumpTokens, bumpVersion, nextId, recordChange } from '../changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { conflict, forbidden, invalidField, notFound } from '../errors.ts';
import type { Secrets } from '../secrets.ts';
import { newTokenText } from '../token_text.ts';
import { hasUsage, periodAt, periodUsage } from '../usage/usage.ts';
import * as store from './store.ts';

export type { AccountRow as Account, ApiTokenRow as ApiToken, CallerRow } from './store.ts';
export {
  callerByHash,
  findToken as findApiToken,
  markTokenUsed,
  page as pageOfAccounts,
  tokens as listApiTokens,
} from './store.ts';

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

const year_seconds = 365 * 86_400;

/** An account by id. Errors: 404. */
export async function requireAccount(db: Reader, id: number): Promise<store.AccountRow> {
  const account = await store.findById(db, id);
  if (!account) throw notFound('There is no such account.');
  return account;
}

/** An account by name. Errors: 404. */
export async function requireAccountNamed(db: Reader, name: string): Promise<store.AccountRow> {
  const account = await store.findByName(db, name);
  if (!account) throw notFound(`There is no account named ${JSON.stringify(name)}.`);
  return account;
}

/**
 * The account, for a change of its records. Errors: 403 when the contract is suspended or has expired, but
 * for who may change `any_contract`: the operator.
 */
export async function requireWritable(
  tx: Transaction,
  id: number,
  any_contract = false,
): Promise<store.AccountRow> {
  const account = await requireAccount(tx, id);
  if (!any_contract) rejectUnlessWritable(account, tx.now);
  return account;
}

/** Errors: 403 when a contract takes no changes: suspended, or expired. Reads stay open. */
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
 * Creates an account with its first API token. Answers both; the token's text is shown here, and
 * later only where the operator's setting keeps it viewable. Errors: 409 when the name is taken.
 */
export async function createAccount(
  tx: Transaction,
  secrets: Secrets,
  viewable: boolean,
  body: NewAccount,
): Promise<{ account: store.AccountRow; api_token: string }> {
  const account: store.AccountRow = {
    id: await nextId(tx, 0, 'accounts'),
    name: body.name,
    plan: body.plan,
    start: body.start ?? tx.now,
    expiry: body.expiry,
    limit_bytes: body.limit_bytes,
    detailed_billing: body.detailed_billing ? 1 : 0,
    suspended: 0,
    over_limit: 0,
    over_until: 0,
    on_limit: body.on_limit ?? 'refuse',
    port_scheme_id: (await requirePortScheme(tx, body.port_scheme ?? 'default')).id,
    token_lifetime_seconds: body.token_lifetime_seconds ?? year_seconds,
    created_at: tx.now,
  };
  if (account.start >= account.expiry) {
    throw invalidField('expiry', "expected a time after the contract's start.");
  }
  if (!(await store.insert(tx, account))) {
    throw conflict(`an account named ${JSON.stringify(body.name)} exists already.`, {
      code: 'name_taken',
      field: 'name',
    });
  }
  const token = await createApiToken(tx, secrets, viewable, account, { name: 'default' });
  await recordChange(tx, {
    kind: 'contract',
    account_id: account.id,
    server_id: null,
    record_id: null,
  });
  await audit(tx, {
    account_id: account.id,
    action: 'account.create',
    target: account.name,
    after: account,
  });
  return { account, api_token: token.text };
}

/** Changes a contract. Errors: 409 for an unknown port scheme or one that listed addresses hold. */
export async function changeAccount(
  tx: Transaction,
  account: store.AccountRow,
  changes: AccountChanges,
): Promise<store.AccountRow> {
  const { detailed_billing, suspended, port_scheme, ...plain } = changes;
  const after: store.AccountRow = { ...account, ...defined(plain) };
  if (detailed_billing !== undefined) after.detailed_billing = detailed_billing ? 1 : 0;
  if (suspended !== undefined) after.suspended = suspended ? 1 : 0;
  if (port_scheme !== undefined)
    after.port_scheme_id = (await requirePortScheme(tx, port_scheme)).id;
  if (after.port_scheme_id !== account.port_scheme_id) {
    if (await store.listsAddresses(tx, account.id))
      throw conflict(
        'the account lists addresses on its present port scheme; clear its authlist first.',
        { field: 'port_scheme' },
      );
    const [deaf, ...others] = await store.serversWithoutScheme(
      tx,
      account.id,
      after.port_scheme_id,
    );
    if (deaf)
      throw conflict(
        `${[deaf, ...others].slice(0, 5).join(', ')} on this contract do not listen on ${JSON.stringify(port_scheme)}.`,
        { field: 'port_scheme' },
      );
  }
  if (after.start >= after.expiry) {
    throw invalidField('expiry', "expected a time after the contract's start.");
  }
  if (after.start !== account.start) {
    if (await hasUsage(tx, account.id))
      throw conflict(
        'the contract has usage, and its billing periods are counted from its start.',
        { field: 'start' },
      );
  }
  Object.assign(after, await judgement(tx, after));
  await store.update(tx, after);
  await recordChange(tx, {
    kind: 'contract',
    account_id: account.id,
    server_id: null,
    record_id: null,
  });
  await audit(tx, {
    account_id: account.id,
    action: 'account.change',
    target: account.name,
    before: account,
    after,
  });
  return after;
}

/** The members of `changes` that were sent. */
function defined<T extends object>(changes: T): T {
  return Object.fromEntries(
    Object.entries(changes).filter(([, value]) => value !== undefined),
  ) as T;
}

/** Whether the limit of the running billing period is reached, and when that is to be judged anew. */
async function judgement(
  tx: Transaction,
  account: store.AccountRow,
): Promise<Pick<store.AccountRow, 'over_limit' | 'over_until'>> {
  const { start, end } = periodAt(account.start, tx.now);
  const { total } = await periodUsage(tx, account.id, start);
  return total >= account.limit_bytes
    ? { over_limit: 1, over_until: end }
    : { over_limit: 0, over_until: 0 };
}

/** Judges an account's limit anew, after usage came in or a period ended. */
export async function judgeLimit(tx: Transaction, account: store.AccountRow): Promise<void> {
  const verdict = await judgement(tx, account);
  if (verdict.over_until === account.over_until) return;
  await store.update(tx, { ...account, ...verdict });
  if (verdict.over_limit === account.over_limit) return;
  await recordChange(tx, {
    kind: 'contract',
    account_id: account.id,
    server_id: null,
    record_id: null,
  });
}

/** Judges accounts whose billing period over the limit has ended, a batch at a time. Answers how many. */
export async function sweepLimits(tx: Transaction, most: number): Promise<number> {
  const accounts = await store.overLimit(tx, tx.now, most);
  for (const account of accounts) await judgeLimit(tx, account);
  return accounts.length;
}

/**
 * Creates an API token: `ewa_` text, stored as a keyed hash and, where viewable, sealed.
 * Errors: 409 when the account has one of that name.
 */
export async function createApiToken(
  tx: Transaction,
  secrets: Secrets,
  viewable: boolean,
  account: store.AccountRow,
  body: { name: string; read_only?: boolean | undefined; expiry?: number | undefined },
): Promise<{ token: store.ApiTokenRow; text: string }> {
  const others = await store.tokens(tx, account.id);
  if (others.some((other) => other.name === body.name)) {
    throw conflict(`the account has an API token named ${JSON.stringify(body.name)} already.`, {
      code: 'name_taken',
      field: 'name',
    });
  }
  const text = newTokenText('ewa_');
  const id = await nextId(tx, account.id, 'api_tokens');
  const token: store.ApiTokenRow = {
    account_id: account.id,
    id,
    name: body.name,
    read_only: body.read_only ? 1 : 0,
    hash: secrets.hashToken(text),
    sealed: viewable ? secrets.seal(text, sealContext(account.id, id)) : null,
    expiry: body.expiry ?? null,
    created_at: tx.now,
    last_used_at: null,
  };
  await store.insertToken(tx, token);
  await bumpTokens(tx, account.id);
  await audit(tx, {
    account_id: account.id,
    action: 'api_token.create',
    target: `token/${id}`,
    after: withoutSecrets(token),
  });
  return { token, text };
}

const sealContext = (account_id: number, id: number) => `api_token ${account_id} ${id}`;

/** What may be shown and logged of an API token. */
export function withoutSecrets({ hash: _, sealed, ...shown }: store.ApiTokenRow) {
  return { ...shown, viewable: sealed !== null };
}

/** One API token of an account. Errors: 404. */
export async function requireApiToken(
  db: Reader,
  account_id: number,
  id: number | undefined,
): Promise<store.ApiTokenRow> {
  const token = id === undefined ? undefined : await store.findToken(db, account_id, id);
  if (!token) throw notFound('The account has no API token of this id; it may have been revoked.');
  return token;
}

/** The text of an API token, audited. Errors: 404; 409 when the operator's setting made it view-once. */
export async function viewApiToken(
  tx: Transaction,
  secrets: Secrets,
  account: store.AccountRow,
  id: number | undefined,
): Promise<string> {
  const token = await requireApiToken(tx, account.id, id);
  if (token.sealed === null)
    throw conflict('This API token was shown once, when it was created, and is not kept.');
  await audit(tx, {
    account_id: account.id,
    action: 'api_token.view',
    target: `token/${token.id}`,
  });
  return secrets.unseal(token.sealed, sealContext(account.id, token.id));
}

/** Revokes an API token; requests that carry it get 401 from then on. Errors: 404. */
export async function removeApiToken(
  tx: Transaction,
  account: store.AccountRow,
  id: number | undefined,
): Promise<void> {
  const token = await requireApiToken(tx, account.id, id);
  await store.removeToken(tx, account.id, token.id);
  await bumpTokens(tx, account.id);
  await audit(tx, {
    account_id: account.id,
    action: 'api_token.remove',
    target: `token/${token.id}`,
    before: withoutSecrets(token),
  });
}

export interface PortScheme {
  id: number;
  name: string;
  bases: Array<{ base: number; service: 'proxy' | 'proxy-https' }>;
}

/** The default scheme: 10000 and 11000 plain, 12000 over TLS. */
export const defaultBases: PortScheme['bases'] = [
  { base: 10000, service: 'proxy' },
  { base: 11000, service: 'proxy' },
  { base: 12000, service: 'proxy-https' },
];

/** All port schemes, in the order of their ids. */
export async function listPortSchemes(db: Reader): Promise<PortScheme[]> {
  const rows = await store.portSchemes(db);
  return rows.map((row) => ({ ...row, bases: JSON.parse(row.bases) as PortScheme['bases'] }));
}

/** A port scheme that the body's `field` names. Errors: 409 when there is none of that name. */
export async function requirePortScheme(
  db: Reader,
  name: string,
  field = 'port_scheme',
): Promise<PortScheme> {
  const row = await store.findPortScheme(db, name);
  if (!row) throw conflict(`there is no port scheme named ${JSON.stringify(name)}.`, { field });
  return { ...row, bases: JSON.parse(row.bases) as PortScheme['bases'] };
}

/** An exit IP is reached at base + port_base (0 to 499), its override port at so much more. */
export const override_offset = 500;
export const ports_per_base = 1000;

/** Whether two lists of bases lead to a port in common. */
export function sharePorts(one: PortScheme['bases'], other: PortScheme['bases']): boolean {
  return one.some((a) => other.some((b) => Math.abs(a.base - b.base) < ports_per_base));
}

/** Creates a port scheme. Errors: 400 when two of its bases share ports; 409 when the name is taken. */
export async function createPortScheme(
  tx: Transaction,
  body: { name: string; bases: PortScheme['bases'] },
): Promise<PortScheme> {
  if (body.bases.some((base, at) => sharePorts([base], body.bases.slice(at + 1)))) {
    throw invalidField(
      'bases',
      `two of them are less than ${ports_per_base} apart, so that they would share ports.`,
    );
  }
  const id = await nextId(tx, 0, 'port_schemes');
  if (
    !(await store.insertPortScheme(tx, { id, name: body.name, bases: JSON.stringify(body.bases) }))
  ) {
    throw conflict(`a port scheme named ${JSON.stringify(body.name)} exists already.`, {
      code: 'name_taken',
      field: 'name',
    });
  }
  await bumpVersion(tx, 0);
  await audit(tx, {
    account_id: null,
    action: 'port_scheme.create',
    target: body.name,
    after: body,
  });
  return { id, ...body };
}
