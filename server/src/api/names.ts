// The names of accounts and users, which responses have in place of ids.
import { accountNames } from '../accounts/accounts.ts';
import type { Reader } from '../db/database.ts';
import { usersByKey } from '../users/users.ts';

/**
 * Reads the names of accounts, and of users of them; those that were removed a moment ago have
 * none.
 */
export async function readNames(
  db: Reader,
  keys: ReadonlyArray<readonly [account_id: number | undefined, user_id: number | undefined]>,
): Promise<
  (account_id: number, user_id: number | undefined) => { account?: string; user?: string }
> {
  const [accountName, userOf] = await Promise.all([
    accountNames(
      db,
      keys.flatMap(([account]) => account ?? []),
    ),
    usersByKey(
      db,
      keys.flatMap(([account, user]) =>
        account === undefined || user === undefined ? [] : [[account, user] as const],
      ),
    ),
  ]);
  return (account_id, user_id) => {
    const account = accountName.get(account_id);
    const user = user_id === undefined ? undefined : userOf(account_id, user_id)?.name;
    return {
      ...(account === undefined ? {} : { account }),
      ...(user === undefined ? {} : { user }),
    };
  };
}
