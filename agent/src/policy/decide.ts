// The decision, the same for all engines: the user of a request, whether it may pass, from which
// exit, and to which address.
import type {
  Allowed,
  Authority,
  Credentials,
  Decision,
  Denied,
  ProxyRequest,
  Question,
  Rules,
} from './decision.ts';
import { type Reason, sentenceOf, statusOf } from './denials.ts';
import { isInRanges, isSameFamily, mayReach, readAddress, readHostname } from './destination.ts';
import {
  faultOf,
  identifyByAddress,
  identifyByClaims,
  identifyByToken,
  type Principal,
} from './identify.ts';
import type { Listener, Override, Policy } from './policy.ts';

/**
 * The username of the node's own checks. No user can have it: names begin with a letter or digit.
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

  const fault = faultOf(principal.account, principal.user, listener.scheme, now, 'proxy');
  if (fault) return deny(fault, principal);
  const { account } = principal;

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
  const denyDestination = (reason: Reason): Denied => {
    return { ...deny(reason, principal), ...(override && { dial: override.ip }) };
  };
  if (destination !== undefined && !mayReach(policy, rules, destination)) {
    return denyDestination('destination_refused');
  }
  if (destination !== undefined && !isSameFamily(destination, listener.exit_ip)) {
    return denyDestination('other_family');
  }
  return allow(principal, listener.exit_ip, override);
}

export function allow(
  { account, user, authority }: Principal,
  exit_ip: string,
  override?: Pick<Override, 'ip' | 'id'>,
): Allowed {
  return {
    verdict: 'allow',
    authority,
    contract: account.contract?.name ?? '',
    user: user.name,
    exit_ip,
    dial: override?.ip,
    override: override?.id,
  };
}

/**
 * Decides like a proxy, with the counts: the caps on connections, and the limits of the user. A
 * proxy has no VPN.
 */
export function decideWithin(
  objectionTo: (source: string, authority: Authority) => Reason | undefined,
  policy: Policy,
  rules: Rules,
  question: Question,
  now: number,
): Decision {
  if (question.kind === 'login') return deny(policy.server ? 'no_service' : 'not_ready');
  return within(objectionTo, question.source, decide(policy, rules, question, now));
}

/** The decision; a denial if an allowed connection would be one too many. */
export function within(
  objectionTo: (source: string, authority: Authority) => Reason | undefined,
  source: string,
  decision: Decision,
): Decision {
  if (decision.verdict !== 'allow') return decision;
  const { authority, contract, user } = decision;
  const reason = objectionTo(source, authority);
  if (!reason) return decision;
  return { verdict: 'deny', reason, principal: { authority, contract, user } };
}

/** Whether this node accepts no new connections. Open ones continue. */
export function isDrained({ server }: Policy, { node }: Rules): boolean {
  return server?.drained_nodes?.some((id) => id === node) ?? false;
}

/**
 * Why an open connection is not allowed any more; undefined: it is. Its listener is not checked
 * again. `service`: `proxy` or a VPN service; undefined: unknown, and not checked.
 */
export function revocationOf(
  policy: Policy,
  rules: Rules,
  authority: Authority,
  now: number,
  service: string | undefined,
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
  // The address may now belong to another user, who would pay for the traffic.
  if (principal.account.id !== authority.account || principal.user.id !== authority.user) {
    return 'unknown_address';
  }
  return faultOf(principal.account, principal.user, contract.port_scheme, now, service);
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
