// API tokens: the credentials of programs that work on an account through /v0.
import { audit } from '../changes/audit.ts';
import { bumpVersion, nextId } from '../changes/changes.ts';
import type { Reader, Transaction } from '../db/database.ts';
import { inTurns } from '../db/slices.ts';
import { conflict, notFound } from '../errors.ts';
import type { Secrets } from '../keys/secrets.ts';
import { newTokenText } from '../keys/token_text.ts';
import { checkExpiry } from '../values/expiry.ts';
import { visibleText } from '../values/texts.ts';
import * as store from './store.ts';

/**
 * A token of an account: `ewa_…`, stored as a keyed hash; also sealed, if the operator's setting
 * keeps tokens viewable. It may be read-only, and may expire.
 */
export type ApiToken = store.ApiTokenRow;
export { tokenPageSlices, tokenSorts, tokenStates } from './page_store.ts';
export type { PrincipalRow } from './store.ts';
export {
  findTokenInGroup,
  listApiTokens,
  markTokensUsed,
  principalByHash,
} from './store.ts';

/** One API token of an account. Errors: 404. */
export async function requireApiToken(
  db: Reader,
  account_id: number,
  id: number | undefined,
): Promise<ApiToken> {
  const token = id === undefined ? undefined : await store.findApiToken(db, account_id, id);
  if (!token) throw notFound('The account has no API token of this id; it may have been revoked.');
  return token;
}

/**
 * Creates an API token and returns its text. Errors: 400 for a blank name or an invalid expiry; 409
 * when the account has one of that name, or `maxTokens` of them.
 */
export async function createApiToken(
  tx: Transaction,
  secrets: Secrets,
  viewable: boolean,
  account: { id: number },
  body: { name: string; read_only?: boolean | undefined; expiry?: number | undefined },
  maxTokens = Number.POSITIVE_INFINITY,
): Promise<{ token: ApiToken; text: string }> {
  visibleText('name', body.name);
  if (body.expiry !== undefined) checkExpiry(body.expiry, tx.now);
  const others = await store.listApiTokens(tx, account.id);
  if (others.some((other) => other.name === body.name)) {
    throw conflict(`the account has an API token named ${JSON.stringify(body.name)} already.`, {
      code: 'name_taken',
      field: 'name',
    });
  }
  if (others.length >= maxTokens) {
    throw conflict(`an account may have ${maxTokens} API tokens; revoke one first.`, {
      code: 'list_full',
      field: 'name',
    });
  }
  const text = newTokenText('ewa_');
  const id = await nextId(tx, account.id, 'api_tokens');
  const token: ApiToken = {
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
  await store.insert(tx, token);
  await bumpVersion(tx, account.id, 'contract');
  await audit(tx, {
    account_id: account.id,
    action: 'api_token.create',
    target: `token/${id}`,
    after: withoutSecrets(token),
  });
  return { token, text };
}

const sealContext = (account_id: number, id: number) => `api_token ${account_id} ${id}`;

/** The fields of an API token that may be shown and logged. */
export function withoutSecrets({ hash: _, sealed, ...shown }: ApiToken) {
  return { ...shown, viewable: sealed !== null };
}

/**
 * The text of an API token, audited. Errors: 404; 409 when the operator's setting made it
 * view-once.
 */
export async function viewApiToken(
  tx: Transaction,
  secrets: Secrets,
  account: { id: number },
  id: number | undefined,
): Promise<string> {
  const token = await requireApiToken(tx, account.id, id);
  if (token.sealed === null)
    throw conflict('This API token was shown once, when it was created, and is not kept.', {
      code: 'not_viewable',
    });
  await audit(tx, {
    account_id: account.id,
    action: 'api_token.view',
    target: `token/${token.id}`,
  });
  return secrets.unseal(token.sealed, sealContext(account.id, token.id));
}

/**
 * Opens every sealed token of the database. Returns how many there are. Errors: throws when a token
 * was sealed with other keys.
 */
export async function openSealedTokens(db: Reader, secrets: Secrets): Promise<number> {
  const rows = await store.sealedTokens(db);
  for (const { account_id, id, sealed } of rows) {
    secrets.unseal(sealed, sealContext(account_id, id));
  }
  return rows.length;
}

/** Revokes an API token; requests that carry it get 401 from then on. Errors: 404. */
export async function removeApiToken(
  tx: Transaction,
  account: { id: number },
  id: number | undefined,
): Promise<void> {
  await revoke(tx, account, [await requireApiToken(tx, account.id, id)]);
}

/** Revokes many API tokens, all or none. Errors: 404 naming the first that does not exist. */
export async function removeApiTokens(
  tx: Transaction,
  account: { id: number },
  ids: readonly number[],
): Promise<void> {
  const find = await store.findMany(tx, account.id, ids);
  const tokens = ids.map((id, at) => {
    const token = find(id);
    if (token) return token;
    throw notFound(
      `the account has no API token ${id}; it may have been revoked. Nothing was done.`,
      { field: `ids.${at}` },
    );
  });
  await revoke(tx, account, tokens);
}

async function revoke(
  tx: Transaction,
  account: { id: number },
  tokens: readonly ApiToken[],
): Promise<void> {
  await store.removeMany(
    tx,
    account.id,
    tokens.map(({ id }) => id),
  );
  await bumpVersion(tx, account.id, 'contract');
  for await (const token of inTurns(tokens)) {
    await audit(tx, {
      account_id: account.id,
      action: 'api_token.remove',
      target: `token/${token.id}`,
      before: withoutSecrets(token),
    });
  }
}
