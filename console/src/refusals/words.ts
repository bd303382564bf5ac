// The reasons of refused connections in words, and the ways to fix them; pure.

/** The place to fix it: the authlist, the user, the user's limits, the server or the contract. */
export type Way = 'address' | 'user' | 'limits' | 'server' | 'contract';

interface Reason {
  words: string;
  way?: Way;
  /** Once the reason no longer holds. */
  fixed?: string;
}

const reasons: Record<string, Reason> = {
  unknown_address: { words: 'Address not on the IP authlist, no token', way: 'address' },
  bad_token: { words: 'Username and token or password don’t match', way: 'user' },
  expired_token: { words: 'The token has expired', way: 'user' },
  old_token_version: { words: 'All tokens of the user were invalidated', way: 'user' },
  stale: { words: 'The node was offline for too long to trust addresses' },
  inactive_user: { words: 'The user is inactive', way: 'user', fixed: 'Active again.' },
  no_proxy_flag: {
    words: 'The user doesn’t have the proxy permission',
    ...{ way: 'user', fixed: 'The user has it now.' },
  },
  user_expired: {
    words: 'The user’s access has ended',
    way: 'limits',
    fixed: 'No longer limited in time.',
  },
  not_for_user: {
    words: 'The user may not use this server or service',
    ...{ way: 'limits', fixed: 'Allowed now.' },
  },
  user_limit_reached: {
    words: 'The user’s usage limit is reached',
    ...{ way: 'limits', fixed: 'Below the limit now.' },
  },
  server_not_on_contract: {
    words: 'The server isn’t on the contract',
    ...{ way: 'server', fixed: 'On the contract now.' },
  },
  wrong_port: { words: 'The port isn’t on the contract', way: 'server' },
  no_service: { words: 'Service not offered at this address', way: 'server' },
  contract_expired: { words: 'The contract has expired', way: 'contract' },
  contract_suspended: {
    words: 'The contract is suspended',
    ...{ way: 'contract', fixed: 'Active again.' },
  },
  over_limit: {
    words: 'The usage limit is reached',
    ...{ way: 'contract', fixed: 'Below the limit now.' },
  },
  destination_refused: { words: 'Destination or port not allowed' },
  other_family: { words: 'Exit and destination have different IP versions', way: 'server' },
  too_many_connections: { words: 'Too many connections were open', way: 'limits' },
  too_many_addresses: {
    words: 'The user was connected from too many addresses',
    ...{ way: 'limits', fixed: 'No longer limited.' },
  },
  drained: { words: 'The node was being drained' },
  not_ready: { words: 'The node had no policy yet' },
  other: { words: 'A reason that this server is too old to recognize' },
};

export const reasonOptions = Object.entries(reasons).map(([value, { words }]) => ({
  ...{ value, text: words },
}));

export const reasonWords = (reason: string) => reasons[reason]?.words ?? reason;
export const wayOf = (reason: string) => reasons[reason]?.way;
export const fixedWords = (reason: string) => reasons[reason]?.fixed ?? 'Fixed since.';
