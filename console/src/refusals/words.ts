// The reasons of refused connections in words, and what each of them asks for; pure.

/** An entry on the authlist, a look at the user, or another page. */
type Remedy = 'address' | 'user' | 'servers' | 'usage';

const reasons: Record<string, readonly [words: string, remedy?: Remedy]> = {
  unknown_address: ['Address not on the IP authlist, no token', 'address'],
  bad_token: ['User name and token or password don’t match', 'user'],
  expired_token: ['The token has expired', 'user'],
  old_token_version: ['All tokens of the user were invalidated', 'user'],
  stale: ['The node was cut off for too long to trust addresses'],
  inactive_user: ['The user is inactive', 'user'],
  no_proxy_flag: ['The user doesn’t have the proxy permission', 'user'],
  user_expired: ['The user’s time is over', 'user'],
  not_for_user: ['The user may not use this server or service', 'user'],
  user_limit_reached: ['The user’s usage limit is reached', 'user'],
  server_not_on_contract: ['The server isn’t on the contract', 'servers'],
  wrong_port: ['The port isn’t one of the contract', 'servers'],
  no_service: ['Service not offered at this address', 'servers'],
  contract_expired: ['The contract has expired'],
  contract_suspended: ['The contract is suspended'],
  over_limit: ['The usage limit is reached', 'usage'],
  destination_refused: ['Destination or port not allowed'],
  other_family: ['Exit and destination have different IP versions', 'servers'],
  too_many_connections: ['Too many connections were open'],
  too_many_addresses: ['The user was connected from too many addresses', 'user'],
  drained: ['The node was being drained'],
  not_ready: ['The node had no policy yet'],
  other: ['A reason that this server is too old to know'],
};

export const reasonOptions = Object.entries(reasons).map(([value, [text]]) => ({ value, text }));

export const reasonWords = (reason: string) => reasons[reason]?.[0] ?? reason;
export const remedyOf = (reason: string) => reasons[reason]?.[1];
