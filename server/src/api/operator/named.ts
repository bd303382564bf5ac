// The account, user, server and node that a request of an operator names.
import { requireAccountNamed } from '../../accounts/accounts.ts';
import type { Reader } from '../../db/database.ts';
import { invalidField } from '../../errors.ts';
import { requireAnyNode } from '../../nodes/nodes.ts';
import { requireServer } from '../../servers/servers.ts';
import { requireUserNamed } from '../../users/users.ts';

interface Names {
  account?: string | undefined;
  user?: string | undefined;
  server?: string | undefined;
  node_id: number | null;
}

/** The ids of those that are named. Errors: 400 for a user without an account; 404. */
export async function findNamed(db: Reader, { account, user, server, node_id }: Names) {
  if (user !== undefined && account === undefined) {
    throw invalidField('user', 'names a user of an account; expected `account` as well.');
  }
  const account_id =
    account === undefined ? undefined : (await requireAccountNamed(db, account)).id;
  const user_id =
    account_id === undefined || user === undefined
      ? undefined
      : (await requireUserNamed(db, account_id, user)).id;
  const node = node_id === null ? undefined : await requireAnyNode(db, node_id);
  const server_id = server === undefined ? undefined : (await requireServer(db, server)).id;
  return { account_id, user_id, server_id, node };
}
