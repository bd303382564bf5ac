// The reasons why a connection is denied: a word for machines, a status, and a sentence for people.

/**
 * Every reason, with its status. 407: other credentials may help. 403: they would not. 429: fewer
 * connections, or fewer addresses, would help.
 */
const reasons = {
  unknown_address: [
    407,
    'this address is not on an IP authlist; add it, or give your user name and a proxy access token',
  ],
  bad_token: [407, 'the user name and the proxy access token do not fit; check both'],
  expired_token: [407, 'the proxy access token has expired; create a new one'],
  old_token_version: [407, 'all tokens of this user were invalidated; create a new one'],
  stale: [
    407,
    'this node has not heard of its control plane for too long to trust IP authlists; use a proxy access token',
  ],
  inactive_user: [403, 'the user is inactive'],
  no_proxy_flag: [403, 'the user may not use the proxies (no proxy flag)'],
  user_expired: [403, 'the time in which the user may connect is over'],
  not_for_user: [403, 'the user may not use this server, or this service'],
  user_limit_reached: [403, 'the usage limit of the user is reached'],
  server_not_on_contract: [403, 'this server is not on the contract'],
  wrong_port: [403, 'this port is not one of the ports of the contract'],
  no_service: [403, 'this server does not offer this service on this address'],
  contract_expired: [403, 'the contract has expired'],
  contract_suspended: [403, 'the contract is suspended'],
  over_limit: [403, 'the usage limit of the contract is reached'],
  destination_refused: [
    403,
    'connections to this address or port are refused; the operator of this node decides which are open',
  ],
  other_family: [
    403,
    'the exit of this port cannot reach this destination: one has IPv4, the other IPv6; use the port of another exit',
  ],
  too_many_connections: [
    429,
    'too many connections are open, of this address, user or account or on this node; close some or wait; the account sets the limit of the user, the operator of this node the others',
  ],
  too_many_addresses: [
    429,
    'the user is connected from too many addresses; close the connections of another one or wait; the account sets the limit',
  ],
  drained: [
    503,
    'this node accepts no new connections, because maintenance is planned; use another server, or try again later',
  ],
  not_ready: [503, 'this node has no policy yet; try again in a moment'],
} as const satisfies Record<string, readonly [407 | 403 | 429 | 503, string]>;

export type Reason = keyof typeof reasons;

export const allReasons = Object.keys(reasons) as Reason[];

/** The header that names the reason on each of our 403, 407, 429 and 503 responses. */
export const reasonHeader = 'X-Exitward-Reason';

export function statusOf(reason: Reason): 407 | 403 | 429 | 503 {
  return reasons[reason][0];
}

/** One sentence, without the final full stop. */
export function sentenceOf(reason: Reason): string {
  return reasons[reason][1];
}

/** The body of a denial: one line of text. */
export function bodyOf(reason: Reason): string {
  return `Exitward: ${sentenceOf(reason)} (${reason}).\n`;
}
