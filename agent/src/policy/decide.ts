// The decision, the same for all engines: whose request it is, whether it may pass, from which
// exit, and to which address.
import { isIPv4 } from 'node:net';
import { canonicalAddress, type Network } from '../../../kit/src/address.ts';
import { mayDial } from '../address.ts';
import { type Reason, sentenceOf, statusOf } from './denials.ts';
import type { Account, AuthlistEntry, Listener, Policy, User } from './policy.ts';
import type { TokenClaims } from './records.ts';

/** A question to a node: may this request, or this login, be let in? */
export type Question = ProxyRequest | VpnLogin;

/** A request to a proxy, as any engine sees it. */
export interface ProxyRequest {
  kind: 'request';
  /** Address of the client, in any spelling. */
  source: string;
  /** Port of the server that the client connected to, by the port scheme. */
  port: number;
  method: string;
  /** Destination, as the client wrote it; IPv6 with or without brackets. */
  host: string;
  destination_port: number;
  /** Undefined: none were given. Null: given, and not readable. */
  credentials: Credentials | null | undefined;
}

/** A login to a VPN service, by any of its authentication methods. */
export interface VpnLogin {
  kind: 'login';
  service: string;
  /** As the client gave it: `user@account`, or `user@account~expiry` (docs/vpn.md). */
  login: string;
  /** The exit address that the client dialled. */
  exit_ip: string;
  /** Whether the client has this password. */
  proves(password: string): boolean;
  /** The password itself, where the method reveals it. It may be a proxy access token. */
  password?: string | undefined;
}

/** Credentials of a client; or of the control plane's question, with the token already read. */
export type Credentials =
  | { user: string; password: string; claims?: never }
  | { user: string; claims: TokenClaims; password?: never };

export interface PortRange {
  first: number;
  last: number;
}

/** The settings of the node's operator. */
export interface Rules {
  /** The id of this node. */
  node?: number;
  /** Destination ports allowed for CONNECT, and for plain requests. */
  connect_ports: readonly PortRange[];
  http_ports: readonly PortRange[];
  /** Addresses that are private or reserved and may be dialled all the same. */
  allowed: readonly Network[];
  /**
   * Addresses of this machine's interfaces, kept up to date by the engines. Exit addresses need not
   * be among them.
   */
  own?: ReadonlySet<string>;
  /** IP authentication ends this long after the control plane was last heard from. */
  staleness_seconds: number;
  /** The node's own checks, which are not billed and may reach only this destination. */
  probe?: { password: string; host: string; port: number } | undefined;
}

/** Why a connection was let in: enough to decide later whether it still may be. */
export type Authority =
  | { by: 'authlist'; account: number; user: number; entry: number; ip: string }
  | ({ by: 'token' } & TokenClaims)
  /**
   * `expiry` is that of the password, in epoch seconds; null: it never expires. `generation` is
   * that of the key from which the password was derived.
   */
  | {
      by: 'vpn';
      account: number;
      user: number;
      token_version: number;
      expiry: number | null;
      generation: number;
    }
  | { by: 'probe' };

export interface Allowed {
  verdict: 'allow';
  authority: Authority;
  /** Names, for people and logs; empty for a probe. */
  contract: string;
  user: string;
  exit_ip: string;
  /** Address to dial instead of resolving the hostname. */
  dial: string | undefined;
  /** Id of the override that gives `dial`. */
  override: number | undefined;
}

export interface Denied {
  verdict: 'challenge' | 'deny';
  reason: Reason;
  /** The user, if one was identified. */
  principal?: { authority: Authority; contract: string; user: string };
}

export type Decision = Allowed | Denied;

/**
 * User name of the node's own checks. No real user can have it: names begin with a letter or digit.
 */
export const probeUser = '-probe';

/**
 * Decides on one request. It is pure: the same policy, rules, request and time (epoch seconds) give
 * the same decision. The work does not grow with the number of entries.
 *
 * The engine resolves a hostname without an override. It must deny an address that `mayReach` does
 * not allow, and a name whose addresses are all of the other family than the exit (`other_family`).
 */
export function decide(policy: Policy, rules: Rules, request: ProxyRequest, now: number): Decision {
  if (!policy.server) return deny('not_ready');
  const listener = policy.listeners.get(request.port);
  if (!listener) return deny('wrong_port');
  const { credentials } = request;
  if (credentials && isProbe(rules, credentials)) return decideProbe(rules, request, listener);
  if (isDrained(policy, rules)) return deny('drained');

  const principal =
    credentials === undefined
      ? identifyByAddress(policy, rules, listener.scheme, request.source, now)
      : identifyByToken(policy, credentials, now);
  if (typeof principal === 'string') return deny(principal);

  const fault = faultOf(principal.account, principal.user, listener.scheme, now);
  if (fault) return deny(fault, principal);
  const { user, account, authority } = principal;

  const ip = readAddress(request.host);
  const hostname = ip === undefined ? readHostname(request.host) : undefined;
  const ports = request.method === 'CONNECT' ? rules.connect_ports : rules.http_ports;
  if (!(ip ?? hostname) || !isInRanges(request.destination_port, ports)) {
    return deny('destination_refused', principal);
  }
  const entry =
    listener.override && hostname ? account.overridesByHostname.get(hostname) : undefined;
  const override = entry && now < entry.expiry ? entry : undefined;
  const destination = override?.ip ?? ip;
  if (destination !== undefined && !mayReach(policy, rules, destination)) {
    return deny('destination_refused', principal);
  }
  if (destination !== undefined && !isSameFamily(destination, listener.exit_ip)) {
    return deny('other_family', principal);
  }
  return {
    verdict: 'allow',
    authority,
    contract: account.contract?.name ?? '',
    user: user.name,
    exit_ip: listener.exit_ip,
    dial: override?.ip,
    override: override?.id,
  };
}

/** Decides as a proxy would, including the caps on connections. A proxy has no VPN. */
export function decideWithin(
  isFullFor: (source: string, authority: Authority) => boolean,
  policy: Policy,
  rules: Rules,
  question: Question,
  now: number,
): Decision {
  if (question.kind === 'login') return deny(policy.server ? 'no_service' : 'not_ready');
  const decision = decide(policy, rules, question, now);
  if (decision.verdict !== 'allow' || !isFullFor(question.source, decision.authority))
    return decision;
  const { authority, contract, user } = decision;
  const principal = { authority, contract, user };
  return { verdict: 'deny', reason: 'too_many_connections', principal };
}

/** Whether this node accepts no new connections. Open ones continue. */
export function isDrained({ server }: Policy, { node }: Rules): boolean {
  return server?.drained_nodes?.some((id) => id === node) ?? false;
}

/** Whether a connection can go from one of these addresses to the other. */
function isSameFamily(ip: string, other: string): boolean {
  return isIPv4(ip) === isIPv4(other);
}

/**
 * Whether clients may reach this address: it is on the Internet and not on this machine, or the
 * operator allows it.
 */
export function mayReach(
  { server }: Policy,
  { allowed, own: ownAddresses }: Rules,
  ip: string,
): boolean {
  return mayDial(
    ip,
    allowed,
    (address) =>
      ownAddresses?.has(address) || server?.exit_ips.some((exit) => exit.ip === address) || false,
  );
}

/** Why an open connection is not allowed any more, if so. Its listener is not checked again. */
export function revocationOf(
  policy: Policy,
  rules: Rules,
  authority: Authority,
  now: number,
): Reason | undefined {
  if (authority.by === 'probe') return undefined;
  if (!policy.server) return 'not_ready';
  const contract = policy.accounts.get(authority.account)?.contract;
  if (!contract) return 'server_not_on_contract';
  if (authority.by === 'token' && !policy.tokens.knows(authority.kid)) return 'bad_token';
  const { vpn_generation = 0 } = policy.server;
  if (authority.by === 'vpn' && authority.generation !== vpn_generation) return 'bad_token';
  const principal =
    authority.by === 'authlist'
      ? identifyByAddress(policy, rules, contract.port_scheme, authority.ip, now)
      : identifyByClaims(policy, authority, now);
  if (typeof principal === 'string') return principal;
  // The address may belong to another user by now, who would pay for the traffic.
  if (principal.account.id !== authority.account || principal.user.id !== authority.user) {
    return 'unknown_address';
  }
  return faultOf(principal.account, principal.user, contract.port_scheme, now);
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

/** The reason of a decision, for a person or a log. */
export function explainDecision(decision: Decision): {
  status: number;
  reason: string;
  message: string;
} {
  if (decision.verdict !== 'allow') {
    return {
      status: statusOf(decision.reason),
      reason: decision.reason,
      message: sentenceOf(decision.reason),
    };
  }
  return { status: 200, reason: decision.authority.by, message: 'the connection is allowed' };
}

// ---- The parts ----------------------------------------------------------------------------

export interface Principal {
  account: Account;
  user: User;
  authority: Authority;
}

export function deny(reason: Reason, principal?: Principal): Denied {
  const verdict = statusOf(reason) === 407 ? 'challenge' : 'deny';
  if (!principal) return { verdict, reason };
  const { authority, account, user } = principal;
  const contract = account.contract?.name ?? '';
  return { verdict, reason, principal: { authority, contract, user: user.name } };
}

function isProbe(rules: Rules, { user, password }: Credentials): boolean {
  return rules.probe !== undefined && user === probeUser && password === rules.probe.password;
}

function decideProbe(rules: Rules, request: ProxyRequest, listener: Listener): Decision {
  const { host, port } = rules.probe ?? {};
  const destination = readAddress(request.host) ?? readHostname(request.host);
  if (destination !== host || request.destination_port !== port) {
    return deny('destination_refused');
  }
  const authority = { by: 'probe' } as const;
  const { exit_ip } = listener;
  return {
    verdict: 'allow',
    authority,
    contract: '',
    user: '',
    exit_ip,
    dial: undefined,
    override: undefined,
  };
}

function identifyByAddress(
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

/** The first reason to refuse a known user of a known account, if there is one. */
export function faultOf(
  account: Account,
  user: User,
  scheme: string | undefined,
  now: number,
): Reason | undefined {
  const { contract } = account;
  if (!contract) return 'server_not_on_contract';
  if (contract.suspended) return 'contract_suspended';
  if (contract.expiry <= now) return 'contract_expired';
  if (!user.active) return 'inactive_user';
  if (!user.proxy) return 'no_proxy_flag';
  if (contract.blocked || now < account.limit_reached_until) return 'over_limit';
  if (contract.port_scheme !== scheme) return 'wrong_port';
  return undefined;
}

/** A clock that was set back must not make the policy look younger: by how much is unknown. */
function isStale(policy: Policy, rules: Rules, now: number): boolean {
  return Math.abs(now - policy.heard_at) >= rules.staleness_seconds;
}

/** The destination as a canonical address, if it is one. No hostname has a colon. */
function readAddress(text: string): string | undefined {
  if (!text.includes(':')) return isIPv4(text) ? text : undefined;
  return canonicalAddress(text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text);
}

/**
 * The destination as a hostname, in lower case and without the trailing dot. Undefined if it is
 * none. Odd spellings of addresses are none either, since a resolver would read them as addresses.
 */
export function readHostname(text: string): string | undefined {
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase();
  return name.length <= 253 && labels.test(name) && !numeric.test(name) ? name : undefined;
}

const labels = /^(?!-)[\w-]{1,63}(?:\.(?!-)[\w-]{1,63})*$/;
/** A last label that makes C libraries and browsers read the whole name as an address. */
const numeric = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

function isInRanges(port: number, ranges: readonly PortRange[]): boolean {
  return ranges.some(({ first, last }) => first <= port && port <= last);
}
