// …/connections: who is connected now, of one account; without the admin flag oneself alone.
import { requireContractServer } from '../../contract_servers/contract_servers.ts';
import { Strict } from '../../http/fields.ts';
import { openConnections } from '../../nodes/nodes.ts';
import { requireUserNamed } from '../../users/users.ts';
import {
  aboutConnections,
  connectionFilters,
  OpenConnections,
  presentConnections,
  readFilters,
} from '../connections.ts';
import type { Mount } from './mount.ts';
import { requireSelf } from './scope.ts';

const Query = Strict(connectionFilters);

export function connectionRoutes({ ctx, audience, routesOf }: Mount): void {
  const { db } = ctx;
  routesOf('usage')('GET /connections', {
    id: 'list_connections',
    may: ['admin', 'proxy'],
    summary: "Who is connected now with the account's users",
    description: `${aboutConnections} Without the admin flag: one's own connections.`,
    query: Query,
    answer: OpenConnections,
    statuses: {
      403: 'Without the admin flag: a user other than oneself; or the server is not on the contract.',
      404: 'There is no such user or server.',
      429: 'Too many different filters are watched at once.',
    },
    handle: async (request) => {
      const { scope, query } = request;
      const { account_id, only_user } = scope;
      const { filter, list } = readFilters(query);
      requireSelf(scope, query.user, 'name');
      const user_id =
        only_user?.id ??
        (query.user === undefined
          ? undefined
          : (await requireUserNamed(db, account_id, query.user)).id);
      const server_id =
        query.server === undefined
          ? undefined
          : (await requireContractServer(db, account_id, query.server)).id;
      const watcher = audience.is_operator
        ? undefined
        : { account_id, user_id: request.person.user_id };
      const of = { ...filter, account_id, user_id, server_id };
      return presentConnections(
        db,
        await openConnections(ctx, of, watcher, list),
        audience.is_operator,
      );
    },
  });
}
