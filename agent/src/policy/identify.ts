// The user of a request: identified by the client's address, by a token or by its claims; and
// whether that user may use the network.
import { canonicalAddress } from '../../../kit/src/address.ts';
import type { TokenClaims, UserLimits } from '../../../kit/src/node_interface.ts';
import type { Authority, Credentials, Rules } from './decision.ts';
import type { Reason } from './denials.ts';
import type { Account, AuthlistEntry, Policy, User } from './policy.ts';

/** The user of a request or an open connection, and the authority for it. */
export interface Principal {
  account: Account;
  user: User;
  authority: Authority;
}

/** Reads a Proxy-Authorization header: undefined if missing, null if it cannot be used. */
export function readCredentials(header: string | undefined): Credentials | null | undefined {
  if (header === undefined) return undefined;
  const [, encoded] = /^basic +([\w+/=-]+) *$/i.exec(header) ?? [];
  if (encoded === undefined) return null;
  const pair = Buffer.from(encoded, 'base64').toString();
  const colon = pair.indexOf(':');
  return colon < 0 ? null : { user: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

export function identifyByAddress(
  policy: Policy,
  rules: Rules,
  scheme: string,
  source: string,
  now: number,
): Principal | Reason {
  const ip = canonicalAddress(source);
  const entry: AuthlistEntry | undefined =
    ip === undefined ? undefined : policy.findEntry(scheme, ip);
  if (!entry || entry.expiry <= now) return 'unknown_address';
  if (isStale(policy, rules, now)) return 'stale';
  const { account } = entry;
  const user = account.users.get(entry.user);
  if (!user) return 'unknown_address';
  const authority: Authority = {
    by: 'authlist',
    account: account.id,
    user: user.id,
    entry: entry.id,
    ip: entry.ip,
  };
  return { account, user, authority };
}

export function identifyByToken(
  policy: Policy,
  credentials: Credentials | null,
  now: number,
): Principal | Reason {
  const claims = credentials ? claimsOf(policy, credentials) : undefined;
  if (!credentials || !claims) return 'bad_token';
  const principal = identifyByClaims(policy, { by: 'token', ...claims }, now);
  if (typeof principal !== 'string' && principal.user.name !== credentials.user) return 'bad_token';
  return principal;
}

function claimsOf({ tokens }: Policy, { password, claims }: Credentials): TokenClaims | undefined {
  if (!claims) return tokens.read(password);
  return tokens.knows(claims.kid) ? claims : undefined;
}

type Claims = Extract<Authority, { by: 'token' | 'vpn' }>;

export function identifyByClaims(policy: Policy, claims: Claims, now: number): Principal | Reason {
  if (claims.expiry !== null && claims.expiry <= now) return 'expired_token';
  const account = policy.accounts.get(claims.account);
  if (!account?.contract) return 'server_not_on_contract';
  const user = account.users.get(claims.user);
  if (!user) return 'bad_token';
  if (user.token_version !== claims.token_version) return 'old_token_version';
  return { account, user, authority: claims };
}

/**
 * The first reason to refuse an identified user, if there is one. `service`: `proxy` or a VPN
 * service; undefined: unknown, and not checked.
 */
export function faultOf(
  account: Account,
  user: User,
  scheme: string | undefined,
  now: number,
  service: string | undefined,
): Reason | undefined {
  const { contract } = account;
  if (!contract) return 'server_not_on_contract';
  if (contract.suspended) return 'contract_suspended';
  if (contract.expiry <= now) return 'contract_expired';
  if (!user.active) return 'inactive_user';
  if (!user.proxy) return 'no_proxy_flag';
  if (contract.blocked || now < account.limit_reached_until) return 'over_limit';
  if (contract.port_scheme !== scheme) return 'wrong_port';
  return user.limits && faultByLimits(user, user.limits, service, now);
}

/** Connections and addresses at once are counted by `CappedConnections`. */
function faultByLimits(
  { limit_reached_until }: User,
  { until, not_here, services, over }: UserLimits,
  service: string | undefined,
  now: number,
): Reason | undefined {
  if (until !== undefined && until <= now) return 'user_expired';
  const isElsewhere = services && service !== undefined && !services.includes(service);
  if (not_here || isElsewhere) return 'not_for_user';
  return over || now < limit_reached_until ? 'user_limit_reached' : undefined;
}

/** Also true for a policy from the future: after the clock was set back, its age is unknown. */
function isStale(policy: Policy, rules: Rules, now: number): boolean {
  return Math.abs(now - policy.heard_at) >= rules.staleness_seconds;
}
