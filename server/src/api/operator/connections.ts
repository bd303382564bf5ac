// /admin/connections: who is connected now, in the whole network.
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { requireAccountNamed } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { invalidField } from '../../errors.ts';
import { Digits, Strict, Text } from '../../http/fields.ts';
import { wholeIn } from '../../http/paging.ts';
import { openConnections, requireAnyNode } from '../../nodes/nodes.ts';
import { requireServer } from '../../servers/servers.ts';
import { requireUserNamed } from '../../users/users.ts';
import {
  aboutConnections,
  connectionFilters,
  OpenConnections,
  presentConnections,
  readFilters,
  summedBy,
} from '../connections.ts';
import { operatorRoute } from './route.ts';

const Query = Strict({
  account: Type.Optional(Text('Of this account, by its name.')),
  ...connectionFilters,
  by: summedBy(['account', 'user', 'server', 'address']),
  user: Type.Optional(Text('Of this user of the account.')),
  node: Type.Optional(Digits('Of this node, by its id.', 1)),
});

export function connectionRoutes(app: FastifyInstance, ctx: Context): void {
  const route = operatorRoute(app, 'Operator: nodes');
  const { db } = ctx;
  route('GET /admin/connections', {
    id: 'open_connections',
    summary: 'Who is connected now',
    description: aboutConnections,
    query: Query,
    answer: OpenConnections,
    statuses: {
      404: 'There is no such account, user, server or node.',
      429: 'Too many different filters are watched at once.',
    },
    handle: async ({ query }) => {
      const { account, user, server, node } = query;
      const { filter, list } = readFilters(query);
      if (user !== undefined && account === undefined) {
        throw invalidField('user', 'is that of an account; expected account as well.');
      }
      const ofAccount =
        account === undefined ? undefined : (await requireAccountNamed(db, account)).id;
      const ofUser =
        ofAccount === undefined || user === undefined
          ? undefined
          : (await requireUserNamed(db, ofAccount, user)).id;
      const node_id = wholeIn('node', node, null, 1);
      const ofNode = node_id === null ? undefined : await requireAnyNode(db, node_id);
      const ofServer = server === undefined ? undefined : (await requireServer(db, server)).id;
      const looked = await openConnections(
        ctx,
        {
          ...filter,
          ...{ account_id: ofAccount, user_id: ofUser, node_id: ofNode?.id },
          server_id: ofServer ?? ofNode?.server_id,
        },
        undefined,
        list,
      );
      return presentConnections(db, looked, true);
    },
  });
}
