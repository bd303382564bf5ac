// …/connections: who is connected now, of one account, and ending that; without the admin flag of
// oneself alone.
import type { Reader } from '../../db/database.ts';
import { Named, Strict } from '../../http/fields.ts';
import { endConnections, openConnections } from '../../nodes/nodes.ts';
import { requireUserNamed } from '../../users/users.ts';
import {
  aboutConnections,
  aboutEnding,
  connectionFilters,
  EndedConnections,
  endFilters,
  OpenConnections,
  presentConnections,
  presentEnded,
  readAddresses,
  readFilters,
} from '../connections.ts';
import type { Mount } from './mount.ts';
import { requireFilterServer, requireSelf, type Scope } from './scope.ts';

const Query = Strict(connectionFilters);
const EndOrder = Named('AccountEndOrder', endFilters);

const notNamed = {
  403: 'Without the admin flag: a user other than oneself; or the server is not on the contract.',
  404: 'There is no such user or server.',
};

export function connectionRoutes({ ctx, audience, routesOf, write }: Mount): void {
  const { db } = ctx;
  const route = routesOf('usage');

  /** The ids of the named. Errors: 403 for another user than oneself, or for the server; 404. */
  const idsOf = async (
    db: Reader,
    scope: Scope,
    { user, server }: { user?: string; server?: string },
  ) => {
    const { account_id, only_user } = scope;
    requireSelf(scope, user, 'name');
    const ofUser = user === undefined ? only_user : await requireUserNamed(db, account_id, user);
    const ofServer =
      server === undefined
        ? undefined
        : await requireFilterServer(audience, db, account_id, server);
    return { account_id, user_id: ofUser?.id, server_id: ofServer?.id };
  };

  route('GET /connections', {
    id: 'list_connections',
    may: ['admin', 'proxy'],
    summary: "Who is connected now with the account's users",
    description: `${aboutConnections} Without the admin flag: one's own connections.`,
    query: Query,
    answer: OpenConnections,
    statuses: {
      ...notNamed,
      429: 'Too many different filters are watched at once.',
    },
    handle: async (request) => {
      const { scope, query } = request;
      const { filter, list } = readFilters(query);
      const watcher = audience.is_operator
        ? undefined
        : { account_id: scope.account_id, user_id: request.person.user_id };
      const of = { ...filter, ...(await idsOf(db, scope, query)) };
      return presentConnections(
        db,
        await openConnections(ctx, of, watcher, list),
        audience.is_operator,
      );
    },
  });

  route('POST /connections/end', {
    id: 'end_connections',
    may: ['admin', 'proxy'],
    summary: "End open connections of the account's users",
    description: `All that have in common what the body names; without a field, all of the account. ${aboutEnding} Without the admin flag: one's own connections.`,
    body: EndOrder,
    answer: EndedConnections,
    statuses: {
      ...notNamed,
      429: 'Connections were ended too often within a minute. Admins and the other users of an account are counted apart.',
    },
    handle: async (request) => {
      const { body } = request;
      const addresses = readAddresses(body);
      const orderOf = async (db: Reader, scope: Scope) => {
        const { account_id, account_name: account, only_user } = scope;
        const { user = only_user?.name, server, service } = body;
        return {
          filter: { ...addresses, ...(await idsOf(db, scope, body)), service },
          by: audience.is_operator ? undefined : { account_id, user_id: only_user?.id },
          names: {
            ...(user === undefined ? { account } : { user }),
            ...addresses,
            server,
            service,
          },
        };
      };
      const ended = await endConnections(ctx, (give) =>
        write(request, async (tx, scope) => give(tx, await orderOf(tx, scope))),
      );
      return presentEnded(ended, audience.is_operator);
    },
  });
}
