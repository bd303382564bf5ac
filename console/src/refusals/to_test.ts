// A refused connection as the connection test has it, to be tried again; pure.
import type { ResponseOf } from '../api/api.ts';

export type Refusal = ResponseOf<'admin_list_refusals'>[number];

/** The state of the page of the test. Account holders test servers of their contract alone. */
export function testStateOf(
  refusal: Refusal,
  isOperator: boolean,
): Record<string, string> | undefined {
  const { reason, server, port, address, user } = refusal;
  if (port === null || (!isOperator && reason === 'server_not_on_contract')) return undefined;
  return {
    ...{ server, to: String(port), from: address },
    ...(user !== null && { by: 'token', user }),
  };
}
