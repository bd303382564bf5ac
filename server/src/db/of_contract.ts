// Servers of a contract as a condition, for every module that stores something about servers.
import { idCondition } from './one_of.ts';

/** The servers of a contract: these, or all. */
export interface OfContract {
  account_id: number;
  server_ids?: readonly number[] | undefined;
}

/** The condition on `contract_servers c`; its values begin with `$1`. */
export function ofContract({ account_id, server_ids }: OfContract) {
  const { sql, ids } = idCondition('c.server_id', server_ids, 2);
  return { sql: `c.account_id = $1 and ${sql}`, values: [account_id, ...ids] };
}
