// Authentication of /v0: HTTP Basic pair -> API token -> the principal, its account and variant.
import {
  findTokenInGroup,
  type PrincipalRow,
  principalByHash,
} from '../../api_tokens/api_tokens.ts';
import type { Transaction } from '../../db/database.ts';
import { forbidden, unauthorized } from '../../errors.ts';
import { tokenTextIsPlausible } from '../../keys/token_text.ts';
import type { AccountContext } from './context.ts';
import type { Principal, Session, Variant } from './session.ts';

const advice =
  'Obtain an API token from your account (Account > API token) and send it with HTTP Basic authentication: as the password with an empty username (current interface), or as the username with an empty password (earlier interface).';

/** The two halves of a Basic pair; undefined if the header is not one. */
export function parseBasic(
  header: string | undefined,
): { user: string; password: string } | undefined {
  const match = header && /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(header);
  if (!match?.[1]) return undefined;
  const pair = Buffer.from(match[1], 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 0) return undefined;
  return { user: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

/** One spelling for all equal headers: blanks, case and the base64 alphabet may differ. */
function spelled({ user, password }: { user: string; password: string }): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/**
 * Finds the principal of a request.
 * Errors: 401 with the reason and where to obtain a token.
 */
export async function authenticate(
  ctx: AccountContext,
  header: string | undefined,
): Promise<Session> {
  const pair = parseBasic(header);
  if (!header || !pair) {
    throw unauthorized(`This request carries no API token. ${advice}`, 'Basic', {
      code: 'token_missing',
    });
  }
  if ((pair.user === '') === (pair.password === '')) {
    throw unauthorized(
      `Exactly one half of the Basic pair must hold the API token; ${pair.user === '' ? 'both are empty' : 'both are filled'}. ${advice}`,
      'Basic',
      { code: 'token_missing' },
    );
  }
  const variant: Variant = pair.user === '' ? 'current' : 'earlier';
  if (ctx.config.variants !== 'both' && ctx.config.variants !== variant) {
    throw unauthorized(
      `This server speaks the ${ctx.config.variants} interface only: send the API token as the ${ctx.config.variants === 'current' ? 'password, with an empty username' : 'username, with an empty password'}.`,
      'Basic',
      { code: 'other_variant' },
    );
  }
  const authorization = spelled(pair);
  const cachedSession = ctx.cache.session(authorization);
  if (cachedSession) {
    const versions = await ctx.versions.current(cachedSession.principal.account_id);
    if (
      versions.epoch === cachedSession.versions.epoch &&
      versions.contract === cachedSession.versions.contract &&
      tokenHolds(cachedSession.principal, ctx.clock.now())
    ) {
      return { ...cachedSession, versions };
    }
  }
  const token = pair.user || pair.password;
  // A text that cannot be one of our tokens needs no look-up.
  const row = tokenTextIsPlausible(token)
    ? await principalByHash(ctx.db, ctx.secrets.hashesOf(token))
    : undefined;
  if (!row) {
    ctx.cache.forget(authorization);
    throw unknownToken();
  }
  if (!tokenHolds(row, ctx.clock.now())) throw expiredToken();
  const session = toSession(row, variant, authorization);
  ctx.cache.remember(session);
  return session;
}

const unknownToken = () =>
  unauthorized(`The API token was not recognised. ${advice}`, 'Basic', { code: 'token_unknown' });
const expiredToken = () =>
  unauthorized(`The API token has expired. ${advice}`, 'Basic', { code: 'token_expired' });

/** Errors: 403 for a read-only API token. */
export function rejectReadOnly({ token_name }: Principal, read_only: boolean): void {
  if (!read_only) return;
  throw forbidden(
    `The API token ${JSON.stringify(token_name)} is read-only; use one with full access.`,
    { code: 'token_read_only' },
  );
}

/**
 * Checks in the transaction of a change whether its API token still holds: the body may have been
 * long on its way. Errors: 401 when it was revoked or has expired; 403 when it is read-only.
 */
export async function requireTokenNow(tx: Transaction, principal: Principal): Promise<void> {
  const token = await findTokenInGroup(tx, principal.account_id, principal.token_id);
  if (!token) throw unknownToken();
  if (!tokenHolds({ token_expiry: token.expiry }, tx.now)) throw expiredToken();
  rejectReadOnly(principal, token.read_only === 1);
}

function toSession(row: PrincipalRow, variant: Variant, authorization: string): Session {
  const {
    account_version,
    contract_version,
    usage_version,
    network_version,
    maintenance,
    epoch,
    read_only,
    suspended,
    ...principal
  } = row;
  return {
    principal: { ...principal, variant, read_only: read_only === 1, suspended: suspended === 1 },
    versions: {
      epoch,
      account: account_version,
      contract: contract_version,
      usage: usage_version,
      network: network_version,
      maintenance: maintenance === 1,
    },
    authorization,
  };
}

function tokenHolds(token: { token_expiry: number | null }, now: number): boolean {
  return token.token_expiry === null || now < token.token_expiry;
}
