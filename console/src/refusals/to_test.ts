// A refused connection as the connection test has it, to be tried again; pure.
import type { ResponseOf } from '../api/api.ts';

export type Refusal = ResponseOf<'admin_list_refusals'>[number];

const reasonsOfTokens = ['bad_token', 'expired_token', 'old_token_version'];

/** The state of the page of the test. Account holders test servers of their contract alone. */
export function testStateOf(
  refusal: Refusal,
  isOperator: boolean,
): Record<string, string> | undefined {
  const { reason, server, port, address, user, listed_for } = refusal;
  if (port === null || (!isOperator && reason === 'server_not_on_contract')) return undefined;
  // A connection from an address that is listed for the same user needed no token.
  const isByToken =
    reasonsOfTokens.includes(reason) ||
    (user !== null && user !== listed_for && reason !== 'unknown_address');
  return {
    ...{ server, to: String(port), from: address, by: isByToken ? 'token' : 'address' },
    ...(isByToken && user !== null && { user }),
  };
}
